// Command messages prints docs/messages.md: every text that the program can print, by package and file.
//
// A text is any string of Go code that has more than one word, or that is handed to what makes an error, logs or
// prints; so a new way to print needs no change here. Left out are SQL, HTML, and the texts of flags and commands.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const head = `# What the program prints

Made by ` + "`make messages`" + ` from the sources; CI fails when it is out of date. Each line is one text, in the order of the file that
prints it: errors, log messages with their level, text for the terminal and for the web page. {word} stands for a value. What a wrapped
error was doing (` + "`claim target`" + `) stands before its cause. Texts of commands and flags are in [cli.md](cli.md).
`

// skipped are folders without texts of the program: tests, data, the demo's pages, the tools.
var skipped = regexp.MustCompile(`^(\.|testdata$|tools$|docs$|dist$|storetest$|regiontest$|generate$|html$)`)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "messages: want the folder of the sources")
		os.Exit(2)
	}
	list, err := messages(os.Args[1])
	if err == nil {
		_, err = os.Stdout.WriteString(list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

// messages is the list of the texts of all files below root.
func messages(root string) (string, error) {
	manual, err := os.ReadFile(filepath.Join(root, "docs", "cli.md"))
	if err != nil {
		return "", err
	}
	help := oneLine(string(manual))
	packages := map[string]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == root:
			return err
		case d.IsDir() && skipped.MatchString(d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		found := texts{help: help, seen: map[string]bool{}}
		if err := found.file(path); err != nil || len(found.lines) == 0 {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		packages[folder] += fmt.Sprintf("\n### %s\n\n%s\n", filepath.Base(path), strings.Join(found.lines, "\n"))
		return err
	})
	list := head
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		list += "\n## " + strings.Replace(filepath.ToSlash(folder), ".", "main", 1) + "\n" + packages[folder]
	}
	return list, err
}

var (
	raised  = regexp.MustCompile(`RAISE\(ABORT, '((?:[^']|'')*)'\)`)
	quoted  = regexp.MustCompile("[\"'`]([^\"'`\n]*)[\"'`]")
	comment = regexp.MustCompile(`(?m)^\s*//.*$`)
	words   = regexp.MustCompile(`[A-Za-z,;:%}] [A-Za-z{(%"]`)
	letters = regexp.MustCompile(`[A-Za-z]{2}`)
	braced  = regexp.MustCompile(`\{[^}]*\}`)
	// notText finds SQL, HTML, XML, JSON, CSS and scripts.
	notText = regexp.MustCompile(`</?[A-Za-z]+[ >]|"@?[a-z]+":|[a-z_] = |'%Y|iif\(|json_each|(^|[^A-Z_ ]|[a-z0-9_?)}] )\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|SET|AND|OR|ON|BY|IS|IN|NOT|JOIN|VALUES|DESC|ASC|THEN|END|AS|LIMIT|INTO|USING|LIKE|COLLATE|BETWEEN|EXISTS|ORDER BY) |` +
		`^ ?(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|SET|AND|OR|ON|JOIN|LEFT|CROSS|UNION|ORDER|GROUP|PRAGMA|CREATE|DROP|CASE|WITH|VALUES|ATTACH|DETACH|VACUUM|RELEASE|ROLLBACK|SAVEPOINT|BEGIN|LIMIT|EXISTS|NOT|count|max|min|sum|ifnull|coalesce)\b[ (]|^[a-z]+\.[a-z_]+( [=<>]|,)|__`)
)

// texts are those of one file, each once and as Markdown.
type texts struct {
	help  string // docs/cli.md
	lines []string
	seen  map[string]bool
}

// file takes the texts of a file.
func (t *texts) file(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch ext := filepath.Ext(path); {
	case ext == ".html":
		t.template(string(data))
	case ext == ".sql":
		for _, m := range raised.FindAllStringSubmatch(string(data), -1) {
			t.add("error", strings.ReplaceAll(m[1], "''", "'"))
		}
	case ext == ".js":
		for _, m := range quoted.FindAllStringSubmatch(comment.ReplaceAllString(string(data), ""), -1) {
			t.prose(m[1])
		}
	case ext == ".go" && !strings.HasSuffix(path, "_test.go"):
		file, err := parser.ParseFile(token.NewFileSet(), path, data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, t.node)
	}
	return nil
}

// add takes a text, with the ends of its lines visible.
func (t *texts) add(kind, text string) {
	if !letters.MatchString(braced.ReplaceAllString(text, "")) {
		return
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ ")
	line := "- " + kind + "`" + text + "`"
	if strings.Contains(text, "`") {
		line = "- " + kind + "`` " + text + " ``"
	}
	if !t.seen[line] {
		t.seen[line], t.lines = true, append(t.lines, line)
	}
}

// prose takes a text if it looks like one, and docs/cli.md does not have it.
func (t *texts) prose(text string) {
	plain := oneLine(text)
	if words.MatchString(text) && !notText.MatchString(text) && (len(plain) <= 20 || !strings.Contains(t.help, plain)) {
		t.add("", text)
	}
}

// oneLine is a text without marks and line ends.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "", "\\", "").Replace(text)), " ")
}

