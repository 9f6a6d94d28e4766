//go:build unix

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// knownFunctions are those of SQLite 3.38, which docs/database.md promises to be enough (its pages "Built-In Scalar SQL Functions",
// "Date And Time Functions", "Aggregate Functions", "Window Functions", "Mathematical Functions" and "JSON Functions" of 2022-02).
const knownFunctions = `abs changes char coalesce format glob hex ifnull iif instr last_insert_rowid length like likelihood likely lower ltrim
	max min nullif printf quote random randomblob replace round rtrim sign soundex substr substring total_changes trim typeof unicode unlikely upper zeroblob
	date time datetime julianday unixepoch strftime avg count group_concat sum total row_number rank dense_rank percent_rank cume_dist ntile lag lead
	first_value last_value nth_value acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power
	radians sin sinh sqrt tan tanh trunc json json_array json_array_length json_extract json_insert json_object json_patch json_remove json_replace json_set
	json_type json_valid json_quote json_group_array json_group_object bm25 highlight snippet -> ->>`

var (
	sqlTexts = regexp.MustCompile(`'(?:[^']|'')*'|--[^\n]*`) // and comments: each may hold the mark of the other
	sqlCalls = regexp.MustCompile(`\b([a-z_0-9]+)\s*\(`)
	// sqlNewer is what later versions brought beside functions: 3.39, 3.39, 3.46; two arguments of iif 3.48; ORDER BY within an
	// aggregate 3.44; texts of strftime and modifiers of times 3.42 to 3.46.
	sqlNewer = []*regexp.Regexp{
		regexp.MustCompile(`\bis\s+(?:not\s+)?distinct\s+from\b`),
		regexp.MustCompile(`\b(?:right|full)\s+(?:outer\s+)?join\b`),
		regexp.MustCompile(`\b[0-9]+_[0-9]`),
		regexp.MustCompile(`\biif\s*\([^(),]*,[^(),]*\)`),
		regexp.MustCompile(`\b(?:group_concat|json_group_array|json_group_object)\s*\([^()]*\border\s+by\b`),
	}
	sqlNewerTexts = regexp.MustCompile(`^'(?:subsec(?:ond)?|floor|ceiling)'$|^'.*%[eFgGIklpPRTuUV]`)
)

// newerThan338 lists what an SQL text has that SQLite 3.38 does not know: functions that the SQLite of this program knows and
// that one did not, and what else is newer.
func newerThan338(functions []string, text string) (all []string) {
	text = strings.ToLower(sqlTexts.ReplaceAllStringFunc(text, func(s string) string {
		if sqlNewerTexts.MatchString(s) {
			all = append(all, s)
		}
		return strings.Repeat("''", strings.Count(s[:1], "'"))
	}))
	for _, c := range sqlCalls.FindAllStringSubmatch(text, -1) {
		if slices.Contains(functions, c[1]) || strings.HasPrefix(c[1], "jsonb") {
			all = append(all, c[1])
		}
	}
	for _, r := range sqlNewer {
		all = append(all, r.FindAllString(text, -1)...)
	}
	return all
}

// newerFunctions are the functions of the SQLite of this program that 3.38 did not know.
func newerFunctions(t *testing.T) (newer []string) {
	t.Helper()
	known := strings.Fields(knownFunctions)
	for _, name := range storetest.Table(t, storetest.Open(t), `SELECT DISTINCT lower(name) FROM pragma_function_list WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'fts5%'`) {
		if !slices.Contains(known, name) {
			newer = append(newer, name)
		}
	}
	return newer
}

// TestOldSQLite: schema.sql, and the queries that documents show, have nothing that SQLite 3.38 does not know. Debian's is 3.40,
// so this is told by names.
func TestOldSQLite(t *testing.T) {
	t.Parallel()
	newer := newerFunctions(t)
	for text, want := range map[string]string{
		"SELECT concat_ws('; ', a, b)":                          "concat_ws",
		"SELECT CONCAT (a, 'b(')":                               "concat",
		"SELECT string_agg(a, ',') FROM t":                      "string_agg",
		"SELECT octet_length(a), unhex(b)":                      "octet_length unhex",
		"SELECT jsonb_each(a)":                                  "jsonb_each",
		"SELECT iif(a > 1, 'x')":                                "iif(a > 1, '')",
		"SELECT group_concat(a, ',' ORDER BY b)":                "group_concat(a, '' order by",
		"SELECT * FROM a RIGHT JOIN b":                          "right join",
		"SELECT a IS NOT DISTINCT FROM b":                       "is not distinct from",
		"SELECT strftime('%F', a), unixepoch(a, 'subsec')":      "'%F' 'subsec'",
		"SELECT 1_000":                                          "1_0",
		"SELECT iif(a, b, c), 'concat(x)' -- concat_ws(a, b)":   "",
		"SELECT a ->> '$.x', max(x), unixepoch(a) AS concat":    "",
		"SELECT '--' || concat(a)":                              "concat",
		"CREATE TABLE t (a TEXT CHECK (a IN ('concat_ws(a)')))": "",
	} {
		if got := strings.Join(newerThan338(newer, text), " "); got != want {
			t.Errorf("%s: newer than SQLite 3.38 is %q, want %q", text, got, want)
		}
	}
	for _, s := range newerThan338(newer, schema) {
		t.Errorf("schema.sql: SQLite 3.38 does not know %s", s)
	}
	for _, doc := range documents(t) {
		for _, b := range blocksOf(t, doc) {
			for _, s := range newerThan338(newer, strings.Join(b.text, "\n")) {
				if b.lang == "sql" {
					t.Errorf("%s:%d: SQLite 3.38 does not know %s", doc, b.line, s)
				}
			}
		}
	}
}

// TestViewsInSQLite: every view can be read with the sqlite3 of the machine, 3.40 in Debian 12, of a file with a crawl, and no row
// breaks a CHECK there: json_valid(NULL) is 0 before version 3.45.
func TestViewsInSQLite(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		without(t, "no sqlite3: apt-get install sqlite3")
	}
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "ypcrawl.db")
	w.must(w.crawlArgs("--max-pages", "1")...) // cards alone, many without hours
	// Not by mustSQLite3: with -readonly, SQLite checks no CHECK.
	got, err := exec.CommandContext(t.Context(), "sqlite3", path, "PRAGMA integrity_check").CombinedOutput() //nolint:gosec // a test's own words
	if err != nil || strings.TrimSpace(string(got)) != "ok" {
		t.Errorf("the integrity check says %s (%v)", got, err)
	}
	w.must(w.crawlArgs("--details", "--max-pages", "1")...)
	views := strings.Fields(mustSQLite3(t, path, "SELECT name FROM sqlite_schema WHERE type = 'view'"))
	if len(views) < 20 {
		t.Fatalf("%s has the views %s", path, views)
	}
	for _, v := range append(views, "v_changes WHERE what IS NULL", "v_listings WHERE name <> ''") {
		mustSQLite3(t, path, "SELECT * FROM "+v)
	}
}

func mustSQLite3(t *testing.T, path, query string) string {
	t.Helper()
	out, err := sqlite3(t.Context(), path, query)
	if err != nil {
		t.Errorf("sqlite3 %s: %v: %s", query, err, out)
	}
	return out
}

// sqlite3 asks the sqlite3 of the machine, and returns what it says on both streams.
func sqlite3(ctx context.Context, path, query string) (string, error) {
	out, err := exec.CommandContext(ctx, "sqlite3", "-readonly", "-bail", "-cmd", ".timeout 10000", path, query).CombinedOutput() //nolint:gosec // a test's own words
	return string(out), err
}
