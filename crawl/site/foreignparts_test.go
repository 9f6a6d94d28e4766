package site

import (
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// resultCard is a card with an id and a name, and what else it holds.
func resultCard(more string) string {
	return `<div class="result" data-ypid="801"><a class="business-name" href="/x-il/mip/n-801"><span>N801</span></a>` + more + `</div>`
}

// resultsMain is a page of the site whose main content is x.
func resultsMain(x string) string {
	return siteHTML(`<header id="main-header">x</header><div id="main-content">` + x + `</div>`)
}

// bothWays parses a page from its regions and, with a stray end tag, as a whole.
func bothWays(t *testing.T, name, body string, check func(*testing.T, *Page)) {
	t.Helper()
	for via, text := range map[string]string{"region": body, "whole": strings.Replace(body, "</body>", "</p></body>", 1)} {
		t.Run(name+", "+via, func(t *testing.T) {
			p := parse(t, builtin(t, "yellowpages"), text, srp, 200)
			storetest.Equal(t, p.Via, via, "read by")
			check(t, p)
		})
	}
}

func TestNextOutsidePagination(t *testing.T) {
	const own = "https://www.yellowpages.com/springfield-il/plumbers"
	for name, c := range map[string]struct{ link, want string }{
		"Article":         {`<a class="next" rel="next" href="/articles/fix-a-leak?page=2">Next article</a>`, ""},
		"Detail":          {`<a class="next" href="/x-il/mip/n-1?page=2">more</a>`, ""},
		"OtherTarget":     {`<a class="next" href="/reno-nv/roofers?page=2">Roofers in Reno</a>`, ""},
		"NotLater":        {`<a rel="next" href="/springfield-il/plumbers?page=1">x</a>`, ""},
		"Own":             {`<a rel="next" href="?page=2">x</a>`, own + "?page=2"},
		"Search":          {`<a class="next" href="/search?search_terms=x&page=2">x</a>`, "https://www.yellowpages.com/search?search_terms=x&page=2"},
		"BehindAnArticle": {`<a rel="next" href="/articles/2">x</a><a rel="next" href="?page=2">x</a>`, own + "?page=2"},
		"Disabled":        {`<div class="pagination"><a class="next disabled" rel="next" href="?page=2">x</a></div>`, ""},
		"DisabledItem":    {`<div class="pagination"><ul><li class="next disabled"><a rel="next" href="?page=2">x</a></li></ul></div>`, ""},
		"Pagination":      {`<div class="pagination"><a class="next" href="/springfield-il/plumber?page=2">x</a></div>`, "https://www.yellowpages.com/springfield-il/plumber?page=2"},
	} {
		bothWays(t, name, resultsMain(`<div class="organic">`+resultCard("")+`</div>`+c.link), func(t *testing.T, p *Page) {
			if p.NextURL != c.want {
				t.Errorf("got %q, want %q", p.NextURL, c.want)
			}
		})
	}
	bothWays(t, "InCard", resultsMain(`<div class="organic">`+resultCard(`<a rel="nofollow next" href="/photos/2">more</a>`)+`</div>`), func(t *testing.T, p *Page) {
		if p.NextURL != "" || len(p.Listings) != 1 {
			t.Errorf("got %q, %d listings", p.NextURL, len(p.Listings))
		}
	})
}

func TestHeadLinkAtEnd(t *testing.T) {
	for count, want := range map[string]string{"1-1 of 1": "", "1-1 of 2": "https://www.yellowpages.com/springfield-il/plumbers?page=2"} {
		body := resultsMain(`<span class="showing-count">Showing ` + count + `</span><div class="organic">` + resultCard("") + `</div>`)
		body = strings.Replace(body, "<title>", `<link rel="next" href="/springfield-il/plumbers?page=2"><title>`, 1)
		bothWays(t, count, body, func(t *testing.T, p *Page) {
			storetest.Equal(t, p.NextURL, want, count)
		})
	}
}

func TestPageInPath(t *testing.T) {
	s := yellowWith(t, "urls: {target: '/{city_slug}/{category_slug}/page-{page}'}")
	const at = "https://www.yellowpages.com/springfield-il/plumbers/page-2"
	for link, want := range map[string]string{"page-3": at[:len(at)-1] + "3", "page-1": "", "/reno-nv/plumbers/page-3": ""} {
		p := parse(t, s, resultsMain(`<div class="organic">`+resultCard("")+`</div><a rel="next" href="`+link+`">x</a>`), at, 200)
		storetest.Equal(t, p.NextURL, want, link)
	}
}

func TestCardParts(t *testing.T) {
	for name, c := range map[string]struct {
		html string
		want yp.Listing
	}{
		"CityInSnippet": {
			`<p class="adr">12 Elm St, Reno, NV 89501</p><div class="snippet">Best in <span class="city">Las Vegas</span></div>`,
			yp.Listing{Street: "12 Elm St", City: "Reno", State: "NV", PostalCode: "89501"},
		},
		"LocalityBesideArea": {
			`<div class="adr">Serving the Reno Area</div><span class="locality">Plumbers in Sparks</span>`,
			yp.Listing{ServiceArea: "Serving the Reno Area"},
		},
		"EmptyAddress":   {`<p class="adr"> </p><i class="street-address">1 Elm St</i><i class="locality">Reno, NV</i>`, yp.Listing{Street: "1 Elm St", City: "Reno", State: "NV"}},
		"NumberInWords":  {`<p class="adr">Eleven Madison Ave, Reno, NV</p>`, yp.Listing{Street: "Eleven Madison Ave", City: "Reno", State: "NV"}},
		"Hyphenated":     {`<p class="adr">Pier Thirty-Nine, Reno, NV</p>`, yp.Listing{Street: "Pier Thirty-Nine", City: "Reno", State: "NV"}},
		"NoNumber":       {`<p class="adr">Weight House, Reno, NV</p>`, yp.Listing{City: "Reno", State: "NV"}},
		"FaxFirst":       {`<div class="phones">Fax: (217) 555-1111 Phone: (217) 555-2222</div>`, yp.Listing{Phone: "(217) 555-2222"}},
		"FaxLast":        {`<div class="phones">Office: (217) 555-2222 Fax: (217) 555-1111 Cell: (217) 555-3333</div>`, yp.Listing{Phone: "(217) 555-2222"}},
		"FaxOnly":        {`<div class="phones">Fax number: (217) 555-1111</div><div class="phone">FAX (217) 555-1111</div>`, yp.Listing{}},
		"Photos":         {`<div class="photos"><span class="count">(14)</span></div>`, yp.Listing{}},
		"TripAdvisor":    {`<div class="tripadvisor"><span class="count">903 reviews</span></div>`, yp.Listing{}},
		"TripAdvisorBox": {`<div class="ratings"><div data-tripadvisor="{}"><b class="count">(903)</b></div><span class="count">(7)</span></div>`, yp.Listing{ReviewCount: 7}},
		"BesideRating":   {`<i class="result-rating"></i><span class="count">(9)</span>`, yp.Listing{ReviewCount: 9}},
	} {
		bothWays(t, name, resultsMain(`<div class="organic">`+resultCard(c.html)+`</div>`), func(t *testing.T, p *Page) {
			l := p.Listings[0]
			got := yp.Listing{Street: l.Street, City: l.City, State: l.State, PostalCode: l.PostalCode, ServiceArea: l.ServiceArea, Phone: l.Phone, ReviewCount: l.ReviewCount}
			storetest.Diff(t, got, c.want)
		})
	}
}

func TestTemplateHoldsNoCards(t *testing.T) {
	body := resultsMain(`<div class="organic">` + resultCard("") + `<template>` + strings.ReplaceAll(resultCard(""), "801", "777") + `</template></div>`)
	if p := parse(t, builtin(t, "yellowpages"), body, srp, 200); p.Raw != 1 || len(p.Listings) != 1 {
		t.Errorf("%d cards, %d listings; want 1 and 1", p.Raw, len(p.Listings))
	}
}

func TestTotalsInGroups(t *testing.T) {
	for text, want := range map[string]int{
		"1-1 of 1.108": 1108, "1-1 of 1 108": 1108, "1-1 of 1&nbsp;108": 1108, "1-1 of 1,108 results": 1108, "1-1 of 1.108.200": 1108200,
		"1-1 of 53. 108 more": 53, "1-1 of 30 10 miles": 30,
	} {
		bothWays(t, text, resultsMain(`<span class="showing-count">Showing `+text+`</span><div class="organic">`+resultCard("")+`</div>`), func(t *testing.T, p *Page) {
			if p.SiteTotal != want || p.Missing != 0 {
				t.Errorf("%s: got %d, %d missing; want %d", text, p.SiteTotal, p.Missing, want)
			}
		})
	}
	for text, want := range map[string]int{"1-30 of 12": 12, "0-0 of 0": 0, "30-1 of 50": 0, "31-60 of 12": 0, "1-99999 of 99999": 0, "30 of 50": 0} { // what makes no sense announces nothing
		if p := parse(t, builtin(t, "yellowpages"), resultsMain(`<span class="showing-count">Showing `+text+`</span>`+resultCard("")), srp, 200); p.Announced != want {
			t.Errorf("%s: %d announced, want %d", text, p.Announced, want)
		}
	}
	bothWays(t, "with thousands", resultsMain(`<span class="showing-count">Showing 1.108-1.109 of 1.109</span><div class="organic">`+resultCard("")+`</div>`), func(t *testing.T, p *Page) {
		if p.Missing != 1 || !p.atEnd {
			t.Errorf("%d missing, at the end: %t; want 1, true", p.Missing, p.atEnd)
		}
	})
}

func TestDetailOfOtherBusinesses(t *testing.T) {
	const foreign = `<a href="tel:+12175559999">Other</a><p class="phone">(217) 555-9999</p><a class="track-visit-website" href="https://other.example.com/">Website</a>`
	const own = `<a href="tel:+12175550001">Call now</a><a class="track-visit-website" href="https://acme.example.com/">Website</a>`
	for _, box := range []string{`<div class="nearby">`, `<div class="srp-listing">`, `<div class="result">`, `<aside>`, `<div class="people-also-viewed">`, `<div id="similar-businesses">`} {
		end := "</" + strings.TrimRight(strings.Fields(box)[0][1:], ">") + ">"
		for mine, want := range map[string][2]string{"": {}, own: {"+12175550001", "https://acme.example.com/"}} {
			body := siteHTML(`<main id="bpp"><h1 class="business-name">Acme</h1>` + box + foreign + end + mine + `</main>`)
			p := parseDetail(t, builtin(t, "yellowpages"), body, "https://www.yellowpages.com/springfield-il/mip/acme-101", 200)
			if p.OwnListing() == nil || p.OwnListing().Phone != want[0] || p.OwnListing().WebsiteURL != want[1] {
				t.Errorf("%s: got %+v, want %q", box, p.OwnListing(), want)
			}
		}
	}
}
