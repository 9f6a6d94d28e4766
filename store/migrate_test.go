package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"ypcrawl/yp"
)

// The inside of migrate is tested here, over steps that no program ever had: they lead
// from the version first to the version last.
const (
	first = SchemaVersion
	last  = SchemaVersion + 2
)

const schemaFirst = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE pets (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owners (id)) STRICT;`

const schemaLast = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (name <> '')) STRICT;
CREATE TABLE pets (
	id    INTEGER PRIMARY KEY,
	owner INTEGER NOT NULL REFERENCES owners (id),
	kind  TEXT -- a dog, say
) STRICT;
CREATE INDEX pets_by_owner ON pets (owner);`

var kindStep, namedStep = fmt.Sprintf("%04d_kind.sql", first+1), fmt.Sprintf("%04d_named.sql", last)

func steps() fstest.MapFS {
	return fstest.MapFS{
		kindStep: {Data: []byte("ALTER TABLE pets ADD COLUMN kind TEXT; CREATE INDEX pets_by_owner ON pets (owner);")},
		namedStep: {Data: []byte(`
			CREATE TABLE owners_new (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (name <> '')) STRICT;
			INSERT INTO owners_new SELECT * FROM owners;
			DROP TABLE owners;
			ALTER TABLE owners_new RENAME TO owners;`)},
		"README.md": {Data: []byte("not a step")},
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	noError(t, err)
	return string(text)
}

// noError ends the test with an error that there must not be.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, cfg Config) *DB {
	t.Helper()
	db, err := Open(t.Context(), cfg)
	noError(t, err)
	t.Cleanup(func() {
		noError(t, db.Close())
	})
	return db
}

// rawConn opens a writing connection without migrating.
func rawConn(t *testing.T, path string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("sqlite", dsn(Config{Path: path}, false))
	noError(t, err)
	c, err := pool.Conn(t.Context())
	noError(t, err)
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
	noError(t, c.QueryRowContext(t.Context(), query).Scan(&answer))
	return answer
}

// lines runs a query and gives each row as its columns with their types.
func lines(t *testing.T, q pool, query string) (out []string) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	cols, err := rows.Columns()
	noError(t, err)
	for rows.Next() {
		cells, into := make([]any, len(cols)), make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		noError(t, rows.Scan(into...))
		out = append(out, fmt.Sprintf("%#v", cells))
	}
	noError(t, rows.Err())
	return out
}

var (
	comment = regexp.MustCompile(`--[^\n]*`)
	quoted  = regexp.MustCompile(`"(\w+)"`)
	mark    = regexp.MustCompile(`\s*([(),;])\s*`)
)

// canonical is the text of a statement without comments, quotes around names, and
// spaces that mean nothing.
func canonical(s string) string {
	s = quoted.ReplaceAllString(comment.ReplaceAllString(s, " "), "$1")
	return mark.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1")
}

