package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestHints: every text in the code that names a command of this program gets the --db that was given where it
// is written for people; texts of help name none.
func TestHints(t *testing.T) {
	t.Parallel()
	p := Standard("")
	p.Args = []string{"ypcrawl"}
	var commands []string
	for _, cmd := range p.app().Commands {
		if cmd.Name != "completion" && cmd.Name != "version" { // which need no database
			commands = append(commands, cmd.Name)
		}
	}
	names := regexp.MustCompile(`ypcrawl (` + strings.Join(commands, "|") + `)\b`)
	p.Database = "my file.db"
	found := 0
	for _, dir := range []string{".", "frame", "../store", "../store/report", "../checkpoint", "../crawl", "../crawl/start", "../crawl/health", "../crawl/discover", "../crawl/site", "../crawl/fetch"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		storetest.NoError(t, err)
		for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			storetest.NoError(t, err)
			for _, text := range textsForPeople(parsed) {
				if !names.MatchString(text) {
					continue
				}
				found++
				if got := p.Hints(text); len(names.FindAllString(got, -1)) > 0 || !strings.Contains(got, "ypcrawl --db 'my file.db' ") {
					t.Errorf("%s: %q becomes %q: write a command as \"`ypcrawl run`\", or make it by Program.command", file, text, got)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d hints found", found)
	}
}

// textsForPeople are the texts of a file that are no help: examples, usages and descriptions.
func textsForPeople(file *ast.File) (texts []string) {
	ofHelp := regexp.MustCompile(`(?i)^(usage|usagetext|description|default)$|(help|examples|description)$`)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			return !ofHelp.MatchString(n.Names[0].Name)
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			return !ok || !ofHelp.MatchString(key.Name)
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
