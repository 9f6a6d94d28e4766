package site

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

func parse(t *testing.T, s *Source, body, final string, status int) *Page {
	t.Helper()
	p, err := s.ParsePage([]byte(body), urlOf(t, final), status)
	noError(t, err)
	return p
}

const (
	srp    = "https://www.yellowpages.com/springfield-il/plumbers"
	aCard  = `<div class="result" data-ypid="1"><a class="business-name" href="/x/mip/a-1">A</a></div>`
	noCard = `<div class="result"><b>x</b></div>`
	none   = `<div class="no-results-main">No results found</div>`
	count9 = `<p class="showing-count">Showing 1-9 of 9</p>`
)

// TestOutcomes checks each rule of Source.decide, and that it wins over those
// below it.
func TestOutcomes(t *testing.T) {
	main := func(s string) string { return siteHTML(`<div id="main-content">` + s + `</div>`) }
	for _, c := range []struct {
		name, body, final string
		status            int
		want              Outcome
	}{
		{"3 homepage", main(aCard), "https://www.yellowpages.com/", 200, Redirected},
		{"3 detail page", main(aCard), "https://www.yellowpages.com/springfield-il/mip/a-1", 200, Redirected},
		{"3 redirect wins over 404", main(none), "https://www.yellowpages.com/", 404, Redirected},
		{"3 search is the kind", main(aCard), "https://www.yellowpages.com/search?search_terms=x", 200, OK},
		{"4 listings beside the empty marker are OK, and the page says both", main(aCard + none), srp, 200, OK},
		{"4 listings need no chrome", "<p>x" + aCard, srp, 200, OK},
		{"5 marker", main(none), srp, 200, NoListings},
		{"5 marker wins over a total", main(none + count9), srp, 200, NoListings},
		{"5 zero", main(`<p class="showing-count">Showing 0 of 0</p>`), srp, 200, NoListings},
		{"5 not found", main("gone"), srp, 404, NoListings},
		{"5 words in a script do not count", main("<script>'No results found'</script>"), srp, 200, HTMLChanged},
		{"5 words outside the regions do not count", siteHTML(`<div id="main-content"></div><p>no results found`), srp, 200, HTMLChanged},
		{"5 words beside an ad", main("<p>No results found</p>" + adSaying("Gates to restrict access")), srp, 200, NoListings},
		{"5 words of a search", main("<p>No results for gates to restrict access</p>"), srp, 200, NoListings},
		{"5 not found, words of a business", main("Pads to restrict access"), srp, 404, NoListings},
		{"5 words of an ad do not count", main(`<div class="card">A</div>` + adSaying("Our color did not match")), srp, 200, OK},
		{"5 words of a bad card do not count", main(`<div class="result"><p>I got no results for months</p></div>`), srp, 200, HTMLChanged},
		{"5 words do not count beside a total", main(count9 + "<p>did not match</p>"), srp, 200, HTMLChanged},
		{"5 words do not count beside a next link", main(`<p>did not match</p><div class="pagination"><a class="next" href="?page=2">n</a></div>`), srp, 200, HTMLChanged},
		{"6 total", main(count9), srp, 200, HTMLChanged},
		{"6 bad cards", main(noCard), srp, 200, HTMLChanged},
		{"7 no chrome, marker words", "<html><body>No results found</body></html>", srp, 200, Unrecognised},
		{"3 not found without chrome", "nginx 404", srp, 404, Missing},
		{"3 not found without a word", "", srp, 404, Missing},
		{"3 gone without chrome", "<html><title>410 Gone</title><h1>Gone</h1></html>", srp, 410, Missing},
		{"3 not found, cut short", "<html><body><p>Not fou", srp, 404, Missing},
		{"3 not found, in words of an empty result", "<html><body>No results found</body></html>", srp, 404, Missing},
		{"3 not found, with cards of nobody's", "<html><body>" + aCard + "</body></html>", srp, 404, Missing},
		{"3 not found, with a total of zero", `<html><body><p class="showing-count">Showing 0 of 0</p></body></html>`, srp, 404, Missing},
		{"3 not found, in words of a block", "<html><body><h1>You have been blocked</h1></body></html>", srp, 404, Unrecognised},
		{"3 not found, under the title of a refusal", "<html><title>Access Denied</title></html>", srp, 410, Unrecognised},
		{"5 not found with suggestions", main(aCard), srp, 404, NoListings},
		{"5 gone with cards and a next link", main(aCard + `<div class="pagination"><a class="next" href="?page=2">n</a></div>`), srp, 410, NoListings},
		{"7 empty body", "", srp, 200, Unrecognised},
		{"5 a marker in a template does not count", main("<template>" + none + "</template>"), srp, 200, HTMLChanged},
		{"5 nor do words in a region in a template", siteHTML(`<template><div id="main-content">No results found</div></template>`), srp, 200, HTMLChanged},
		{"7 nor does chrome in a template", `<html><body><template><title>x | The Real Yellow Pages</title><div id="main-header"></div></template></body></html>`, srp, 200, Unrecognised},
		{"8 no sign", main("<div>?</div>"), srp, 200, HTMLChanged},
	} {
		p := parse(t, builtin(t, "yellowpages"), c.body, c.final, c.status)
		if p.Outcome != c.want || p.Reason == "" {
			t.Errorf("%s: got %v (%q), want %v", c.name, p.Outcome, p.Reason, c.want)
		}
		if want := strings.HasSuffix(c.name, "says both"); p.SaysBoth() != want {
			t.Errorf("%s: says both: %t", c.name, !want)
		}
		if want := c.want == NoListings && c.status >= 400; p.NotFound != want {
			t.Errorf("%s: NotFound = %t, want %t", c.name, p.NotFound, want)
		}
		if gone(c.status) && len(p.Listings)+p.Raw+len(p.NextURL) > 0 {
			t.Errorf("%s: read %d listings", c.name, len(p.Listings))
		}
	}
	t.Run("Code", func(t *testing.T) {
		want := map[Outcome]yp.ErrorCode{
			OK: yp.CodeSuccess, NoListings: yp.CodeNoListings, HTMLChanged: yp.CodeHTMLChanged,
			Redirected: yp.CodeBlockedProxy, Unrecognised: yp.CodeBlockedProxy, Missing: yp.CodeUnknown, 99: yp.CodeUnknown,
		}
		for o, code := range want {
			storetest.Equal(t, o.Code(), code, o)
		}
	})
}

