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

// schemaText is what schema.sql says in its text: its tables and views as they are there, and what the comments say of columns.
type schemaText struct {
	parts  [][]string          // of each table and view: all, its comment, TABLE or VIEW, name, body
	means  map[string]string   // by column and by table.column
	tables map[string][]string // the keys of means of each column that a table explains
}

// readSchema reads comments at the end of a column's line, in the list above its table or view, and in the list at the top.
func readSchema() schemaText {
	s := schemaText{parts: created.FindAllStringSubmatch(schema, -1), means: map[string]string{}, tables: map[string][]string{}}
	list := func(of, text string) {
		for _, c := range listed.FindAllStringSubmatch(text, -1) {
			s.means[of+c[1]] = c[2]
		}
	}
	top, _, _ := strings.Cut(schema, "\nCREATE ")
	list("", top)
	for _, p := range s.parts {
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
				if p[2] == "TABLE" && s.means[key] == "" {
					s.tables[name] = append(s.tables[name], key)
				}
				if comment = strings.TrimSpace(comment); s.means[key] != comment {
					s.means[key] = strings.TrimSpace(s.means[key] + " " + comment)
				}
			}
		}
	}
	return s
}

// meaning is what the schema says of a column of a table or view; a name that only one table explains means the same in views.
func (s schemaText) meaning(of, column string) string {
	text := cmp.Or(s.means[of+"."+column], s.means[column])
	if all := s.tables[column]; text == "" && len(all) == 1 {
		text = s.means[all[0]]
	}
	return text
}

// describeSchema writes views and tables with their columns as Markdown, and fails where a column is not explained.
func describeSchema(t *testing.T) string {
	t.Helper()
	s := readSchema()
	db := storetest.Open(t)
	var b strings.Builder
	for _, chapter := range [][2]string{{"VIEW", "Views: begin here"}, {"TABLE", "Tables"}} {
		fmt.Fprintf(&b, "\n## %s\n", chapter[1])
		var names []string
		for _, p := range s.parts {
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
				text := s.meaning(p[3], c)
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

// escapeCell makes a comment a text of Markdown that can be in a table.
func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`).Replace(strings.TrimSpace(s))
}