// node takes the texts of one node and reports whether those below it are wanted.
func (t *texts) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field: // a path, a tag
		return false
	case *ast.KeyValueExpr: // of a flag or a command: docs/cli.md has it
		if key, ok := n.Key.(*ast.Ident); ok {
			switch key.Name {
			case "Usage", "Description", "DefaultText", "ArgsUsage", "UsageText":
				return false
			}
		}
	case *ast.CallExpr:
		return t.call(n)
	case *ast.BinaryExpr:
		if text, ok := literal(n); ok {
			t.prose(text)
			return false
		}
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			text, _ := literal(n)
			t.prose(text)
		}
	}
	return true
}

// call takes the texts that a call is given.
func (t *texts) call(c *ast.CallExpr) bool {
	name, kind := nameOf(c.Fun), ""
	switch name {
	case "MustCompile":
		return false
	case "Errorf", "Usagef":
		kind = "error: "
	case "New":
		if x, ok := c.Fun.(*ast.SelectorExpr); ok && nameOf(x.X) == "errors" {
			kind = "error: "
		}
	case "Msg", "Msgf":
		kind = "log" + level(c.Fun) + ": "
	}
	ast.Inspect(c.Fun, t.node)
	for i, arg := range c.Args {
		text, ok := literal(arg)
		switch {
		case !ok:
			ast.Inspect(arg, t.node)
		case kind != "":
			t.add(kind, fill(text, c.Args[i+1:]))
		default:
			t.prose(fill(text, c.Args[i+1:]))
		}
	}
	return false
}

// level is that of a chain like log.Warn().Str("a", b).Msg.
func level(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.CallExpr:
			e = x.Fun
		case *ast.SelectorExpr:
			switch x.Sel.Name {
			case "Debug", "Info", "Warn", "Error", "Trace":
				return " " + strings.ToLower(x.Sel.Name)
			}
			e = x.X
		default:
			return ""
		}
	}
}

// literal is the text of a string, or of strings and values that are added up.
func literal(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			s, err := strconv.Unquote(x.Value)
			return s, err == nil
		}
	case *ast.BinaryExpr:
		left, okLeft := literal(x.X)
		right, okRight := literal(x.Y)
		if x.Op != token.ADD || !okLeft && !okRight {
			return "", false
		}
		if !okLeft {
			left = value(x.X)
		}
		if !okRight {
			right = value(x.Y)
		}
		return left + right, true
	}
	return "", false
}

var verb = regexp.MustCompile(`%[-+#0]*(\*|\d+)?(\.(\*|\d+))?(\[\d+\])?[a-zA-Z%]`)

// fill puts the names of values where a format has its verbs.
func fill(format string, values []ast.Expr) string {
	next := 0
	return verb.ReplaceAllStringFunc(format, func(v string) string {
		if v == "%%" {
			return "%"
		}
		next += strings.Count(v, "*")
		if at := regexp.MustCompile(`\[(\d+)\]`).FindStringSubmatch(v); at != nil {
			next, _ = strconv.Atoi(at[1])
			next--
		}
		if next++; next > len(values) {
			return "{…}"
		}
		return value(values[next-1])
	})
}

// value is a short name for a value.
func value(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.CallExpr:
		if name := nameOf(x.Fun); name == "plural" || name == "Plural" {
			if noun, ok := literal(x.Args[len(x.Args)-1]); ok {
				return "{n} " + noun + "(s)"
			}
		}
		for _, arg := range slices.Backward(x.Args) {
			if _, ok := arg.(*ast.BasicLit); !ok {
				return value(arg)
			}
		}
		if of, ok := x.Fun.(*ast.SelectorExpr); ok && len(x.Args) > 0 {
			return value(of.X)
		}
		return value(x.Fun)
	}
	if name := nameOf(e); name != "" {
		if name == "err" || name == "Err" {
			name = "cause"
		}
		return "{" + name + "}"
	}
	return "{…}"
}

func nameOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// template takes the texts between the tags of a template: [a|b] is one of both, or nothing.
func (t *texts) template(text string) {
	text = regexp.MustCompile(`(?s)\{\{/\*.*?\*/\}\}`).ReplaceAllString(text, "")
	for _, action := range []struct{ from, to string }{
		{`\{\{(template|define|block)[^}]*\}\}`, "<>"},
		{`\{\{-? ?(if|with|range)[^}]*\}\}`, "["},
		{`\{\{-? ?else[^}]*\}\}`, "|"},
		{`\{\{-? ?end[^}]*\}\}`, "]"},
		{`\{\{[^}]*?\$?([A-Za-z0-9]+)( "([a-z- ]+)")?\)?\}\}`, "{$1 $3}"},
		{`</?(span|strong|code|a|em)\b[^>]*>`, ""},
	} {
		text = regexp.MustCompile(action.from).ReplaceAllString(text, action.to)
	}
	text = strings.ReplaceAll(text, " }", "}")
	for line := range strings.SplitSeq(text, "\n") {
		for _, piece := range regexp.MustCompile(`<[^>]*>`).Split(line, -1) {
			t.prose(strings.Trim(piece, "[]| "))
		}
	}
}
