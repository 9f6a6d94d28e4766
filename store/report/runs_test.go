package report_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// TestRuns: what a run did is told from what it left, and what was deleted is told as not known.
func TestRuns(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA")
	noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(0, 1), "amber", checkpoint.Usage{Memory: 50e6}))
	_, err := b.run.BeginPass(t.Context(), store.Scope{SourceID: b.scope.SourceID, States: []string{"CA"}, MinPopulation: 10}, new(36*time.Hour))
	noErr(t, err)
	c := b.claim(t, 0)
	c.Requests = []store.Request{
		{SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Correlation: "x", Type: yp.RequestListing, URL: "http://h/", Started: clock.Now(), Results: 2, Waited: 3 * time.Second, WaitReason: "pace", Bytes: 7},
		{SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Correlation: "y", Type: yp.RequestListing, URL: "http://h/", Started: clock.Now(), Class: yp.ClassTimeout},
	}
	b.commit(t, c, page(false, "a", "b"))
	clock.Move(10 * time.Second)
	_, err = b.Fail(t.Context(), c, yp.CodeTimeout, "slow")
	noErr(t, err)
	says := func(what, want string, values ...any) {
		t.Helper()
		if got := fmt.Sprint(values...); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	ask := func() *report.RunDetail {
		t.Helper()
		d, err := b.ShowRun(t.Context(), b.run.ID)
		noErr(t, err)
		return d
	}
	d := ask()
	says("under way", "under way[] 10alive2", d.Ended, d.ExitCodes, d.Seconds, d.State, d.Requests)
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 3))
	d = ask()
	says("ended", "all due work was done[0 3] 10 1 1 0 2 2 3 2 3 []", d.Ended, d.ExitCodes, d.Seconds, d.Pages, *d.Results, *d.OwnPages, *d.Found, d.New, d.Requests, d.RequestsKept, d.Waited, d.Pruned)
	says("attempts", "[{search failed 1}] [{TIMEOUT 1 1}] [{listing failure timeout 1 0} {listing success  1 7}] [{pace 3}]", d.Attempts, d.Errors, d.Outcomes, d.Waits)
	says("selection", "CA, cities from 10 inhabitants up, again what was crawled 1d12h before or earlier", d.Passes[0].Text())
	says("list", "done|0 or 3|1", listed(t, b.Reader, "runs list", report.Choice{Columns: []string{"state", "exit_code", "pages"}, Limit: 1}))

	execute(t, b.DB(), `DELETE FROM requests`, `DELETE FROM crawl_attempts`)
	d = ask()
	says("without attempts", "true true 1 1 [attempts requests]", d.Results == nil, d.Found == nil, d.Pages, d.Workers.Claims, d.Pruned)
	execute(t, b.DB(), `DELETE FROM workers`)
	d = ask()
	says("without workers", "true true [workers attempts requests]", d.Results == nil, d.Workers == nil, d.Pruned)
	var unknown *report.NotFoundError
	if _, err := b.ShowRun(t.Context(), 99); !errors.As(err, &unknown) {
		t.Errorf("run 99: %v", err)
	}
}
