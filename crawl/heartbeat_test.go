package crawl_test

import (
	"net/http"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on(target, func(rw http.ResponseWriter, r *http.Request) {
		waitFor(t, func() bool { r := w.row(1); return r.Heartbeat > r.ClaimedAt })
		first := w.row(1).Heartbeat
		waitFor(t, func() bool { return w.row(1).Heartbeat > first })                 // the line of the first one is written before
		waitFor(t, func() bool { return w.number("SELECT requests FROM runs") == 1 }) // robots.txt
		ok(page("", shops(1, 3)...))(rw, r)
	})
	w.done(func(c *crawl.Config) { c.Heartbeat = time.Millisecond })
	w.is(1, yp.Done, 1, "")
	if cpuTime() > 0 && w.number("SELECT count(*) FROM workers WHERE cpu_ms > 0") != 1 {
		t.Error("what the process takes of the processors is not known")
	}
	beats := 0
	for _, e := range w.events() {
		if e.Type == wal.Heartbeat && e.Target != nil && e.Target.ID == 1 {
			beats++
		}
	}
	if beats == 0 {
		t.Error("no heartbeat with the target in hand stands in the log")
	}
}

// TestLogs: every worker has a log of its own, and a line names its run and target.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 6})
	all := meeting(t, 3)
	for i := range 6 {
		w.on(city(i), after(all, ok(page("", shops(i+1, 1)...))))
	}
	w.done(workers(3))
	names := map[string]int{}
	for _, e := range w.events() {
		names[e.WorkerID]++
		if e.Run != w.run.UUID || e.Target == nil || e.Target.Source != "test" || e.Target.State != "CA" {
			t.Errorf("event %+v", e)
		}
		if e.Type == wal.PageComplete && (len(e.Page.Listings) != 1 || e.Page.Raw != 1 || !e.Page.Last) {
			t.Errorf("page %+v", e.Page)
		}
	}
	storetest.Equal(t, len(names), 3, "workers with logs")
}
