package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// passWorld is a database of one or more sources with two targets in each state, whose runs a
// test begins and ends as it likes.
type passWorld struct {
	*bundle
	*clock
	sources map[string]int64
	counted report.PassCounts // by the commits of pages, as runs count them
}

func newPassWorld(t *testing.T, names ...string) *passWorld {
	t.Helper()
	b, c := setupClock(t, 1, "CA", "TX")
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	execute(t, b.DB(), `DELETE FROM runs`)
	w := &passWorld{bundle: b, clock: c, sources: map[string]int64{"demo": b.scope.SourceID}}
	for _, name := range names {
		id, err := b.Source(t.Context(), name, "http://127.0.0.1:1")
		noErr(t, err)
		w.sources[name] = id
		execute(t, b.DB(), fmt.Sprintf(`INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
			SELECT %d, city_id, category_id, state, population, priority, max_pages, created_at FROM targets WHERE source_id = 1`, id))
	}
	return w
}

// start starts a run over sources, a pass of each.
func (w *passWorld) start(t *testing.T, again bool, states []string, names ...string) {
	t.Helper()
	var err error
	w.run, err = w.StartRun(t.Context(), 0, "test", false)
	noErr(t, err)
	if len(names) == 1 {
		execute(t, w.DB(), fmt.Sprintf(`UPDATE runs SET source_id = %d WHERE id = %d`, w.sources[names[0]], w.run.ID))
	}
	for _, name := range names {
		var age *time.Duration
		if again {
			age = new(time.Duration(0))
		}
		scope := store.Scope{SourceID: w.sources[name], States: states}
		_, err := w.run.BeginPass(t.Context(), scope, age)
		noErr(t, err)
		_, err = w.Wake(t.Context(), scope)
		noErr(t, err)
	}
}

// crawl reads so many targets of a source, a page each with a listing of its own and those of ids.
func (w *passWorld) crawl(t *testing.T, name string, states []string, n int, ids ...string) {
	t.Helper()
	for range n {
		w.Move(time.Minute)
		c, err := w.Claim(t.Context(), checkpoint.Worker{ID: yp.WorkerID(0, 1), RunID: w.run.ID}, store.Scope{SourceID: w.sources[name], States: states}, 5)
		noErr(t, err)
		p := yp.Page{Number: 1, Last: true, Ending: yp.EndSaid}
		p.Listings = []yp.Listing{{ID: fmt.Sprintf("own-%d", c.TargetID), Name: "Own", State: c.Place.State}}
		for _, id := range ids {
			p.Listings = append(p.Listings, yp.Listing{ID: id, Name: "N" + id, State: "CA"})
		}
		p.Raw = len(p.Listings)
		w.commit(t, c, p)
	}
}

func (w *passWorld) end(t *testing.T, how checkpoint.RunOutcome) {
	t.Helper()
	w.Move(time.Minute)
	noErr(t, w.run.Finish(t.Context(), how, 0))
}

func (w *passWorld) want(t *testing.T, what string, scope store.Scope, want ...report.Pass) {
	t.Helper()
	got, err := w.Passes(t.Context(), scope)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(report.Pass{}, "SourceID", "LastRun", "Outcome", "Of"), cmpopts.EquateEmpty(),
		cmpopts.EquateApproxTime(30*time.Second)); err != nil || diff != "" {
		t.Errorf("%s: %v %s", what, err, diff)
	}
}

// TestPassOverRuns: a pass takes several runs, one of them killed, and is one from its first to its last.
func TestPassOverRuns(t *testing.T) {
	t.Parallel()
	w := newPassWorld(t)
	w.want(t, "before anything", store.Scope{})
	began := w.Now()
	w.start(t, true, nil, "demo")
	w.want(t, "before the first page", store.Scope{})
	w.crawl(t, "demo", []string{"CA", "TX"}, 1, "a")
	w.want(t, "in progress", store.Scope{}, report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Runs: 1, State: report.PassRunning, First: true, PassCounts: &report.PassCounts{New: 2}})
	w.end(t, checkpoint.OutcomeBudget)
	ended := w.Now()
	w.want(t, "a budget is used up", store.Scope{}, report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: ended}, Runs: 1, State: report.PassStopped, First: true, PassCounts: &report.PassCounts{New: 2}})
	w.Move(time.Hour)
	w.start(t, true, nil, "demo")
	w.crawl(t, "demo", []string{"CA", "TX"}, 2, "a")
	killed := w.Now()
	noErr(t, os.Remove(filepath.Join(store.LockDir(w.DB().Path()), w.run.UUID+".lock")))
	_, err := w.RecoverDead(t.Context(), store.Scope{})
	noErr(t, err)
	w.want(t, "killed", store.Scope{}, report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: killed}, Runs: 2, State: report.PassStopped, First: true, PassCounts: &report.PassCounts{New: 4}})
	w.Move(time.Hour)
	w.start(t, true, nil, "demo")
	w.crawl(t, "demo", []string{"CA", "TX"}, 1, "b")
	w.end(t, checkpoint.OutcomeDone)
	first := report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: w.Now()}, Runs: 3, State: report.PassFinished, First: true, PassCounts: &report.PassCounts{New: 6}}
	w.want(t, "finished", store.Scope{}, first)

	// A run that finds nothing to do begins another pass, which is none of the last one.
	w.Move(time.Hour)
	w.start(t, false, nil, "demo")
	w.end(t, checkpoint.OutcomeDone)
	w.want(t, "after one with nothing to do", store.Scope{}, first)

	w.Move(time.Hour)
	began = w.Now()
	w.start(t, true, nil, "demo")
	w.crawl(t, "demo", []string{"CA", "TX"}, 4, "c")
	w.end(t, checkpoint.OutcomeDone)
	w.want(t, "the next one", store.Scope{}, report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: w.Now()}, Runs: 1, State: report.PassFinished, PassCounts: &report.PassCounts{New: 1}})
	f := report.SincePasses(mustPasses(t, w), report.ChangeFilter{})
	if n, err := w.CountChanges(t.Context(), f); err != nil || n[store.EventNew] != 1 {
		t.Errorf("changes since: %v, %v", n, err)
	}
}

