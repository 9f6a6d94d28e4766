package crawl_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/demo"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// TestClaimLost takes a target away while its worker has a page in hand, and
// gives it to a worker of another process with the same name.
func TestClaimLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		page  http.HandlerFunc
		stop  bool
		story string
	}{
		{"by a commit", ok(page("", shops(1, 3)...)), false, "start page:1 claim_lost start page:1 complete"},
		{"by a failure", status(403, shell("no")), false, "start claim_lost start page:1 complete"},
		{"by an empty result", ok(noResults()), false, "start claim_lost start page:1 complete"},
		{"by a missing page", status(404, shell("none")), false, "start claim_lost start page:1 complete"},
		{"by a release", ok(page(target+"?page=2", shops(1, 3)...)), true, "start page:1 claim_lost"},
	} {
		t.Run("is noticed "+tt.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, layout{cities: 2})
			w.on("/city-1-ca/plumbers", ok(page("", shops(10, 3)...)))
			other := w.peer()
			var theirs *checkpoint.Claim
			e := w.engine()
			w.on(target, func(rw http.ResponseWriter, r *http.Request) {
				w.write("UPDATE targets SET heartbeat_at = NULL WHERE id = 1")
				if _, err := other.keeper.RecoverStale(t.Context(), w.scope, time.Hour); err != nil {
					t.Error(err)
				}
				var err error
				me := checkpoint.Worker{ID: yp.WorkerID(0, os.Getpid()), RunID: other.run.ID}
				if theirs, err = other.keeper.Claim(t.Context(), me, w.scope, 5); err != nil || theirs.TargetID != 1 {
					t.Errorf("the other keeper claimed %+v, %v", theirs, err)
				}
				if tt.stop {
					e.Stop(crawl.ErrInterrupted)
				}
				tt.page(rw, r)
			})
			err := w.crawl(e)
			if tt.stop {
				endedBy(t, err, crawl.ErrInterrupted)
			} else if err != nil {
				t.Errorf("the run ended with %v", err)
			}
			if got := w.story(); got != tt.story {
				t.Errorf("the log tells %q, want %q", got, tt.story)
			}
			r := w.is(1, yp.InProgress, 0, "")
			if r.Token != theirs.Token || r.Token != 2 || r.Accepted != 0 {
				t.Errorf("the late worker wrote: %+v", r)
			}
			if n := w.number("SELECT count(*) FROM listings WHERE listing_id IN ('1', '2', '3')"); n != 0 {
				t.Errorf("%d listings of the lost page were stored", n)
			}
			if st := e.Stats(); st.Lost != 1 || st.Failed+st.Parked != 0 {
				t.Errorf("stats %+v", st)
			}
			if _, err := other.keeper.CommitPage(t.Context(), theirs, checkpoint.Page{Number: 1, Last: true}); err != nil {
				t.Errorf("the holder can't go on: %v", err)
			}
		})
	}
}

// demoWorld is a world over a slice of the demo directory.
func demoWorld(t testing.TB, cfg demo.Config, states ...string) (*world, *demo.Directory, demo.Truth) {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := demo.New(cfg, g)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(dir)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	src, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	src = src.WithBaseURL(base)
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	w := &world{town: &town{Server: srv}, t: t, db: db, keeper: checkpoint.New(db), walDir: t.TempDir(), src: src}
	r, err := discover.Resolve(g, discover.Source{Categories: src.Categories(), PlacesPerState: cfg.Places}, discover.Selection{States: states})
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.keeper.Source(t.Context(), "demo", srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.scope = checkpoint.Scope{SourceID: id, States: r.States}
	if _, err := w.keeper.Plan(t.Context(), r.Plan(id, 0)); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w, dir, dir.Truth(base, demo.Selection{States: states})
}

// holds compares the database with the truth.
func (w *world) holds(truth demo.Truth) {
	w.t.Helper()
	var want []string
	for i := range truth.Listings {
		want = append(want, truth.Listings[i].ID)
	}
	got := strings.Fields(w.ids())
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("%d listings, want %d", len(got), len(want))
	}
	if n := w.number("SELECT count(*) FROM targets WHERE status = 'DONE'"); n != int64(truth.Targets) {
		w.t.Errorf("%d targets are DONE, want %d", n, truth.Targets)
	}
	if n := w.number("SELECT sum(page_current) FROM targets"); n != int64(truth.Pages) {
		w.t.Errorf("%d pages, want %d", n, truth.Pages)
	}
	if n := w.number("SELECT count(*) FROM companies"); n != int64(len(truth.Companies)) {
		w.t.Errorf("%d companies, want %d", n, len(truth.Companies))
	}
}

