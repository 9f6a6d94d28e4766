package site

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keyDoc is a key of a definition, with what the comment beside its field says.
type keyDoc struct{ key, kind, text, only, def string }

// sourceDocs are the comments of the package's source.
type sourceDocs struct {
	types  map[string]*ast.StructType
	values map[string]*ast.CommentGroup // of constants, and of texts of lists, by file and text
}

func readDocs(t *testing.T) *sourceDocs {
	t.Helper()
	docs := &sourceDocs{types: map[string]*ast.StructType{}, values: map[string]*ast.CommentGroup{}}
	for _, name := range []string{"definition.go", "request.go", "structured.go", "rules.go", "steps.go"} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		noError(t, err)
		behind := map[int]*ast.CommentGroup{} // a line
		for _, c := range file.Comments {
			behind[set.Position(c.Pos()).Line] = c
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if of, ok := n.Type.(*ast.StructType); ok {
					docs.types[n.Name.Name] = of
				}
			case *ast.BasicLit:
				if c := behind[set.Position(n.Pos()).Line]; c != nil && n.Kind == token.STRING && c.Pos() > n.Pos() {
					docs.values[name+" "+strings.Trim(n.Value, `"`)] = c
				}
			}
			return true
		})
	}
	return docs
}

// nested are the types whose keys stand with those that hold them; the others have a section of their own.
var nested = []string{"urlDef", "cardDef", "indexDef", "detailDef", "rulesDef", "pagingDef"}

// kinds say what the value of a key is, by the type of its field.
var kinds = map[string]string{
	"string":               "text",
	"[]string":             "texts",
	"bool":                 "true, false",
	"int":                  "number",
	"*int":                 "number",
	"float64":              "number",
	"*float64":             "number",
	"ruleSet":              "[rules](#rules)",
	"[]ruleDef":            "[rules](#rules)",
	"ruleDef":              "[rule](#rules)",
	"[]stepDef":            "[steps](#steps)",
	"markDef":              "[signs](#signs)",
	"requestDef":           "[request](#requests)",
	"map[string]headerDef": "[headers](#headers)",
	"*bodyDef":             "text, mapping",
	"scriptDef":            "[script](#scripts)",
	"structuredDef":        "true, [mapping](#structured-data)",
	"map[string]ruleSet":   "[rules](#rules) by field",
	"map[string][]string":  "texts by field",
	"map[string]string":    "texts by code",
	"map[string]formatDef": "[formats](#formats) by field",
}

var noteForm = regexp.MustCompile(`\s*\[(HTML|JSON|default: [^\]]*)\]`)

// keysOf returns the keys of a type as the code has them, and those of what it holds.
func (d *sourceDocs) keysOf(t *testing.T, name, before string) (all []keyDoc) {
	t.Helper()
	for _, f := range d.types[name].Fields.List {
		if f.Tag == nil {
			continue
		}
		key := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
		if key == "-" {
			continue
		}
		kind := typeText(f.Type)
		if slices.Contains(nested, kind) {
			all = append(all, d.keysOf(t, kind, before+key+".")...)
			continue
		}
		k := keyDoc{key: before + key, kind: kinds[kind]}
		k.text, k.only, k.def = saidBy(f.Doc)
		if k.text == "" || k.kind == "" {
			t.Errorf("%s.%s has no comment that says in a sentence what it is, or its type %s is not known here", name, key, kind)
		}
		all = append(all, k)
	}
	return all
}

// saidBy returns what a comment says, in which format it counts ("" = in both), and the default that it names.
func saidBy(c *ast.CommentGroup) (text, only, def string) {
	text = strings.Join(strings.Fields(c.Text()), " ")
	for _, m := range noteForm.FindAllStringSubmatch(text, -1) {
		if d, ok := strings.CutPrefix(m[1], "default: "); ok {
			def = d
		} else {
			only = m[1]
		}
	}
	return noteForm.ReplaceAllString(text, ""), only, def
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.MapType:
		return "map[" + typeText(e.Key) + "]" + typeText(e.Value)
	}
	return ""
}

// TestDefinitionDoc holds docs/definition.md to the keys, placeholders, steps, kinds and fields that the code knows, and each of
// these to a sentence beside it. `make manual` writes it.
func TestDefinitionDoc(t *testing.T) {
	t.Parallel()
	const name = "../../docs/definition.md"
	want := definitionDoc(t)
	if *update {
		noError(t, os.WriteFile(name, []byte(want), 0o644)) //nolint:gosec // a document
		return
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s is old (%v): make manual", name, err)
	}
}

