package report_test

import (
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// bundle is a database with a source, a run and planned targets, and the Reader of it.
type bundle struct {
	*checkpoint.Keeper
	*report.Reader
	run   *checkpoint.Run
	scope store.Scope
}

type clock = storetest.Clock

var (
	table, execute, noErr, same = storetest.Table, storetest.Execute, storetest.NoError, storetest.Same
	ago, ahead                  = storetest.Ago, storetest.Ahead
)

// setup plans two categories in so many cities of each state.
func setup(t *testing.T, cities int, states ...string) *bundle {
	t.Helper()
	return setupOn(t, storetest.Open(t), cities, states...)
}

// setupClock is setup with a clock that moves when it is told to.
func setupClock(t *testing.T, cities int, states ...string) (*bundle, *clock) {
	t.Helper()
	db, c := storetest.OpenClock(t)
	return setupOn(t, db, cities, states...), c
}

func setupOn(t *testing.T, db *store.DB, cities int, states ...string) *bundle {
	t.Helper()
	b := &bundle{Keeper: checkpoint.New(db), Reader: report.New(db)}
	b.scope = storetest.World{Cities: storetest.Cities(cities, states...), Pages: storetest.TierPages}.Plant(t, db)
	var err error
	b.run, err = b.StartRun(t.Context(), b.scope.SourceID, "test", false)
	noErr(t, err)
	t.Cleanup(func() { _ = b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0) })
	return b
}

// mixed is a database with one target of every kind, ids 1 to 10, and the rest due.
func mixed(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 8, "CA", "TX") // 32 targets: cities in order, both states, both categories
	storetest.Mixed(t, b.DB())
	return b
}

func (b *bundle) claim(t *testing.T, n int) *checkpoint.Claim {
	t.Helper()
	c, err := b.Claim(t.Context(), checkpoint.Worker{ID: yp.WorkerID(n, 1), RunID: b.run.ID}, b.scope, 5)
	noErr(t, err)
	return c
}

// commit stores a page of a claim.
func (b *bundle) commit(t *testing.T, c *checkpoint.Claim, p yp.Page) {
	t.Helper()
	_, err := b.CommitPage(t.Context(), c, p)
	noErr(t, err)
}

// page is a first page with listings of these ids.
func page(last bool, ids ...string) yp.Page { return storetest.Page(1, last, ids...) }
