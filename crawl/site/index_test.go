package site

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const azIndex = "https://www.yellowpages.com/state-az?page=b"

func parseIndex(t testing.TB, s *Source, body, final string, status int, state string) *Page {
	t.Helper()
	x, err := s.ParseIndex([]byte(body), urlOf(t, final), status, state)
	noError(t, err)
	return x
}

func slugs(x *Page) string {
	var out []string
	for _, c := range x.Cities {
		out = append(out, c.Address)
	}
	return strings.Join(out, " ")
}

func column(links ...string) string {
	return siteHTML(`<section class="column"><ul><li>` + strings.Join(links, "</li><li>") + `</li></ul></section>`)
}

const azLetters = `<nav><a href="/state-az?page=a">A</a><a href="/state-az?page=b">B</a></nav>`

func TestIndexOutcomes(t *testing.T) {
	phoenix := `<a href="/phoenix-az">Phoenix</a>`
	for _, c := range []struct {
		name, body, final string
		status            int
		want              Outcome
		notFound          bool
	}{
		{"cities", column(phoenix), azIndex, 200, OK, false},
		{"cities need no chrome", `<div class="list-content">` + phoenix, azIndex, 200, OK, false},
		{"slash at the end and capitals", column(phoenix), "https://www.yellowpages.com/State-AZ/", 200, OK, false},
		{"letter without cities", siteHTML(azLetters), azIndex, 200, NoListings, false},
		{"letter in the markup of the cities", column(azLetters), azIndex, 200, NoListings, false},
		{"not found", siteHTML("gone"), azIndex, 404, NoListings, true},
		{"not found without chrome", "nginx", azIndex, 404, Missing, false},
		{"not found, whatever it shows", `<div class="list-content">` + phoenix, azIndex, 404, Missing, false},
		{"homepage wins over 404", siteHTML(""), "https://www.yellowpages.com", 404, Redirected, false},
		{"other host", column(phoenix), "https://consent.example/state-az", 200, Redirected, false},
		{"other state", column(phoenix), "https://www.yellowpages.com/state-nv", 200, Redirected, false},
		{"one letter is no frame", siteHTML(`<a href="/state-az?page=a">A</a><a href="/state-az?page=a#x">A</a>`), azIndex, 200, HTMLChanged, false},
		{"letters of another state are no frame", siteHTML(strings.ReplaceAll(azLetters, "-az", "-nv")), azIndex, 200, HTMLChanged, false},
		{"cities of another state only", column(azLetters, `<a href="/reno-nv">Reno</a>`), azIndex, 200, HTMLChanged, false},
		{"cities outside the list", siteHTML(phoenix), azIndex, 200, HTMLChanged, false},
		{"cities in a template", column("<template>" + phoenix + "</template>"), azIndex, 200, HTMLChanged, false},
		{"empty body", "", azIndex, 200, Unrecognised, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := parseIndex(t, builtin(t, "yellowpages"), c.body, c.final, c.status, "AZ")
			if x.Outcome != c.want || x.Reason == "" || x.NotFound != c.notFound {
				t.Errorf("got %v (%q), NotFound %t, want %v", x.Outcome, x.Reason, x.NotFound, c.want)
			}
			if (len(x.Cities) > 0) != (c.want == OK) {
				t.Errorf("%v with cities %v", x.Outcome, x.Cities)
			}
		})
	}
	t.Run("FinalUnknown", func(t *testing.T) {
		x, err := builtin(t, "yellowpages").ParseIndex([]byte(column(phoenix)), nil, 200, "arizona")
		want := []yp.FoundCity{{City: yp.City{State: "AZ"}, Address: "phoenix-az", Shown: "Phoenix"}}
		if err != nil || !cmp.Equal(x.Cities, want) {
			t.Errorf("got %v, %v", x, err)
		}
	})
	t.Run("ErrNoIndex", func(t *testing.T) {
		if _, err := builtin(t, "yellowpages").ParseIndex(nil, nil, 200, "ZZ"); !errors.Is(err, ErrNoIndex) {
			t.Errorf("no such state: %v", err)
		}
		small, err := Parse("small.yaml", []byte(smallDef))
		noError(t, err)
		if _, err := small.ParseIndex(nil, nil, 200, "AZ"); !errors.Is(err, ErrNoIndex) || small.IndexRequests("AZ") != nil || small.HasIndex() {
			t.Errorf("no index: %v", err)
		}
	})
}

