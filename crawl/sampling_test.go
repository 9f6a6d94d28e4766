package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/guess"
	"ypcrawl/yp"
)

// townSite is a directory of structured data: a home page with links, and results pages
// of two cities with a next link.
type townSite struct {
	mu     sync.Mutex
	asked  []string
	robots string
	plain  bool // no structured data
	phones bool
	random bool // ids that no visit sees again
	visits int
}

func (s *townSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		_, _ = fmt.Fprint(w, s.robots)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RequestURI())
	ids := "-10"
	if s.visits++; s.random {
		ids = fmt.Sprintf("-%d10", s.visits)
	}
	s.mu.Unlock()
	page := `<html><head><title>%s | Town Pages</title></head><body><div id="town-header"></div>%s</body></html>`
	switch path := strings.Trim(r.URL.Path, "/"); path {
	case "":
		_, _ = fmt.Fprintf(w, page, "Home", `<a href="/austin-tx/plumbers">Plumbers in Austin</a> <a href="/dallas-tx/dentists">Dentists in Dallas</a>`)
	case "austin-tx/plumbers", "dallas-tx/dentists":
		_, _ = fmt.Fprintf(w, page, path, strings.ReplaceAll(s.results(path, r.URL.Query().Get("page")), "-10", ids))
	case "elsewhere":
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	case "members/only":
		http.Redirect(w, r, "/login", http.StatusFound)
	case "login":
		_, _ = fmt.Fprintf(w, page, "Log in", "")
	default:
		http.NotFound(w, r)
	}
}

func (s *townSite) results(path, page string) string {
	if s.plain {
		return "<p>Acme, Best and others</p>"
	}
	var b strings.Builder
	for i := range 12 {
		phone := ""
		if s.phones {
			phone = fmt.Sprintf(`,"telephone":"(512) 555-%04d","address":{"@type":"PostalAddress","streetAddress":"%d Main St","addressLocality":"Austin","addressRegion":"TX"}`, i, i)
		}
		_, _ = fmt.Fprintf(&b, `<script type="application/ld+json">{"@context":"https://schema.org","@type":"Plumber","name":"Business %s%d","url":"/biz/%s%s-%d"%s}</script>`,
			page, i, strings.ReplaceAll(path, "/", "-"), page, 1000+i, phone)
	}
	if page == "" {
		_, _ = fmt.Fprintf(&b, `<a rel="next" href="/%s?page=2">Next</a>`, path)
	}
	return b.String()
}

func cityHint(slug string) (city, state string, ok bool) {
	switch slug {
	case "austin-tx":
		return "Austin", "TX", true
	case "dallas-tx":
		return "Dallas", "TX", true
	}
	return "", "", false
}