// TestPassFinishedWithFailures: what failed, is stuck or a dead letter does not hold a pass; it ends
// with their number, and says how many listings nobody has seen because of that. A page of a
// listing that is gone is no failure, and what an operator has set aside is not counted.
func TestPassFinishedWithFailures(t *testing.T) {
	t.Parallel()
	w, both := newPassWorld(t), []string{"CA", "TX"}
	w.start(t, true, nil, "demo")
	w.crawl(t, "demo", both, 4, "shared")
	w.end(t, checkpoint.OutcomeDone)
	w.Move(time.Hour)
	began := w.Now()
	w.start(t, true, nil, "demo")
	w.crawl(t, "demo", both, 1, "shared")
	w.end(t, checkpoint.OutcomeDone)
	want := report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: w.Now()}, Runs: 1, State: report.PassStopped, PassCounts: &report.PassCounts{}}
	left := func() string {
		ids := ""
		rows, err := w.DB().Read().QueryContext(t.Context(), `SELECT id FROM targets WHERE status = 'PLANNED' ORDER BY id`)
		noErr(t, err)
		defer rows.Close()
		for rows.Next() {
			id := ""
			noErr(t, rows.Scan(&id))
			ids += id + " "
		}
		noErr(t, rows.Err())
		return ids
	}
	w.want(t, "three planned", store.Scope{}, want)
	var a, b, c int
	if _, err := fmt.Sscan(left(), &a, &b, &c); err != nil {
		t.Fatal(err)
	}
	execute(t, w.DB(), fmt.Sprintf(`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1, wait_reason = 'backoff', not_before = '9999' WHERE id = %d`, a),
		fmt.Sprintf(`UPDATE targets SET status = 'PARKED', last_error_code = 'PARSE_ERROR' WHERE id = %d`, b), fmt.Sprintf(`UPDATE targets SET paused = 1 WHERE id = %d`, c))
	want.State, want.Failed, want.Unseen = report.PassFinished, 2, 2
	w.want(t, "one failed, one parked, one paused", store.Scope{}, want)
	const text = ", finished, 2 failed (2 listings not seen)"
	if got := mustPasses(t, w)[0].Text(); !strings.HasSuffix(got, text) {
		t.Errorf("%q does not end in %q", got, text)
	}
	execute(t, w.DB(), fmt.Sprintf(`UPDATE targets SET retired_at = '2026' WHERE id = %d`, a), `UPDATE listings SET dropped_at = '2026' WHERE listing_id = 'own-`+fmt.Sprint(b)+`'`)
	want.Failed, want.Unseen, want.PassCounts = 1, 0, &report.PassCounts{}
	w.want(t, "one retired, a listing closed", store.Scope{}, want)
}

func mustPasses(t *testing.T, w *passWorld) []report.Pass {
	t.Helper()
	all, err := w.LastPasses(t.Context(), store.Scope{})
	noErr(t, err)
	return all
}

