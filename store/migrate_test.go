package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"ypcrawl/yp"
)

// The inside of migrate is tested here, over steps that no program ever had.

const schemaOne = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE pets (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owners (id)) STRICT;`

const schemaThree = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE "owners" (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (name <> '')) STRICT;
CREATE TABLE pets (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owners (id), kind TEXT) STRICT;
CREATE INDEX pets_by_owner ON pets (owner);`

func steps() fstest.MapFS {
	return fstest.MapFS{
		"0002_kind.sql": {Data: []byte("ALTER TABLE pets ADD COLUMN kind TEXT; CREATE INDEX pets_by_owner ON pets (owner);")},
		"0003_named.sql": {Data: []byte(`
			CREATE TABLE owners_new (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (name <> '')) STRICT;
			INSERT INTO owners_new SELECT * FROM owners;
			DROP TABLE owners;
			ALTER TABLE owners_new RENAME TO owners;`)},
		"README.md": {Data: []byte("not a step")},
	}
}

// conn opens a writing connection without migrating.
func rawConn(t *testing.T, path string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("sqlite", dsn(Config{Path: path}, false))
	if err != nil {
		t.Fatal(err)
	}
	c, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), pool.Close() })
	return c
}

func must(t *testing.T, c *sql.Conn, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

func ask(t *testing.T, c *sql.Conn, query string) (answer string) {
	t.Helper()
	if err := c.QueryRowContext(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

// shape is what sqlite_schema says, spaces folded.
func shape(t *testing.T, c *sql.Conn) []string {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join(strings.Fields(s), " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// older makes a database of version 1 with rows that refer to each other.
func older(t *testing.T) (c *sql.Conn, cfg Config) {
	t.Helper()
	cfg = Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: schemaOne}
	c = rawConn(t, cfg.Path)
	if err := migrateTo(t.Context(), c, cfg, time.Now(), 1, steps()); err != nil {
		t.Fatal(err)
	}
	must(t, c, "INSERT INTO owners VALUES (1, 'Ann')", "INSERT INTO pets VALUES (7, 1)")
	return c, cfg
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	t.Run("gives the schema of a fresh file, and keeps the rows", func(t *testing.T) {
		t.Parallel()
		c, cfg := older(t)
		if err := migrateTo(t.Context(), c, cfg, time.Now(), 3, steps()); err != nil {
			t.Fatal(err)
		}
		cfg = Config{Path: filepath.Join(t.TempDir(), "fresh.db"), Schema: schemaThree}
		fresh := rawConn(t, cfg.Path)
		if err := migrateTo(t.Context(), fresh, cfg, time.Now(), 3, steps()); err != nil {
			t.Fatal(err)
		}
		if got, want := shape(t, c), shape(t, fresh); !slices.Equal(got, want) {
			t.Errorf("upgraded:\n%s\nfresh:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for query, want := range map[string]string{
			"PRAGMA user_version": "3", "PRAGMA foreign_keys": "1", "PRAGMA journal_mode": "wal",
			"SELECT name FROM owners JOIN pets ON owner = owners.id WHERE pets.id = 7": "Ann",
		} {
			if got := ask(t, c, query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
	})
	t.Run("a step that fails leaves the file as it was", func(t *testing.T) {
		t.Parallel()
		for name, text := range map[string]string{
			"bad SQL":                     "CREATE TABLE more (x); NONSENSE;",
			"a row that refers to nobody": "UPDATE pets SET owner = 99;",
		} {
			c, cfg := older(t)
			before := shape(t, c)
			broken := steps()
			broken["0003_named.sql"] = &fstest.MapFile{Data: []byte(text)}
			if err := migrateTo(t.Context(), c, cfg, time.Now(), 3, broken); err == nil {
				t.Errorf("%s: no error", name)
			}
			if !slices.Equal(shape(t, c), before) || ask(t, c, "PRAGMA user_version") != "1" || ask(t, c, "SELECT owner FROM pets") != "1" {
				t.Errorf("%s: the file was changed", name)
			}
		}
	})
	t.Run("a step that is missing, or there twice", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(fstest.MapFS){
			func(m fstest.MapFS) { delete(m, "0002_kind.sql") },
			func(m fstest.MapFS) { m["0002_again.sql"] = m["0002_kind.sql"] },
		} {
			c, cfg := older(t)
			changed := steps()
			change(changed)
			if err := migrateTo(t.Context(), c, cfg, time.Now(), 3, changed); err == nil || strings.Contains(err.Error(), "%!") {
				t.Errorf("got %v, want a plain error", err)
			}
		}
	})
	t.Run("a newer file is refused", func(t *testing.T) {
		t.Parallel()
		c, cfg := older(t)
		must(t, c, "PRAGMA user_version = 4")
		var version *VersionError
		if err := migrateTo(t.Context(), c, cfg, time.Now(), 3, steps()); !errors.As(err, &version) || version.Have != 4 || version.Max != 3 {
			t.Errorf("got %v, want a VersionError of 4 over 3", err)
		}
	})
	t.Run("several at once do it once", func(t *testing.T) {
		t.Parallel()
		_, cfg := older(t)
		errs := make(chan error, 6)
		for range cap(errs) {
			c := rawConn(t, cfg.Path)
			go func() { errs <- migrateTo(context.Background(), c, cfg, time.Now(), 3, steps()) }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSteps holds the real steps to the rule: one for every version after the first.
func TestSteps(t *testing.T) {
	t.Parallel()
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sql") {
			n++
		}
	}
	if n != SchemaVersion-1 {
		t.Errorf("%d upgrade steps for schema version %d, want %d", n, SchemaVersion, SchemaVersion-1)
	}
}

// TestEnumerations holds every enumeration that schema.sql CHECKs to the constants
// that the program writes there; one that is new must be added here.
func TestEnumerations(t *testing.T) {
	t.Parallel()
	classes, codes := texts(yp.ErrorClasses()), texts(yp.ErrorCodes())
	flag := []string{"0", "1"}
	want := map[string][]string{
		"sources.enabled": flag, "sources.auto_disabled": flag,
		"sources.paused_code":               texts([]yp.ErrorCode{yp.CodeAuthFailed, yp.CodeHTMLChanged}),
		"runs.outcome":                      {"running", "done", "interrupted", "budget", "error", "dead", "blocked", "no_proxies", "layout"},
		"targets.status":                    texts(yp.Statuses()),
		"targets.enabled":                   flag,
		"targets.auto_disabled":             flag,
		"targets.crawl_status":              texts(yp.Healths()),
		"targets.last_error_code":           slices.DeleteFunc(slices.Clone(codes), func(c string) bool { return c == string(yp.CodeSuccess) }),
		"listings.claimed":                  flag,
		"listings.sponsored":                flag,
		"crawl_attempts.ended":              texts([]Ended{"running", EndedDone, EndedFailed, EndedParked, EndedReleased, EndedRecovered}),
		"crawl_attempts.error_code":         codes,
		"requests.type":                     texts(yp.RequestTypes()),
		"requests.outcome":                  {"success", "failure"},
		"requests.error_class":              classes,
		"requests.parse_ok":                 flag,
		"requests.via":                      {"none", "proxy", "browser"},
		"connectivity_profiles.status":      {"healthy", "degraded", "failing", "quarantined"},
		"connectivity_profiles.error_class": classes,
		"connectivity_profiles.burst_429":   flag,
		"requests.proxy_failed":             flag,
		"proxies.enabled":                   flag,
		"replayed.gap":                      flag,
		"sources.stage":                     {"review", "sandbox", "active"},
		"source_cities.matched":             {"slug", "name", "none"},
		"discoveries.status":                {"PLANNED", "IN_PROGRESS", "DONE", "FAILED"},
		"discoveries.last_error_code":       slices.DeleteFunc(slices.Clone(codes), func(c string) bool { return c == string(yp.CodeSuccess) }),
		"details.status":                    texts(yp.Statuses()),
		"details.last_error_code":           slices.DeleteFunc(slices.Clone(codes), func(c string) bool { return c == string(yp.CodeSuccess) }),
		"listing_events.kind":               texts([]Event{EventNew, EventChanged, EventCompleted, EventDropped, EventRestored, EventRejected}),
		"company_merges.by":                 {"web", "tel", "adr", "hand"},
	}
	got := checkedEnumerations(t)
	for column := range got {
		if _, ok := want[column]; !ok {
			t.Errorf("%s is CHECKed for %v: this test does not know it", column, got[column])
		}
	}
	for column, values := range want {
		slices.Sort(values)
		slices.Sort(got[column])
		if !slices.Equal(got[column], values) {
			t.Errorf("%s: schema.sql has %v, the program %v", column, got[column], values)
		}
	}
}

// checkedEnumerations reads the values of every CHECK (column IN (…)) of
// schema.sql, by table.column.
func checkedEnumerations(t *testing.T) map[string][]string {
	t.Helper()
	text := file(t, "../schema.sql")
	check, value := regexp.MustCompile(`CHECK \((\w+) IN\s*\(([^)]*)\)\)`), regexp.MustCompile(`\w+`)
	out := map[string][]string{}
	for _, body := range strings.Split(text, "\nCREATE TABLE ")[1:] {
		table, _, _ := strings.Cut(body, " ")
		for _, m := range check.FindAllStringSubmatch(body, -1) {
			out[table+"."+m[1]] = value.FindAllString(m[2], -1)
		}
	}
	return out
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
