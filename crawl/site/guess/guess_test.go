package guess

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// testHints know three cities and four categories.
func testHints() Hints {
	cities := map[string][2]string{
		"springfield-il": {"Springfield", "IL"}, "los-angeles-ca": {"Los Angeles", "CA"}, "portland-or": {"Portland", "OR"},
	}
	return Hints{
		City: func(slug string) (city, state string, ok bool) {
			at, ok := cities[slug]
			return at[0], at[1], ok
		},
		Categories: []string{"Plumbers", "Electricians", "Restaurants", "Auto Repair & Service"},
	}
}

func sampleOf(t testing.TB, address, body string) Sample {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Sample{URL: u, Status: 200, Body: []byte(body)}
}

// listPage writes a page with n businesses in JSON-LD: of those the first
// phones have a phone number.
func listPage(n, phones int, more string) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><head><title>Plumbers | Prairie Directory</title><script type="application/ld+json">[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"@type":"Plumber","name":"Business %[1]d","url":"/biz/business-%[1]d-%[2]d"`, i, 400000+i)
		if i < phones {
			fmt.Fprintf(&b, `,"telephone":"(217) 555-%04d"`, 100+i)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]</script></head><body><header id="pd-header"></header><main id="content">` + more + `</main></body></html>`)
	return b.String()
}

const prairieList = "https://dir.example.com/springfield-il/plumbers"

func guess(t testing.TB, samples ...Sample) *Candidate {
	t.Helper()
	c, err := Guess("prairie", &url.URL{Scheme: "https", Host: "dir.example.com"}, samples, testHints())
	if err != nil {
		t.Fatal(err)
	}
	checkCandidate(t, c)
	return c
}

// checkCandidate checks what holds for every candidate.
func checkCandidate(t testing.TB, c *Candidate) {
	t.Helper()
	if c.Score < 0 || c.Score > 100 || len(c.Reasons) == 0 || len(c.Links) > maxGuessLinks {
		t.Fatalf("score %d, %d reasons, %d links", c.Score, len(c.Reasons), len(c.Links))
	}
	if (c.Source == nil) != (c.Score == 0) || (c.YAML == nil) != (c.Score == 0) || (c.Form == "") != (c.Score == 0) {
		t.Fatalf("a candidate with score %d: %+v", c.Score, c)
	}
	if c.Source == nil {
		return
	}
	s, err := site.Parse("again.yaml", c.YAML)
	if err != nil {
		t.Fatalf("the definition does not parse: %v\n%s", err, c.YAML)
	}
	place := yp.Place{City: "Portland", CitySlug: "portland-or", State: "OR", Category: "Plumbers", CategorySlug: "plumbers"}
	if a, b := s.TargetURL(place, 3), c.Source.TargetURL(place, 3); a != b {
		t.Fatalf("read again, the definition forms %s, not %s", a, b)
	}
}