func TestTwoEngines(t *testing.T) {
	t.Parallel()
	w, dir, truth := demoWorld(t, demo.Config{Places: 5}, "CA", "TX")
	p := w.peer()
	a, b := w.engine(workers(4)), p.engine(workers(4))
	first, second := w.begin(t.Context(), a), p.begin(t.Context(), b)
	if err := w.wait(first); err != nil {
		t.Error(err)
	}
	if err := w.wait(second); err != nil {
		t.Error(err)
	}
	w.holds(truth)
	for u, n := range dir.Stats().URLs {
		if n > 1 && u != "/robots.txt" {
			t.Errorf("%s was asked for %d times", u, n)
		}
	}
	sa, sb := a.Stats(), b.Stats()
	if sa.Pages == 0 || sb.Pages == 0 || sa.Pages+sb.Pages != int64(truth.Pages) {
		t.Errorf("the engines took %d and %d pages of %d", sa.Pages, sb.Pages, truth.Pages)
	}
}

// TestStats: what a run says it did is what it did, in spite of trouble.
func TestStats(t *testing.T) {
	t.Parallel()
	w, dir, _ := demoWorld(t, demo.Config{Places: 4, Fail: map[string]float64{
		"503": 0.15, "truncate": 0.05, "layout": 0.1, "challenge": 0.05,
	}}, "CA", "NY")
	st := w.done(workers(4), func(c *crawl.Config) { c.Filter.MinScore = 40 })
	count := func(status string) int64 { return w.number("SELECT count(*) FROM targets WHERE status = ?", status) }
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"done", st.Done, count("DONE")},
		{"failed", st.Failed, count("FAILED")},
		{"parked", st.Parked, count("PARKED")},
		{"targets", st.Targets, w.number("SELECT count(*) FROM targets")},
		{"empty", st.Empty, w.number("SELECT count(*) FROM targets WHERE status = 'DONE' AND last_error_code = 'NO_LISTINGS'")},
		{"pages", st.Pages, w.number("SELECT sum(page_current) FROM targets")},
		{"raw", st.Raw, w.number("SELECT sum(raw_count) FROM targets")},
		{"accepted", st.Accepted, w.number("SELECT sum(accepted_count) FROM targets")},
		{"bad", st.Bad, w.number("SELECT sum(bad_count) FROM targets")},
		{"new", st.New, w.number("SELECT count(*) FROM listings")},
		{"companies", st.Companies, w.number("SELECT count(*) FROM companies")},
		{"requests", st.Requests, int64(dir.Stats().Requests)},
		{"busy", st.Busy, 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: the stats say %d, the truth is %d", c.name, c.got, c.want)
		}
	}
	if st.Failed == 0 || st.Retries == 0 || st.Raw <= st.Accepted || st.Bytes == 0 || st.Elapsed <= 0 {
		t.Errorf("the test is too tame: %+v", st)
	}
	if got := w.number("SELECT targets FROM runs") + w.number("SELECT pages FROM runs"); got != st.Targets+st.Pages {
		t.Errorf("the run's row counts %d targets and pages, want %d", got, st.Targets+st.Pages)
	}
}

// TestMaxPerState runs 16 workers over two states. The first ten requests meet
// at the server, so that both states are really full; no worker asks by itself.
func TestMaxPerState(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{states: []string{"CA", "TX"}, cities: 12})
	var mu sync.Mutex
	flying, highest := map[string]int{}, map[string]int{}
	full := make(chan struct{})
	total := 0
	for i := range 12 {
		for _, st := range []string{"ca", "tx"} {
			w.on(fmt.Sprintf("/city-%d-%s/plumbers", i, st), func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				flying[st]++
				highest[st] = max(highest[st], flying[st])
				if total++; total == 10 {
					close(full)
				}
				mu.Unlock()
				<-full
				mu.Lock()
				flying[st]--
				mu.Unlock()
				ok(page("", shops(1+i, 1)...))(rw, r)
			})
		}
	}
	e := w.engine(workers(16), reached(func(p crawl.Point) {
		if p == crawl.PointClaimed || p == crawl.PointCommitted {
			if n := w.number("SELECT ifnull(max(n), 0) FROM (SELECT count(*) AS n FROM targets WHERE status = 'IN_PROGRESS' GROUP BY state)"); n > 5 {
				t.Errorf("%d targets of a state are in progress", n)
			}
		}
	}))
	e.SetLook(time.Hour)
	if err := w.crawl(e); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"ca": 5, "tx": 5}; !maps.Equal(highest, want) {
		t.Errorf("at most %v requests of a state at once, want %v", highest, want)
	}
	if st := e.Stats(); st.Done != 24 {
		t.Errorf("stats %+v", st)
	}
}

