package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// sourcesWorld is a database with many sources, each a directory on a port of its own.
type sourcesWorld struct {
	*world
	demos []*demoSource
}

// demoSource is one source: its directory behind what measures how it is asked.
type demoSource struct {
	dir    *demo.Directory
	server *httptest.Server
	fetch  fetch.Config
	config crawl.SourceConfig
	truth  demo.Truth

	answer http.Handler  // in place of the directory; nil = the directory
	wait   time.Duration // before every answer

	mu     sync.Mutex
	flight int
	most   int // in flight at once
	starts []time.Time
}

func (b *demoSource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.flight++
	b.most = max(b.most, b.flight)
	b.starts = append(b.starts, time.Now())
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.flight--
		b.mu.Unlock()
	}()
	if b.wait > 0 {
		select {
		case <-time.After(b.wait):
		case <-r.Context().Done():
		}
	}
	if b.answer != nil {
		b.answer.ServeHTTP(w, r)
		return
	}
	b.dir.ServeHTTP(w, r)
}

// demoState and demoCategories are what is planned of every source.
const demoState = "WY"

func demoCategories() []string { return []string{"Plumbers", "Dentists"} }

// newSourcesWorld opens n directories of one place each.
func newSourcesWorld(t testing.TB, n int) *sourcesWorld {
	t.Helper()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: unsafe})
	h := &sourcesWorld{world: &world{t: t, db: db, keeper: checkpoint.New(db), walDir: t.TempDir()}}
	g := places(t)
	for i := range n {
		dir, err := demo.New(demo.Config{Seed: int64(i), Places: 1}, g)
		storetest.NoError(t, err)
		h.demos = append(h.demos, h.addDemo(i, dir, g.In(demoState)[0]))
	}
	h.start()
	return h
}

// addDemo serves a directory and plans its targets.
func (h *sourcesWorld) addDemo(i int, dir *demo.Directory, town gazetteer.Place) *demoSource {
	h.t.Helper()
	b := &demoSource{dir: dir}
	b.server = httptest.NewServer(b)
	h.t.Cleanup(func() {
		b.server.CloseClientConnections()
		b.server.Close()
	})
	src, err := site.Parse("source.yaml", fmt.Appendf(nil, "extends: demo\nname: source-%d\n", i))
	storetest.NoError(h.t, err)
	base, err := url.Parse(b.server.URL)
	storetest.NoError(h.t, err)
	b.config.Source = src.WithBaseURL(base)
	b.truth = dir.Truth(base, demo.Selection{States: []string{demoState}, Categories: demoCategories()})
	b.config.Scope = storetest.World{
		Sources: []storetest.Source{{Name: src.Name(), BaseURL: b.server.URL}}, Pages: storetest.TierPages, Categories: storetest.Categories(demoCategories()...),
		Cities: []yp.City{{Slug: town.Slug, Name: town.Name, State: town.State, Population: town.Population, Tier: town.Tier}},
	}.Plant(h.t, h.db)
	return b
}

// sources returns a run of real parts over all of them.
func (h *sourcesWorld) sources(change ...func(*crawl.Config)) *crawl.Sources {
	h.t.Helper()
	var f *crawl.Sources
	configs := make([]crawl.SourceConfig, len(h.demos))
	for i, b := range h.demos {
		cfg := b.fetch
		cfg.Observe = func(o fetch.Observation) { f.Observed(i, o) }
		client := fetch.New(cfg)
		h.t.Cleanup(client.Close)
		configs[i] = b.config
		configs[i].Fetch, configs[i].Delay = client, cfg.DelayMin
	}
	cfg := crawl.Config{
		Keeper: h.keeper, Monitor: health.New(h.db), Run: h.run, Workers: 2, RetryBase: time.Microsecond, Patience: time.Millisecond,
		OpenLog: h.openLog,
	}
	for _, c := range change {
		c(&cfg)
	}
	f = crawl.NewSources(cfg, configs)
	return f
}

// hasAll compares what the database has of a source with its truth.
func (h *sourcesWorld) hasAll(b *demoSource) {
	h.t.Helper()
	var want []string
	for i := range b.truth.Listings {
		want = append(want, b.truth.Listings[i].ID+" "+b.truth.Listings[i].Name)
	}
	got := h.table("SELECT listing_id || ' ' || name FROM listings WHERE source_id = ? ORDER BY listing_id", b.config.Scope.SourceID)
	if !slices.Equal(got, want) {
		h.t.Errorf("%s: %d listings, want %d", b.config.Source.Name(), len(got), len(want))
	}
	storetest.Equal(h.t, len(h.table("SELECT id FROM targets WHERE source_id = ? AND status = 'DONE'", b.config.Scope.SourceID)), b.truth.Targets, "targets done of "+b.config.Source.Name())
}

