package checkpoint_test

import (
	"fmt"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

type (
	clock  = storetest.Clock
	tester = storetest.Tester
)

var (
	table, execute, noErr, same = storetest.Table, storetest.Execute, storetest.NoError, storetest.Same
	ago, ahead                  = storetest.Ago, storetest.Ahead
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