func TestIdleWorkersEndWithTheRun(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 3})
	for i := range 3 {
		w.on(fmt.Sprintf("/city-%d-ca/plumbers", i), ok(page("", shops(i+1, 1)...)))
	}
	e := w.engine(workers(8), func(c *crawl.Config) { c.MaxPerState = 1 })
	e.SetLook(time.Hour)
	if err := w.crawl(e); err != nil {
		t.Fatal(err)
	}
	if st := e.Stats(); st.Done != 3 {
		t.Errorf("stats %+v", st)
	}
}

func TestLinger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		linger time.Duration
		again  bool
	}{
		{"waits for a backoff that ends soon", 3 * time.Hour, true},
		{"does not wait for one that ends later", time.Hour, false},
		{"of 0 waits for nothing", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			w := setup(t, layout{now: c.Now})
			w.on(target, inTurn(status(403, shell("no")), ok(page("", shops(1, 3)...))))
			e := w.engine(func(c *crawl.Config) { c.Linger = tt.linger })
			e.SetLook(time.Millisecond)
			done := w.begin(t.Context(), e)
			if tt.again {
				waitFor(t, func() bool { return strings.Contains(e.Waiting(), "falls due") })
				w.requested(target)
				c.run(time.Minute)
			}
			if err := w.wait(done); err != nil {
				t.Fatal(err)
			}
			if !tt.again {
				w.is(1, yp.Failed, 0, yp.CodeBlockedProxy)
				w.requested(target)
				return
			}
			w.is(1, yp.Done, 1, "")
			w.requested(target, target)
			if e.Waiting() != "" {
				t.Errorf("still %s", e.Waiting())
			}
		})
	}
}

