package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ypcrawl/store"
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
	if err != nil {
		t.Fatal(err)
	}
	head, got, ok := strings.Cut(string(data), belowMark)
	if !ok {
		t.Fatalf("%s has no line %s", path, belowMark)
	}
	want := describeSchema(t, schemaParts(schema))
	if *update {
		if err := os.WriteFile(path, []byte(head+belowMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := gocmp.Diff(got, want); diff != "" {
		t.Errorf("%s is old: make manual (-has +schema.sql):\n%s", path, diff)
	}
}

// schemaPart is a statement of schema.sql with the comment above it.
type schemaPart struct {
	kind, name, on string // TABLE, INDEX, TRIGGER, VIEW; on: the table of an index or trigger
	comment        []string
	lines          []string
}

func schemaParts(text string) (all []schemaPart) {
	create := regexp.MustCompile(`^CREATE (?:UNIQUE |VIRTUAL )?(TABLE|INDEX|TRIGGER|VIEW) (\w+)`)
	on := regexp.MustCompile(`\bON (\w+)`)
	var comment []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if c, ok := strings.CutPrefix(lines[i], "-- "); ok {
			comment = append(comment, c)
			continue
		}
		m := create.FindStringSubmatch(lines[i])
		if m == nil {
			comment = nil
			continue
		}
		p := schemaPart{kind: m[1], name: m[2], comment: comment}
		for {
			code, _ := cutComment(lines[i])
			p.lines = append(p.lines, lines[i])
			if strings.HasSuffix(code, ";") && (p.kind != "TRIGGER" || strings.HasPrefix(code, "END")) {
				break
			}
			i++
		}
		if m := on.FindStringSubmatch(strings.Join(p.lines, " ")); m != nil {
			p.on = m[1]
		}
		all, comment = append(all, p), nil
	}
	return all
}

// cutComment parts a line from the comment at its end.
func cutComment(line string) (code, comment string) {
	code, comment, _ = strings.Cut(line, "--")
	return strings.TrimRight(code, " "), strings.TrimSpace(comment)
}

// schemaItem is a column of a table, a rule of it, or a comment between its columns (no code).
type schemaItem struct{ code, comment string }

// items are what stands between the parentheses of a table.
func (p *schemaPart) items() (all []schemaItem) {
	for _, l := range p.lines[1:max(1, len(p.lines)-1)] {
		code, comment := cutComment(l)
		last := len(all) - 1
		begins := strings.HasPrefix(l, "    ") && !strings.HasPrefix(l, "     ")
		switch {
		case l == "":
		case last >= 0 && (code == "" && all[last].code == "" || code != "" && !begins):
			all[last].code += strings.TrimRight(" "+strings.TrimSpace(code), " ")
			all[last].comment += " " + comment
		default:
			all = append(all, schemaItem{strings.TrimSpace(code), comment})
		}
	}
	return all
}

// describeSchema writes the schema as Markdown, and fails where the text was not understood.
func describeSchema(t *testing.T, parts []schemaPart) string {
	t.Helper()
	db := storetest.Open(t)
	means := meaningsOf(parts)
	var b strings.Builder
	for _, chapter := range []struct{ kind, title string }{
		{"VIEW", "Views: begin here"}, {"TABLE", "Tables"}, {"TRIGGER", "Triggers"},
	} {
		fmt.Fprintf(&b, "\n## %s\n", chapter.title)
		if chapter.kind == "TRIGGER" {
			b.WriteString("\n| trigger | on | what it does |\n|---|---|---|\n")
		}
		var names []string
		for _, p := range parts {
			if p.kind != chapter.kind {
				continue
			}
			names = append(names, p.name)
			about := prose(p.comment)
			if p.kind == "TRIGGER" {
				fmt.Fprintf(&b, "| `%s` | [%s](#%s) | %s |\n", p.name, p.on, p.on, about)
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n", p.name)
			if about != "" {
				fmt.Fprintf(&b, "\n%s\n", about)
			}
			columns := storetest.Table(t, db, "SELECT name FROM pragma_table_info(?)", p.name)
			switch {
			case p.kind == "VIEW":
				means.describeView(t, &b, &p, columns)
			case strings.Contains(p.lines[0], "VIRTUAL"):
				fmt.Fprintf(&b, "\n`%s`\n", strings.Join(p.lines, " "))
			default:
				means.describeTable(t, &b, &p, columns)
				describeIndexes(t, &b, db, parts, p.name)
			}
		}
		want := storetest.Table(t, db, "SELECT name FROM sqlite_schema WHERE type = lower(?) AND name NOT LIKE 'listing_words_%' AND name NOT LIKE 'sqlite_%' ORDER BY rowid", chapter.kind)
		if diff := gocmp.Diff(want, names); diff != "" {
			t.Errorf("%s of the database (-) and those that were read in schema.sql (+):\n%s", chapter.title, diff)
		}
	}
	return b.String()
}

var column = regexp.MustCompile(`^(\w+) +(INTEGER|TEXT|REAL|BLOB)\b`)

// meanings are the texts of columns: shared ones by their name, those of one table or view by "its name.column".
type meanings map[string]string

// listed is a line of a list of columns in a comment.
var listed = regexp.MustCompile(`^  (\w+) {2,}(.+)$`)

// meaningsOf reads the comments of columns: the list at the top of schema.sql, that above a table or view, and what
// stands at the end of a column's line. In a view that is the last column of the line. A name that only one table explains means the same in views.
func meaningsOf(parts []schemaPart) meanings {
	m, tables := meanings{}, map[string][]string{}
	top, _, _ := strings.Cut(schema, "\nCREATE ")
	for line := range strings.Lines(top) {
		if c := listed.FindStringSubmatch(strings.TrimPrefix(strings.TrimSpace(line), "-- ")); c != nil {
			m[c[1]] = c[2]
		}
	}
	last := regexp.MustCompile(`(\w+),?$`)
	for _, p := range parts {
		for _, line := range p.comment {
			if c := listed.FindStringSubmatch(line); c != nil {
				m[p.name+"."+c[1]] = c[2]
			}
		}
		switch p.kind {
		case "TABLE":
			for _, item := range p.items() {
				if c := column.FindStringSubmatch(item.code); c != nil && strings.TrimSpace(item.comment) != "" {
					m[p.name+"."+c[1]], tables[c[1]] = item.comment, append(tables[c[1]], item.comment)
				}
			}
		case "VIEW":
			for _, l := range p.lines {
				code, comment := cutComment(l)
				if c := last.FindStringSubmatch(code); c != nil && comment != "" {
					m[p.name+"."+c[1]] = comment
				}
			}
		}
	}
	for name, texts := range tables {
		if len(texts) == 1 && m[name] == "" {
			m[name] = texts[0]
		}
	}
	return m
}

// of is what a column means; each has to be told.
func (m meanings) of(t *testing.T, part, column string) string {
	t.Helper()
	text := cmp.Or(m[part+"."+column], m[column])
	if text == "" {
		t.Errorf("schema.sql does not say what %s.%s means: a comment at its line, or in the list of columns at the top", part, column)
	}
	return escapeCell(text)
}

func (m meanings) describeView(t *testing.T, b *strings.Builder, p *schemaPart, columns []string) {
	t.Helper()
	if strings.Contains(strings.Join(p.lines, " "), "SELECT t.*") { // as its table
		fmt.Fprintf(b, "\nThe columns of [targets](#targets).\n")
		return
	}
	b.WriteString("\n| column | |\n|---|---|\n")
	for _, c := range columns {
		fmt.Fprintf(b, "| `%s` | %s |\n", c, m.of(t, p.name, c))
	}
}

func (m meanings) describeTable(t *testing.T, b *strings.Builder, p *schemaPart, columns []string) {
	t.Helper()
	values := regexp.MustCompile(`CHECK \((?:\w+ IS NULL OR )?\w+ IN \(((?:'[^']*'(?:, *)?)+)\)\)`)
	refers := regexp.MustCompile(`REFERENCES (\w+)`)
	standard := regexp.MustCompile(`DEFAULT ('[^']*'|\S+?)(?:,|$| )`)
	b.WriteString("\n| column | type | |\n|---|---|---|\n")
	var names, rules []string
	for _, item := range p.items() {
		code := strings.TrimSuffix(strings.Join(strings.Fields(item.code), " "), ",")
		c := column.FindStringSubmatch(code)
		switch {
		case code == "":
			fmt.Fprintf(b, "| | | *%s* |\n", escapeCell(item.comment))
			continue
		case c == nil:
			rules = append(rules, "`"+code+"`")
			continue
		}
		names = append(names, c[1])
		kind := c[2]
		if !strings.Contains(code, "NOT NULL") && !strings.Contains(code, "PRIMARY KEY") {
			kind += ", or NULL"
		}
		notes := []string{m.of(t, p.name, c[1])}
		if strings.Contains(code, "PRIMARY KEY") {
			notes = append(notes, "primary key")
		}
		if strings.Contains(code, "UNIQUE") {
			notes = append(notes, "unique")
		}
		if v := values.FindStringSubmatch(code); v != nil {
			notes = append(notes, "one of "+strings.ReplaceAll(v[1], "'", "`"))
		}
		if r := refers.FindStringSubmatch(code); r != nil {
			notes = append(notes, fmt.Sprintf("row of [%s](#%s)", r[1], r[1]))
		}
		if d := standard.FindStringSubmatch(code); d != nil {
			notes = append(notes, "default `"+d[1]+"`")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", c[1], kind, strings.Join(notes, "; "))
	}
	if diff := gocmp.Diff(columns, names); diff != "" {
		t.Errorf("columns of %s in the database (-) and those that were read in schema.sql (+):\n%s", p.name, diff)
	}
	for i, r := range rules {
		if i == 0 {
			b.WriteString("\nRules:\n\n")
		}
		fmt.Fprintf(b, "- %s\n", r)
	}
}

func describeIndexes(t *testing.T, b *strings.Builder, db *store.DB, parts []schemaPart, table string) {
	t.Helper()
	var names []string
	for _, p := range parts {
		if p.kind != "INDEX" || p.on != table {
			continue
		}
		if names == nil {
			b.WriteString("\nIndexes:\n\n")
		}
		names = append(names, p.name)
		code := strings.Join(strings.Fields(strings.Join(p.lines, " ")), " ")
		_, columns, _ := strings.Cut(code, " ON "+table+" ")
		unique := ""
		if strings.HasPrefix(code, "CREATE UNIQUE") {
			unique = ", unique"
		}
		fmt.Fprintf(b, "%s\n", strings.TrimSpace(fmt.Sprintf("- `%s`%s: `%s`. %s", p.name, unique, strings.TrimSuffix(columns, ";"), prose(p.comment))))
	}
	want := storetest.Table(t, db, "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY name", table)
	if diff := gocmp.Diff(want, slices.Sorted(slices.Values(names))); diff != "" && len(want)+len(names) > 0 {
		t.Errorf("indexes of %s in the database (-) and those that were read in schema.sql (+):\n%s", table, diff)
	}
}

// prose is a comment of several lines; those that explain a value in capitals become a list.
func prose(lines []string) string {
	value := regexp.MustCompile(`^([A-Z_]{3,}) +([a-z].*)$`)
	var b strings.Builder
	for _, l := range lines {
		if listed.MatchString(l) {
			continue // said at its column
		}
		if m := value.FindStringSubmatch(l); m != nil {
			fmt.Fprintf(&b, "\n- `%s`: %s", m[1], escapeCell(m[2]))
		} else {
			b.WriteString(" " + escapeCell(l))
		}
	}
	return strings.TrimSpace(b.String())
}

// escapeCell makes a comment a text of Markdown that can stand in a table.
func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`).Replace(strings.TrimSpace(s))
}