func TestGuessStructured(t *testing.T) {
	t.Parallel()
	next := `<a rel="next" href="?page=2">Next</a>`
	t.Run("FullPage", func(t *testing.T) {
		t.Parallel()
		c := guess(t, sampleOf(t, prairieList, listPage(30, 30, next)))
		if c.Form != "structured" || c.Score != 90 {
			t.Errorf("got %s, %d: %q", c.Form, c.Score, c.Reasons)
		}
		want := `name: prairie
base_url: https://dir.example.com
structured: true
urls:
    target: /{city_slug}/{category_slug}?page={page}
chrome:
    selectors:
        - '#pd-header'
    titles:
        - Prairie Directory
empty:
    texts:
        - no results found
        - did not match
        - no results for
        - ' 0 results'
        - (0 results
detail:
    ids: url
`
		if diff := cmp.Diff(want, string(c.YAML)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("TwoPagesAlike", func(t *testing.T) {
		t.Parallel()
		c := guess(t, sampleOf(t, prairieList, listPage(30, 30, next)), sampleOf(t, "https://dir.example.com/portland-or/electricians", listPage(6, 6, "")))
		if c.Score != 100 {
			t.Errorf("got %d: %q", c.Score, c.Reasons)
		}
	})
	t.Run("ThinPageIsForReview", func(t *testing.T) {
		t.Parallel()
		c := guess(t, sampleOf(t, prairieList, listPage(10, 5, "")))
		if c.Score < ScoreReview || c.Score >= ScoreSandbox {
			t.Errorf("got %d: %q", c.Score, c.Reasons)
		}
	})
	t.Run("PageWithNone", func(t *testing.T) {
		t.Parallel()
		c := guess(t, sampleOf(t, prairieList, listPage(0, 0, "<h3>Acme</h3> (217) 555-0101")))
		if c.Score != 0 || !strings.Contains(strings.Join(c.Reasons, "\n"), "missing: businesses") {
			t.Errorf("got %d: %q", c.Score, c.Reasons)
		}
	})
	t.Run("OtherCategoryIsTakenAndSaid", func(t *testing.T) {
		t.Parallel()
		c := guess(t, sampleOf(t, "https://dir.example.com/springfield-il/well-drillers", listPage(30, 30, next)))
		if c.Score != 90 || !strings.Contains(strings.Join(c.Reasons, "\n"), `took "well-drillers" for the category`) {
			t.Errorf("got %d: %q", c.Score, c.Reasons)
		}
	})
	t.Run("PositionsAreNoIDs", func(t *testing.T) {
		t.Parallel()
		body := strings.NewReplacer(`"/biz/business-0-400000"`, `"/b/1"`, `"/biz/business-1-400001"`, `"/b/2"`, `"/biz/business-2-400002"`, `"/b/3"`).Replace(listPage(3, 3, next))
		c := guess(t, sampleOf(t, prairieList, body))
		if c.Score != 71 || !strings.Contains(strings.Join(c.Reasons, "\n"), "0 of 15 for stable ids") {
			t.Errorf("got %d: %q", c.Score, c.Reasons)
		}
	})
	bare := strings.NewReplacer(` id="pd-header"`, "", ` id="content"`, "", " | Prairie Directory", "").Replace(listPage(9, 9, next))
	t.Run("NoChromeIsForReview", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{bare, strings.NewReplacer("<header>", "", "</header>", "", "<main>", "", "</main>", "").Replace(bare)} {
			c := guess(t, sampleOf(t, prairieList, body))
			if c.Score != ScoreSandbox-1 || !strings.Contains(strings.Join(c.Reasons, "\n"), "missing: a sign that all samples share") {
				t.Errorf("got %d: %q", c.Score, c.Reasons)
			}
		}
	})
	t.Run("ClassesOfTheFrameAreChrome", func(t *testing.T) {
		t.Parallel()
		body := strings.NewReplacer("<header>", `<header class="wrapper pd-head">`, "<main>", `<main class="col-2">`).Replace(bare)
		c := guess(t, sampleOf(t, prairieList, body))
		if c.Score != 90 || !strings.Contains(string(c.YAML), "selectors:\n        - header.pd-head\nempty:") {
			t.Errorf("got %d: %q\n%s", c.Score, c.Reasons, c.YAML)
		}
	})
	t.Run("SamplesThatDoNotCount", func(t *testing.T) {
		t.Parallel()
		gone, other := sampleOf(t, prairieList+"/x", "x"), sampleOf(t, "https://other.example.com/", "x")
		gone.Status = 404
		c := guess(t, gone, other, Sample{Status: 200}, sampleOf(t, prairieList, ""))
		if c.Score != 0 || len(c.Reasons) != 5 {
			t.Errorf("got %d: %q", c.Score, c.Reasons)
		}
	})
	t.Run("Arguments", func(t *testing.T) {
		t.Parallel()
		if _, err := Guess("No Name", &url.URL{Scheme: "https", Host: "x.com"}, nil, Hints{}); err == nil {
			t.Error("a bad name passed")
		}
		if _, err := Guess("name", &url.URL{Scheme: "ftp", Host: "x.com"}, nil, Hints{}); err == nil {
			t.Error("a bad base URL passed")
		}
	})
}

// TestGuessURL checks the templates of URLs as directories form them, and that
// the next page's URL is what the template yields.
func TestGuessURL(t *testing.T) {
	t.Parallel()
	const here = "https://dir.example.com"
	for _, c := range []struct{ name, at, next, want, page2 string }{
		{"slug and slug", "/springfield-il/plumbers", "?page=2", "/{city_slug}/{category_slug}?page={page}", "/los-angeles-ca/auto-repair-service?page=2"},
		{"category first", "/c/plumbers/in/springfield-il/", "?p=2", "/c/{category_slug}/in/{city_slug}/?p={page}", "/c/auto-repair-service/in/los-angeles-ca/?p=2"},
		{"search", "/search?q=Plumbers&where=Springfield%2C+IL", "/search?q=Plumbers&where=Springfield%2C+IL&pg=2", "/search?q={category}&where={city}%2C+{state}&pg={page}", "/search?q=Auto+Repair+%26+Service&where=Los+Angeles%2C+CA&pg=2"},
		{"search by parts", "/find?city=springfield&state=il&cat=plumbers&utm_source=x", "/find?city=springfield&state=il&cat=plumbers&page=2", "/find?city={city_name_slug}&state={state_lower}&cat={category_slug}&page={page}", "/find?city=los-angeles&state=ca&cat=auto-repair-service&page=2"},
		{"one part", "/plumbers-in-springfield-il.html", "?page=2", "/{category_slug}-in-{city_slug}.html?page={page}", "/auto-repair-service-in-los-angeles-ca.html?page=2"},
		{"city first in one part", "/l/springfield-il-plumbers", "?page=2", "/l/{city_slug}-{category_slug}?page={page}", "/l/los-angeles-ca-auto-repair-service?page=2"},
		{"page in the path", "/springfield-il/plumbers/", "/springfield-il/plumbers/page/2/", "/{city_slug}/{category_slug}/page/{page}/", "/los-angeles-ca/auto-repair-service/page/2/"},
		{"number in the path", "/springfield-il/plumbers", "/springfield-il/plumbers/2", "/{city_slug}/{category_slug}/{page}", "/los-angeles-ca/auto-repair-service/2"},
		{"word and number in the path", "/springfield-il/plumbers", "/springfield-il/plumbers/page-2", "/{city_slug}/{category_slug}/page-{page}", "/los-angeles-ca/auto-repair-service/page-2"},
		{"page already there", "/springfield-il/plumbers?page=1&sort=name", "?page=2&sort=name", "/{city_slug}/{category_slug}?sort=name&page={page}", "/los-angeles-ca/auto-repair-service?sort=name&page=2"},
		{"offset", "/springfield-il/plumbers", "?start=30", "/{city_slug}/{category_slug}?page={page}", "/los-angeles-ca/auto-repair-service?page=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := guess(t, sampleOf(t, here+c.at, listPage(6, 6, `<a rel="next" href="`+c.next+`">Next</a>`)))
			if got.Score != 90 {
				t.Fatalf("score %d: %q", got.Score, got.Reasons)
			}
			if target := "    target: " + c.want + "\n"; !strings.Contains(strings.ReplaceAll(string(got.YAML), "'", ""), target) {
				t.Errorf("want %s in:\n%s", target, got.YAML)
			}
			la := yp.Place{City: "Los Angeles", CitySlug: "los-angeles-ca", State: "CA", Category: "Auto Repair & Service", CategorySlug: "auto-repair-service"}
			if u := got.Source.TargetURL(la, 2); u != here+c.page2 {
				t.Errorf("page 2 is %s, want %s", u, c.page2)
			}
		})
	}
	t.Run("PathPagesAreReadWithTheirNumber", func(t *testing.T) {
		t.Parallel()
		next := `<a rel="next" href="/springfield-il/plumbers/page/2">Next</a>`
		s := guess(t, sampleOf(t, prairieList, listPage(6, 6, next))).Source
		for _, at := range []string{prairieList, prairieList + "/page/2"} {
			if p, err := s.ParsePage([]byte(listPage(6, 6, "")), sampleOf(t, at, "").URL, 200); err != nil || p.Outcome != site.OK {
				t.Errorf("%s: %v (%s)", at, p.Outcome, p.Reason)
			}
		}
	})
	t.Run("CityApartFromItsState", func(t *testing.T) {
		t.Parallel()
		for at, want := range map[string]string{
			"/il/springfield/plumbers":       "/nm/santa-fe/plumbers",
			"/illinois/springfield/plumbers": "/new-mexico/santa-fe/plumbers",
			"/ca/los-angeles/plumbers":       "/nm/santa-fe/plumbers",
		} {
			c := guess(t, sampleOf(t, here+at, listPage(30, 30, `<a rel="next" href="?page=2">Next</a>`)))
			place := yp.Place{City: "Santa Fe", CitySlug: "santa-fe-nm", State: "NM", Category: "Plumbers", CategorySlug: "plumbers"}
			if got := c.Source.TargetURL(place, 1); c.Score < ScoreSandbox || got != here+want {
				t.Errorf("%s: %d, %s; want %s", at, c.Score, got, here+want)
			}
		}
	})
}

func TestGuessLinks(t *testing.T) {
	t.Parallel()
	home := `<html><head><title>Home | Prairie Directory</title></head><body id="x"><a href="/about">About</a> <a href="/springfield-il/mip/acme-400001">Acme</a>
<a href="/portland-or">Portland</a> <a href="/plumbers">Plumbers</a> <a href="/springfield-il/plumbers#top">Plumbers in Springfield</a> <a href="/springfield-il/plumbers">again</a>
<a href="https://other.example.com/portland-or/plumbers">elsewhere</a> <a href="/los-angeles-ca">LA</a><a href="/springfield-il">S</a> <a href="mailto:a@b.c">mail</a></body></html>`
	c := guess(t, sampleOf(t, "https://dir.example.com/", home))
	want := []string{
		"https://dir.example.com/springfield-il/plumbers", "https://dir.example.com/portland-or", "https://dir.example.com/los-angeles-ca",
		"https://dir.example.com/springfield-il", "https://dir.example.com/plumbers",
	}
	if diff := cmp.Diff(want, c.Links); diff != "" || c.Score != 0 {
		t.Errorf("score %d: %s", c.Score, diff)
	}
	again := guess(t, sampleOf(t, "https://dir.example.com/", home), sampleOf(t, c.Links[0], listPage(30, 30, `<a class="next" href="?page=2">2</a>`)))
	if again.Score != 90 || slices.Contains(again.Links, c.Links[0]) {
		t.Errorf("with the first link fetched: %d, %q, links %q", again.Score, again.Reasons, again.Links)
	}
}

// TestGuessForms guesses a definition from every page of structured data that
// holds listings.
func TestGuessForms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("../../../testdata/pages/structured/*.html"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := guess(t, sampleOf(t, prairieList, string(body)))
			nothing := name == "none.html" || name == "empty.html" || name == "no_chrome.html"
			if nothing != (c.Score == 0) {
				t.Errorf("score %d: %q", c.Score, c.Reasons)
			}
		})
	}
}

