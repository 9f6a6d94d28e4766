package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
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
	args    []string // of the crawl that tests kill; nil = crawlArgs
	truth   demo.Truth
	files   int
	kills   int // of the crawl into the present file
	stuck   int
	chain   bool // indexes, searches and details; else searches alone
}

func newWorld(t *testing.T, places int) *world {
	t.Helper()
	return troubledWorld(t, places, nil)
}

// troubledWorld is a world whose directory fails as demo.Config.Fail says.
func troubledWorld(t *testing.T, places int, fail map[string]float64) *world {
	t.Helper()
	w := siteWorld(t, demo.Config{Places: places, Fail: fail})
	w.truth = w.site.Truth(w.base(), selection())
	return w
}

// siteWorld is a world of which the test says itself what a crawl must find.
func siteWorld(t *testing.T, cfg demo.Config) *world {
	t.Helper()
	dir := sites(t, cfg, 1)[0]
	w := &world{t: t, dir: t.TempDir(), workers: 5, places: cfg.Places, files: 1, site: dir}
	w.counter = newCounter(dir)
	w.url = serveSite(t, w.counter)
	return w
}

func sites(t *testing.T, cfg demo.Config, n int) []*demo.Directory {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	all, err := demo.NewMany(cfg, g, n)
	if err != nil {
		t.Fatal(err)
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
	if err != nil {
		w.t.Fatal(err)
	}
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
	total int
	seen  map[string]map[string]int // address → User-Agent → requests
	due   []waiting
}

func newCounter(next http.Handler) *counter {
	return &counter{next: next, seen: map[string]map[string]int{}}
}

type waiting struct {
	at   int
	done chan struct{}
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// after returns a channel that is closed when n more requests have come.
func (c *counter) after(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := make(chan struct{})
	c.due = append(c.due, waiting{c.total + n, done})
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
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}

// checkTruth: the database holds exactly what a complete crawl must find.
func (w *world) checkTruth() {
	w.t.Helper()
	db := w.open(filepath.Join(w.dir, "ypcrawl.db"))
	w.checkRows(db)
	if err := db.IntegrityCheck(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if n := w.countStatus("DONE"); n != w.truth.Targets {
		w.t.Errorf("%d targets are DONE, want %d", n, w.truth.Targets)
	}
	var pages int
	if err := db.Read().QueryRowContext(w.t.Context(), "SELECT sum(page_current) FROM targets WHERE kind = 'search'").Scan(&pages); err != nil {
		w.t.Fatal(err)
	}
	if pages != w.truth.Pages {
		w.t.Errorf("%d pages, want %d", pages, w.truth.Pages)
	}
}

func (w *world) checkRows(db *store.DB) {
	w.t.Helper()
	if w.chain {
		w.checkDetails(db) // what they complete may join companies
		w.checkCities(db, "CA", "TX")
		return
	}
	if diff := cmp.Diff(w.truth.Listings, readListings(w.t, db)); diff != "" {
		w.t.Errorf("listings differ from the truth (-want +got):\n%s", head(diff))
	}
	if diff := cmp.Diff(w.truth.Companies, readCompanies(w.t, db)); diff != "" {
		w.t.Errorf("companies differ from the truth (-want +got):\n%s", head(diff))
	}
}

// checkReplay: a database built from the logs alone holds the same rows.
func (w *world) checkReplay() {
	w.t.Helper()
	w.checkRows(w.open(w.rebuilt()))
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

func (w *world) countStatus(status string) (n int) {
	w.t.Helper()
	db := w.open(filepath.Join(w.dir, "ypcrawl.db"))
	if err := db.Read().QueryRowContext(w.t.Context(), "SELECT count(*) FROM targets WHERE kind = 'search' AND status = ?", status).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) held() int { return w.countStatus("IN_PROGRESS") }

// checkCities: the cities that are not gone are those that the demo's indexes have.
func (w *world) checkCities(db *store.DB, states ...string) {
	w.t.Helper()
	var got []demo.City
	each(w.t, db, `SELECT x.slug, x.name, c.state FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.removed_at IS NULL ORDER BY x.slug`,
		func(r *sql.Rows) error {
			var c demo.City
			err := r.Scan(&c.Slug, &c.Name, &c.State)
			got = append(got, c)
			return err
		})
	if diff := cmp.Diff(w.site.Cities(states...), got); diff != "" {
		w.t.Errorf("cities differ from the truth (-want +got):\n%s", head(diff))
	}
}

func head(s string) string {
	lines := strings.SplitAfterN(s, "\n", 40)
	return strings.Join(lines[:min(len(lines), 39)], "")
}

const selectListings = `
	SELECT listing_id, name, ifnull(profile_url, ''), ifnull(phone, ''), ifnull(phone_e164, ''), ifnull(street, ''), ifnull(city, ''),
		ifnull(state, ''), ifnull(postal_code, ''), ifnull(service_area, ''), ifnull(website_url, ''), ifnull(website, ''),
		ifnull(domain, ''), ifnull(categories, 'null'), ifnull(rating, 0), ifnull(review_count, 0), ifnull(years_in_business, 0),
		ifnull(price_range, ''), ifnull(snippet, ''), ifnull(image_url, ''), ifnull(hours, 'null'), claimed, sponsored
	FROM listings ORDER BY listing_id`

// readListings reads every listing as `demo truth` prints it.
func readListings(t *testing.T, db *store.DB) []yp.Listing {
	t.Helper()
	return listingsBy(t, db, selectListings)
}

// listingsBy reads the listings of a query that has selectListings' columns.
func listingsBy(t *testing.T, db *store.DB, query string) (all []yp.Listing) {
	t.Helper()
	each(t, db, query, func(rows *sql.Rows) error {
		var l yp.Listing
		var cats, hours string
		var claimed sql.NullBool
		err := rows.Scan(&l.ID, &l.Name, &l.ProfileURL, &l.Phone, &l.PhoneE164, &l.Street, &l.City, &l.State, &l.PostalCode,
			&l.ServiceArea, &l.WebsiteURL, &l.Website, &l.Domain, &cats, &l.Rating, &l.ReviewCount, &l.YearsInBusiness,
			&l.PriceRange, &l.Snippet, &l.ImageURL, &hours, &claimed, &l.Sponsored)
		if err != nil {
			return err
		}
		if claimed.Valid {
			l.Claimed = &claimed.Bool
		}
		all = append(all, l)
		last := &all[len(all)-1]
		if err := json.Unmarshal([]byte(cats), &last.Categories); err != nil {
			return err
		}
		return json.Unmarshal([]byte(hours), &last.Hours)
	})
	return all
}

// readCompanies reads every company with its listings, as `demo truth` prints it.
func readCompanies(t *testing.T, db *store.DB) (all []demo.Company) {
	t.Helper()
	at := map[int64]int{}
	each(t, db, `SELECT c.id, c.name, l.listing_id FROM listings l JOIN companies c ON c.id = l.company_id ORDER BY l.listing_id`,
		func(rows *sql.Rows) error {
			var id int64
			var name, listing string
			if err := rows.Scan(&id, &name, &listing); err != nil {
				return err
			}
			i, ok := at[id]
			if !ok {
				i = len(all)
				at[id] = i
				all = append(all, demo.Company{Name: name})
			}
			all[i].Listings = append(all[i].Listings, listing)
			return nil
		})
	var n int
	each(t, db, `SELECT count(*) FROM companies`, func(rows *sql.Rows) error { return rows.Scan(&n) })
	if n != len(all) {
		t.Errorf("%d companies, but listings belong to %d", n, len(all))
	}
	return all
}

func each(t *testing.T, db *store.DB, query string, scan func(*sql.Rows) error) {
	t.Helper()
	rows, err := db.Read().QueryContext(context.WithoutCancel(t.Context()), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", query, err))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
