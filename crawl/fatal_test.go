package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

var errLog = errors.New("no room for the log")

// faulty is a real log that refuses what refuse says.
type faulty struct {
	crawl.Log
	refuse func(*wal.Event) bool
	closed func()
}

func (f faulty) Append(e *wal.Event) error {
	if f.refuse(e) {
		return errLog
	}
	return f.Log.Append(e)
}

func (f faulty) Close() error {
	if f.closed != nil {
		f.closed()
	}
	return f.Log.Close()
}

// brokenLog gives every worker a faulty log.
func brokenLog(closed func(), refuse func(*wal.Event) bool) func(*crawl.Config) {
	return func(c *crawl.Config) {
		open := c.OpenLog
		c.OpenLog = func(id string) (crawl.Log, error) {
			log, err := open(id)
			return faulty{log, refuse, closed}, err
		}
	}
}

func TestLogErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		event  wal.EventType
		status yp.Status
		pages  int
		ids    string
	}{
		{wal.TargetStart, yp.Planned, 0, ""},
		{wal.PageComplete, yp.Planned, 0, ""},
		{wal.TargetComplete, yp.Done, 3, "1 2 3 4 5 6 7 8"},
	} {
		parallel(t, fmt.Sprintf("at %s end the run", tt.event), func(t *testing.T) {
			w := setup(t, layout{cities: 2})
			threePages(w)
			e := w.engine(brokenLog(nil, func(e *wal.Event) bool { return e.Type == tt.event }))
			endedBy(t, w.crawl(e), errLog)
			w.is(1, tt.status, tt.pages, "")
			w.is(2, yp.Planned, 0, "")
			nothingHeld(w)
			w.stored(tt.ids)
		})
	}
	parallel(t, "of a log that can't be opened end the run", func(t *testing.T) {
		w := setup(t, layout{})
		endedBy(t, w.crawl(w.engine(workers(3), func(c *crawl.Config) {
			c.OpenLog = func(string) (crawl.Log, error) { return nil, errLog }
		})), errLog)
		w.requested()
	})
	parallel(t, "of one worker do not cut the others' pages", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		inHand, failed := make(chan struct{}), make(chan struct{})
		w.on(target, func(rw http.ResponseWriter, r *http.Request) {
			close(inHand)
			<-failed
			select { // time for a cut to come
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
			ok(page(target+"?page=2", shops(1, 3)...))(rw, r)
		})
		w.on(city(1), after(func() { <-inHand }, ok(page("", shops(4, 3)...))))
		var once sync.Once
		e := w.engine(workers(2), brokenLog(func() { once.Do(func() { close(failed) }) }, func(e *wal.Event) bool {
			return e.Type == wal.PageComplete && e.Target.ID == 2
		}))
		endedBy(t, w.crawl(e), errLog)
		w.is(1, yp.Planned, 1, "")
		w.is(2, yp.Planned, 0, "")
		nothingHeld(w)
		w.askedTimes(2)
	})
}

func TestDatabaseErrors(t *testing.T) {
	t.Parallel()
	parallel(t, "a full disk ends the run and keeps what is committed", func(t *testing.T) {
		w := setup(t, layout{cities: 3, pages: 5})
		many := func(first int) []biz {
			list := shops(first, 30)
			for i := range list {
				list[i].name = strings.Repeat("A long name ", 14) + list[i].id
			}
			return list
		}
		w.on(target, ok(page(target+"?page=2", many(100)...)))
		w.on(target+"?page=2", ok(page(target+"?page=3", many(200)...)))
		e := w.engine(workers(3), reached(func(p crawl.Point) {
			if p == crawl.PointCommitted {
				w.full()
			}
		}))
		w.on(city(1), ok(page("", many(300)...)))
		w.on(city(2), ok(page("", many(400)...)))
		endedBy(t, w.crawl(e), store.ErrDiskFull)
		pages, listings := w.number("SELECT sum(page_current) FROM targets"), w.number("SELECT count(*) FROM listings")
		if pages < 1 || listings != 30*pages || e.Stats().Pages != pages {
			t.Errorf("%d pages and %d listings are there, %d pages were counted", pages, listings, e.Stats().Pages)
		}
		storetest.NoError(t, w.db.IntegrityCheck(t.Context()))
	})
	for _, p := range []crawl.Point{crawl.PointClaimed, crawl.PointFetched, crawl.PointAppended, crawl.PointCommitted, crawl.PointEnded} {
		parallel(t, "a closed database at "+string(p)+" ends the run", func(t *testing.T) {
			w := setup(t, layout{cities: 2})
			threePages(w)
			e := w.engine(workers(2), reached(func(at crawl.Point) {
				if at == p {
					_ = w.db.Close()
				}
			}))
			if err := w.crawl(e); err == nil {
				t.Error("the run ended well")
			}
			after := w.peer()
			after.counts("listings do not fit the counters", after.number("SELECT sum(accepted_count) FROM targets"), "SELECT count(*) FROM listings")
			if got, pages := e.Stats().Pages, after.number("SELECT sum(page_current) FROM targets"); got != pages {
				t.Errorf("%d pages counted, %d saved", got, pages)
			}
		})
	}
	parallel(t, "a heartbeat that meets a dead database ends the run", func(t *testing.T) {
		w := setup(t, layout{})
		e := w.engine(func(c *crawl.Config) { c.Heartbeat = time.Millisecond })
		w.on(target, func(rw http.ResponseWriter, r *http.Request) {
			_ = w.db.Close()
			waitFor(t, e.Stopping)
			status(500, "")(rw, r) // asked again, if the run were not to stop
		})
		endedBy(t, w.crawl(e), store.ErrClosed)
		w.requested(target)
	})
	inBubble(t, "a hold that can't be written down ends the run: the page is not asked for again", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.on(target, after(func() { _ = w.db.Close() }, with(status(503, "later"), "Retry-After: 60")))
		endedBy(t, w.crawl(w.engine()), store.ErrClosed)
		w.requested(target)
	})
}