// FuzzGuess checks that any page and URL yield a candidate that keeps its
// promises: see checkCandidate.
func FuzzGuess(f *testing.F) {
	f.Add("/springfield-il/plumbers", "?page=2", []byte(listPage(6, 6, `<a rel="next" href="?page=2">Next</a>`)))
	f.Add("/search?q=Plumbers&where=Springfield%2C+IL", "/search?q=Plumbers&where=Springfield%2C+IL&pg=2", []byte(listPage(1, 0, "")))
	f.Add("/plumbers-in-springfield-il.html", "/x/page/2/", []byte(listPage(1, 0, "")))
	f.Add("/il/springfield/%7Bcity%7D/plumbers", "?{page}=2", []byte(listPage(1, 0, "<a href='/portland-or/plumbers'>")))
	f.Fuzz(func(t *testing.T, at, next string, body []byte) {
		u, err := url.Parse("https://dir.example.com" + at)
		if err != nil {
			return
		}
		body = append(body, `<a rel="next" href="`+next+`">Next</a>`...)
		c := guess(t, Sample{URL: u, Status: 200, Body: body}, Sample{URL: u, Status: 404})
		for _, r := range c.Reasons {
			if len(r) > 10_000 || strings.ContainsAny(r, "\x1b\x00\n") {
				t.Errorf("reason %q", r)
			}
		}
	})
}

