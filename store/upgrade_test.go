package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// The real steps are tested here: what version 1 left is opened by today's program.

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// versionOne makes a file as the program of version 1 left it, with rows of every
// table and targets of every status.
func versionOne(t *testing.T) Config {
	t.Helper()
	cfg := Config{Path: filepath.Join(t.TempDir(), "one.db"), Schema: file(t, "../schema.sql")}
	c := rawConn(t, cfg.Path)
	must(t, c, file(t, "testdata/schema-1.sql"), file(t, "testdata/rows-1.sql"),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), "PRAGMA user_version = 1", "PRAGMA journal_mode = WAL")
	return cfg
}

func mustOpen(t *testing.T, cfg Config) *DB {
	t.Helper()
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// lines runs a query and gives each row as its columns with their types, joined by "|".
func lines(t *testing.T, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string,
) (out []string) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]any, len(cols)), make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%#v", cells))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
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
func anatomy(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var out []string
	for _, line := range lines(t, db, `SELECT type || ' ' || name || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema`) {
		out = append(out, canonical(strings.ReplaceAll(strings.ReplaceAll(line, `\n`, "\n"), `\"`, `"`)))
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

// missing lists what is in a and not in b.
func missing(a, b []string) string {
	var out []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// TestUpgradeFromTwo: a file of version 2 with rows in it becomes what a fresh file is.
func TestUpgradeFromTwo(t *testing.T) {
	t.Parallel()
	cfg := Config{Path: filepath.Join(t.TempDir(), "two.db"), Schema: file(t, "../schema.sql")}
	c := rawConn(t, cfg.Path)
	must(t, c, file(t, "testdata/schema-1.sql"), file(t, "migrations/0002_health.sql"), fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		"PRAGMA user_version = 2", "PRAGMA journal_mode = WAL",
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 's', 'http://s.example', 'x', 'x')`,
		`INSERT INTO cities VALUES (1, 'a-ca', 'A', 'CA', 10, 1.5, 2.5, 1)`, `INSERT INTO categories VALUES (1, 'k', 'K')`,
		`INSERT INTO targets (id, source_id, city_id, category_id, state, population, priority, max_pages, page_current, raw_count, crawl_started_at, created_at)
			VALUES (1, 1, 1, 1, 'CA', 10, 1, 3, 2, 60, 'x', 'x')`,
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (7, 'N', 1, 'l', 'x')`,
		`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at) VALUES (3, 1, 'l', 7, 'N', 'CA', 9, 'x', 'y')`,
		`INSERT INTO sightings VALUES (1, 3, 2, 4, 'z')`)
	db := mustOpen(t, cfg)
	upgraded := anatomy(t, db.Read())
	fresh := anatomy(t, mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "fresh.db"), Schema: cfg.Schema}).Read())
	if !slices.Equal(upgraded, fresh) {
		t.Errorf("upgraded only:\n%s\n\nfresh only:\n%s", missing(upgraded, fresh), missing(fresh, upgraded))
	}
	for query, want := range map[string]string{
		`SELECT stage, definition FROM sources`:                    `[]interface {}{"active", interface {}(nil)}`,
		`SELECT page_current, crawls, retired_at FROM targets`:     `[]interface {}{2, 0, interface {}(nil)}`,
		`SELECT company_id, last_seen_at, gone_at FROM listings`:   `[]interface {}{7, "y", interface {}(nil)}`,
		`SELECT page, rank, since, crawl, missed FROM sightings`:   `[]interface {}{2, 4, 0, 0, 0}`,
		`SELECT lat, lon FROM cities`:                              `[]interface {}{1.5, 2.5}`,
		`SELECT targets, pages FROM target_totals WHERE targets>0`: `[]interface {}{1, 2}`,
	} {
		if got := strings.Join(lines(t, db.Read(), query), "\n"); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestUpgradeFromThree: what became of listings reads as it did before.
func TestUpgradeFromThree(t *testing.T) {
	t.Parallel()
	cfg := Config{Path: filepath.Join(t.TempDir(), "three.db"), Schema: file(t, "../schema.sql")}
	c := rawConn(t, cfg.Path)
	must(t, c, file(t, "testdata/schema-1.sql"), file(t, "migrations/0002_health.sql"), file(t, "migrations/0003_directory.sql"),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), "PRAGMA user_version = 3", "PRAGMA journal_mode = WAL",
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 's', 'http://s.example', 'x', 'x')`,
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (7, 'N', 1, 'l', 'x')`,
		`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at) VALUES
			(3, 1, 'l', 7, 'N', 'CA', 9, 'x', 'y'), (4, 1, 'm', 7, 'N', 'CA', 9, 'x', 'y')`,
		`INSERT INTO promotion_log (at, action, source_id, listing_id, company_id, run_id, what) VALUES
			('a', 'promoted_create', 1, 'l', 7, NULL, NULL), ('a', 'promoted_create', 1, 'm', 7, NULL, '{"key":"web:x.example"}'),
			('b', 'promoted_update', 1, 'l', 7, NULL, '{"fields":["name","phone"],"completed":["hours"]}'),
			('c', 'promoted_update', 1, 'm', 7, NULL, '{"completed":["hours"]}'), ('d', 'promoted_update', 1, 'm', 7, NULL, '{"fields":["name"]}'),
			('e', 'dropped', 1, 'l', 7, NULL, NULL), ('f', 'restored', 1, 'l', 7, NULL, NULL), ('g', 'rejected', 1, 'l', NULL, NULL, '{"reasons":["odd"]}')`,
		`INSERT INTO listing_changes (listing, field, old, new, at) VALUES (3, 'name', 'O', 'N', 'b'), (3, 'phone', '1', NULL, 'b'), (4, 'name', NULL, 'N', 'd')`)
	const (
		promotions = `SELECT at, action, source_id, listing_id, company_id, run_id, what FROM promotion_log ORDER BY id`
		changes    = `SELECT listing, field, old, new, run_id, at FROM listing_changes ORDER BY id`
	)
	before := append(lines(t, c, promotions), lines(t, c, changes)...)
	db := mustOpen(t, cfg)
	if after := append(lines(t, db.Read(), promotions), lines(t, db.Read(), changes)...); !slices.Equal(after, before) || len(before) != 11 {
		t.Errorf("\n%s\nwas\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

func TestUpgradeFromOne(t *testing.T) {
	t.Parallel()
	t.Run("the schema is that of a fresh file", func(t *testing.T) {
		t.Parallel()
		upgraded := anatomy(t, mustOpen(t, versionOne(t)).Read())
		fresh := anatomy(t, mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "fresh.db"), Schema: file(t, "../schema.sql")}).Read())
		if len(fresh) < 300 {
			t.Errorf("only %d lines compared", len(fresh))
		}
		if !slices.Equal(upgraded, fresh) {
			t.Errorf("upgraded only:\n%s\n\nfresh only:\n%s", missing(upgraded, fresh), missing(fresh, upgraded))
		}
	})
	t.Run("every row is kept", func(t *testing.T) {
		t.Parallel()
		cfg := versionOne(t)
		old := rawConn(t, cfg.Path)
		queries := oldColumns(t, old)
		before := map[string][]string{}
		for table, query := range queries {
			if before[table] = lines(t, old, query); len(before[table]) == 0 {
				t.Errorf("%s is empty: its rows are not tested", table)
			}
		}
		db := mustOpen(t, cfg)
		for table, query := range queries {
			if after := lines(t, db.Read(), query); !slices.Equal(after, before[table]) {
				t.Errorf("%s:\n%s\nwas\n%s", table, strings.Join(after, "\n"), strings.Join(before[table], "\n"))
			}
		}
		if err := db.IntegrityCheck(t.Context()); err != nil {
			t.Error(err)
		}
		if broken := lines(t, db.Read(), "SELECT * FROM pragma_foreign_key_check"); len(broken) > 0 {
			t.Errorf("rows that refer to nothing: %v", broken)
		}
	})
	t.Run("a backoff that only a failed or planned target can have", func(t *testing.T) {
		t.Parallel()
		cfg := versionOne(t)
		must(t, rawConn(t, cfg.Path), "UPDATE targets SET backoff_until = '2026-03-01T00:00:00.000Z'")
		want := []string{`[]interface {}{"FAILED"}`, `[]interface {}{"PLANNED"}`}
		if got := lines(t, mustOpen(t, cfg).Read(), "SELECT DISTINCT status FROM targets WHERE backoff_until IS NOT NULL ORDER BY 1"); !slices.Equal(got, want) {
			t.Errorf("kept for %v, want %v", got, want)
		}
	})
	t.Run("a company's number is not given again", func(t *testing.T) {
		t.Parallel()
		db := mustOpen(t, versionOne(t))
		var id int64
		err := db.Write(t.Context(), func(tx *Tx) error {
			return tx.Get("INSERT INTO companies (name, lead_source, lead_listing, first_seen_at) VALUES ('N', 1, 'l', 'x') RETURNING id", nil, &id)
		})
		if err != nil || id != 10 {
			t.Errorf("the next company is %d (%v), want 10", id, err)
		}
	})
}

