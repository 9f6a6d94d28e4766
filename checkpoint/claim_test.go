package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// bundle is a database with a source, a run and planned targets.
type bundle struct {
	*checkpoint.Keeper
	*report.Reader
	run   *checkpoint.Run
	scope store.Scope
	cats  []int64 // ids of plumbers and dentists
}

func setup(t testing.TB, cities int, states ...string) *bundle {
	t.Helper()
	return setupOn(t, storetest.Open(t), cities, states...)
}

// setupClock is setup with a clock that moves when it is told to.
func setupClock(t testing.TB, cities int, states ...string) (*bundle, *clock) {
	t.Helper()
	db, c := storetest.OpenClock(t)
	return setupOn(t, db, cities, states...), c
}

func setupOn(t testing.TB, db *store.DB, cities int, states ...string) *bundle {
	t.Helper()
	b := &bundle{Keeper: checkpoint.New(db), Reader: report.New(db), cats: []int64{1, 2}}
	b.scope = storetest.World{Cities: storetest.Cities(cities, states...), Pages: storetest.TierPages}.Plant(t, db)
	var err error
	b.run, err = b.StartRun(t.Context(), b.scope.SourceID, "test", false)
	noErr(t, err)
	t.Cleanup(func() { _ = b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0) })
	return b
}

func (b *bundle) worker(n int) checkpoint.Worker {
	return checkpoint.Worker{ID: yp.WorkerID(n, 1), RunID: b.run.ID}
}

func (b *bundle) claim(t testing.TB, n int) *checkpoint.Claim {
	t.Helper()
	c, err := b.Claim(t.Context(), b.worker(n), b.scope, 5)
	noErr(t, err)
	return c
}

// wake plans what is due, and says how much.
func (b *bundle) wake(t tester, s store.Scope) int {
	t.Helper()
	n, err := b.Wake(context.Background(), s)
	noErr(t, err)
	return n
}

// save commits a page that must be taken.
func (b *bundle) save(t tester, c *checkpoint.Claim, p yp.Page) checkpoint.Committed {
	t.Helper()
	out, err := b.CommitPage(context.Background(), c, p)
	noErr(t, err)
	return out
}

// nothing fails the test if a worker can claim something.
func (b *bundle) nothing(t tester, s store.Scope) {
	t.Helper()
	if c, err := b.Claim(context.Background(), b.worker(9), s, 5); !errors.Is(err, checkpoint.ErrNothing) {
		t.Errorf("claimed %+v (%v), want nothing", c, err)
	}
}

// recovers compares what is taken back of dead runs.
func (b *bundle) recovers(t tester, s store.Scope, want checkpoint.Recovered) {
	t.Helper()
	got, err := b.RecoverDead(context.Background(), s)
	noErr(t, err)
	storetest.Equal(t, got, want, "recovered")
}

// chosen is how many targets an operation would change.
func (b *bundle) chosen(t tester, o checkpoint.Operation, c checkpoint.Chosen) int {
	t.Helper()
	n, err := b.CountChosen(context.Background(), o, c)
	noErr(t, err)
	return n
}

// ready is how many targets of a scope can be claimed, up to a limit.
func (b *bundle) ready(t tester, s store.Scope, limit int) int {
	t.Helper()
	o, err := b.Look(context.Background(), s, limit, time.Hour)
	noErr(t, err)
	return o.Ready
}

// orphan takes back whatever is held, as of a worker whose heartbeat has stopped.
func (b *bundle) orphan(t tester) checkpoint.Recovered {
	t.Helper()
	execute(t, b.DB(), `UPDATE targets SET heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`)
	rec, err := b.RecoverStale(context.Background(), store.Scope{}, time.Hour)
	noErr(t, err)
	return rec
}

// TestClaim: what is claimed is of the scope, and tells all of its target. (In which order, the model says.)
func TestClaim(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA")
	b.scope.CategoryIDs, b.scope.CityIDs = b.cats[1:], []int64{3}
	c := b.claim(t, 0)
	want := yp.Place{City: "City 2", CitySlug: "city-2-ca", State: "CA", Category: "Dentists", CategorySlug: "dentists"}
	if c.Place != want || c.Token != 1 || c.PageCurrent != 0 {
		t.Errorf("claimed %+v, want %+v", c, want)
	}
	b.nothing(t, b.scope)
}

type (
	clock  = storetest.Clock
	tester = storetest.Tester
)

var (
	cards, page                 = storetest.Cards, storetest.Page
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