// TestIndexLinks checks which links count as cities, and what is kept of them.
func TestIndexLinks(t *testing.T) {
	s := builtin(t, "yellowpages")
	for name, c := range map[string]struct{ link, want string }{
		"one word":               {`<a href="/phoenix-az">Phoenix</a>`, "phoenix-az|Phoenix"},
		"five words":             {`<a href="/oak-creek-canyon-of-sedona-az">Oak</a>`, "oak-creek-canyon-of-sedona-az|Oak"},
		"double hyphen":          {`<a href="/three--points-az">Three Points</a>`, "three--points-az|Three Points"},
		"query and fragment":     {`<a href="/mesa-az?from=state#x">Mesa</a>`, "mesa-az|Mesa"},
		"without www":            {`<a href="http://yellowpages.com/mesa-az/">Mesa</a>`, "mesa-az|Mesa"},
		"capitals":               {`<a href="/Mesa-AZ">Mesa</a>`, "mesa-az|Mesa"},
		"entities and spaces":    {"<a href='/mesa-az'>\n Coeur&nbsp;d&rsquo;Alene\x1b </a>", "mesa-az|Coeur d’Alene"},
		"no text":                {`<a href="/casa-grande-az"><img src=x></a>`, "casa-grande-az|Casa Grande"},
		"other state":            {`<a href="/reno-nv">Reno</a>`, ""},
		"state index":            {`<a href="/state-az">Arizona</a>`, ""},
		"page about the site":    {`<a href="/about-us">About</a>`, ""},
		"page that ends like AZ": {`<a href="/sign-az">Sign in</a>`, ""},
		"category":               {`<a href="/phoenix-az/plumbers">Plumbers</a>`, ""},
		"other host":             {`<a href="https://evil.example/mesa-az">Mesa</a>`, ""},
		"other port":             {`<a href="https://www.yellowpages.com:8443/mesa-az">Mesa</a>`, ""},
		"user":                   {`<a href="https://u:p@www.yellowpages.com/mesa-az">Mesa</a>`, ""},
		"bad URL":                {`<a href="http://[::1/mesa-az">Mesa</a>`, ""},
		"long slug":              {`<a href="/` + strings.Repeat("a-", 60) + `az">Mesa</a>`, ""},
		"in the page's header":   {`<header><a href="/mesa-az">Mesa</a></header>`, ""},
		"twice":                  {`<a href="/mesa-az">Mesa</a><a href="/mesa-az?x">Mesa again</a>`, "mesa-az|Mesa"},
		"control character path": {"<a href='/me\x01sa-az'>Mesa</a>", ""},
	} {
		x := parseIndex(t, s, column(c.link), azIndex, 200, "az")
		var got []string
		for _, l := range x.Cities {
			got = append(got, l.Address+"|"+l.Shown)
			storetest.Equal(t, l.State, "AZ", name, l)
		}
		storetest.Equal(t, strings.Join(got, " "), c.want, name)
	}
	for name, body := range map[string]string{
		"section.column":  `<section class="column"><a href="/a-az">A</a></section>`,
		"ul.cities-list":  `<ul class="cities-list"><li><a href="/a-az">A</a></ul>`,
		"damaged nesting": `<section class="column"><li><b><a href="/a-az">A</b><li></section></div></ul>`,
	} {
		storetest.Equal(t, slugs(parseIndex(t, s, siteHTML(body), azIndex, 200, "AZ")), "a-az", name)
	}
}