// oldColumns are queries of all that a file holds now, by table.
func oldColumns(t *testing.T, c *sql.Conn) map[string]string {
	t.Helper()
	out := map[string]string{}
	// Fingerprints are made anew, so that what was stored under older rules for keys is read again.
	rows, err := c.QueryContext(t.Context(), `SELECT s.name, group_concat(x.name, ', ') FROM sqlite_schema s, pragma_table_info(s.name) x
		WHERE s.type = 'table' AND x.name <> 'fingerprint' GROUP BY s.name`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			t.Fatal(err)
		}
		out[table] = fmt.Sprintf("SELECT %s FROM %s ORDER BY 1, 2, 3", columns, table)
		if table == "meta" || table == "company_keys" || table == "company_totals" || table == "sqlite_sequence" {
			out[table] = strings.TrimSuffix(out[table], ", 3")
		}
		if table == "meta" { // an upgraded file gets an id, which no older one has
			out[table] = strings.Replace(out[table], " ORDER", " WHERE key <> 'database_id' ORDER", 1)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUpgradedHealth: what the new columns say of the old rows.
func TestUpgradedHealth(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, versionOne(t))
	for query, want := range map[string][]string{
		`SELECT id || status || ' ' || crawl_status || ' ' || backoff_level || ' ' || consecutive_failures FROM targets ORDER BY id`: {
			"1PLANNED active 0 0", "2PLANNED active 0 4", "3IN_PROGRESS active 0 1", "4DONE active 0 0", "5FAILED degraded 1 1", "6FAILED degraded 3 3",
			"7FAILED degraded 5 9", "8STUCK active 0 0", "9PARKED failed 0 1", "10PLANNED active 0 0",
		},
		`SELECT DISTINCT enabled || auto_disabled || ' ' || crawl_frequency_minutes || ' ' || max_retries || ifnull(gap_until, '') FROM targets`: {"10 10080 3"},
		`SELECT id || enabled || auto_disabled || consecutive_failures || layout_strikes || ifnull(paused_until, '') || ifnull(paused_code, '') FROM sources ORDER BY id`: {
			"11000", "20000",
		},
		`SELECT source_id || state || ' ' || status || ' ' || targets || ' ' || pages || ' ' || raw || ' ' || accepted FROM target_totals WHERE targets > 0 ORDER BY source_id, state, status`: {
			"1CA DONE 1 2 31 31", "1CA FAILED 1 0 0 0", "1CA IN_PROGRESS 1 1 30 30", "1CA PLANNED 2 2 60 58",
			"1TX FAILED 2 1 30 29", "1TX PARKED 1 0 0 0", "1TX STUCK 1 0 0 0", "2TX PLANNED 1 0 0 0",
		},
		`SELECT source || ' ' || targets || failed || due_now FROM v_crawl_health ORDER BY 1`: {"demo 100", "yellowpages 916"},
		`SELECT id || ' ' || schedule_status FROM v_crawler_status ORDER BY id`: {
			"1 DUE", "2 DUE", "3 DUE", "4 DUE", "5 DUE", "6 DUE", "7 DUE", "8 NEEDS_PLAN", "9 FAILED", "10 PAUSED",
		},
		`SELECT count(*) || ' ' || (SELECT count(*) FROM requests) FROM crawl_attempts`: {"0 0"},
	} {
		var got []string
		for _, line := range lines(t, db.Read(), query) {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(line, `[]interface {}{"`), `"}`))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", query, got, want)
		}
	}
}