// anatomy is all that makes the schema of a file: every statement, and what SQLite
// made of it.
func anatomy(t *testing.T, db pool) []string {
	t.Helper()
	var out []string
	for _, line := range lines(t, db, `SELECT type || ' ' || name || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema`) {
		out = append(out, canonical(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`).Replace(line)))
	}
	for _, pragma := range []string{
		`SELECT * FROM pragma_table_list WHERE schema = 'main'`,
		`SELECT s.name, x.* FROM sqlite_schema s, pragma_table_xinfo(s.name) x`,
		`SELECT s.name, x.name, x."unique", x.origin, x.partial FROM sqlite_schema s, pragma_index_list(s.name) x`,
		`SELECT s.name, x.* FROM sqlite_schema s, pragma_index_xinfo(s.name) x WHERE s.type = 'index'`,
		`SELECT s.name, x.* FROM sqlite_schema s, pragma_foreign_key_list(s.name) x`,
		`PRAGMA application_id`, `PRAGMA user_version`, `PRAGMA journal_mode`, `PRAGMA encoding`,
	} {
		for _, line := range lines(t, db, pragma) {
			out = append(out, pragma+": "+line)
		}
	}
	slices.Sort(out)
	return out
}

// sameAsFresh holds the schema of an upgraded file to that of a new one.
func sameAsFresh(t *testing.T, upgraded, fresh []string) {
	t.Helper()
	missing := func(a, b []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) }), "\n")
	}
	if !slices.Equal(upgraded, fresh) {
		t.Errorf("upgraded only:\n%s\n\nfresh only:\n%s", missing(upgraded, fresh), missing(fresh, upgraded))
	}
}

// older makes a database of the version first with rows that refer to each other.
func older(t *testing.T) (c *sql.Conn, cfg Config) {
	t.Helper()
	cfg = Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: schemaFirst}
	c = rawConn(t, cfg.Path)
	noError(t, migrateTo(t.Context(), c, cfg, time.Now(), first, steps()))
	must(t, c, "INSERT INTO owners VALUES (1, 'Ann')", "INSERT INTO pets VALUES (7, 1)")
	return c, cfg
}

// isUpgraded tells whether the file is of the version last and has the rows that it had.
func isUpgraded(t *testing.T, c *sql.Conn) {
	t.Helper()
	for query, want := range map[string]string{
		"PRAGMA user_version": strconv.Itoa(last), "PRAGMA foreign_keys": "1", "PRAGMA journal_mode": "wal",
		"SELECT name FROM owners JOIN pets ON owner = owners.id WHERE pets.id = 7": "Ann",
	} {
		if got := ask(t, c, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	t.Run("gives the schema of a fresh file, and keeps the rows", func(t *testing.T) {
		c, cfg := older(t)
		noError(t, migrateTo(t.Context(), c, cfg, time.Now(), last, steps()))
		cfg = Config{Path: filepath.Join(t.TempDir(), "fresh.db"), Schema: schemaLast}
		fresh := rawConn(t, cfg.Path)
		noError(t, migrateTo(t.Context(), fresh, cfg, time.Now(), last, steps()))
		sameAsFresh(t, anatomy(t, c), anatomy(t, fresh))
		isUpgraded(t, c)
	})
	t.Run("a step that is missing, or there twice", func(t *testing.T) {
		for _, change := range []func(fstest.MapFS){
			func(m fstest.MapFS) { delete(m, kindStep) },
			func(m fstest.MapFS) { m[strings.Replace(kindStep, "kind", "again", 1)] = m[kindStep] },
		} {
			c, cfg := older(t)
			changed := steps()
			change(changed)
			if err := migrateTo(t.Context(), c, cfg, time.Now(), last, changed); err == nil || strings.Contains(err.Error(), "%!") {
				t.Errorf("got %v, want a plain error", err)
			}
		}
	})
	t.Run("a newer file is refused", func(t *testing.T) {
		c, cfg := older(t)
		must(t, c, fmt.Sprintf("PRAGMA user_version = %d", last+1))
		var version *VersionError
		if err := migrateTo(t.Context(), c, cfg, time.Now(), last, steps()); !errors.As(err, &version) || version.Have != last+1 || version.Max != last {
			t.Errorf("got %v, want a VersionError of %d over %d", err, last+1, last)
		}
	})
}

// TestUpgradeBreaks: a step that ends anywhere but at its end leaves the file as it was,
// and the next start upgrades it.
func TestUpgradeBreaks(t *testing.T) {
	t.Parallel()
	named := string(steps()[namedStep].Data)
	broken := map[string]string{"a row that refers to nobody": named + "UPDATE pets SET owner = 99;"}
	for _, at := range []string{"CREATE TABLE owners_new", "INSERT INTO", "DROP TABLE", "ALTER TABLE", ""} {
		before, after, ok := strings.Cut(named, at)
		if !ok {
			t.Fatalf("the step has no %q", at)
		}
		if at == "" {
			before, after = named, ""
		}
		broken["before "+at] = before + "\nNONSENSE;" + at + after
	}
	for name, text := range broken {
		t.Run(name, func(t *testing.T) {
			c, cfg := older(t)
			before := anatomy(t, c)
			bad := steps()
			bad[namedStep] = &fstest.MapFile{Data: []byte(text)}
			want := namedStep
			if !strings.Contains(text, "NONSENSE") {
				want = "a row of pets refers to no row of owners"
			}
			if err := migrateTo(t.Context(), c, cfg, time.Now(), last, bad); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
			again := rawConn(t, cfg.Path)
			if !slices.Equal(anatomy(t, again), before) || ask(t, again, "SELECT name FROM owners") != "Ann" || ask(t, again, "SELECT owner FROM pets") != "1" {
				t.Error("the file was changed")
			}
			noError(t, migrateTo(t.Context(), again, cfg, time.Now(), last, steps()))
			isUpgraded(t, again)
		})
	}
}

// TestUpgradeRace: several that start on an old file upgrade it once: a second upgrade
// would fail, because what the steps make is there already.
func TestUpgradeRace(t *testing.T) {
	t.Parallel()
	for range 3 {
		c, cfg := older(t)
		errs := make(chan error, 6)
		for range cap(errs) {
			c := rawConn(t, cfg.Path)
			go func() { errs <- migrateTo(context.Background(), c, cfg, time.Now(), last, steps()) }()
		}
		for range cap(errs) {
			noError(t, <-errs)
		}
		isUpgraded(t, c)
	}
}

// TestUpgradeWithOlderRun: while a run of the older program works on the file, it stays
// as it is.
func TestUpgradeWithOlderRun(t *testing.T) {
	t.Parallel()
	c, cfg := older(t)
	before := anatomy(t, c)
	run, err := TakeLock(cfg.Path, RunLock, true)
	noError(t, err)
	if err := migrateTo(t.Context(), rawConn(t, cfg.Path), cfg, time.Now(), last, steps()); !errors.Is(err, ErrOlderRun) {
		t.Fatalf("got %v, want ErrOlderRun", err)
	}
	if !slices.Equal(anatomy(t, c), before) {
		t.Error("the file was changed")
	}
	noError(t, run.Release())
	again := rawConn(t, cfg.Path)
	noError(t, migrateTo(t.Context(), again, cfg, time.Now(), last, steps()))
	isUpgraded(t, again)
	if run, err = TakeLock(cfg.Path, RunLock, false); err != nil { // the probe left no lock behind
		t.Fatal(err)
	}
	noError(t, run.Release())
}

// TestUpgradeByAnother: who waited for another process to upgrade the file takes that
// one's run for no run of an older version.
func TestUpgradeByAnother(t *testing.T) {
	t.Parallel()
	_, cfg := older(t)
	other, err := TakeLock(cfg.Path, upgradeLock, false)
	noError(t, err)
	waiting, opened := rawConn(t, cfg.Path), make(chan error, 1)
	go func() { opened <- migrateTo(context.Background(), waiting, cfg, time.Now(), last, steps()) }()
	c := rawConn(t, cfg.Path)
	must(t, c, "PRAGMA foreign_keys = OFF", "BEGIN IMMEDIATE", string(steps()[kindStep].Data), string(steps()[namedStep].Data),
		fmt.Sprintf("PRAGMA user_version = %d", last), "COMMIT")
	run, err := TakeLock(cfg.Path, RunLock, true)
	noError(t, err)
	select {
	case err := <-opened: // it may have looked late enough to see the new version already
		opened <- err
	case <-time.After(300 * time.Millisecond):
	}
	noError(t, other.Release())
	noError(t, <-opened) // who waited
	noError(t, run.Release())
}

// TestOlderForAReader: who can't write can't upgrade, and says who can.
func TestOlderForAReader(t *testing.T) {
	t.Parallel()
	c, cfg := older(t)
	before := file(t, cfg.Path)
	db := &DB{}
	noError(t, db.openReaders(dsn(Config{Path: cfg.Path}, true)))
	t.Cleanup(func() { _ = db.read.Close() })
	err := checkVersion(t.Context(), db.read, cfg.Path, last)
	var version *VersionError
	if !errors.As(err, &version) || version.Have != first || version.Max != last || !version.Upgradable() {
		t.Fatalf("got %v, want a VersionError of %d under %d", err, first, last)
	}
	for _, part := range []string{cfg.Path, fmt.Sprintf("version %d, older than this program's %d", first, last), "upgrades it", "`ypcrawl run`", "`ypcrawl recover`"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	if file(t, cfg.Path) != before {
		t.Error("the file was changed")
	}
	noError(t, checkVersion(t.Context(), db.read, cfg.Path, first)) // of the program's own version
	t.Run("another program's file is not told to be upgraded", func(t *testing.T) {
		must(t, c, "PRAGMA application_id = 7")
		for who, err := range map[string]error{
			"reader": checkVersion(t.Context(), db.read, cfg.Path, last),
			"writer": migrateTo(t.Context(), rawConn(t, cfg.Path), cfg, time.Now(), last, steps()),
		} {
			if !errors.As(err, &version) || strings.Contains(err.Error(), "upgraded") || !strings.Contains(err.Error(), "another program's") {
				t.Errorf("%s: %v", who, err)
			}
		}
	})
}

// TestSteps: there is one real step for every version after the first.
func TestSteps(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	noError(t, err)
	if len(names) != SchemaVersion-1 {
		t.Errorf("upgrade steps %v, want one for every schema version from 2 to %d", names, SchemaVersion)
	}
}

// TestEnumerations holds every enumeration that schema.sql CHECKs to the constants
// that the program writes there; one that is new must be added here.
func TestEnumerations(t *testing.T) {
	t.Parallel()
	classes, codes := texts(yp.ErrorClasses()), texts(yp.ErrorCodes())
	var pauses []string // codes of what closes a source until somebody looks
	for _, p := range yp.Policies() {
		if p.Effect == yp.EffectPause || p.Effect == yp.EffectAlarm {
			pauses = append(pauses, string(p.Code))
		}
	}
	flag := []string{"0", "1"}
	want := map[string][]string{
		"sources.enabled": flag, "sources.auto_disabled": flag,
		"sources.paused_code":               pauses,
		"runs.outcome":                      {"running", "done", "interrupted", "budget", "error", "dead", "blocked", "no_proxies", "layout"},
		"targets.status":                    texts(yp.Statuses()),
		"targets.kind":                      texts(yp.Kinds()),
		"targets.enabled":                   flag,
		"targets.paused":                    flag,
		"targets.wait_reason":               {"backoff", "recrawl", "gap"},
		"targets.ending":                    texts(yp.Endings()),
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
		"request_spans.span":                {"minute", "hour", "ever"},
		"connectivity_profiles.status":      {"healthy", "degraded", "failing", "quarantined"},
		"connectivity_profiles.error_class": classes,
		"connectivity_profiles.burst_429":   flag,
		"requests.proxy_failed":             flag,
		"proxies.enabled":                   flag,
		"listing_events.reparsed":           flag,
		"led_to.others":                     flag,
		"nothing_words.others":              flag,
		"sources.stage":                     {"sandbox", "active"},
		"source_cities.matched":             {"slug", "name", "none"},
		"listing_events.kind":               texts([]Event{EventNew, EventChanged, EventCompleted, EventDropped, EventRestored, EventRejected}),
		"delivered.state":                   {"open", "dropped", "left"},
		"delivery_intent_listings.state":    {"open", "dropped", "left"},
		"messages.event":                    {"run_ended", "source_closed", "layout_alarm"},
	}
	if listed := `json_each('` + JSONTexts(codes) + `') c`; !strings.Contains(file(t, "../schema.sql"), listed) {
		t.Errorf("v_metrics counts by other codes than %s", listed)
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