// adSaying is a featured ad with a snippet.
func adSaying(words string) string {
	return `<section class="featured-listings"><article class="srp-listing" data-ypid="931"><span class="ad-pill">Ad</span><a class="business-name" href="">Ad 931</a><div class="snippet"><p class="body">` +
		words + `</p></div></article></section>`
}

// TestTitleIsTheSites checks what a page without the site's ids can be known by. A definition that
// writes a title in lower case means it in any.
func TestTitleIsTheSites(t *testing.T) {
	own := yellowWith(t, "chrome: {selectors: [], titles: [yellow pages]}")
	for s, titles := range map[*Source]map[bool][]string{
		builtin(t, "yellowpages"): {
			true: {
				"Plumbers | The Real Yellow Pages", "Plumbers | The Real Yellow Pages®", "Plumbers | The Real Yellow Pages™", "Plumbers | The Real Yellow Pages(R)",
				"Plumbers | YELLOWPAGES.COM", "Plumbers - YellowPages.com", "The Real Yellow Pages | Plumbers", "The Real Yellow Pages® - Plumbers", "The Real Yellow Pages",
			},
			false: {
				"yellowpages.com", "YELLOWPAGES.COM", "Plumbers | yellowpages.com", "YellowPages.com | This name is for sale", "YELLOWPAGES.COM - This name is for sale",
				"The Real Yellow Pagescape", "Get The Real Yellow Pages today", "Access denied | www.yellowpages.com used Cloudflare to restrict access",
			},
		},
		own: {
			true:  {"Plumbers | Yellow Pages", "Yellow Pages - Plumbers", "YELLOW PAGES®", "plumbers · yellow pages"},
			false: {"Plumbers in the Yellow Pages", "Yellow Pagescape | Plumbers"},
		},
	} {
		for want, list := range titles {
			for _, title := range list {
				storetest.Equal(t, s.chrome.partOfTitle(title), want, s.Name(), title)
			}
		}
	}
}

func TestSignInTemplate(t *testing.T) {
	p := parse(t, builtin(t, "yellowpages"), siteHTML(`<template><a href="/x-il/mip/a-1">A</a></template>`), srp, 200)
	if p.Outcome != HTMLChanged || strings.Contains(p.Reason, "links to listings") {
		t.Errorf("got %v, %q", p.Outcome, p.Reason)
	}
}

// siteHTML is a page with the site's chrome around the content.
func siteHTML(content string) string {
	return "<!DOCTYPE html><html><head><title>x | The Real Yellow Pages</title></head><body>" + content + "</body></html>"
}