// berthDelay is the pace of the hosts, and slack what the network may take from a
// gap between two requests, over all of them.
const (
	berthDelay = 30 * time.Millisecond
	slack      = 20 * time.Millisecond
)

// pacedWell checks how the host was asked.
func (b *demoSource) pacedWell(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > 1 {
		t.Errorf("%s: %d requests in flight at once, want one", b.config.Source.Name(), b.most)
	}
	n := len(b.starts)
	if n < 2 {
		t.Errorf("%s was asked %d times", b.config.Source.Name(), n)
		return
	}
	if took, least := b.starts[n-1].Sub(b.starts[0]), time.Duration(n-1)*berthDelay-slack; took < least {
		t.Errorf("%s: %d requests within %s, want %s at least", b.config.Source.Name(), n, took, least)
	}
}

// TestSources crawls 24 sources at once. One refuses every connection, one answers
// nothing until all others are through, one never answers, one forbids: none of them
// is noticed by the others.
func TestSources(t *testing.T) {
	t.Parallel()
	const n = 24
	h := newSourcesWorld(t, n)
	const dead, hanging, mute, forbidding = 0, 1, 2, 3
	for _, b := range h.demos {
		b.fetch = fetch.Config{DelayMin: berthDelay, ConcurrencyPerHost: 1, Timeout: patience, HeaderTimeout: patience}
		b.wait = 10 * time.Millisecond
	}
	h.demos[dead].server.Close()
	release := make(chan struct{})
	h.demos[hanging].answer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		h.demos[hanging].dir.ServeHTTP(w, r)
	})
	h.demos[mute].answer = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	h.demos[mute].fetch.Timeout = 100 * time.Millisecond
	for _, i := range []int{dead, mute} {
		h.demos[i].fetch.IgnoreRobots = true // one that can't be had is waited for
	}
	h.demos[forbidding].answer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })

	f := h.sources()
	began := time.Now()
	done := h.begin(t.Context(), f)
	waitFor(t, func() bool {
		for i, r := range f.Results() {
			if i != hanging && !r.Ended {
				return false
			}
		}
		return true
	})
	t.Logf("%d sources ended within %s while one hung", n-1, time.Since(began).Round(time.Millisecond))
	if f.Results()[hanging].Ended {
		t.Error("the source that hangs has ended")
	}
	close(release)
	storetest.NoError(t, h.wait(done))
	results := f.Results()
	for i, b := range h.demos {
		switch i {
		case dead, mute:
			if st := results[i].Stats; results[i].Err != nil || st.Waiting == 0 || st.Done > 0 {
				t.Errorf("%s ended with %v, %+v", results[i].Source, results[i].Err, st)
			}
		case forbidding:
			// Both of its targets may have been asked for before the first answer came.
			if err := new(crawl.BlockedError); results[i].Err != nil && (!errors.As(results[i].Err, &err) || err.Source != results[i].Source) {
				t.Errorf("%s ended with %v, want that it is blocked", results[i].Source, results[i].Err)
			}
		default:
			if results[i].Err != nil {
				t.Errorf("%s ended with %v", results[i].Source, results[i].Err)
			}
			h.hasAll(b)
			b.pacedWell(t)
		}
	}
	if got := h.table(`SELECT s.name FROM hosts h JOIN sources s ON s.id = h.source_id WHERE h.blocks > 0`); !slices.Equal(got, []string{"source-3"}) {
		t.Errorf("the hosts of %q said no", got)
	}
	h.apart()
	want := []string{"source-0 connection_refused", "source-2 timeout", "source-3 http_403"}
	got := h.table(`SELECT s.name || ' ' || max(r.error_class) FROM requests r JOIN sources s ON s.id = r.source_id
		WHERE r.error_class <> 'rate_limited' GROUP BY s.id ORDER BY s.id`)
	if !slices.Equal(got, want) {
		t.Errorf("failures on record: %q, want %q", got, want)
	}
}

// apart: every source has a health of its own, and every request belongs to the source
// that was asked; no two workers had a number at once.
func (h *sourcesWorld) apart() {
	h.t.Helper()
	storetest.Equal(h.t, len(h.table("SELECT source_id FROM connectivity_profiles")), len(h.demos), "sources with a health")
	if got := h.table(`SELECT r.url FROM requests r JOIN sources s ON s.id = r.source_id WHERE substr(r.url, 1, length(s.base_url)) <> s.base_url`); got != nil {
		h.t.Errorf("requests on record under another source: %s", strings.Join(got, " "))
	}
	if got := h.table(`SELECT p.source_id FROM connectivity_profiles p WHERE p.samples_1h <> (SELECT count(*) FROM requests r
		WHERE r.source_id = p.source_id AND r.type <> 'robots' AND r.error_class IS NOT 'rate_limited')`); got != nil {
		h.t.Errorf("samples that are not the sources' own: %v", got)
	}
	if got := h.table(`SELECT correlation_id FROM requests GROUP BY correlation_id HAVING count(DISTINCT source_id) > 1`); got != nil {
		h.t.Errorf("correlation ids of several sources: %v", got)
	}
}

