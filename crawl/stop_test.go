package crawl_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// announced tells of every Get as it begins.
type announced struct {
	crawl.Fetcher
	began chan string
}

func (a announced) Get(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	select {
	case a.began <- req.URL:
	default:
	}
	return a.Fetcher.Get(ctx, req)
}

// nothingHeld: a stop leaves no target in progress and no claim behind.
func nothingHeld(w *world) {
	w.t.Helper()
	w.counts("targets are in progress after the stop", 0, "SELECT count(*) FROM targets WHERE status = 'IN_PROGRESS'")
}

// TestStopWaiting stops a run while its only worker waits, and then lets another
// engine finish the work.
func TestStopWaiting(t *testing.T) {
	for _, tt := range []struct {
		name  string
		delay time.Duration // between requests
		base  time.Duration // of retries
		page2 http.HandlerFunc
		gets  int // after which the worker waits
		pages int // committed before
		later time.Duration
	}{
		{"for the pace", time.Hour, 0, nil, 1, 0, 3 * time.Hour},
		{"in a Retry-After", 0, 0, inTurn(tooMany("599"), ok(page(target+"?page=3", shops(4, 3)...))), 3, 1, 599 * time.Second},
		{"in the pause before a retry", 0, time.Hour, inTurn(status(500, ""), ok(page(target+"?page=3", shops(4, 3)...))), 2, 1, 0},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			threePages(w)
			if tt.page2 != nil {
				w.on(target+"?page=2", tt.page2)
			}
			w.fetch.DelayMin = tt.delay
			began := make(chan string, 9)
			e := w.engine(func(c *crawl.Config) {
				c.RetryBase = max(tt.base, time.Microsecond)
				c.Fetch = announced{c.Fetch, began}
			})
			done := w.begin(t.Context(), e)
			for range tt.gets {
				<-began
			}
			time.Sleep(time.Second)
			e.Stop(crawl.ErrInterrupted)
			stopped := time.Now()
			endedBy(t, w.wait(done), crawl.ErrInterrupted)
			took(t, stopped, 0, 10*time.Millisecond) // the writer may wait 2 ms for others
			w.is(1, yp.Planned, tt.pages, "")
			nothingHeld(w)
			w.done()
			took(t, stopped, tt.later-time.Second, tt.later+time.Second) // a restart lifts no hold
			w.is(1, yp.Done, 3, "")
			w.stored("1 2 3 4 5 6 7 8")
		})
	}
}

// TestStop stops a run while its workers work, or have nothing to do.
func TestStop(t *testing.T) {
	t.Parallel()
	parallel(t, "in a request: the page is finished and committed", func(t *testing.T) {
		w := setup(t, layout{cities: 6})
		asked, answer := make(chan struct{}, 6), make(chan struct{})
		for i := range 6 {
			w.on(city(i), func(rw http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-answer
				ok(page(r.URL.Path+"?page=2", shops(10*i+1, 3)...))(rw, r)
			})
		}
		e := w.engine(workers(3))
		done := w.begin(t.Context(), e)
		for range 3 {
			signalled(t, "a request", asked)
		}
		e.Stop(crawl.ErrInterrupted)
		close(answer)
		endedBy(t, w.wait(done), crawl.ErrInterrupted)
		nothingHeld(w)
		w.counts("pages in hand were committed",
			3, "SELECT count(*) FROM targets WHERE page_current = 1 AND accepted_count = 3 AND status = 'PLANNED'")
		if st := e.Stats(); st.Released != 3 || st.Pages != 3 || st.Targets != 0 {
			t.Errorf("stats %+v", st)
		}
		w.askedTimes(3)
		for id := range int64(3) {
			if a := w.attempts(id + 1); len(a) != 1 || a[0].String() != "released 200: committed" || a[0].Message != "the run stops" {
				t.Errorf("attempts at target %d: %v", id+1, a)
			}
		}
		w.onRecord(times(3, "ok 200, 3 listings")...)
	})
	for _, tt := range []struct {
		name string
		page http.HandlerFunc
	}{
		{"in a request that fails: it is not retried", status(500, "")},
		{"in a request that finds nothing: the search is left for later", ok(noResults())},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := setup(t, layout{})
			e := w.engine()
			w.on(target, func(rw http.ResponseWriter, r *http.Request) {
				e.Stop(crawl.ErrInterrupted)
				tt.page(rw, r)
			})
			w.on(search, ok(noResults()))
			endedBy(t, w.crawl(e), crawl.ErrInterrupted)
			w.is(1, yp.Planned, 0, "")
			w.requested(target)
		})
	}
	inBubble(t, "while idle", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.on(target, status(403, shell("no")))
		e := w.engine(func(c *crawl.Config) { c.Linger = 3 * time.Minute })
		e.SetLook(time.Hour)
		done := w.begin(t.Context(), e)
		time.Sleep(time.Second)
		if e.Waiting() == "" {
			t.Error("it does not say that it waits")
		}
		e.Stop(crawl.ErrInterrupted)
		stopped := time.Now()
		endedBy(t, w.wait(done), crawl.ErrInterrupted)
		took(t, stopped, 0, 0)
	})
	parallel(t, "before it begins", func(t *testing.T) {
		w := setup(t, layout{})
		e := w.engine()
		e.Stop(crawl.ErrInterrupted)
		endedBy(t, w.crawl(e), crawl.ErrInterrupted)
		w.requested()
		w.is(1, yp.Planned, 0, "")
	})
}

