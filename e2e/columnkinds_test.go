package e2e

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
)

// TestColumnKinds holds store/report/columns.go to schema.sql: which columns are switches, lists, or numbers that are no quantities.
func TestColumnKinds(t *testing.T) {
	t.Parallel()
	const path = "store/report/columns.go"
	want := columnsFile(columnKinds(t), listingMeanings(t))
	if *update {
		storetest.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(path)
	storetest.NoError(t, err)
	if diff := gocmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is old: make manual (-has +schema.sql):\n%s", path, diff)
	}
}

// A kind says how the values of a column are written. The empty one: as what they are, a text or a quantity.
type kind string

const (
	isSwitch kind = "switches"
	isList   kind = "lists"
	isName   kind = "names"
)

// saysKind is how the comment of a column says its kind, where its table doesn't: columns that a view computes have no CHECK.
var saysKind = []struct {
	kind kind
	says *regexp.Regexp
}{
	{isSwitch, regexp.MustCompile(`^1 = `)},
	{isList, regexp.MustCompile(`^(opening hours, a )?list of `)},
	{isName, regexp.MustCompile(`^((number|row|status) of (the|its) |year\b)`)},
}

// counted is a switch of targets and sources, and in v_crawl_health, whose names are docs/health.md's, a count of targets: it is
// written as a number everywhere.
const counted = "paused"

// columnKinds reads the kinds of all columns of tables and views. A name means one thing everywhere, so it fails where a number
// of one name is a switch here and a quantity there, or a text a list here and plain there.
func columnKinds(t *testing.T) map[kind][]string {
	t.Helper()
	s, db := readSchema(), storetest.Open(t)
	found := map[string]map[string]kind{} // by name and storage class, then by table or view
	for _, p := range s.parts {
		for _, row := range storetest.Table(t, db, "SELECT name, type FROM pragma_table_info(?)", p[3]) {
			column, class, _ := strings.Cut(row, "|")
			k := kindOf(s, p, column, class)
			if k == "" && p[2] == "VIEW" {
				continue // it is what others of its name are
			}
			switch k {
			case isSwitch, isName:
				class = "INTEGER"
			case isList:
				class = "TEXT"
			}
			key := column + "|" + class
			if found[key] == nil {
				found[key] = map[string]kind{}
			}
			found[key][p[3]] = k
		}
	}
	delete(found, counted+"|INTEGER")
	kinds := map[kind][]string{}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		column, _, _ := strings.Cut(key, "|")
		all := slices.Compact(slices.Sorted(maps.Values(found[key])))
		if len(all) > 1 {
			t.Errorf("%s is of several kinds: %v", column, found[key])
		}
		if k := all[0]; k != "" {
			kinds[k] = append(kinds[k], column)
		}
	}
	return kinds
}

// kindOf is the kind of a column by its table's CHECK or key, or by what the comment says.
func kindOf(s schemaText, part []string, column, class string) kind {
	if part[2] == "TABLE" {
		for line := range strings.Lines(part[4]) {
			if code, _, _ := strings.Cut(line, "--"); strings.HasPrefix(code, "    "+column+" ") {
				switch {
				case strings.Contains(code, "CHECK ("+column+" IN (0, 1))"):
					return isSwitch
				case strings.Contains(code, "json_type("+column+") = 'array'"):
					return isList
				case class == "INTEGER" && (strings.Contains(code, "PRIMARY KEY") || strings.Contains(code, "REFERENCES")):
					return isName
				}
			}
		}
	}
	for _, x := range saysKind {
		text := s.meaning(part[3], column)
		fits := !strings.HasSuffix(text, "from 1") && (class == "" || class == "BLOB" || (class == "TEXT") == (x.kind == isList))
		if fits && x.says.MatchString(text) {
			return x.kind
		}
	}
	return ""
}

// listingMeanings is what the columns of v_listings mean, by name.
func listingMeanings(t *testing.T) (lines []string) {
	t.Helper()
	s := readSchema()
	for _, c := range storetest.Table(t, storetest.Open(t), "SELECT name FROM pragma_table_info('v_listings') ORDER BY name") {
		lines = append(lines, fmt.Sprintf("\t{%q, %q},\n", c, s.meaning("v_listings", c)))
	}
	return lines
}

// columnsFile is the Go file that holds the kinds and the meanings.
func columnsFile(kinds map[kind][]string, meanings []string) string {
	var b strings.Builder
	b.WriteString("// Code generated from schema.sql by make manual. DO NOT EDIT.\n\npackage report\n\nimport \"strings\"\n\n// What the schema says of columns: 0 or 1; JSON arrays; numbers that are no quantities.\nvar (\n")
	for _, k := range []kind{isSwitch, isList, isName} {
		name := fmt.Sprintf("%-8s", k)
		fmt.Fprintf(&b, "\t%s = strings.Fields(%q)\n", name, strings.Join(slices.Sorted(slices.Values(kinds[k])), " "))
	}
	b.WriteString(")\n\n// What the schema says of the columns of v_listings.\nvar meanings = [...][2]string{\n" + strings.Join(meanings, ""))
	return b.String() + "}\n"
}