func TestIndexBounds(t *testing.T) {
	var b strings.Builder
	for i := range maxCities + 100 {
		fmt.Fprintf(&b, `<a href="/city-%d-az">City</a>`, i)
	}
	x := parseIndex(t, builtin(t, "yellowpages"), column(b.String()), azIndex, 200, "AZ")
	if len(x.Cities) != maxCities || !strings.Contains(x.Reason, "100 more") {
		t.Errorf("%d cities: %s", len(x.Cities), x.Reason)
	}
}

// indexURLs are the addresses of a state's index.
func indexURLs(s *Source, state string) (urls []string) {
	for _, r := range s.IndexRequests(state) {
		urls = append(urls, r.URL)
	}
	return urls
}

func TestIndexRequests(t *testing.T) {
	y := builtin(t, "yellowpages")
	got := indexURLs(y, "az")
	if len(got) != 27 || got[0] != "https://www.yellowpages.com/state-az" || got[1] != "https://www.yellowpages.com/state-az?page=a" || got[26] != "https://www.yellowpages.com/state-az?page=z" {
		t.Errorf("got %d: %v", len(got), got)
	}
	if y.IndexRequests("ZZ") != nil || !y.HasIndex() {
		t.Error("a state that there is not has an index")
	}
	moved := y.WithBaseURL(&url.URL{Scheme: "http", Host: "127.0.0.1:99", Path: "/x/"})
	if got := indexURLs(moved, "NC"); got[2] != "http://127.0.0.1:99/x/state-nc?page=b" {
		t.Errorf("got %s", got[2])
	}
	if x := parseIndex(t, moved, column(`<a href="/x/winston-salem-nc">x</a>`, `<a href="/x/state-nc?page=q">x</a>`), "http://127.0.0.1:99/x/state-nc?page=b", 200, "NC"); slugs(x) != "winston-salem-nc" {
		t.Errorf("below a base path: %v %s", x.Cities, x.Reason)
	}
	for text, want := range map[string]string{
		"/s/{state}":                    "/s/AZ",
		"/s/{state}?x=1&l={letter}&y=2": "/s/AZ?x=1&y=2 /s/AZ?x=1&l=a&y=2 /s/AZ?x=1&l=b&y=2",
		"/s/{state_lower}/{letter}":     "/s/az/a /s/az/b",
	} {
		s := yellowWith(t, "base_url: https://x.example\nurls: {state_index: '"+text+"'}\nindex: {letters: ab}")
		storetest.Equal(t, strings.ReplaceAll(strings.Join(indexURLs(s, "AZ"), " "), "https://x.example", ""), want, text)
	}
}

func FuzzParseIndex(f *testing.F) {
	s := builtin(f, "yellowpages")
	final := urlOf(f, azIndex)
	f.Add([]byte(column(`<a href="/phoenix-az">Phoenix, AZ</a>`, azLetters)), 200)
	f.Add([]byte(siteHTML(`<ul class="cities-list"><li><a href="//yellowpages.com/x--y-az?z#q">X</a></ul>`)), 404)
	f.Fuzz(func(t *testing.T, page []byte, status int) {
		x, err := s.ParseIndex(page, final, status, "AZ")
		if err != nil {
			return
		}
		if x.Reason == "" || (x.Outcome == OK) != (len(x.Cities) > 0) || x.NotFound && x.Outcome != NoListings {
			t.Fatalf("%v %q with %d cities", x.Outcome, x.Reason, len(x.Cities))
		}
		seen := map[string]bool{}
		for _, c := range x.Cities {
			if seen[c.Address] || !strings.HasSuffix(c.Address, "-az") || c.Shown == "" || len(c.Shown) > maxLine || c.State != "AZ" {
				t.Fatalf("%+v", c)
			}
			seen[c.Address] = true
		}
	})
}