func (s *townSite) sampling(t *testing.T) (crawl.Sampling, *url.URL) {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	client := fetch.New(fetch.Config{})
	t.Cleanup(client.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	place := yp.Place{City: "Austin", CitySlug: "austin-tx", State: "TX", Category: "Plumbers", CategorySlug: "plumbers"}
	return crawl.Sampling{Fetch: client, Hints: guess.Hints{City: cityHint, Categories: []string{"Plumbers", "Dentists"}}, Place: place, MaxHold: time.Second}, u
}

func TestSampling(t *testing.T) {
	t.Parallel()
	parallel(t, "structured data: links are followed, and a second page", func(t *testing.T) {
		s := &townSite{phones: true}
		from, u := s.sampling(t)
		found, err := from.Find(t.Context(), "town", u)
		if err != nil || found.Form != "structured" || found.Score < guess.ScoreSandbox || found.Source == nil {
			t.Fatalf("%v, %+v", err, found)
		}
		if !slices.Contains(s.asked, "/austin-tx/plumbers?page=2") && !slices.Contains(s.asked, "/dallas-tx/dentists?page=2") {
			t.Errorf("no second page among %v", s.asked)
		}
		if len(s.asked) > crawl.SampleRequests || len(found.Pages) != len(s.asked) {
			t.Errorf("asked %v, told of %v", s.asked, found.Pages)
		}
		if seen := slices.Compact(slices.Sorted(slices.Values(s.asked))); len(seen) != len(s.asked)-1 || !slices.Contains(s.asked[:len(s.asked)-1], s.asked[len(s.asked)-1]) {
			t.Errorf("one page is asked for twice, at the end: %v", s.asked)
		}
		if _, err := site.Parse("town", found.YAML); err != nil {
			t.Error(err)
		}
	})
	parallel(t, "listings that nobody can reach", func(t *testing.T) {
		s := &townSite{}
		from, u := s.sampling(t)
		found, err := from.Find(t.Context(), "town", u.JoinPath("austin-tx/plumbers"))
		if err != nil || found.Score >= guess.ScoreSandbox {
			t.Fatalf("%v, %d: %v", err, found.Score, found.Reasons)
		}
	})
	parallel(t, "ids that change with every visit are for a review", func(t *testing.T) {
		s := &townSite{phones: true, random: true}
		from, u := s.sampling(t)
		found, err := from.Find(t.Context(), "town", u)
		if err != nil || found.Score != guess.ScoreSandbox-1 {
			t.Fatalf("%v, %d: %v", err, found.Score, found.Reasons)
		}
		if want := "0 of 15 for stable ids: 12 of 12 businesses had another id when their page was requested again"; !slices.Contains(found.Reasons, want) {
			t.Errorf("%q", found.Reasons)
		}
	})
	parallel(t, "a redirect is told", func(t *testing.T) {
		from, u := (&townSite{plain: true}).sampling(t)
		found, err := from.Find(t.Context(), "town", u.JoinPath("members/only"))
		if err != nil || found.Score != 0 || found.Pages[0].LedTo != u.JoinPath("login").String() {
			t.Errorf("%v, %+v", err, found)
		}
	})
	parallel(t, "nothing to read", func(t *testing.T) {
		s := &townSite{plain: true}
		from, u := s.sampling(t)
		found, err := from.Find(t.Context(), "town", u)
		if err != nil || found.Score != 0 || found.Source != nil || len(found.Reasons) == 0 {
			t.Fatalf("%v, %+v", err, found)
		}
	})
	parallel(t, "robots.txt forbids a page, not the site", func(t *testing.T) {
		s := &townSite{phones: true, robots: "User-agent: *\nDisallow: /dallas-tx\nDisallow: /$\n"}
		from, u := s.sampling(t)
		found, err := from.Find(t.Context(), "town", u)
		if err != nil || found.Score < guess.ScoreSandbox {
			t.Fatalf("%v, %+v", err, found)
		}
		if found.Pages[0].Error == "" || slices.Contains(s.asked, "/") {
			t.Errorf("%v, asked %v", found.Pages, s.asked)
		}
	})
	parallel(t, "robots.txt forbids all", func(t *testing.T) {
		s := &townSite{robots: "User-agent: *\nDisallow: /\n"}
		from, u := s.sampling(t)
		if _, err := from.Find(t.Context(), "town", u); !errors.Is(err, fetch.ErrDisallowed) || len(s.asked) > 0 {
			t.Errorf("%v, asked %v", err, s.asked)
		}
	})
	parallel(t, "a redirect away is not followed", func(t *testing.T) {
		s := &townSite{}
		from, u := s.sampling(t)
		u.Host = strings.Replace(u.Host, "127.0.0.1", "localhost", 1)
		if _, err := from.Find(t.Context(), "town", u.JoinPath("elsewhere")); !errors.Is(err, fetch.ErrRedirectedAway) || len(s.asked) != 1 {
			t.Errorf("%v, asked %v", err, s.asked)
		}
	})
	parallel(t, "a site that is not there costs one request", func(t *testing.T) {
		from, u := (&townSite{}).sampling(t)
		u.Host = "127.0.0.1:1"
		found, err := from.Find(t.Context(), "town", u)
		if err == nil || len(found.Pages) != 1 {
			t.Errorf("%v, %v", err, found.Pages)
		}
	})
}

func TestSourceNameOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{
		"https://www.acme.com/x":                      {"acme", "acme-com"},
		"https://dir.acme.co.uk":                      {"dir-acme", "dir-acme-co-uk"},
		"http://127.0.0.1:8080":                       {"site-127-0-0-1-8080", "site-127-0-0-1-8080"},
		"http://[::1]:80":                             {"site-1", "site-1"},
		"http://localhost":                            {"localhost", "localhost"},
		"https://411.info":                            {"site-411", "site-411-info"},
		"https://" + strings.Repeat("a", 60) + ".com": {strings.Repeat("a", 40), strings.Repeat("a", 40)},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{crawl.SourceNameOf(u, false), crawl.SourceNameOf(u, true)}; got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
