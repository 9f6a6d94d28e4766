package checkpoint_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// clock is a clock that moves when it is told to.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) move(d time.Duration) { c.ns.Add(int64(d)) }

// tester is a *testing.T, a *testing.B or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

var (
	table, execute = storetest.Table, storetest.Execute
	ago, ahead     = storetest.Ago, storetest.Ahead
)

// recount compares the counters that triggers keep with what they count.
func recount(t tester, db *store.DB) {
	t.Helper()
	const kept = `SELECT source_id, kind, state, status, targets, pages, raw, accepted FROM target_totals WHERE targets <> 0 ORDER BY 1, 2, 3, 4`
	const real = `SELECT source_id, kind, state, iif(retired_at IS NULL, status, 'RETIRED'), count(*), sum(page_current), sum(raw_count), sum(accepted_count) FROM targets
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`
	if a, b := fmt.Sprint(table(t, db, kept)), fmt.Sprint(table(t, db, real)); a != b {
		t.Errorf("target_totals: %s, want %s", a, b)
	}
	const zero = `SELECT * FROM target_totals WHERE targets = 0 AND (pages <> 0 OR raw <> 0 OR accepted <> 0)`
	if left := table(t, db, zero); len(left) > 0 {
		t.Errorf("target_totals of no targets: %v", left)
	}
}
