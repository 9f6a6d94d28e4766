package guess

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// gazetteerHints know the gazetteer's places and the demo's categories.
func gazetteerHints(t testing.TB) Hints {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	demoSource, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	return Hints{Categories: demoSource.Categories(), City: func(slug string) (city, state string, ok bool) {
		i := strings.LastIndexByte(slug, '-')
		if i < 0 {
			return "", "", false
		}
		p, ok := g.Find(slug[:i], slug[i+1:])
		return p.Name, p.State, ok && p.Slug == slug
	}}
}

// TestGuessDemo: the demo is known for what it looks like, from a results page
// or, by way of its links, from the homepage.
func TestGuessDemo(t *testing.T) {
	t.Parallel()
	hints := gazetteerHints(t)
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := demo.New(demo.Config{}, g)
	if err != nil {
		t.Fatal(err)
	}
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:8080"}
	fetch := func(at string) Sample {
		u, err := base.Parse(at)
		for err == nil {
			rec := httptest.NewRecorder()
			d.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, u.String(), nil))
			if rec.Code != http.StatusMovedPermanently {
				return Sample{URL: u, Status: rec.Code, Body: rec.Body.Bytes()}
			}
			u, err = u.Parse(rec.Header().Get("Location"))
		}
		t.Fatal(err)
		return Sample{}
	}
	guess := func(t *testing.T, samples ...Sample) *Candidate {
		t.Helper()
		c, err := Guess("twin", base, samples, hints)
		if err != nil {
			t.Fatal(err)
		}
		checkCandidate(t, c)
		return c
	}
	t.Run("ResultsPage", func(t *testing.T) {
		t.Parallel()
		for _, at := range []string{"/los-angeles-ca/plumbers", "/search?search_terms=Plumbers&geo_location_terms=Los+Angeles%2C+CA"} {
			c := guess(t, fetch(at))
			if want := fmt.Sprintf("extends: yellowpages\nname: twin\nbase_url: %s\n", base); string(c.YAML) != want || c.Form != "yellowpages" || c.Score < 90 {
				t.Errorf("%s: score %d, %q\n%s", at, c.Score, c.Reasons, c.YAML)
			}
		}
	})
	t.Run("TwoResultsPages", func(t *testing.T) {
		t.Parallel()
		if c := guess(t, fetch("/los-angeles-ca/plumbers"), fetch("/phoenix-az/dentists")); c.Score < 97 {
			t.Errorf("score %d, %q", c.Score, c.Reasons)
		}
	})
	t.Run("HomepageLeadsThere", func(t *testing.T) {
		t.Parallel()
		samples := []Sample{fetch("/")}
		c := guess(t, samples...)
		for range 3 {
			if c.Score > 0 {
				break
			}
			if len(c.Links) == 0 {
				t.Fatalf("no links from %s: %q", samples[len(samples)-1].URL, c.Reasons)
			}
			for _, link := range c.Links {
				samples = append(samples, fetch(link))
			}
			c = guess(t, samples...)
		}
		if c.Form != "yellowpages" || c.Score < 90 {
			t.Errorf("score %d, %q", c.Score, c.Reasons)
		}
	})
	t.Run("EmptyPageIsNone", func(t *testing.T) {
		t.Parallel()
		if c := guess(t, fetch("/about")); c.Score != 0 {
			t.Errorf("score %d, %q", c.Score, c.Reasons)
		}
	})
	t.Run("WorksInAnotherCity", func(t *testing.T) {
		t.Parallel()
		s := guess(t, fetch("/los-angeles-ca/plumbers")).Source
		at := s.TargetURL(yp.Place{City: "Phoenix", CitySlug: "phoenix-az", State: "AZ", Category: "Dentists", CategorySlug: "dentists"}, 1)
		got := fetch(at)
		if p, err := s.ParsePage(got.Body, got.URL, got.Status); err != nil || p.Outcome != site.OK {
			t.Errorf("%s: %v, %v", at, p, err)
		}
	})
}