// definitionDoc is the document.
func definitionDoc(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	d := readDocs(t)
	b.WriteString(`# The keys of a definition

This list is made by ` + "`make manual`" + ` from the code that reads definitions. [Adding a site](adding-a-site.md) explains with four sites how the keys work together.
The definition that ` + "`ypcrawl sources show yellowpages`" + ` prints uses most of them. A key that is not listed here is an error, which is shown with its line and column.

"In" says which pages a key is for: HTML, JSON (` + "`format: json`" + `), or both if it is empty. JSON keys also apply to JSON
in a script of an HTML page.
"Default" is used if you leave a key out. Without a default, nothing is read or requested for it.

`)
	keyTable(&b, d.keysOf(t, "definition", ""))
	for _, s := range []struct{ title, about, of string }{
		{
			"Rules", "A rule says how to read a text. It is a mapping, or just a text: a selector, or a path for JSON pages.\n" +
				"A key may have one rule or a list of rules; the first rule that finds a text counts.", "ruleDef",
		},
		{"Steps", "A step has one of these keys.", "stepDef"},
		{"Signs", "Signs say what kind of page it is. One of them is enough.", "markDef"},
		{"Requests", "A request is a mapping, or just a path.", "requestDef"},
		{
			"Headers", "A header is a mapping, or just its value. You can't set Host, Cookie, User-Agent, Accept-Encoding, Range, If-…,\n" +
				"or headers about the connection, the body or proxies.", "headerDef",
		},
		{"Scripts", "A script is a mapping with one of these keys, or just a selector.", "scriptDef"},
		{"Structured data", "`structured` is true, or a mapping.", "structuredDef"},
		{"Formats", "A format is a mapping, or just a regular expression.", "formatDef"},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.about)
		keyTable(&b, d.keysOf(t, s.of, ""))
		switch s.title {
		case "Steps":
			b.WriteString("\nThe values of `decode`:\n\n")
			d.list(t, &b, "steps.go", "", []string{codeBase64, codePercent, codeJSON, codeHTML})
		case "Requests":
			b.WriteString("\nPlaceholders:\n\n")
			d.list(t, &b, "request.go", "{}", placeholders)
			b.WriteString("- `{lat}` and so on: any other column of the cities file\n" +
				"- in `urls.state_index`: `{state}`, `{state_lower}`, `{state_slug}` and `{letter}`, a letter of `index.letters`\n" +
				"- in `detail.url`: `{id}`\n")
		case "Formats":
			b.WriteString("\nThe kinds:\n\n")
			d.list(t, &b, "rules.go", "", formatKinds)
		}
	}
	b.WriteString("\n## Fields\n\nA field may have rules where the table has a ×: on cards (`fields`), in JSON items (`fields`), on listings' own pages\n" +
		"(`detail.fields`), or as a label on own pages (`detail.labels`). `locality` is a line with city, state and postal code, which is split.\n" +
		"[The database](database.md) says what each field holds.\n\n" +
		"| field | card | item | own page | label |\n|---|---|---|---|---|\n")
	all := slices.Concat(fieldNames, itemFields, detailFields, labelFields)
	slices.Sort(all)
	for _, f := range slices.Compact(all) {
		fmt.Fprintf(&b, "| `%s` |", f)
		for _, in := range [][]string{fieldNames, itemFields, detailFields, labelFields} {
			mark := ""
			if slices.Contains(in, f) {
				mark = "×"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// keyTable writes keys.
func keyTable(b *strings.Builder, keys []keyDoc) {
	b.WriteString("| key | value | in | default | what it is |\n|---|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", k.key, k.kind, k.only, escapeCell(k.def), escapeCell(k.text))
	}
}

// list writes words of a file with what the comments beside them say; around is what stands around each.
func (d *sourceDocs) list(t *testing.T, b *strings.Builder, file, around string, words []string) {
	t.Helper()
	for _, w := range words {
		text, _, _ := saidBy(d.values[file+" "+w])
		if text == "" {
			t.Errorf("%s has no comment", w)
		}
		if around != "" {
			w = around[:1] + w + around[1:]
		}
		fmt.Fprintf(b, "- `%s`: %s\n", w, text)
	}
}

// placeholderForm finds placeholders in a text that is escaped.
var placeholderForm = regexp.MustCompile(`\{[a-z\\_]+\}`)

func escapeCell(s string) string {
	s = strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`).Replace(s)
	return placeholderForm.ReplaceAllStringFunc(s, func(name string) string { return "`" + strings.ReplaceAll(name, `\`, "") + "`" })
}

// TestDocumentedKeys: the document has each key that a definition may have, found by the types and not by the source.
func TestDocumentedKeys(t *testing.T) {
	t.Parallel()
	d := readDocs(t)
	documented := map[string]bool{}
	for _, name := range []string{
		"definition", "ruleDef", "stepDef", "markDef", "requestDef", "headerDef", "scriptDef", "structuredDef", "formatDef",
	} {
		for _, k := range d.keysOf(t, name, "") {
			documented[name+" "+k.key] = true
		}
	}
	var walk func(of reflect.Type, top, before string)
	walk = func(of reflect.Type, top, before string) {
		for i := range of.NumField() {
			f := of.Field(i)
			key := f.Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			kind := f.Type
			for kind.Kind() == reflect.Slice || kind.Kind() == reflect.Map || kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			switch {
			case slices.Contains(nested, kind.Name()):
				walk(kind, top, before+key+".")
				continue
			case kind.Kind() == reflect.Struct && kind.NumField() > 0 && kind != reflect.TypeFor[bodyDef]():
				walk(kind, kind.Name(), "")
			}
			if !documented[top+" "+before+key] {
				t.Errorf("%s %s%s is in no table", top, before, key)
			}
		}
	}
	walk(reflect.TypeFor[definition](), "definition", "")
}
