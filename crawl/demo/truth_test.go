package demo_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// setup returns the directory of the default places and its gazetteer.
func setup(t testing.TB, cfg demo.Config) (*demo.Directory, *gazetteer.Gazetteer) {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := demo.New(cfg, g)
	if err != nil {
		t.Fatal(err)
	}
	return d, g
}

// get asks the directory for a page, without compression.
func get(d http.Handler, uri string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, uri, nil))
	return w
}

// reader crawls a directory in the plainest way, to compare with Truth.
type reader struct {
	t        *testing.T
	d        http.Handler
	src      *site.Source
	sponsors bool
	listings map[string]yp.Listing
	empty    int
	pages    int
}

// target reads one target's pages and follows its next links.
func (r *reader) target(p yp.Place, maxPages int) {
	next := r.src.TargetURL(p, 1)
	for n := 1; next != "" && (maxPages < 0 || n <= maxPages); n++ {
		u, err := url.Parse(next)
		if err != nil {
			r.t.Fatal(err)
		}
		w := get(r.d, u.RequestURI())
		page, err := r.src.ParsePage(w.Body.Bytes(), u, w.Code)
		if err != nil {
			r.t.Fatalf("%s: %v", next, err)
		}
		if page.Outcome == site.NoListings {
			r.empty++
			return
		}
		if page.Outcome != site.OK || page.Bad > 0 {
			r.t.Fatalf("%s: outcome %v (%s), %d bad cards", next, page.Outcome, page.Reason, page.Bad)
		}
		r.pages++
		r.keep(page.Listings)
		next = page.NextURL
	}
}

func (r *reader) keep(listings []yp.Listing) {
	for _, l := range listings {
		if l.Sponsored && !r.sponsors {
			continue
		}
		old, seen := r.listings[l.ID]
		if !seen {
			old = l
		}
		r.listings[l.ID] = union(old, l)
	}
}

// union keeps what a says and adds what only b says.
func union(a, b yp.Listing) yp.Listing {
	sponsored := a.Sponsored && b.Sponsored
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	a.Rank, a.Sponsored = 0, sponsored
	return a
}

func (r *reader) sorted() []yp.Listing {
	var out []yp.Listing
	for _, l := range r.listings {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b yp.Listing) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func TestTruthEqualsReading(t *testing.T) {
	t.Parallel()
	for name, sel := range map[string]demo.Selection{
		"a later epoch":  {States: []string{"AZ"}, MaxPages: 2, Planned: true},
		"default pages":  {States: []string{"CA", "TX"}, MinPopulation: 600_000},
		"all pages":      {States: []string{"VT", "DC"}, MaxPages: -1, MinPopulation: 8_000},
		"one page":       {States: []string{"HI"}, MaxPages: 1, Categories: []string{"Auto Repair & Service", "dentists"}},
		"with sponsored": {States: []string{"RI", "NM"}, IncludeSponsored: true, MaxPages: 2, MinPopulation: 40_000},
		"cities":         {Cities: []string{"saint-louis-mo", "el-paso-tx"}, MaxPages: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			epoch := map[string]int{"a later epoch": 2}[name]
			compare(t, moved(t, demo.Config{Seed: 7}, epoch), sel)
		})
	}
}

func compare(t *testing.T, d *demo.Directory, sel demo.Selection) {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	src, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	truth := d.Truth(src.BaseURL(), sel)
	r := &reader{t: t, d: d, src: src, sponsors: sel.IncludeSponsored, listings: make(map[string]yp.Listing)}
	targets := 0
	for _, p := range places(g, sel) {
		for _, cat := range demo.Categories() {
			if len(sel.Categories) > 0 && !slices.ContainsFunc(sel.Categories, func(c string) bool { return yp.CategorySlug(c) == yp.CategorySlug(cat) }) {
				continue
			}
			limit := sel.MaxPages
			if limit == 0 {
				limit = gazetteer.TierPages(p.Tier)
			}
			targets++
			r.target(yp.Place{City: p.Name, CitySlug: p.Slug, State: p.State, Category: cat, CategorySlug: yp.CategorySlug(cat)}, limit)
		}
	}
	if targets != truth.Targets || r.pages != truth.Pages || r.empty != truth.Empty {
		t.Errorf("read %d targets, %d pages, %d empty; truth says %d, %d, %d", targets, r.pages, r.empty, truth.Targets, truth.Pages, truth.Empty)
	}
	if diff := cmp.Diff(truth.Listings, r.sorted()); diff != "" {
		t.Errorf("listings differ (-truth +read):\n%.6000s", diff)
	}
	if len(truth.Listings) < 50 {
		t.Errorf("only %d listings: the comparison says little", len(truth.Listings))
	}
}

// places lists the places of a selection among the largest of each state.
func places(g *gazetteer.Gazetteer, sel demo.Selection) []gazetteer.Place {
	var out []gazetteer.Place
	for _, st := range yp.States() {
		if len(sel.States) > 0 && !slices.Contains(sel.States, st.Code) {
			continue
		}
		in := g.In(st.Code)
		for _, p := range in[:min(40, len(in))] {
			named := len(sel.Cities) == 0 || slices.ContainsFunc(sel.Cities, func(c string) bool { return c == p.Slug })
			if named && p.Population >= sel.MinPopulation {
				out = append(out, p)
			}
		}
	}
	return out
}

// TestSearches: the targets of a selection, named one by one with their limits, have the same truth in the first epoch
// and in later ones, where cities have left.
func TestSearches(t *testing.T) {
	t.Parallel()
	base := &url.URL{Scheme: "http", Host: "127.0.0.1"}
	for epoch, limit := range map[int]int{0: 2, 30: -1} {
		d, _ := setup(t, demo.Config{Places: 6, Epoch: epoch})
		sel := demo.Selection{States: []string{"WY", "DE"}, Categories: []string{"Plumbers", "Dentists"}, MaxPages: limit, Planned: true}
		want, all := d.Truth(base, sel), d.Searches(sel)
		pages := 0
		for i := range all {
			pages += all[i].Pages
			all[i].Pages = max(limit, 0)
		}
		if len(all) != want.Targets || pages != want.Pages || pages == 0 {
			t.Errorf("epoch %d: %d searches with %d pages, want %d with %d", epoch, len(all), pages, want.Targets, want.Pages)
		}
		if diff := cmp.Diff(want, d.Truth(base, demo.Selection{Searches: all})); diff != "" {
			t.Errorf("epoch %d: named one by one (-want +got):\n%s", epoch, diff)
		}
	}
}