// held gives targets to another process of this machine, which lives until the
// returned function ends it.
func (w *world) held(ids ...int64) (die func()) {
	w.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := store.TakeLock(w.db.Path(), "other", false)
	if err != nil {
		w.t.Fatal(err)
	}
	now := yp.FormatTime(time.Now())
	w.write("INSERT INTO runs (uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES ('other', ?, 1, ?, 'test', ?, ?)",
		host, w.scope.SourceID, now, now)
	for _, id := range ids {
		w.write(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'worker_0_pid_1', claimed_at = ?, heartbeat_at = ?, claim_token = 1,
			run_id = (SELECT id FROM runs WHERE uuid = 'other') WHERE id = ?`, now, now, id)
	}
	var once sync.Once
	die = func() { once.Do(func() { _ = lock.Release() }) }
	w.t.Cleanup(die)
	return die
}

func TestDeadPeer(t *testing.T) {
	t.Parallel()
	good := ok(page("", shops(1, 3)...))
	t.Run("that dies during the run is succeeded", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 2})
		die := w.held(2)
		w.on(target, func(rw http.ResponseWriter, r *http.Request) {
			die()
			good(rw, r)
		})
		w.on("/city-1-ca/plumbers", good)
		w.done()
		w.is(2, yp.Done, 1, "")
		w.requested(target, "/city-1-ca/plumbers")
	})
	t.Run("that fills a state is succeeded", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 2})
		die := w.held(2)
		w.on(target, good)
		w.on("/city-1-ca/plumbers", good)
		e := w.engine(func(c *crawl.Config) { c.MaxPerState = 1 })
		e.SetLook(time.Millisecond)
		done := w.begin(t.Context(), e)
		waitFor(t, func() bool { return e.Looked() > 3 })
		w.requested()
		die()
		if err := w.wait(done); err != nil {
			t.Fatal(err)
		}
		w.is(1, yp.Done, 1, "")
		w.is(2, yp.Done, 1, "")
	})
	t.Run("that held several is succeeded by as many workers at once", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 2})
		die := w.held(1, 2)
		var n atomic.Int64
		both := make(chan struct{})
		meet := func(rw http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 2 {
				close(both)
			}
			signalled(t, "the other request", both)
			good(rw, r)
		}
		w.on(target, meet)
		w.on("/city-1-ca/plumbers", meet)
		w.write("INSERT INTO categories (slug, name) VALUES ('dentists', 'Dentists')") // one more target, so that the workers stay
		w.write(`INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
			SELECT source_id, city_id, 2, state, population, 9, max_pages, created_at FROM targets WHERE id = 1`)
		w.on("/city-0-ca/dentists", good)
		e := w.engine(workers(2), func(c *crawl.Config) { c.MaxPerState, c.Heartbeat = 2, time.Millisecond })
		e.SetLook(time.Hour)
		done := w.begin(t.Context(), e)
		waitFor(t, func() bool { return e.Looked() > 5 })
		w.requested()
		die()
		if err := w.wait(done); err != nil {
			t.Fatal(err)
		}
		if st := e.Stats(); st.Done != 3 {
			t.Errorf("stats %+v", st)
		}
	})
	t.Run("is succeeded at a heartbeat while all workers are busy", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 2})
		w.held(2)()
		w.on(target, func(rw http.ResponseWriter, r *http.Request) {
			waitFor(t, func() bool { return w.row(2).Status == yp.Planned })
			good(rw, r)
		})
		w.on("/city-1-ca/plumbers", good)
		w.done(func(c *crawl.Config) { c.Heartbeat = time.Millisecond })
		w.is(2, yp.Done, 1, "")
	})
	t.Run("that lives keeps its target", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 2})
		w.held(2)
		w.on(target, good)
		w.done()
		w.is(2, yp.InProgress, 0, "")
		w.requested(target)
	})
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on(target, func(rw http.ResponseWriter, r *http.Request) {
		waitFor(t, func() bool { r := w.row(1); return r.Heartbeat > r.ClaimedAt })
		waitFor(t, func() bool { return w.number("SELECT requests FROM runs") == 1 }) // robots.txt
		ok(page("", shops(1, 3)...))(rw, r)
	})
	w.done(func(c *crawl.Config) { c.Heartbeat = time.Millisecond })
	w.is(1, yp.Done, 1, "")
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

// TestWake: a run begins with what has fallen due.
func TestWake(t *testing.T) {
	t.Parallel()
	c := newClock()
	w := setup(t, layout{now: c.Now})
	threePages(w)
	w.done()
	w.done()
	w.requested(target, target+"?page=2", target+"?page=3")
	c.add(checkpoint.RecrawlAfter)
	st := w.done()
	if r := w.is(1, yp.Done, 3, ""); r.Raw != 8 || st.New != 0 || st.Pages != 3 {
		t.Errorf("the second crawl: %+v, %+v", r, st)
	}
}

// TestWakeFirst: what has fallen due competes with what is planned from the start.
func TestWakeFirst(t *testing.T) {
	t.Parallel()
	c := newClock()
	w := setup(t, layout{cities: 2, now: c.Now})
	w.on(target, inTurn(status(403, shell("no")), ok(page("", shops(1, 3)...))))
	w.on("/city-1-ca/plumbers", ok(page("", shops(4, 3)...)))
	endedBy(t, w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Targets = 1 })), crawl.ErrBudget)
	c.add(3 * time.Hour)
	w.done()
	w.requested(target, target, "/city-1-ca/plumbers")
}

// TestWaiting: a run that works does not wait, whatever its idle workers do.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 2, now: newClock().Now})
	e := w.engine(workers(2), func(c *crawl.Config) { c.Linger = 3 * time.Hour })
	e.SetLook(time.Millisecond)
	w.on(target, status(403, shell("no")))
	w.on("/city-1-ca/plumbers", func(rw http.ResponseWriter, r *http.Request) {
		waitFor(t, func() bool { return w.row(1).Status == yp.Failed && e.Looked() > 9 })
		if s := e.Stats(); e.Waiting() != "" || s.Busy != 1 {
			t.Errorf("it works with %d busy workers, and says %q", s.Busy, e.Waiting())
		}
		ok(page("", shops(1, 3)...))(rw, r)
	})
	done := w.begin(t.Context(), e)
	waitFor(t, func() bool { return e.Waiting() == "waiting 2h0m0s: the next target falls due" })
	e.Stop(crawl.ErrInterrupted)
	endedBy(t, w.wait(done), crawl.ErrInterrupted)
	w.is(2, yp.Done, 1, "")
}

// TestLogs: every worker has a log of its own, and a line names its run and target.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 6})
	var n atomic.Int64
	all := make(chan struct{})
	for i := range 6 {
		w.on(fmt.Sprintf("/city-%d-ca/plumbers", i), func(rw http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 3 {
				close(all)
			}
			<-all
			ok(page("", shops(i+1, 1)...))(rw, r)
		})
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
	if len(names) != 3 {
		t.Errorf("logs of %v, want three workers", names)
	}
}
