package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Tester is a *testing.T, a *testing.B or a *rapid.T.
type Tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Die leaves the lock of a run as a killed process does: its file stays, and nobody holds it.
func Die(t Tester, db, run string) {
	t.Helper()
	name := filepath.Join(store.LockDir(db), run+".lock")
	b, err := os.ReadFile(name)
	NoError(t, err)
	NoError(t, os.Remove(name))
	NoError(t, os.WriteFile(name, b, 0o600))
}

// NoError ends the test with an error that there must not be.
func NoError(t Tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Equal compares what is with what is wanted; the words say of what.
func Equal[T comparable](t Tester, got, want T, words ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot  %+v\nwant %+v", fmt.Sprintln(words...), got, want)
	}
}

// Diff compares values of any type as Equal does.
func Diff[T any](t Tester, got, want T, words ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s(-want +got)\n%s", fmt.Sprintln(words...), diff)
	}
}

// Same compares rows with those that are wanted.
func Same(t Tester, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// Clock is a clock that moves when it is told to; the zero one begins at Noon.
type Clock struct {
	from  time.Time
	after atomic.Int64
}

// Noon is when most tests begin.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ClockAt begins at another time.
func ClockAt(from time.Time) *Clock { return &Clock{from: from} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	from := c.from
	if from.IsZero() {
		from = Noon
	}
	return from.Add(time.Duration(c.after.Load()))
}

// Move puts the clock forward, or back.
func (c *Clock) Move(d time.Duration) { c.after.Add(int64(d)) }

// Table runs a query and gives each row as its columns, joined by "|"; NULL is "".
func Table(t Tester, db *store.DB, query string, args ...any) []string {
	t.Helper()
	return TableOf(t, db, "|", "", query, args...)
}

// TableOf is Table with another separator of columns, and another word for NULL.
func TableOf(t Tester, db *store.DB, separator, null, query string, args ...any) []string {
	t.Helper()
	rs, err := db.Read().QueryContext(context.Background(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rs.Close() }()
	cols, err := rs.Columns()
	NoError(t, err)
	var out []string
	for rs.Next() {
		cells, into := make([]sql.NullString, len(cols)), make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		NoError(t, rs.Scan(into...))
		row := make([]string, len(cols))
		for i, c := range cells {
			if row[i] = c.String; !c.Valid {
				row[i] = null
			}
		}
		out = append(out, strings.Join(row, separator))
	}
	NoError(t, rs.Err())
	return out
}

// Execute runs statements that write, in one transaction.
func Execute(t Tester, db *store.DB, queries ...string) {
	t.Helper()
	NoError(t, db.Write(context.Background(), func(tx *store.Tx) error {
		for _, q := range queries {
			if _, err := tx.Exec(q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		return nil
	}))
}

var numbered = regexp.MustCompile(`\?(\d+)`)

// Parameters is how many arguments query takes.
func Parameters(query string) int {
	n := 0
	for _, m := range numbered.FindAllStringSubmatch(query, -1) {
		i, _ := strconv.Atoi(m[1])
		n = max(n, i)
	}
	return n + strings.Count(numbered.ReplaceAllString(query, ""), "?")
}

// Explain returns how SQLite carries a query out, a line a step.
func Explain(t *testing.T, pool *sql.DB, query string, args []any) (lines []string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var line string
		NoError(t, rows.Scan(&id, &parent, &unused, &line))
		lines = append(lines, line)
	}
	NoError(t, rows.Err())
	return lines
}

// Ago is a time past, as the database writes it.
func Ago(d time.Duration) string { return yp.FormatTime(time.Now().Add(-d)) }

// Ahead is a time to come.
func Ahead(d time.Duration) string { return yp.FormatTime(time.Now().Add(d)) }

// Mixed makes of ten planned targets, ids 1 to 10, one of every kind.
func Mixed(t *testing.T, db *store.DB) {
	t.Helper()
	Execute(t, db,
		`UPDATE targets SET status = 'DONE', page_current = 3, finished_at = '`+Ago(time.Hour)+`', last_success_at = '`+Ago(time.Hour)+`',
			wait_reason = 'recrawl', not_before = '`+Ahead(24*time.Hour)+`', total_attempts = 3, total_successes = 1 WHERE id = 1`,
		`UPDATE targets SET status = 'DONE', finished_at = '`+Ago(48*time.Hour)+`', last_success_at = '`+Ago(48*time.Hour)+`' WHERE id = 2`,
		`UPDATE targets SET status = 'FAILED', backoff_level = 2, consecutive_failures = 4, last_error_code = 'TIMEOUT',
			last_error = 'slow', finished_at = '`+Ago(time.Hour)+`', wait_reason = 'backoff', not_before = '`+Ahead(3*time.Hour)+`' WHERE id = 3`,
		`UPDATE targets SET status = 'PARKED', backoff_level = 5, consecutive_failures = 8,
			last_error_code = 'TIMEOUT', last_error = 'slow', finished_at = '`+Ago(72*time.Hour)+`' WHERE id = 4`,
		`UPDATE targets SET status = 'PARKED', consecutive_failures = 1, last_error_code = 'NO_LISTINGS',
			last_error = 'gone', finished_at = '`+Ago(time.Hour)+`' WHERE id = 5`,
		`UPDATE targets SET status = 'STUCK', recoveries = 3, finished_at = '`+Ago(time.Hour)+`' WHERE id = 6`,
		`UPDATE targets SET paused = 1 WHERE id = 7`,
		`UPDATE targets SET enabled = 0 WHERE id = 8`,
		`UPDATE targets SET wait_reason = 'backoff', not_before = '`+Ahead(time.Hour)+`', consecutive_failures = 1, last_error_code = 'BLOCKED_PROXY' WHERE id = 9`,
		`UPDATE targets SET status = 'DONE', finished_at = '`+Ago(0)+`', wait_reason = 'gap', not_before = '`+Ahead(110*time.Second)+`' WHERE id = 10`,
	)
}