// TestUpgradeBreaks: a step that ends anywhere but at its end leaves version 1, and
// the next start upgrades.
func TestUpgradeBreaks(t *testing.T) {
	t.Parallel()
	step := file(t, "migrations/0002_health.sql")
	for _, at := range []string{"DROP VIEW v_companies;", "DROP TABLE sources;", "DROP TABLE targets;", "CREATE TABLE requests", "CREATE VIEW v_dead_letters", ""} {
		cut := len(step)
		if at != "" {
			if cut = strings.Index(step, at); cut < 0 {
				t.Fatalf("the step has no %q", at)
			}
		}
		t.Run("before "+at, func(t *testing.T) {
			t.Parallel()
			cfg := versionOne(t)
			c := rawConn(t, cfg.Path)
			before, rows := shape(t, c), lines(t, c, "SELECT * FROM targets")
			broken := fstest.MapFS{"0002_health.sql": {Data: []byte(step[:cut] + "\nNONSENSE;" + step[cut:])}}
			if err := migrateTo(t.Context(), c, cfg, time.Now(), 2, broken); err == nil || !strings.Contains(err.Error(), "0002_health.sql") {
				t.Errorf("got %v, want the step named", err)
			}
			again := rawConn(t, cfg.Path)
			if got := ask(t, again, "PRAGMA user_version"); got != "1" {
				t.Errorf("the file says version %s", got)
			}
			if !slices.Equal(shape(t, again), before) || !slices.Equal(lines(t, again, "SELECT * FROM targets"), rows) {
				t.Error("the file was changed")
			}
			db := mustOpen(t, cfg)
			if got := lines(t, db.Read(), "SELECT id FROM targets"); len(got) != len(rows) {
				t.Errorf("%d targets after all, want %d", len(got), len(rows))
			}
		})
	}
}

