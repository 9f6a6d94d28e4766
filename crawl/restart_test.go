package crawl_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"ypcrawl/crawl"
)

// TestRestartLoop: a process that is started again and again, and ended after its
// first request each time, can't hammer a host that says no.
func TestRestartLoop(t *testing.T) {
	t.Parallel()
	c := newClock()
	w := setup(t, layout{cities: 40, now: c.Now})
	for n := range 40 {
		w.on(city(n), status(http.StatusForbidden, shell("no")))
	}
	for range 40 {
		e := w.engine(func(cfg *crawl.Config) { cfg.Budget.Requests, cfg.Patience = 1, time.Millisecond })
		var blocked *crawl.BlockedError
		if err := w.crawl(e); err != nil && !errors.Is(err, crawl.ErrBudget) && !errors.As(err, &blocked) {
			t.Fatal(err)
		}
		c.Move(time.Second)
	}
	// In 40 s: the first block is free, the second rests the host for 30 s, the third for 60 s.
	w.askedTimes(3)
	w.counts("blocks in a row are stored", 3, `SELECT blocks FROM hosts`)
}
