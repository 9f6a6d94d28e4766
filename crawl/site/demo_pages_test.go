package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// demoSite is a demo directory and the source that reads it.
type demoSite struct {
	*demo.Directory
	src *Source
}

func newDemoSite(t testing.TB, cfg demo.Config) demoSite {
	t.Helper()
	g, err := gazetteer.Load()
	noError(t, err)
	d, err := demo.New(cfg, g)
	noError(t, err)
	return demoSite{d, builtin(t, "demo")}
}

// get asks for a page, and follows redirects as a crawl does.
func (d demoSite) get(t testing.TB, at string) (body []byte, final *url.URL, status int) {
	t.Helper()
	u, err := d.src.BaseURL().Parse(at)
	noError(t, err)
	for range 3 {
		rec := httptest.NewRecorder()
		d.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, u.String(), nil))
		if rec.Code != http.StatusMovedPermanently {
			return rec.Body.Bytes(), u, rec.Code
		}
		if u, err = u.Parse(rec.Header().Get("Location")); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s: too many redirects", at)
	return nil, nil, 0
}

// TestDemoDetails: what is read of every detail page is what the demo knows,
// and the pages are read from their regions alone.
func TestDemoDetails(t *testing.T) {
	t.Parallel()
	for _, seed := range []int64{0, 7} {
		d := newDemoSite(t, demo.Config{Seed: seed, Places: 3})
		sel := demo.Selection{States: []string{"CA"}, MaxPages: 1, IncludeSponsored: true}
		truth, details := d.Truth(d.src.BaseURL(), sel), d.Details(d.src.BaseURL(), sel)
		urls := make(map[string]string, len(truth.Listings))
		for _, l := range truth.Listings {
			urls[l.ID] = l.ProfileURL
		}
		if len(details) < 300 {
			t.Fatalf("seed %d: only %d details", seed, len(details))
		}
		said := map[string]int{}
		for _, want := range details {
			body, final, status := d.get(t, urls[want.ID])
			p, err := d.src.ParseDetail(body, final, status)
			if err != nil || p.Outcome != OK {
				t.Fatalf("seed %d, %s: %v %v", seed, final, p, err)
			}
			if diff := cmp.Diff(&want, p.Detail); diff != "" {
				t.Errorf("seed %d, %s (-demo +read):\n%s", seed, final, diff)
			}
			if d.src.detailRegions(body, final, status) == nil {
				t.Errorf("%s: not read from its regions", final)
			}
			count(said, p.Detail)
			if t.Failed() {
				return
			}
		}
		t.Logf("seed %d, %d pages: %v", seed, len(details), said)
	}
}

// count counts the fields that a detail has.
func count(said map[string]int, d *yp.Detail) {
	for name, has := range map[string]bool{
		"email": d.Email != "", "phone": d.Phone != "", "website": d.Website != "", "hours": len(d.Hours) > 0, "geo": d.Lat != 0,
		"payment": len(d.Payment) > 0, "social": len(d.Social) > 0, "services": len(d.Services) > 0, "languages": len(d.Languages) > 0,
		"neighborhoods": len(d.Neighborhoods) > 0, "aka": len(d.AKA) > 0, "founded": d.Founded > 0, "years": d.Years > 0, "about": d.About != "",
	} {
		if has {
			said[name]++
		}
	}
}

// TestDemoOtherPages: pages that are no detail page say so, whatever they are.
func TestDemoOtherPages(t *testing.T) {
	t.Parallel()
	d := newDemoSite(t, demo.Config{Places: 3})
	truth := d.Truth(d.src.BaseURL(), demo.Selection{States: []string{"DE"}, MaxPages: 1})
	profile := truth.Listings[0].ProfileURL
	for at, want := range map[string]Outcome{
		profile: OK,
		strings.Replace(profile, "/mip/", "/mip/renamed-since-", 1): OK, // the demo redirects to the proper slug
		profile + "?lid=5":        OK,
		"/wilmington-de/mip/x-1":  NoListings,
		"/":                       Redirected,
		"/categories":             Redirected,
		"/categories/plumbers":    Redirected,
		"/sitemap":                Redirected,
		"/search":                 Redirected,
		"/state-de":               Redirected,
		"/wilmington-de":          Redirected,
		"/wilmington-de/plumbers": Redirected,
	} {
		body, final, status := d.get(t, at)
		p, err := d.src.ParseDetail(body, final, status)
		if err != nil || p.Outcome != want {
			t.Errorf("%s: got %v, %v, want %v", at, p, err, want)
		}
	}
	body, _, _ := d.get(t, "/wilmington-de/plumbers")
	asked, _ := url.Parse(profile)
	if p, err := d.src.ParseDetail(body, asked, 200); err != nil || p.Outcome != HTMLChanged {
		t.Errorf("results under the URL of a detail page: %v, %v", p, err)
	}
	body, _, _ = d.get(t, profile)
	asked.Path += "9"
	if p, err := d.src.ParseDetail(body, asked, 200); err != nil || p.Outcome != Unrecognised {
		t.Errorf("another listing's page: %v, %v", p, err)
	}
	if p := parse(t, d.src, string(body), profile, 200); p.Outcome != Redirected {
		t.Errorf("a detail page for results: %v", p.Outcome)
	}
}