// waitFor asks again and again until something has happened.
func waitFor(t testing.TB, happened func() bool) {
	t.Helper()
	end := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-end:
			t.Error("it never happened")
			return
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	parallel(t, "cuts the request and hands the target back", func(t *testing.T) {
		w := setup(t, layout{})
		threePages(w)
		ctx, cancel := context.WithCancel(t.Context())
		w.on(target+"?page=2", after(cancel, hang))
		endedBy(t, w.wait(w.begin(ctx, w.engine())), context.Canceled)
		w.is(1, yp.Planned, 1, "")
		nothingHeld(w)
		threePages(w)
		w.done()
		w.is(1, yp.Done, 3, "")
	})
	parallel(t, "a page that was fetched is still committed", func(t *testing.T) {
		w := setup(t, layout{})
		threePages(w)
		ctx, cancel := context.WithCancel(t.Context())
		e := w.engine(reached(func(p crawl.Point) {
			if p == crawl.PointAppended {
				cancel()
			}
		}))
		endedBy(t, w.wait(w.begin(ctx, e)), context.Canceled)
		w.is(1, yp.Planned, 1, "")
		nothingHeld(w)
	})
}

func TestBudget(t *testing.T) {
	t.Parallel()
	// Six targets of three pages, on a server that lets several workers be at
	// it at once.
	six := func(t *testing.T) *world {
		w := setup(t, layout{cities: 6})
		for i := range 6 {
			path := "/city-" + string(rune('0'+i)) + "-ca/plumbers"
			w.on(path, ok(page(path+"?page=2", shops(100*i+1, 3)...)))
			w.on(path+"?page=2", ok(page(path+"?page=3", shops(100*i+11, 3)...)))
			w.on(path+"?page=3", ok(page("", shops(100*i+21, 3)...)))
		}
		return w
	}
	rest := func(w *world) {
		w.t.Helper()
		w.done(workers(3))
		w.counts("targets are whole after resuming",
			6, "SELECT count(*) FROM targets WHERE status = 'DONE' AND page_current = 3 AND accepted_count = 9")
		w.askedTimes(18)
	}
	for _, n := range []int64{1, 2, 4, 5} {
		parallel(t, fmt.Sprintf("of %d targets claims exactly so many and finishes them", n), func(t *testing.T) {
			w := six(t)
			e := w.engine(workers(3), func(c *crawl.Config) { c.Budget.Targets = n })
			e.SetLook(time.Hour)
			endedBy(t, w.crawl(e), crawl.ErrBudget)
			if st := e.Stats(); st.Done != n || st.Released != 0 {
				t.Errorf("%d targets done, %d handed back, want %d and 0", st.Done, st.Released, n)
			}
			w.counts("claims", n, "SELECT sum(total_attempts) FROM targets")
			rest(w)
		})
	}
	parallel(t, "of targets is exact while a state is full", func(t *testing.T) {
		w := six(t)
		e := w.engine(workers(4), func(c *crawl.Config) { c.Budget.Targets, c.MaxPerState = 5, 1 })
		e.SetLook(time.Hour)
		endedBy(t, w.crawl(e), crawl.ErrBudget)
		storetest.Equal(t, e.Stats().Done, 5, "targets done")
		rest(w)
	})
	parallel(t, "that is just enough is no early end", func(t *testing.T) {
		w := six(t)
		w.done(workers(3), func(c *crawl.Config) { c.Budget = crawl.Budget{Targets: 6, Requests: 18, Duration: time.Hour} })
		rest(w)
	})
	for _, n := range []int64{1, 4, 7, 17} {
		parallel(t, "of requests makes exactly so many", func(t *testing.T) {
			w := six(t)
			e := w.engine(workers(3), func(c *crawl.Config) { c.Budget.Requests = n })
			endedBy(t, w.crawl(e), crawl.ErrBudget)
			storetest.Equal(t, int64(len(w.asked())), n, "requests at the server")
			storetest.Equal(t, e.Stats().Pages, n, "pages committed")
			nothingHeld(w)
			rest(w)
		})
	}
	parallel(t, "of requests counts retries", func(t *testing.T) {
		w := six(t)
		w.on(target, status(500, ""))
		e := w.engine(func(c *crawl.Config) { c.Budget.Requests = 2 })
		endedBy(t, w.crawl(e), crawl.ErrBudget)
		w.is(1, yp.Planned, 0, "")
		w.requested(target, target)
	})
	parallel(t, "of requests does not count those that robots.txt forbids", func(t *testing.T) {
		w := six(t)
		w.robots = "User-agent: *\nDisallow: " + target + "\n"
		e := w.engine(workers(3), func(c *crawl.Config) { c.Budget.Requests = 15 })
		if err := w.crawl(e); err != nil {
			t.Errorf("the run ended with %v, want to its end", err)
		}
		w.is(1, yp.Parked, 0, yp.CodeUnknown)
		w.askedTimes(15)
	})
	parallel(t, "of time stops resumable", func(t *testing.T) {
		w := six(t)
		w.fetch.DelayMin = time.Hour
		e := w.engine(workers(3), func(c *crawl.Config) { c.Budget.Duration = 200 * time.Millisecond })
		endedBy(t, w.crawl(e), crawl.ErrBudget)
		nothingHeld(w)
		w.fetch.DelayMin = 0
		rest(w)
	})
	parallel(t, "of requests lets those wait that were paid for", func(t *testing.T) {
		w := six(t)
		w.fetch.DelayMin = 20 * time.Millisecond // so that the others still wait when it is used up
		e := w.engine(workers(3), func(c *crawl.Config) { c.Budget.Requests = 4 })
		endedBy(t, w.crawl(e), crawl.ErrBudget)
		w.askedTimes(4)
		w.fetch.DelayMin = 0
		rest(w)
	})
}
