package crawl_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

// TestSharedState: two processes want the same state, and the first has taken all the places
// that --max-per-state gives. The second says what it waits for, and gets its half of them as
// they fall free, while the first has work left.
func TestSharedState(t *testing.T) {
	t.Parallel()
	const cities, places = 12, 4
	w := setup(t, layout{cities: cities})
	pass := make(chan struct{})
	for n := range cities {
		w.on(city(n), func(rw http.ResponseWriter, r *http.Request) {
			signalled(t, "leave to answer", pass)
			ok(page("", shops(10*n+1, 3)...))(rw, r)
		})
	}
	p := w.peer()
	start := func(w *world) (*crawl.Engine, <-chan error) {
		e := w.engine(workers(places), func(c *crawl.Config) { c.MaxPerState = places })
		e.SetLook(time.Millisecond)
		return e, w.begin(t.Context(), e)
	}
	hold := func(first, second int64) func() bool {
		const held = "SELECT count(*) FROM targets WHERE status = 'IN_PROGRESS' AND run_id = ?"
		return func() bool { return w.number(held, w.run.ID) == first && w.number(held, p.run.ID) == second }
	}
	_, first := start(w)
	waitFor(t, hold(places, 0))
	e, second := start(p)
	waitFor(t, func() bool {
		return strings.Contains(e.Waiting(), "waiting: other runs work on 4 targets in CA, as many as --max-per-state allows")
	})
	for n := range int64(places / 2) {
		pass <- struct{}{}
		waitFor(t, hold(places-1-n, 1+n))
	}
	if why := e.Waiting(); why != "" {
		t.Errorf("the second still says %q", why)
	}
	close(pass)
	for _, done := range []<-chan error{first, second} {
		storetest.NoError(t, w.wait(done))
	}
	if n := w.number("SELECT count(*) FROM targets WHERE status = 'DONE'"); n != cities || len(w.asked()) != cities {
		t.Errorf("%d targets are done with %d requests, want %d of both", n, len(w.asked()), cities)
	}
}