// full leaves the database no page to grow by, which is what SQLite makes of a
// full disk.
func (w *world) full() {
	err := w.db.Write(w.t.Context(), func(tx *store.Tx) error {
		var pages, limit int
		if err := tx.Get("PRAGMA page_count", nil, &pages); err != nil {
			return err
		}
		return tx.Get("PRAGMA max_page_count = 1", nil, &limit)
	})
	if err != nil && !errors.Is(err, store.ErrDiskFull) {
		w.t.Error(err)
	}
}

// TestUnreleasedClaims: a process that ends because nothing can be written any more leaves its
// claims as they are; however often that happens, their targets are never given up. Those whose
// page was in hand when it was killed are, after three times.
func TestUnreleasedClaims(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	threePages(w)
	target := func(want string) {
		t.Helper()
		w.same("the target", w.table(`SELECT status, recoveries, page_current FROM targets`), []string{want})
	}
	closeAt := func(p crawl.Point) {
		db := storetest.OpenConfig(t, store.Config{Path: w.db.Path()})
		k := checkpoint.New(db)
		run, err := k.StartRun(t.Context(), w.scope.SourceID, "test", false)
		storetest.NoError(t, err)
		e := w.engine(func(c *crawl.Config) {
			c.Keeper, c.Monitor, c.Run = k, health.New(db), run
			c.Reached = func(at crawl.Point) {
				if at == p {
					_ = db.Close()
				}
			}
		})
		endedBy(t, w.crawl(e), store.ErrClosed)
		if err := run.Finish(t.Context(), checkpoint.OutcomeError, 0); err == nil {
			t.Fatal("the run could be finished")
		}
		target("IN_PROGRESS 0 0")
		if _, err := w.keeper.RecoverDead(t.Context(), store.Scope{}); err != nil {
			t.Fatal(err)
		}
		target("PLANNED 0 0")
	}
	for range 2 {
		for _, p := range []crawl.Point{crawl.PointClaimed, crawl.PointFetched, crawl.PointAppended} {
			closeAt(p)
		}
	}
	for n, want := range []string{"PLANNED 1 0", "PLANNED 2 0", "STUCK 3 0"} {
		run, err := w.keeper.StartRun(t.Context(), w.scope.SourceID, "test", false)
		storetest.NoError(t, err)
		died := make(chan struct{})
		tell := sync.OnceFunc(func() { close(died) }) // on a slow machine the page is asked for again
		w.on("/city-0-ca/plumbers", func(http.ResponseWriter, *http.Request) {
			storetest.Die(t, w.db.Path(), run.UUID)
			if _, err := w.keeper.RecoverDead(t.Context(), store.Scope{}); err != nil {
				t.Error(err)
			}
			tell()
		})
		ctx, cancel := context.WithCancel(t.Context())
		over := w.begin(ctx, w.engine(func(c *crawl.Config) { c.Run = run }))
		signalled(t, fmt.Sprint("request ", n), died)
		target(want)
		cancel()
		_ = w.wait(over)
	}
}
