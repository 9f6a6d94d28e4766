package crawl_test

import (
	"cmp"
	"flag"
	"fmt"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp/gazetteer"
)

// demoWorld is a world over a slice of the demo directory.
func demoWorld(t testing.TB, cfg demo.Config, states ...string) (*world, *demo.Directory, demo.Truth) {
	t.Helper()
	dir := newDemo(t, cfg)
	srv := httptest.NewServer(dir)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	w := overDemo(t, srv, cfg, layout{states: states})
	return w, dir, dir.Truth(w.src.BaseURL(), demo.Selection{States: states})
}

// demoInBubble is the same in a bubble.
func demoInBubble(t testing.TB, cfg demo.Config, states ...string) (*world, *demo.Directory, demo.Truth) {
	t.Helper()
	dir, p := newDemo(t, cfg), newPipes()
	w := overDemo(t, p.serve(t, dir), cfg, layout{states: states, synchronous: unsafe})
	w.fetch, w.limit, w.look = fetch.Config{Dial: p.dial}, ages, seldom
	return w, dir, dir.Truth(w.src.BaseURL(), demo.Selection{States: states})
}

func newDemo(t testing.TB, cfg demo.Config) *demo.Directory {
	t.Helper()
	dir, err := demo.New(cfg, places(t))
	storetest.NoError(t, err)
	return dir
}

func places(t testing.TB) *gazetteer.Gazetteer {
	t.Helper()
	g, err := gazetteer.Load()
	storetest.NoError(t, err)
	return g
}

// overDemo plans what a demo directory that is served has.
func overDemo(t testing.TB, srv *httptest.Server, cfg demo.Config, l layout) *world {
	t.Helper()
	src, err := site.Builtin("demo")
	storetest.NoError(t, err)
	base, err := url.Parse(srv.URL)
	storetest.NoError(t, err)
	src = src.WithBaseURL(base)
	db := storetest.OpenConfig(t, store.Config{Path: cmp.Or(l.path, filepath.Join(t.TempDir(), "test.db")), Now: l.now, Synchronous: l.synchronous})
	w := &world{town: &town{Server: srv}, t: t, db: db, keeper: checkpoint.New(db), walDir: t.TempDir(), src: src}
	r, err := discover.Resolve(places(t), discover.Source{Categories: src.Categories(), PlacesPerState: cfg.Places}, discover.Selection{States: l.states})
	storetest.NoError(t, err)
	id, err := w.keeper.Source(t.Context(), "demo", srv.URL)
	storetest.NoError(t, err)
	w.scope = store.Scope{SourceID: id, States: r.States}
	if _, err := w.keeper.Plan(t.Context(), r.Plan(id, 0)); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w
}

// holds compares the database with the truth.
func (w *world) holds(truth demo.Truth) {
	w.t.Helper()
	var names []string
	for i := range truth.Listings {
		names = append(names, truth.Listings[i].ID+" "+truth.Listings[i].Name)
	}
	w.same("names", w.table("SELECT listing_id, name FROM listings ORDER BY listing_id"), names)
	w.counts("targets are DONE", int64(truth.Targets), "SELECT count(*) FROM targets WHERE status = 'DONE'")
	w.counts("pages", int64(truth.Pages), "SELECT sum(page_current) FROM targets")
}

var seeds = flag.Int64("seeds", 1, "how many directories are crawled by the tests that take long")

