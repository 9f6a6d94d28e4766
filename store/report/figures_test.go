package report_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// wander crawls some of what is there, as chance will have it: some targets to a confirmed end,
// some to the limit of pages, some not to the end of it; listings are shared between searches, states and pages.
func (w *passWorld) wander(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	names := []string{"demo", "two"}
	w.start(t, rnd.IntN(2) == 0, nil, names...)
	for range 4 + rnd.IntN(9) {
		name := names[rnd.IntN(2)]
		w.Move(time.Minute)
		c, err := w.Claim(t.Context(), checkpoint.Worker{ID: yp.WorkerID(0, 1), RunID: w.run.ID}, store.Scope{SourceID: w.sources[name], States: []string{"CA", "TX"}}, 9)
		if err != nil {
			continue // nothing is left
		}
		total := 0
		if rnd.IntN(3) > 0 {
			total = 1 + rnd.IntN(40)
		}
		for n := c.PageCurrent + 1; ; n++ {
			p := yp.Page{Number: n, NextURL: "/next", SiteTotal: total, Last: n >= c.MaxPages || rnd.IntN(4) == 0}
			if p.Last && rnd.IntN(2) == 0 {
				p.Ending, p.NextURL = yp.EndSaid, ""
			}
			for range rnd.IntN(5) {
				l := yp.Listing{ID: fmt.Sprint(rnd.IntN(40)), Name: "Name", State: []string{"CA", "TX", "NV", ""}[rnd.IntN(4)]}
				if !slices.ContainsFunc(p.Listings, func(x yp.Listing) bool { return x.ID == l.ID }) {
					p.Listings = append(p.Listings, l)
				}
			}
			p.Raw = len(p.Listings)
			out, err := w.CommitPage(t.Context(), c, p)
			noErr(t, err)
			w.counted.New, w.counted.Changed = w.counted.New+int64(out.New), w.counted.Changed+int64(out.Changed)
			w.counted.Dropped, w.counted.Restored = w.counted.Dropped+int64(c.Dropped), w.counted.Restored+int64(out.Restored)
			if out.Done {
				break
			}
			if rnd.IntN(6) == 0 {
				noErr(t, w.Release(t.Context(), c, "stop"))
				break
			}
		}
	}
	w.end(t, checkpoint.OutcomeDone)
	w.Move(8 * 24 * time.Hour) // all is due again
}

// TestFiguresAgree: what progress, coverage, changes and exports tell of random crawls is what
// plain SQL over the views and tables tells.
func TestFiguresAgree(t *testing.T) {
	t.Parallel()
	dropped, limited := int64(0), int64(0) // a test over crawls without any would show nothing
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			w := newPassWorld(t, "two")
			for range 1 + rnd.IntN(3) {
				w.wander(t, rnd)
				if rnd.IntN(2) == 0 {
					execute(t, w.DB(), fmt.Sprintf(`UPDATE listings SET dropped_at = '%s' WHERE id = %d`, yp.FormatTime(w.Now()), 1+rnd.IntN(30)))
				}
			}
			f := w.agree(t, store.Scope{})
			w.agree(t, store.Scope{States: []string{"CA"}})
			w.agree(t, store.Scope{States: []string{"TX"}})
			n, err := w.CountChanges(t.Context(), report.ChangeFilter{})
			noErr(t, err)
			got := report.PassCounts{New: n[store.EventNew], Changed: n[store.EventChanged], Dropped: n[store.EventDropped], Restored: n[store.EventRestored]}
			if got != w.counted {
				t.Errorf("changes tell of %+v, the runs of %+v", got, w.counted)
			}
			w.agreeOverTime(t)
			dropped, limited = dropped+f.Overall.Dropped, limited+f.Coverage.Unread.MaxPages
			w.agree(t, store.Scope{SourceID: w.sources["two"]})
			w.agree(t, store.Scope{States: []string{"CA", "TX"}})
		})
	}
	if dropped == 0 || limited == 0 {
		t.Errorf("%d listings dropped, %d targets at the limit of pages", dropped, limited)
	}
}

