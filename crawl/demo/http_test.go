package demo_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ypcrawl/crawl/demo"
)

func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	a, _ := setup(t, demo.Config{Seed: 11})
	b, _ := setup(t, demo.Config{Seed: 11})
	other, _ := setup(t, demo.Config{Seed: 12})
	for _, uri := range samples() {
		first, again := get(a, uri).Body.Bytes(), get(a, uri).Body.Bytes()
		if !bytes.Equal(first, again) || !bytes.Equal(first, get(b, uri).Body.Bytes()) {
			t.Errorf("%s: two answers of one seed differ", uri)
		}
		if strings.Count(uri, "/") == 2 && !strings.Contains(uri, "nowhere") && !strings.Contains(uri, "categories") && bytes.Equal(first, get(other, uri).Body.Bytes()) {
			t.Errorf("%s: another seed gives the same page", uri)
		}
	}
}

// TestMorePlacesSameBusinesses: what a business is does not depend on how many
// places the directory has.
func TestMorePlacesSameBusinesses(t *testing.T) {
	t.Parallel()
	few, _ := setup(t, demo.Config{Places: 40})
	all, _ := setup(t, demo.Config{Places: -1})
	for _, path := range profiles(t, few, "/austin-tx/plumbers") {
		if a, b := get(few, path), get(all, path); a.Code != http.StatusOK || !bytes.Equal(a.Body.Bytes(), b.Body.Bytes()) {
			t.Errorf("%s differs with all places", path)
		}
	}
}

// TestGoldenSizes: pages have the bulk of real ones, about half of it cards.
// The digest tells when pages change for whoever keeps figures over them.
func TestGoldenSizes(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{})
	const goldenDigest = "8e2714a83ff71c60"
	digest, full := sha256.New(), 0
	for _, city := range []string{"los-angeles-ca", "san-jose-ca", "fresno-ca", "houston-tx", "austin-tx", "el-paso-tx", "plano-tx"} {
		for _, cat := range []string{"plumbers", "electricians", "restaurants", "dentists", "auto-repair-service"} {
			body := get(d, "/"+city+"/"+cat).Body.String()
			digest.Write([]byte(body))
			start, end := strings.Index(body, `<div class="search-results organic"><div class="result" id="lid-1`), strings.Index(body, `<div class="pagination">`)
			if i := strings.Index(body, `<div class="search-results center-ads">`); i > 0 {
				start = i
			}
			if strings.Count(body, `class="result" id="lid-`) < 31 || end < 0 {
				continue
			}
			full++
			if n := len(body); n < 150_000 || n > 300_000 {
				t.Errorf("%s %s: %d bytes", city, cat, n)
			}
			if share := float64(end-start) / float64(len(body)); share < 0.38 || share > 0.65 {
				t.Errorf("%s %s: %.0f %% of %d bytes are cards", city, cat, 100*share, len(body))
			}
		}
	}
	if full < 20 {
		t.Errorf("only %d full pages", full)
	}
	if got := fmt.Sprintf("%x", digest.Sum(nil))[:16]; got != goldenDigest {
		t.Errorf("digest of the pages is %s, was %s: figures kept over them no longer compare", got, goldenDigest)
	}
}

var profilePattern = regexp.MustCompile(`class="business-name" href="([^"?]+)`)

