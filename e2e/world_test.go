package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/cli/selftest"
	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// world is a demo directory with a counter in front of it, and a folder in
// which it is crawled.
type world struct {
	t       *testing.T
	dir     string
	workers int
	places  int // of each state
	url     string
	counter *counter
	site    *demo.Directory
	args    []string       // of the crawl that tests kill; nil = crawlArgs
	sel     demo.Selection // of the crawl that tests kill
	truth   demo.Truth
	files   int
	kills   int // of the crawl into the present file
	stuck   int
	chain   bool // indexes, searches and details; else searches alone

	program func(dir string, env []string, args ...string) *exec.Cmd // that crawls; nil = command
}

func newWorld(t *testing.T, places int) *world {
	t.Helper()
	return troubledWorld(t, places, nil)
}

// troubledWorld is a world whose directory fails as demo.Config.Fail says.
func troubledWorld(t *testing.T, places int, fail map[string]float64) *world {
	t.Helper()
	w := siteWorld(t, demo.Config{Places: places, Fail: fail})
	w.truth = w.site.Truth(w.base(), w.sel)
	return w
}

// siteWorld is a world of which the test says itself what a crawl must find.
func siteWorld(t *testing.T, cfg demo.Config) *world {
	t.Helper()
	dir := sites(t, cfg, 1)[0]
	w := &world{t: t, dir: t.TempDir(), workers: 5, places: cfg.Places, files: 1, site: dir, sel: selection()}
	w.counter = newCounter(dir)
	w.url = serveSite(t, w.counter)
	return w
}

// command starts the program in the folder of the world.
func (w *world) command(env []string, args ...string) *exec.Cmd {
	if w.program != nil {
		return w.program(w.dir, env, args...)
	}
	return command(w.dir, env, args...)
}

// only narrows the selection to some categories.
func (w *world) only(categories ...string) {
	w.t.Helper()
	w.sel.Categories = categories
	w.truth = w.site.Truth(w.base(), w.sel)
}

func sites(t *testing.T, cfg demo.Config, n int) []*demo.Directory {
	t.Helper()
	g, err := gazetteer.Load()
	storetest.NoError(t, err)
	all := make([]*demo.Directory, n)
	for i := range all {
		if all[i], err = demo.New(cfg, g); err != nil {
			t.Fatal(err)
		}
		cfg.Seed++
	}
	return all
}

func serveSite(t *testing.T, h http.Handler) (base string) {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func (w *world) base() *url.URL {
	w.t.Helper()
	u, err := url.Parse(w.url)
	storetest.NoError(w.t, err)
	return u
}

// selection is what the tests crawl.
func selection() demo.Selection {
	return demo.Selection{States: []string{"CA", "TX"}, Categories: demo.Categories()}
}

// counter counts requests by User-Agent and address, and signals when a number
// of them has come.
type counter struct {
	next    http.Handler
	latency atomic.Int64

	mu    sync.Mutex
	came  []visit // each request, of robots.txt too
	total int
	seen  map[string]map[string]int // address → User-Agent → requests
	due   []waiting
}

// visit is when a request came, and whose it was.
type visit struct {
	at  time.Time
	who string // User-Agent
}

func newCounter(next http.Handler) *counter {
	return &counter{next: next, seen: map[string]map[string]int{}}
}

type waiting struct {
	at   int
	done chan struct{}
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.came = append(c.came, visit{time.Now(), r.UserAgent()})
	c.mu.Unlock()
	if r.URL.Path != "/robots.txt" {
		c.count(r)
		if d := time.Duration(c.latency.Load()); d > 0 {
			select {
			case <-time.After(d):
			case <-r.Context().Done():
			}
		}
	}
	answer := &answered{ResponseWriter: w}
	c.next.ServeHTTP(answer, r)
	if answer.status == http.StatusTooManyRequests || answer.status == http.StatusServiceUnavailable {
		c.forget(r)
	}
}

// answered notes the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// forget takes back what count has noted: the page was refused.
func (c *counter) forget(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.seen[r.URL.RequestURI()]
	if by[r.UserAgent()]--; by[r.UserAgent()] == 0 {
		delete(by, r.UserAgent())
	}
	if len(by) == 0 {
		delete(c.seen, r.URL.RequestURI())
	}
}

func (c *counter) count(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	by := c.seen[r.URL.RequestURI()]
	if by == nil {
		by = map[string]int{}
		c.seen[r.URL.RequestURI()] = by
	}
	by[r.UserAgent()]++
	c.due = slices.DeleteFunc(c.due, func(w waiting) bool {
		if c.total < w.at {
			return false
		}
		close(w.done)
		return true
	})
}

// after returns a channel that is closed when n more requests have come; at once when n is not above 0.
func (c *counter) after(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := make(chan struct{})
	if n <= 0 {
		close(done)
	} else {
		c.due = append(c.due, waiting{c.total + n, done})
	}
	return done
}

func (c *counter) waitFor(t *testing.T, n int) {
	t.Helper()
	select {
	case <-c.after(n):
	case <-time.After(time.Minute):
		t.Fatalf("no %d requests within a minute", n)
	}
}

func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = map[string]map[string]int{}
}