// TestGuessIDs: where the pages of listings have their ids.
func TestGuessIDs(t *testing.T) {
	t.Parallel()
	// The list names its ids: the pages must, too.
	list := strings.ReplaceAll(listPage(30, 30, `<a rel="next" href="?page=2">Next</a>`), `"@type":"Plumber"`, `"@type":"Plumber","identifier":"IDENT"`)
	for i := range 30 {
		list = strings.Replace(list, "IDENT", "LIC-"+string(rune('A'+i%26))+string(rune('a'+i/26)), 1)
	}
	c := guess(t, sampleOf(t, prairieList, list))
	if !strings.Contains(string(c.YAML), "detail:\n    ids: page\n") || !c.Source.HasDetails() {
		t.Fatalf("definition:\n%s", c.YAML)
	}
}

// TestGuessHostile: pages that are made to cost much cost little.
func TestGuessHostile(t *testing.T) {
	t.Parallel()
	head, end := `<html><body id="x">`, "</body></html>"
	for name, body := range map[string]string{
		"deep":    head + strings.Repeat("<div>", 5000) + end,
		"ids":     head + strings.Repeat(`<p id="ab"></p>`, 20_000) + end,
		"classes": head + `<header class="` + strings.Repeat("ab cd ", 100_000) + `">` + end,
		"links":   head + strings.Repeat(`<a href="/springfield-il/plumbers?page=2">x</a>`, 20_000) + end,
		"title":   "<title>" + strings.Repeat(" | x", 100_000) + "</title>" + head + end,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c := guess(t, sampleOf(t, prairieList, body)); c.Score != 0 {
				t.Errorf("score %d", c.Score)
			}
		})
	}
}