func (w *passWorld) agree(t *testing.T, scope store.Scope) *report.Progress {
	t.Helper()
	states, source := store.JSONTexts(scope.States), scope.SourceID
	number := func(query string) (n int64) {
		t.Helper()
		noErr(t, w.DB().Read().QueryRowContext(t.Context(), query, source, states).Scan(&n))
		return n
	}
	want := func(what string, got int64, query string) {
		t.Helper()
		if n := number(query); got != n {
			t.Errorf("%+v: %s: %d, and %d by SQL", scope, what, got, n)
		}
	}
	const (
		searches = ` FROM targets t WHERE t.kind = 'search' AND (?1 = 0 OR t.source_id = ?1) AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))`
		ofView   = ` AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1)) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
		own      = ` FROM v_listings WHERE (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
			AND (?2 = '[]' OR coalesce(state, searched_state) IN (SELECT value FROM json_each(?2)))`
		first = `SELECT count(*) FROM listings l WHERE (?1 = 0 OR l.source_id = ?1) AND (?2 = '[]' OR l.found_state IN (SELECT value FROM json_each(?2)))`
	)
	p, err := w.Progress(t.Context(), scope)
	noErr(t, err)
	f, err := w.Figures(t.Context(), scope)
	noErr(t, err)
	p.Figures = f
	want("listings", p.Overall.Listings, first)
	want("dropped", p.Overall.Dropped, first+` AND l.dropped_at IS NOT NULL`)
	sum := int64(0)
	for _, s := range p.States.Rows {
		n := p.States.Value(s, "listings").(int64)
		sum += n
		want("first seen in a state", n, first+` AND l.found_state = '`+s[0].(string)+`'`)
	}
	if sum != p.Overall.Listings {
		t.Errorf("first seen: %d by state, %d in all", sum, p.Overall.Listings)
	}
	rows := func(q report.ListingQuery) (n int64) {
		q.Scope = scope
		_, err := w.EachListing(t.Context(), q, func([]any) error { n++; return nil })
		noErr(t, err)
		return n
	}
	want("rows of an export", rows(report.ListingQuery{}), `SELECT count(*)`+own+` AND dropped_at IS NULL`)
	want("rows with dropped ones", rows(report.ListingQuery{Dropped: report.DroppedYes}), `SELECT count(*)`+own)
	if len(scope.States) == 0 {
		want("listings of progress", p.Overall.Listings, `SELECT count(*)`+own)
		if o := p.Overall; rows(report.ListingQuery{}) != o.Listings-o.Dropped {
			t.Errorf("%d dropped, %d in all, %d in an export", o.Dropped, o.Listings, rows(report.ListingQuery{}))
		}
		n, err := w.CountChanges(t.Context(), report.ChangeFilter{Scope: scope})
		noErr(t, err)
		if n[store.EventNew] != p.Overall.Listings {
			t.Errorf("%d new since the beginning, %d found", n[store.EventNew], p.Overall.Listings)
		}
	}
	c, u := f.Coverage, f.Coverage.Unread
	want("targets", c.All(), `SELECT count(*)`+searches+` AND t.retired_at IS NULL`)
	want("targets of progress", p.Overall.Targets, `SELECT count(*)`+searches+` AND t.retired_at IS NULL`)
	want("crawled", c.Targets, `SELECT count(*) FROM v_coverage WHERE crawled`+ofView)
	want("seen", c.Seen, `SELECT ifnull(sum(seen), 0) FROM v_coverage WHERE crawled`+ofView)
	want("pages left", c.PagesLeft, `SELECT ifnull(sum(pages_left), 0) FROM v_coverage WHERE crawled`+ofView)
	want("pages", p.Overall.Pages, `SELECT ifnull(sum(page_current), 0)`+searches)
	want("not read to the end", u.Targets, `SELECT count(*)`+searches+` AND t.retired_at IS NULL AND NOT (t.status = 'DONE' AND t.complete_at IS t.finished_at)`)
	if parts := u.MaxPages + u.Unconfirmed + u.Begun + u.Failed + u.Again + u.Never; parts != u.Targets {
		t.Errorf("%d not read to the end, %d by cause: %+v", u.Targets, parts, u)
	}
	w.agreeOnPasses(t, scope, f.Passes)
	return p
}

// agreeOverTime holds what runs count of their listings, and what the roll-up adds up of it by source, to the commits.
func (w *passWorld) agreeOverTime(t *testing.T) {
	t.Helper()
	noErr(t, health.New(w.DB()).RollSeries(t.Context()))
	var runs, passes report.PassCounts
	all, err := w.RunChanges(t.Context(), store.Scope{}, 0)
	noErr(t, err)
	for _, r := range all {
		runs.New, runs.Changed, runs.Dropped, runs.Restored = runs.New+r.New, runs.Changed+r.Changed, runs.Dropped+r.Dropped, runs.Restored+r.Restored
	}
	of, err := w.PassChanges(t.Context(), store.Scope{}, time.Time{})
	noErr(t, err)
	for _, p := range of {
		passes.New, passes.Changed, passes.Dropped, passes.Restored = passes.New+p.New, passes.Changed+p.Changed, passes.Dropped+p.Dropped, passes.Restored+p.Restored
	}
	if runs != w.counted || passes != w.counted {
		t.Errorf("the commits of %+v, runs of %+v, passes by source of %+v", w.counted, runs, passes)
	}
}

// agreeOnPasses holds the counts of passes to the list of changes since they began.
func (w *passWorld) agreeOnPasses(t *testing.T, scope store.Scope, passes []report.Pass) {
	t.Helper()
	if len(passes) == 0 {
		return
	}
	filter := report.SincePasses(passes, report.ChangeFilter{Scope: scope})
	listed := map[string]int64{}
	choice := report.Choice{Values: map[string]any{"since": report.ChangesSince(report.MarkOf(passes).At, passes)}, Columns: []string{"source", "kind"}}
	if len(scope.States) > 0 {
		choice.Values["states"] = scope.States
	}
	var found rows
	noErr(t, w.List(t.Context(), report.Find("changes"), choice, &found))
	for _, row := range found.texts {
		listed[strings.ReplaceAll(row, "|", " ")]++
	}
	for _, p := range passes {
		if listed[p.Source+" new"] != p.New || listed[p.Source+" changed"] != p.Changed {
			t.Errorf("%+v: pass of %s: %+v, listed: %v", scope, p.Source, p.PassCounts, listed)
		}
	}
	n, err := w.CountChanges(t.Context(), filter)
	noErr(t, err)
	total := int64(0)
	for _, p := range passes {
		total += p.New
	}
	if n[store.EventNew] != total {
		t.Errorf("%+v: %d new since the passes began, %d by pass", scope, n[store.EventNew], total)
	}
}