// TestUpgradeRace: several processes that start on an old file upgrade it once: a
// second upgrade would fail on the first thing that it drops.
func TestUpgradeRace(t *testing.T) {
	t.Parallel()
	for range 3 {
		cfg := versionOne(t)
		errs := make(chan error, 6)
		for range cap(errs) {
			go func() {
				db, err := Open(context.Background(), cfg)
				if err == nil {
					err = errors.Join(db.QuickCheck(context.Background()), db.Close())
				}
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		c := rawConn(t, cfg.Path)
		if v, n := ask(t, c, "PRAGMA user_version"), ask(t, c, "SELECT count(*) FROM targets"); v != strconv.Itoa(SchemaVersion) || n != "10" {
			t.Errorf("version %s with %s targets, want %d with 10", v, n, SchemaVersion)
		}
	}
}

// TestUpgradeWithOlderRun: while a run of the older program works on the file, it stays
// as it is.
func TestUpgradeWithOlderRun(t *testing.T) {
	t.Parallel()
	cfg := versionOne(t)
	run, err := TakeLock(cfg.Path, "run", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); !errors.Is(err, ErrOlderRun) {
		t.Fatalf("got %v, want ErrOlderRun", err)
	}
	if v := ask(t, rawConn(t, cfg.Path), "PRAGMA user_version"); v != "1" {
		t.Errorf("the file says version %s", v)
	}
	if err := run.Release(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, cfg)
	if run, err = TakeLock(cfg.Path, "run", false); err != nil { // the probe left no lock behind
		t.Fatal(err)
	}
	if err := run.Release(); err != nil {
		t.Error(err)
	}
}

// TestUpgradeByAnother: who waited for another process to upgrade the file takes that
// one's run for no run of an older version.
func TestUpgradeByAnother(t *testing.T) {
	t.Parallel()
	cfg := versionOne(t)
	other, err := TakeLock(cfg.Path, upgradeLock, false)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		db, err := Open(context.Background(), cfg)
		if err == nil {
			err = db.Close()
		}
		opened <- err
	}()
	c := rawConn(t, cfg.Path)
	must(t, c, "PRAGMA foreign_keys = OFF", "BEGIN IMMEDIATE", file(t, "migrations/0002_health.sql"), file(t, "migrations/0003_directory.sql"),
		fmt.Sprintf("PRAGMA user_version = %d", SchemaVersion), "COMMIT")
	run, err := TakeLock(cfg.Path, "run", true)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-opened: // it may have looked late enough to see version 2 already
		opened <- err
	case <-time.After(300 * time.Millisecond):
	}
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Errorf("who waited: %v", err)
	}
	if err := run.Release(); err != nil {
		t.Error(err)
	}
}

// TestOlderForAReader: who can't write can't upgrade, and says who can.
func TestOlderForAReader(t *testing.T) {
	t.Parallel()
	cfg := versionOne(t)
	before := file(t, cfg.Path)
	_, err := Open(t.Context(), Config{Path: cfg.Path, ReadOnly: true})
	var version *VersionError
	if !errors.As(err, &version) || version.Have != 1 || version.Max != SchemaVersion {
		t.Fatalf("got %v, want a VersionError of 1 under %d", err, SchemaVersion)
	}
	for _, part := range []string{cfg.Path, fmt.Sprintf("version 1, older than this program's %d", SchemaVersion), "for writing once", "`ypcrawl run`", "`ypcrawl plan`"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	if file(t, cfg.Path) != before {
		t.Error("the file was changed")
	}
	t.Run("another program's file is not told to be upgraded", func(t *testing.T) {
		must(t, rawConn(t, cfg.Path), "PRAGMA application_id = 7")
		for _, readOnly := range []bool{true, false} {
			_, err := Open(t.Context(), Config{Path: cfg.Path, Schema: cfg.Schema, ReadOnly: readOnly})
			if !errors.As(err, &version) || strings.Contains(err.Error(), "upgraded") || !strings.Contains(err.Error(), "another program's") {
				t.Errorf("read-only %t: %v", readOnly, err)
			}
		}
	})
}