func TestNextURL(t *testing.T) {
	s := builtin(t, "yellowpages")
	for ref, want := range map[string]string{
		"/springfield-il/plumbers?page=2":            srp + "?page=2",
		"?page=2&s=name":                             srp + "?page=2&s=name",
		"https://www.yellowpages.com/a/b?page=2#x":   "https://www.yellowpages.com/a/b?page=2",
		"https://yellowpages.com/a/b":                "https://yellowpages.com/a/b",
		"https://www.yellowpages.com.evil.example/a": "",
		"https://www.yellowpages.com:8443/a":         "",
		"https://user:pw@www.yellowpages.com/a":      "",
		"#":                                          "",
		"":                                           "",
		srp:                                          "",
		"/a?b=" + strings.Repeat("x", weburl.MaxLen): "",
	} {
		next, _, reason := s.nextURL(s.linksAt(finalURL(t)), ref)
		storetest.Equal(t, next, want, yp.Clip(ref, 80))
		storetest.Equal(t, reason == "", want != "", yp.Clip(ref, 80), reason)
	}
}

func TestHostilePages(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	t.Run("NestingBomb", func(t *testing.T) {
		t.Parallel()
		for _, n := range []int{600, 100_000} {
			body := []byte(siteHTML(strings.Repeat("<div>", n) + aCard + strings.Repeat("</div>", n)))
			for kind, read := range readers(t) {
				err := read(body)
				var pe *ParseError
				if !errors.As(err, &pe) || !errors.Is(err, region.ErrTooDeep) || !pe.Permanent() {
					t.Errorf("%s, %d: got %v, want a permanent ErrTooDeep", kind, n, err)
				}
			}
		}
	})
	t.Run("JustNotTooDeep", func(t *testing.T) {
		t.Parallel()
		for n := 450; n < 509; n++ {
			page := siteHTML(strings.Repeat("<div>", n) + `<div id="main-content">` + aCard + "</div>" + strings.Repeat("</div>", n))
			checkDepth(t, s, page)
		}
	})
	t.Run("ManyCards", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 3 * region.MaxHits {
			fmt.Fprintf(&b, `<div class="result" data-ypid="%d"><a class="business-name">A</a></div>`, i)
		}
		p := parse(t, s, siteHTML(b.String()), srp, 200)
		storetest.Equal(t, len(p.Listings), region.MaxHits, "listings")
	})
	t.Run("LongTexts", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("é", 100_000)
		p := parse(t, s, siteHTML(`<div class="result" data-ypid="1"><a class="business-name" href="/mip/`+long+`">`+long+`</a><div class="snippet"><p>`+long+
			`</p></div><div class="categories">`+strings.Repeat("<a>"+long+"</a>", 50)+`</div><div class="adr">`+long+`</div></div>`), srp, 200)
		l := p.Listings[0]
		if len(l.Name) > yp.MaxName || len(l.Snippet) > maxSnippet || len(l.Street) > maxLine || l.ProfileURL != "" || len(l.Categories) > yp.MaxCategories {
			t.Errorf("too long: %d %d %d %d %d", len(l.Name), len(l.Snippet), len(l.Street), len(l.ProfileURL), len(l.Categories))
		}
	})
	t.Run("NestedCards", func(t *testing.T) {
		t.Parallel()
		p := parse(t, s, siteHTML(`<div class="result" data-ypid="1"><a class="business-name">A</a>`+aCard+`</div>`), srp, 200)
		if p.Raw != 2 || p.Bad != 0 || len(p.Listings) != 1 {
			t.Errorf("got %d cards, %d of them bad, %d listings, want one listing in two cards", p.Raw, p.Bad, len(p.Listings))
		}
	})
}

// checkDepth compares the two ways near the depth at which the parser gives up.
func checkDepth(t *testing.T, s *Source, page string) {
	t.Helper()
	some, _ := s.parseRegions([]byte(page), finalURL(t))
	whole, err := s.parseWhole([]byte(page), finalURL(t), 200)
	if some != nil && (err != nil || len(whole.Listings) != len(some.Listings)) {
		t.Errorf("regions parsed, the whole page: %v", err)
	}
}

// TestPagesOutliveBody overwrites the body after the parse, as the fetcher's pool will: nothing that was
// returned may change.
func TestPagesOutliveBody(t *testing.T) {
	y, own := builtin(t, "yellowpages"), prairie(t)
	detail := func(b []byte) (*Page, error) { return y.ParseDetail(b, urlOf(t, mip), 200) }
	check := func(name, page string, read func(body []byte) (*Page, error)) {
		body := []byte(page)
		got, err := read(body)
		noError(t, err)
		want, err := read(bytes.Clone(body))
		noError(t, err)
		for i := range body {
			body[i] = '#'
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Page{})); diff != "" {
			t.Errorf("%s: the result changed with the body:\n%s", name, diff)
		}
	}
	for name, page := range seedPages(t) {
		check(name, page, func(b []byte) (*Page, error) { return y.ParsePage(b, finalURL(t), 200) })
	}
	for _, page := range detailPages() {
		check("detail", page, detail)
	}
	for name, page := range regiontest.Golden(t, structuredDir) {
		check(name, page, func(b []byte) (*Page, error) { return own.ParsePage(b, urlOf(t, prairieList), 200) })
	}
}