// TestPassesOfSources: each source of a run has its own pass, begun at its own time, and what
// became of its listings is counted from then on.
func TestPassesOfSources(t *testing.T) {
	t.Parallel()
	w := newPassWorld(t, "two")
	both := []string{"CA", "TX"}
	monday := w.Now()
	w.start(t, false, nil, "demo", "two")
	w.crawl(t, "demo", both, 1)
	w.crawl(t, "two", both, 4)
	w.end(t, checkpoint.OutcomeBudget)
	w.Move(24 * time.Hour)
	tuesday := w.Now() // demo goes on; two is crawled again
	w.start(t, false, nil, "demo")
	w.crawl(t, "demo", both, 1)
	w.end(t, checkpoint.OutcomeBudget)
	w.start(t, true, nil, "two")
	began := w.Now()
	w.crawl(t, "two", both, 4, "x")
	w.end(t, checkpoint.OutcomeDone)
	ended := w.Now()
	w.Move(time.Hour)
	w.start(t, false, nil, "demo", "two") // of which two has nothing to do
	w.crawl(t, "demo", both, 2)
	w.end(t, checkpoint.OutcomeDone)
	demo := report.Pass{Source: "demo", Began: yp.Stamp{Time: monday}, Ended: yp.Stamp{Time: w.Now()}, Runs: 3, State: report.PassFinished, First: true, PassCounts: &report.PassCounts{New: 4}}
	two := report.Pass{Source: "two", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: ended}, Runs: 1, State: report.PassFinished, PassCounts: &report.PassCounts{New: 1}}
	w.want(t, "both", store.Scope{}, demo, two)
	w.want(t, "one", store.Scope{SourceID: w.sources["two"]}, two)
	if began.Before(tuesday) {
		t.Fatal("the clock stands")
	}

	// What is listed is what is counted.
	passes, n := mustPasses(t, w), 0
	if text := passes[0].Text(); !strings.HasPrefix(text, "first pass of source demo from 2026-11-20 12:00 to 2026-11-21 1") {
		t.Error(text)
	}
	since := map[string]any{"since": report.ChangesSince(report.MarkOf(passes).At, passes)}
	if n := len(strings.Fields(listed(t, w.Reader, "changes", report.Choice{Values: since, Columns: []string{"source"}}))); n != 5 {
		t.Errorf("%d changes are listed, want 4 of demo and 1 of two", n)
	}
	q := report.ListingQuery{Since: report.MarkOf(passes), Only: []report.ChangeWord{report.WordNew}}
	n = 0
	if _, err := w.EachListing(t.Context(), q, func([]any) error { n++; return nil }); err != nil || n != 5 {
		t.Errorf("%d listings are new (%v), want 5", n, err)
	}
}

// TestPassOfStates: who asks for a state gets the last pass over it.
func TestPassOfStates(t *testing.T) {
	t.Parallel()
	w := newPassWorld(t)
	began := w.Now()
	w.start(t, true, []string{"CA"}, "demo")
	w.crawl(t, "demo", []string{"CA"}, 2)
	w.end(t, checkpoint.OutcomeDone)
	ca := report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: w.Now()}, Runs: 1, State: report.PassFinished, First: true, PassCounts: &report.PassCounts{New: 2}}
	w.Move(time.Hour)
	began = w.Now()
	w.start(t, true, []string{"TX"}, "demo")
	w.crawl(t, "demo", []string{"TX"}, 2)
	w.end(t, checkpoint.OutcomeDone)
	tx := report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: w.Now()}, Runs: 1, State: report.PassFinished, First: true, PassCounts: &report.PassCounts{New: 2}}
	w.want(t, "CA", store.Scope{States: []string{"CA"}}, ca)
	w.want(t, "TX", store.Scope{States: []string{"TX"}}, tx)
	w.want(t, "all", store.Scope{}, tx)
	w.want(t, "none", store.Scope{States: []string{"NV"}})

	// A pass over both that has nothing to do in one of them is none of that one's.
	w.Move(time.Hour)
	execute(t, w.DB(), `UPDATE targets SET paused = 1 WHERE state = 'CA'`)
	began = w.Now()
	w.start(t, true, []string{"CA", "TX"}, "demo")
	w.crawl(t, "demo", []string{"TX"}, 2, "x")
	w.end(t, checkpoint.OutcomeDone)
	later := report.Pass{Source: "demo", Began: yp.Stamp{Time: began}, Ended: yp.Stamp{Time: w.Now()}, Runs: 1, State: report.PassFinished, PassCounts: &report.PassCounts{New: 1}}
	ca.PassCounts.New = 3 // the listing that TX shows is one of CA
	w.want(t, "CA, beside", store.Scope{States: []string{"CA"}}, ca)
	w.want(t, "all, the later one", store.Scope{}, later)
	later.PassCounts = &report.PassCounts{}
	w.want(t, "TX, the later one", store.Scope{States: []string{"TX"}}, later)
	city := store.Scope{CityIDs: []int64{0}}
	noErr(t, w.DB().Read().QueryRowContext(t.Context(), `SELECT min(city_id) FROM targets WHERE state = 'CA'`).Scan(&city.CityIDs[0]))
	passes, err := w.LastPasses(t.Context(), city)
	noErr(t, err)
	if len(passes) != 1 || !passes[0].Began.Equal(ca.Began.Time) {
		t.Errorf("of a city of CA: %+v", passes)
	}
}
