package report_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// TestWorkers: who works on what, how fast, and with what.
func TestWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t, 8, "CA")
	ask := func(all bool) string {
		t.Helper()
		choice := report.Choice{Values: map[string]any{}, Columns: strings.Fields("worker state target_id page pages memory_bytes cpu_ms")}
		if all {
			choice.Values["all"] = true
		}
		return listed(t, b.Reader, "workers", choice)
	}
	first, second := yp.WorkerID(0, 1), yp.WorkerID(1, 1)
	noErr(t, b.run.Enlist(t.Context(), first, "amber", checkpoint.Usage{Memory: 50e6, CPU: time.Second}))
	noErr(t, b.run.Enlist(t.Context(), second, "birch", checkpoint.Usage{}))
	c := b.claim(t, 0)
	c.Requests = append(c.Requests, store.Request{
		SourceID: b.scope.SourceID, TargetID: c.TargetID, ClaimToken: c.Token, Page: 1, Type: yp.RequestListing, Correlation: "x", URL: "http://h/", Started: time.Now(),
	})
	b.commit(t, c, page(false, "a"))
	if got, want := ask(false), fmt.Sprintf("amber (%[2]d)|running|%[1]d|2|1|50000000|1000 birch (%[2]d)|running|<nil>|<nil>|0|<nil>|<nil>", c.TargetID, os.Getpid()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// Begun ten seconds ago, it has read a page of the last minute.
	execute(t, b.DB(), `UPDATE workers SET started_at = '`+ago(10*time.Second)+`'`)
	if got := listed(t, b.Reader, "workers", report.Choice{Columns: []string{"pages_per_second"}}); got != "0.1 0" {
		t.Errorf("rates %s", got)
	}
	noErr(t, b.run.Dismiss(t.Context(), second, checkpoint.Usage{Memory: 70e6, CPU: 4 * time.Second}))
	if got := ask(true); !strings.HasSuffix(got, ")|ended|<nil>|<nil>|0|70000000|4000") || strings.Contains(ask(false), "birch") {
		t.Error(got)
	}
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	if got := ask(false); got != "" {
		t.Error("none is left:", got)
	}
}

// TestRunsOfTheDead: a process that is not there holds no lock; of another machine only the heartbeat is known.
func TestRunsOfTheDead(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 0))
	row := func(id int, host string, beat time.Duration) string {
		return fmt.Sprintf(`INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at) VALUES (%d, 'UUID%d', %s, 1, 'x', '%s', '%s')`, id, id, host, ago(0), ago(beat))
	}
	execute(t, b.DB(), row(2, "(SELECT host FROM runs WHERE id = 1)", 0), row(3, "'elsewhere'", time.Minute), row(4, "'elsewhere'", time.Hour))
	if got := listed(t, b.Reader, "runs list", report.Choice{Columns: []string{"run", "state"}}); got != "4|silent 3|running 2|killed 1|done" {
		t.Error(got)
	}
}