// TestDemoIndexes: the walk through the indexes of a state finds the cities
// that the demo has there, and no others.
func TestDemoIndexes(t *testing.T) {
	t.Parallel()
	d := newDemoSite(t, demo.Config{Seed: 3, Places: 60})
	empty := 0
	for _, state := range []string{"AK", "AZ", "CA", "DC", "HI", "NC", "TX", "WY"} {
		found := map[string]yp.FoundCity{}
		for _, at := range d.src.IndexPages(state) {
			body, final, status := d.get(t, at)
			x, err := d.src.ParseIndex(body, final, status, state)
			if err != nil || x.Outcome != OK && x.Outcome != NoListings || x.NotFound {
				t.Fatalf("%s: %+v %v", at, x, err)
			}
			if x.Outcome == NoListings {
				empty++
			}
			for _, c := range x.Cities {
				found[c.Address] = c
			}
		}
		var got, want []string
		for _, c := range found {
			got = append(got, fmt.Sprintf("%s %s", c.Address, c.Shown))
		}
		for _, c := range d.Cities(state) {
			want = append(want, fmt.Sprintf("%s %s", c.Slug, c.Name))
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("%s (-demo +read):\n%s", state, diff)
		}
	}
	if empty < 20 {
		t.Errorf("only %d letters without cities: the test proves little", empty)
	}
}

// TestDemoNoIndexes: pages that are no index say so, even when they answer
// under the URL of one.
func TestDemoNoIndexes(t *testing.T) {
	t.Parallel()
	d := newDemoSite(t, demo.Config{Places: 3})
	asked, err := url.Parse(d.src.IndexPages("AZ")[0])
	noError(t, err)
	for _, at := range []string{"/", "/sitemap", "/phoenix-az", "/phoenix-az/plumbers", "/search", "/state-nv"} {
		body, final, status := d.get(t, at)
		if x, err := d.src.ParseIndex(body, final, status, "AZ"); err != nil || x.Outcome != Redirected {
			t.Errorf("%s: %+v %v", at, x, err)
		}
		if x, err := d.src.ParseIndex(body, asked, status, "AZ"); err != nil || x.Outcome != HTMLChanged {
			t.Errorf("%s under the URL of an index: %+v %v", at, x, err)
		}
	}
	body, final, status := d.get(t, "/state-zz")
	if x, err := d.src.ParseIndex(body, final, status, "AZ"); err != nil || x.Outcome != Redirected {
		t.Errorf("no such state: %+v %v", x, err)
	}
	if x, err := d.src.ParseIndex(body, asked, status, "AZ"); err != nil || x.Outcome != NoListings || !x.NotFound {
		t.Errorf("not found: %+v %v", x, err)
	}
}

// TestDemoListingsPass: every listing of the demo may be promoted.
func TestDemoListingsPass(t *testing.T) {
	t.Parallel()
	for seed := range int64(4) {
		d := newDemoSite(t, demo.Config{Seed: seed * 11, Places: 3})
		truth := d.Truth(d.src.BaseURL(), demo.Selection{MaxPages: 1, IncludeSponsored: true})
		if len(truth.Listings) < 5_000 {
			t.Fatalf("only %d listings", len(truth.Listings))
		}
		for i := range truth.Listings {
			if reasons := d.src.Check(&truth.Listings[i]); reasons != nil {
				t.Fatalf("%+v: %q", truth.Listings[i], reasons)
			}
		}
	}
}
