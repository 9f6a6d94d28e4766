package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
)

var update = flag.Bool("update", false, "write docs/database.md anew below its mark, and testdata/screens")

// belowMark is what follows in docs/database.md is made from schema.sql.
const belowMark = "<!-- What follows is made from schema.sql by `make manual`. -->\n"

// TestDatabaseDoc holds docs/database.md to the schema: to its text for what comments say, to SQLite for what there is.
func TestDatabaseDoc(t *testing.T) {
	t.Parallel()
	const path = "docs/database.md"
	data, err := os.ReadFile(path)
	storetest.NoError(t, err)
	head, got, ok := strings.Cut(string(data), belowMark)
	if !ok {
		t.Fatalf("%s has no line %s", path, belowMark)
	}
	want := describeSchema(t)
	if *update {
		storetest.NoError(t, os.WriteFile(path, []byte(head+belowMark+want), 0o644))
	} else if diff := gocmp.Diff(got, want); diff != "" {
		t.Errorf("%s is old: make manual (-has +schema.sql):\n%s", path, diff)
	}
}

var (
	// created is a table or view of schema.sql, with the comment above it.
	created = regexp.MustCompile(`(?m)^((?:-- .*\n)*)CREATE (?:VIRTUAL )?(TABLE|VIEW) (\w+)((?s:.*?);)(?: *--.*)?$`)
	// listed is a line of a list of columns in a comment.
	listed = regexp.MustCompile(`(?m)^--   (\w+) {2,}(.+)\n`)
	// valued is a line that explains a value in capitals.
	valued    = regexp.MustCompile(`^([A-Z_]{3,}) +([a-z].*)$`)
	firstWord = regexp.MustCompile(`^    (\w+) `)
	lastWord  = regexp.MustCompile(`(\w+),? *$`)
)

// describeSchema writes views and tables with their columns as Markdown, and fails where a column is not explained: at the end of
// its line, in the list above its table or view, or in the list at the top of schema.sql. A name that only one table explains means
// the same in views.
func describeSchema(t *testing.T) string {
	t.Helper()
	means := map[string]string{}
	list := func(of, text string) {
		for _, c := range listed.FindAllStringSubmatch(text, -1) {
			means[of+c[1]] = c[2]
		}
	}
	top, _, _ := strings.Cut(schema, "\nCREATE ")
	list("", top)
	parts, tables := created.FindAllStringSubmatch(schema, -1), map[string][]string{}
	for _, p := range parts {
		list(p[3]+".", p[1])
		name := ""
		for line := range strings.Lines(p[4]) {
			code, comment, commented := strings.Cut(strings.TrimSuffix(line, "\n"), "-- ")
			word := lastWord
			if p[2] == "TABLE" {
				word = firstWord
			}
			if c := word.FindStringSubmatch(code); c != nil {
				name = c[1]
			} else if p[2] == "VIEW" && strings.TrimSpace(code) == "" || code == "    " { // a comment between columns
				name = ""
			}
			if key := p[3] + "." + name; commented && name != "" {
				if p[2] == "TABLE" && means[key] == "" {
					tables[name] = append(tables[name], key)
				}
				if comment = strings.TrimSpace(comment); means[key] != comment {
					means[key] = strings.TrimSpace(means[key] + " " + comment)
				}
			}
		}
	}
	db := storetest.Open(t)
	var b strings.Builder
	for _, chapter := range [][2]string{{"VIEW", "Views: begin here"}, {"TABLE", "Tables"}} {
		fmt.Fprintf(&b, "\n## %s\n", chapter[1])
		var names []string
		for _, p := range parts {
			if p[2] != chapter[0] {
				continue
			}
			names = append(names, p[3])
			fmt.Fprintf(&b, "\n### %s\n\n%s\n", p[3], prose(listed.ReplaceAllString(p[1], "")))
			switch {
			case strings.Contains(p[4], "SELECT t.*"):
				b.WriteString("\nThe columns of [targets](#targets), and its own.\n")
				continue
			case p[3] == "listing_words":
				continue
			}
			b.WriteString("\n| column | |\n|---|---|\n")
			for _, c := range storetest.Table(t, db, "SELECT name FROM pragma_table_info(?)", p[3]) {
				text := cmp.Or(means[p[3]+"."+c], means[c])
				if all := tables[c]; text == "" && len(all) == 1 {
					text = means[all[0]]
				}
				if text == "" {
					t.Errorf("schema.sql does not say what %s.%s means: a comment at its line, or in the list of columns at the top", p[3], c)
				}
				fmt.Fprintf(&b, "| `%s` | %s |\n", c, escapeCell(text))
			}
		}
		want := storetest.Table(t, db, "SELECT name FROM sqlite_schema WHERE type = lower(?) AND name NOT LIKE 'listing_words_%' AND name NOT LIKE 'sqlite_%' ORDER BY rowid", chapter[0])
		if diff := gocmp.Diff(want, names); diff != "" {
			t.Errorf("%s of the database (-) and those that were read in schema.sql (+):\n%s", chapter[1], diff)
		}
	}
	return b.String()
}

// prose is a comment of several lines; those that explain a value in capitals become a list.
func prose(comment string) string {
	var b strings.Builder
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "--"))
		if m := valued.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "\n- `%s`: %s", m[1], escapeCell(m[2]))
		} else {
			b.WriteString(" " + escapeCell(line))
		}
	}
	return strings.TrimSpace(b.String())
}

// escapeCell makes a comment a text of Markdown that can stand in a table.
func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`).Replace(strings.TrimSpace(s))
}
