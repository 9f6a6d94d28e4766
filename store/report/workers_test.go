package report_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func workersText(runs []report.RunWorkers) (out []string) {
	for _, r := range runs {
		out = append(out, fmt.Sprintf("run %d %s %s", r.ID, r.State, r.Why))
		for _, w := range r.Workers {
			rate := "-"
			if w.Rate != nil {
				rate = fmt.Sprintf("%.2f/%.0fs", *w.Rate, *w.RateSpan)
			}
			out = append(out, fmt.Sprintf("  %s %s target %d page %d of %d, rate %s", w.Name, w.State, w.TargetID, w.Page, w.Pages, rate))
		}
	}
	return out
}

// TestWorkers: who works, who is silent, who has ended, and how fast each reads.
func TestWorkers(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 8, "CA")
	ask := func(ended int) []string {
		t.Helper()
		runs, err := b.Workers(t.Context(), ended)
		noErr(t, err)
		return workersText(runs)
	}
	same(t, "before the first one", ask(0), []string{"run 1 alive "})
	first, second := yp.WorkerID(0, 1), yp.WorkerID(1, 1)
	noErr(t, b.run.Enlist(t.Context(), first, "amber", checkpoint.Usage{Memory: 50e6, CPU: time.Second}))
	noErr(t, b.run.Enlist(t.Context(), second, "birch", checkpoint.Usage{}))
	c := b.claim(t, 0)
	p := page(false, "a")
	c.Requests = append(c.Requests, store.Request{
		SourceID: b.scope.SourceID, TargetID: c.TargetID, ClaimToken: c.Token, Page: 1, Type: yp.RequestListing, Correlation: "x", URL: "http://h/", Started: clock.Now(),
	})
	b.commit(t, c, p)
	clock.Move(10 * time.Second)
	_, err := b.run.Heartbeat(t.Context(), 1, checkpoint.Usage{Memory: 60e6, CPU: 3 * time.Second})
	noErr(t, err)
	at := fmt.Sprint(c.TargetID)
	same(t, "at work", ask(0), []string{"run 1 alive ", "  amber (1) alive target " + at + " page 2 of 1, rate 0.10/10s", "  birch (1) alive target 0 page 0 of 0, rate 0.00/10s"})
	runs, err := b.Workers(t.Context(), 0)
	noErr(t, err)
	if w := runs[0].Workers[0]; w.Memory != 60e6 || w.CPUMS == nil || *w.CPUMS != 3000 {
		t.Errorf("%+v", w)
	}
	noErr(t, b.run.Dismiss(t.Context(), second, checkpoint.Usage{Memory: 70e6, CPU: 4 * time.Second}))
	runs, err = b.Workers(t.Context(), 0)
	noErr(t, err)
	if w := runs[0].Workers[1]; w.Memory != 70e6 || w.CPUMS == nil || *w.CPUMS != 4000 {
		t.Errorf("at its end: %+v", w)
	}
	clock.Move(10 * time.Minute)
	same(t, "no heartbeat", ask(0), []string{
		"run 1 silent its process is alive, but has sent no heartbeat since 12:00:10Z", "  amber (1) silent target " + at + " page 2 of 1, rate -", "  birch (1) ended target 0 page 0 of 0, rate 0.00/10s",
	})
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	same(t, "none is left", ask(0), nil)
	same(t, "the last one that ended", ask(1), []string{
		"run 1 ended its run ended: done", "  amber (1) ended target 0 page 0 of 1, rate 0.00/610s", "  birch (1) ended target 0 page 0 of 0, rate 0.00/10s",
	})
	same(t, "all", ask(-1), ask(1))
}

// TestWorkersOfTheDead: a process that is not there holds no lock; of another machine only
// the heartbeat is known.
func TestWorkersOfTheDead(t *testing.T) {
	t.Parallel()
	c := &clock{}
	b := setupOn(t, storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: c.Now}), 1, "CA")
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	row := func(id int, host string, beat time.Duration) string {
		return fmt.Sprintf(`INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at) VALUES (%d, 'UUID%d', %s, 1, 'x', '%s', '%s')`,
			id, id, host, yp.FormatTime(c.Now()), yp.FormatTime(c.Now().Add(-beat)))
	}
	execute(t, b.DB(), row(2, "(SELECT host FROM runs WHERE id = 1)", 0), row(3, "'elsewhere'", time.Minute), row(4, "'elsewhere'", time.Hour))
	runs, err := b.Workers(t.Context(), 0)
	noErr(t, err)
	same(t, "states", workersText(runs), []string{
		"run 4 silent its machine has sent no heartbeat since 11:00:00Z",
		"run 3 alive ", "run 2 silent its process is dead; the next run recovers its targets",
	})
}