// profiles lists the distinct profile paths on a page.
func profiles(t *testing.T, d http.Handler, uri string) []string {
	t.Helper()
	seen := make(map[string]bool)
	for _, m := range profilePattern.FindAllStringSubmatch(get(d, uri).Body.String(), -1) {
		if m[1] != "#" && !strings.Contains(m[1], "nowhere") {
			seen[m[1]] = true
		}
	}
	if len(seen) < 5 {
		t.Fatalf("%s: only %d profiles", uri, len(seen))
	}
	return slices.Sorted(maps.Keys(seen))
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{})
	profile := profiles(t, d, "/austin-tx/plumbers")[0]
	i := strings.LastIndexByte(profile, '-')
	for name, c := range map[string]struct {
		uri      string
		status   int
		location string
	}{
		"place that is none":       {"/atlantis-ca/plumbers", 404, ""},
		"category that is none":    {"/austin-tx/alchemists", 404, ""},
		"city that is none":        {"/atlantis-ca", 404, ""},
		"state that is none":       {"/state-zz", 404, ""},
		"missing business":         {"/austin-tx/mip/acme-123456789012", 404, ""},
		"profile without an id":    {"/austin-tx/mip/acme", 404, ""},
		"moved business":           {profile[:i] + "-and-more" + profile[i:], 301, profile},
		"query of a profile":       {profile + "?lid=7", 200, ""},
		"page that is no number":   {"/austin-tx/plumbers?page=x", 200, ""},
		"search for nothing known": {"/search?search_terms=alchemists&geo_location_terms=Austin%2C+TX", 200, ""},
		"search for no place":      {"/search?search_terms=Plumbers&geo_location_terms=Austin", 200, ""},
		"page past the end":        {"/austin-tx/plumbers?page=999", 404, ""},
		"too deep":                 {"/a/b/c/d", 404, ""},
	} {
		w := get(d, c.uri)
		if w.Code != c.status || w.Header().Get("Location") != c.location {
			t.Errorf("%s: status %d, location %q", name, w.Code, w.Header().Get("Location"))
		}
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/austin-tx", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

func TestSearchShowsTheSamePage(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{})
	want := get(d, "/los-angeles-ca/auto-repair-service?page=2").Body.String()
	if got := get(d, "/search?search_terms=Auto+Repair+%26+Service&geo_location_terms=Los+Angeles%2C+CA&page=2").Body.String(); got != want {
		t.Errorf("a search of %d bytes, the category %d", len(got), len(want))
	}
}

var cityLink = regexp.MustCompile(`<li><a href="/([a-z0-9-]+)">`)

// TestIndexesReachEveryCity: sitemap, states and letters lead to all places.
func TestIndexesReachEveryCity(t *testing.T) {
	t.Parallel()
	d, g := setup(t, demo.Config{Places: -1})
	if n := len(regexp.MustCompile(`href="/state-[a-z]{2}"`).FindAllString(get(d, "/sitemap").Body.String(), -1)); n != 51 {
		t.Errorf("the site map lists %d states", n)
	}
	for _, st := range []string{"CA", "DC"} {
		found := make(map[string]bool)
		for c := 'a'; c <= 'z'; c++ {
			body := get(d, "/state-"+strings.ToLower(st)+"?page="+string(c)).Body.String()
			for _, m := range cityLink.FindAllStringSubmatch(body, -1) {
				found[m[1]] = true
			}
		}
		for _, p := range g.In(st) {
			if !found[p.Slug] {
				t.Errorf("%s: no index leads to %s", st, p.Slug)
			}
		}
	}
	for _, path := range []string{"/state-college-pa", "/state-college-pa/plumbers"} { // no index of a state
		if code := get(d, path).Code; code != http.StatusOK {
			t.Errorf("%s: status %d", path, code)
		}
	}
	unlettered := cityLink.FindAllString(get(d, "/state-ca").Body.String(), -1)
	if len(unlettered) == 0 || len(unlettered) > 20 {
		t.Errorf("the unlettered index holds %d cities", len(unlettered))
	}
}

// samples are pages of every kind.
func samples() []string {
	return []string{
		"/los-angeles-ca/plumbers", "/los-angeles-ca/restaurants?page=2", "/houston-tx/dentists?page=3", "/austin-tx/auto-repair-service", "/fresno-ca/electricians",
		"/san-jose-ca/plumbers", "/dallas-tx/electricians", "/search?search_terms=x&geo_location_terms=y", "/", "/sitemap", "/state-ca", "/state-tx?page=d",
		"/austin-tx", "/nowhere-zz/plumbers", "/a/mip/b-1",
	}
}