// all is how many requests have come.
func (c *counter) all() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// extra is how many requests asked for an address again.
func (c *counter) extra() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, by := range c.seen {
		for _, times := range by {
			n += times
		}
		n--
	}
	return n
}

// by is how many requests a User-Agent has made.
func (c *counter) by(agent string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, by := range c.seen {
		n += by[agent]
	}
	return n
}

// both is how many addresses were asked for by both User-Agents.
func (c *counter) both(a, b string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, by := range c.seen {
		if by[a] > 0 && by[b] > 0 {
			n++
		}
	}
	return n
}

// checkRefetched: at most one page per worker and kill is fetched again.
func (w *world) checkRefetched(kills int) {
	w.t.Helper()
	if extra := w.counter.extra(); extra > kills*w.workers {
		w.t.Errorf("%d pages were fetched again after %d kills with %d workers", extra, kills, w.workers)
	}
}

func (w *world) open(path string) *store.DB {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), store.Config{Path: path, Schema: schema, ReadOnly: true})
	storetest.NoError(w.t, err)
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}

// checkTruth: the database holds exactly what a complete crawl must find.
func (w *world) checkTruth() {
	w.t.Helper()
	w.checkRows(filepath.Join(w.dir, "ypcrawl.db"))
}

// checkRows compares a database with the truth: of the whole chain, details and cities too.
func (w *world) checkRows(path string) {
	w.t.Helper()
	truth := w.truth
	truth.Searches = w.site.Searches(w.sel)
	if w.chain {
		truth.Details, truth.Cities = w.site.Details(w.base(), w.sel), w.site.Cities("CA", "TX")
	}
	db := w.open(path)
	compare(w.t, db, demoSource, &truth)
	if truth.Details == nil { // what own pages complete joins more of them
		checkCompanies(w.t, db, truth.Listings)
	}
}

// checkCompanies: companies are the components over the keys that their listings share, and have the name of the first
// of those by their ids.
func checkCompanies(t *testing.T, db *store.DB, listings []yp.Listing) {
	t.Helper()
	lead, owner := make([]int, len(listings)), map[string]int{} // of each listing, the first one that it hangs together with
	for i := range listings {
		lead[i] = i
		for _, key := range yp.CompanyKeys(&listings[i], yp.DefaultCountry) {
			if first, ok := owner[key]; ok {
				old, first := max(lead[first], lead[i]), min(lead[first], lead[i])
				for j := range i + 1 {
					if lead[j] == old {
						lead[j] = first
					}
				}
			} else {
				owner[key] = i
			}
		}
	}
	ids, want := map[int][]string{}, []string{}
	for i := range listings { // by their ids, so that the lead is the first one
		ids[lead[i]] = append(ids[lead[i]], listings[i].ID)
	}
	for root, all := range ids {
		want = append(want, listings[root].Name+"|"+strings.Join(all, ","))
	}
	slices.Sort(want)
	got := storetest.Table(t, db, `SELECT c.name, (SELECT group_concat(listing_id ORDER BY listing_id) FROM listings WHERE company_id = c.id) FROM companies c`)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("companies differ from the truth (-want +got):\n%s", head(diff))
	}
}

const demoSource = "demo"

// compare reports the first differences between a database and the truth.
func compare(t testing.TB, db *store.DB, source string, truth *demo.Truth) {
	t.Helper()
	found, err := selftest.Compare(context.WithoutCancel(t.Context()), db, source, truth)
	storetest.NoError(t, err)
	for _, d := range found[:min(len(found), 10)] {
		t.Error(d)
	}
	if len(found) > 10 {
		t.Errorf("... and %d differences more", len(found)-10)
	}
}

// checkReplay: a database built from the logs alone holds the same rows.
func (w *world) checkReplay() {
	w.t.Helper()
	w.checkRows(w.rebuilt())
}

// rebuilt builds a database from the logs alone.
func (w *world) rebuilt() (path string) {
	w.t.Helper()
	path = filepath.Join(w.t.TempDir(), "rebuilt.db")
	if out, err := command(w.dir, nil, "--db", path, "wal", "replay", "logs/yp_wal").CombinedOutput(); err != nil {
		w.t.Fatalf("wal replay: %v\n%s", err, out)
	}
	return path
}

// count answers a query with a number.
func (w *world) count(query string) int {
	w.t.Helper()
	n, err := strconv.Atoi(storetest.Table(w.t, w.open(filepath.Join(w.dir, "ypcrawl.db")), query)[0])
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (w *world) countStatus(status string) (n int) {
	w.t.Helper()
	return w.count("SELECT count(*) FROM targets WHERE kind = 'search' AND status = '" + status + "'")
}

func (w *world) held() int { return w.countStatus("IN_PROGRESS") }

// checkCities: the cities that are not gone are those that the demo's indexes have.
func (w *world) checkCities(states ...string) {
	w.t.Helper()
	compare(w.t, w.open(filepath.Join(w.dir, "ypcrawl.db")), demoSource, &demo.Truth{Cities: w.site.Cities(states...)})
}

func head(s string) string {
	lines := strings.SplitAfterN(s, "\n", 40)
	return strings.Join(lines[:min(len(lines), 39)], "")
}