// TestTrouble: a directory with all kinds of trouble is crawled as wholly as one without,
// and a second time when that is due: nothing is lost or doubled, and no block is
// taken for an empty result.
func TestTrouble(t *testing.T) {
	for seed := range *seeds {
		inBubble(t, fmt.Sprint("seed ", seed), func(t *testing.T) {
			w, dir, truth := demoInBubble(t, demo.Config{Seed: seed, Places: 4, Fail: map[string]float64{
				"429": 0.05, "503": 0.02, "challenge": 0.01, "timeout": 0.01, "truncate": 0.02, "cut": 0.05,
			}}, "CA", "TX")
			w.fetch.DelayMin, w.fetch.ConcurrencyPerHost = siegeDelay, siegeWorkers
			w.write("UPDATE targets SET crawl_frequency_minutes = 360") // longer than a target that fails waits: none is crawled a third time
			e := w.watching(5 * time.Minute)
			w.until(`SELECT count(*) FROM targets WHERE status <> 'DONE' OR total_successes <> 2`, e, w.begin(t.Context(), e))
			w.holds(truth)
			w.same("targets with a page that one of the two crawls fetched twice, or never", w.table(`SELECT t.id, t.page_current, count(r.id), count(DISTINCT r.page)
				FROM targets t LEFT JOIN requests r ON r.target_id = t.id AND r.outcome = 'success' AND r.result_count > 0
				GROUP BY t.id HAVING count(r.id) <> 2 * t.page_current OR count(DISTINCT r.page) <> t.page_current`), nil)
			w.same("empty targets that do not say so", w.table(`SELECT t.id FROM targets t WHERE t.page_current = 0 AND (t.last_error_code IS NOT 'NO_LISTINGS'
				OR NOT EXISTS (SELECT 1 FROM requests r WHERE r.target_id = t.id AND r.outcome = 'success' AND r.result_count = 0))`), nil)
			w.counts("targets are empty", int64(truth.Empty), "SELECT count(*) FROM targets WHERE page_current = 0")
			failures := dir.Stats().ByFailure
			for _, kind := range []string{"429", "503", "challenge", "timeout", "truncate", "cut"} {
				if failures[kind] == 0 {
					t.Errorf("the test is too tame: no %s in %v", kind, failures)
				}
			}
			w.counts("requests on record, of those that the directory counted", int64(dir.Stats().Requests),
				"SELECT count(*) FROM requests WHERE error_class IS NOT 'rate_limited'")
			if again := w.number("SELECT count(*) FROM crawl_attempts WHERE ended = 'failed'"); again == 0 {
				t.Error("the test is too tame: no target had to be tried again")
			}
			w.tidy()
			t.Logf("%d pages, %d requests, failures %v, %s", truth.Pages, dir.Stats().Requests, failures, e.Stats().Elapsed)
		})
	}
}

// TestStats: what a run says it did is what it did, in spite of trouble.
func TestStats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, dir, _ := demoInBubble(t, demo.Config{Places: 3, Fail: map[string]float64{
			"503": 0.4, "truncate": 0.05, "layout": 0.02, "challenge": 0.05,
		}}, "CA", "NY")
		st := w.done(workers(4), func(c *crawl.Config) { c.Filter.MinScore, c.Linger = 40, time.Minute })
		attempts := func(where string) int64 { return w.number("SELECT count(*) FROM crawl_attempts WHERE " + where) }
		for _, c := range []struct {
			name      string
			got, want int64
		}{
			{"done", st.Done, attempts("ended = 'done'")},
			{"failed", st.Failed, attempts("ended = 'failed' AND backoff_delay_ms >= 7200000")},
			{"waiting", st.Waiting, attempts("ended = 'failed' AND backoff_delay_ms < 7200000")},
			{"parked", st.Parked, attempts("ended = 'parked'")},
			{"released", st.Released, attempts("ended = 'released'")},
			{"targets", st.Targets, attempts("ended IN ('done', 'failed', 'parked')")},
			{"targets done", st.Done, w.number("SELECT count(*) FROM targets WHERE status = 'DONE'")},
			{"empty", st.Empty, w.number("SELECT count(*) FROM targets WHERE status = 'DONE' AND last_error_code = 'NO_LISTINGS'")},
			{"pages", st.Pages, w.number("SELECT sum(page_current) FROM targets")},
			{"pages of attempts", st.Pages, w.number("SELECT sum(pages) FROM crawl_attempts")},
			{"raw", st.Raw, w.number("SELECT sum(raw_count) FROM targets")},
			{"accepted", st.Accepted, w.number("SELECT sum(accepted_count) FROM targets")},
			{"bad", st.Bad, w.number("SELECT sum(bad_count) FROM targets")},
			{"new", st.New, w.number("SELECT count(*) FROM listings")},
			{"companies", st.Companies, w.number("SELECT count(*) FROM companies")},
			{"requests", st.Requests, int64(dir.Stats().Requests)},
			{"requests on record", st.Requests, w.number("SELECT count(*) FROM requests WHERE error_class IS NOT 'rate_limited'")},
			{"retries", st.Retries, w.number("SELECT count(*) FROM requests WHERE retry_seq > 0")},
			{"bytes", st.Bytes, w.number("SELECT sum(bytes) FROM requests")},
			{"busy", st.Busy, 0},
		} {
			storetest.Equal(t, c.got, c.want, "the stats say of "+c.name)
		}
		if st.Waiting == 0 || st.Retries == 0 || st.Raw <= st.Accepted || st.Bytes == 0 || st.Elapsed <= 0 {
			t.Errorf("the test is too tame: %+v", st)
		}
		storetest.Equal(t, w.number("SELECT targets FROM runs")+w.number("SELECT pages FROM runs"), st.Targets+st.Pages, "the run's row counts targets and pages")

		w.tidy()
	})
}