// TestSourcesStop: what is everybody's ends all configs, and what is one source's does not.
func TestSourcesStop(t *testing.T) {
	t.Parallel()
	// held opens a sourcesWorld whose sources answer when the test says so.
	held := func(t *testing.T, n int) (h *sourcesWorld, asked chan int, release func()) {
		t.Helper()
		h, asked = newSourcesWorld(t, n), make(chan int, 100)
		open := make(chan struct{})
		for i, b := range h.demos {
			b.fetch.IgnoreRobots = true
			b.answer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- i
				<-open
				b.dir.ServeHTTP(w, r)
			})
		}
		return h, asked, sync.OnceFunc(func() { close(open) })
	}
	parallel(t, "an interrupt ends all, with their pages", func(t *testing.T) {
		h, asked, release := held(t, 3)
		f := h.sources(workers(1))
		done := h.begin(t.Context(), f)
		for range h.demos {
			<-asked
		}
		f.Stop(crawl.ErrInterrupted)
		release()
		endedBy(t, h.wait(done), crawl.ErrInterrupted)
		for _, r := range f.Results() {
			if r.Stats.Pages != 1 || !errors.Is(r.Err, crawl.ErrInterrupted) {
				t.Errorf("%s: %d pages, %v", r.Source, r.Stats.Pages, r.Err)
			}
		}
	})
	for name, tt := range map[string]struct {
		sources int
		budget  crawl.Budget
		ends    error
		done    string // whether it is as much
	}{
		"a budget of requests is one for all":  {5, crawl.Budget{Requests: 7}, crawl.ErrBudget, `SELECT count(*) = 7 FROM requests WHERE type = 'listing'`},
		"a budget of targets is one for all":   {5, crawl.Budget{Targets: 4}, crawl.ErrBudget, `SELECT count(*) = 4 FROM targets WHERE status = 'DONE'`},
		"a budget that is just enough is none": {2, crawl.Budget{Targets: 4}, nil, `SELECT count(*) = 0 FROM targets WHERE status <> 'DONE'`},
	} {
		parallel(t, name, func(t *testing.T) {
			h := newSourcesWorld(t, tt.sources)
			f := h.sources(func(c *crawl.Config) { c.Budget = tt.budget })
			endedBy(t, h.wait(h.begin(t.Context(), f)), tt.ends)
			h.counts("it is as much as the budget says", 1, tt.done)
			h.counts("targets done, by the run's own count", f.Stats().Done, "SELECT count(*) FROM targets WHERE status = 'DONE'")
		})
	}
	parallel(t, "a log that can't be written ends all", func(t *testing.T) {
		h, asked, release := held(t, 3)
		full := errors.New("no room")
		var mu sync.Mutex
		opened := 0
		f := h.sources(workers(1), func(c *crawl.Config) {
			open := c.OpenLog
			c.OpenLog = func(id string) (crawl.Log, error) {
				mu.Lock()
				defer mu.Unlock()
				if opened++; opened == 3 {
					return nil, full
				}
				return open(id)
			}
		})
		done := h.begin(t.Context(), f)
		ended := make(chan struct{})
		go func() { // the others may be in the middle of a page, or not yet begun
			select {
			case <-asked:
			case <-ended:
			}
			release()
		}()
		endedBy(t, h.wait(done), full)
		close(ended)
		nothingHeld(h.world)
	})
	parallel(t, "a layout alarm ends its source alone", func(t *testing.T) {
		h := newSourcesWorld(t, 3)
		h.demos[1].answer = ok(layoutChanged())
		h.demos[1].fetch.IgnoreRobots = true
		h.write("UPDATE sources SET layout_strikes = 1 WHERE name = 'source-1'")
		f := h.sources(workers(1))
		storetest.NoError(t, h.wait(h.begin(t.Context(), f)))
		results := f.Results()
		endedBy(t, results[1].Err, crawl.ErrLayout)
		for _, i := range []int{0, 2} {
			if results[i].Err != nil {
				t.Errorf("%s ended with %v", results[i].Source, results[i].Err)
			}
			h.hasAll(h.demos[i])
		}
	})
}
