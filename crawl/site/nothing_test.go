package site

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/store/storetest"
)

// TestSaysBoth: in which signs a page with organic listings says that nothing was found, read from its regions and
// as a whole.
func TestSaysBoth(t *testing.T) {
	const words = `says "no results found"`
	list := `<div class="organic">` + resultCard("") + `</div>`
	inCard := func(more string) string { return `<div class="organic">` + resultCard(more) + `</div>` }
	for name, c := range map[string]struct {
		main string
		want []string
	}{
		"Silent":       {list, nil},
		"Headline":     {`<h2>No results found</h2><p>Popular near you:</p>` + list, []string{words}},
		"Below":        {list + `<p>Sorry, no results found.</p>`, []string{words}},
		"Several":      {`<h2>No results for x</h2><p>x did not match</p>` + list, []string{`says "did not match"`, `says "no results for"`}},
		"Tags":         {`<p>NO <b>Results</b><br>&#102;ound</p>` + list, []string{words}},
		"Blanks":       {"<p>No\n\tresults &nbsp; found</p>" + list, []string{words}},
		"Marker":       {`<div class="no-results-main"></div>` + list, []string{"has .no-results-main"}},
		"MarkerById":   {`<div id="no-results-main">No results found</div>` + list, []string{"has #no-results-main", words}},
		"Zero":         {`<p class="showing-count">0 of 0</p>` + list, nil},
		"Pagination":   {`<p>No results found</p>` + list + `<div class="pagination"><a class="next" href="?page=2">n</a></div>`, []string{words}},
		"Card":         {inCard(`<p>No results found</p><i class="no-results-main"></i>`), nil},
		"BadCard":      {`<div class="result">No results found</div>` + list, nil},
		"Ad":           {adSaying("No results found") + list, nil},
		"Hidden":       {`<p hidden>No results found</p>` + list, nil},
		"HiddenMarker": {`<div style="display:none"><div class="no-results-main">x</div></div>` + list, nil},
		"HiddenZero":   {`<p class="showing-count" hidden>0 of 0</p>` + list, nil},
		"DisplayNone":  {`<div style="color:red; DISPLAY : none !important; display:block"><p>No results found</p></div>` + list, nil},
		"DisplayBlock": {`<div style="display:none;display:block;visibility:visible"><p>No results found</p></div>` + list, []string{words}},
		"Invisible":    {`<p style="visibility: hidden">No results found</p>` + list, nil},
		"OtherStyle":   {`<p style="overflow:hidden;list-style:none">No results found</p>` + list, []string{words}},
		"Script":       {`<script>"No results found"</script><style>a{content:"no results found"}</style>` + list, nil},
		"Noscript":     {`<noscript><p>No results found</p><img src=x></noscript>` + list, nil},
		"Comment":      {`<!-- No results found -->` + list, nil},
		"FrameInside":  {`<header>No results found</header>` + list, []string{words}}, // the definition has regions
		"Parts":        {`<p>No results</p><p>found</p>` + list, []string{words}},
	} {
		bothWays(t, name, resultsMain(c.main), func(t *testing.T, p *Page) {
			storetest.Equal(t, p.Outcome, OK, "outcome")
			storetest.Equal(t, len(p.Listings) > 0, true, "listings")
			storetest.Diff(t, p.Nothing, c.want)
			storetest.Equal(t, p.SaysBoth(), c.want != nil, "says both")
		})
	}
	for _, hidden := range []string{ // pages that are parsed whole
		`<template><p>No results found</p><div class="no-results-main"></div></template>`,
		`<noscript><p class="no-results-main">No results found</p><p class="showing-count">0 of 0</p></noscript>`,
		`<noscript><div class="result">x</div><p>No results found</p></noscript>`,
	} {
		p := parse(t, builtin(t, "yellowpages"), resultsMain(hidden+list), srp, 200)
		storetest.Equal(t, p.Outcome, OK, hidden)
		storetest.Equal(t, len(p.Nothing), 0, hidden, p.Nothing)
	}
	bothWays(t, "OutsideRegions", strings.Replace(resultsMain(list), "</header>", `</header><p>No results found</p><i class="no-results-main"></i>`, 1), func(t *testing.T, p *Page) {
		storetest.Equal(t, len(p.Nothing), 0)
	})
	bothWays(t, "Title", strings.Replace(resultsMain(list), "<title>", "<title>No Results &#70;ound - ", 1), func(t *testing.T, p *Page) {
		storetest.Diff(t, p.Nothing, []string{`is titled "no results found"`})
	})
	bothWays(t, "Total", resultsMain(`<p>No results found</p><p class="showing-count">Showing 1-1 of 7</p>`+list), func(t *testing.T, p *Page) {
		storetest.Diff(t, p.Nothing, []string{words})
		storetest.Equal(t, p.SaysBoth(), false, "beside a total")
	})
}

// TestSaysNothingWhere: where words count of a source without regions, on pages with organic listings and without.
func TestSaysNothingWhere(t *testing.T) {
	s := yellowWith(t, "regions: []")
	for name, c := range map[string]struct {
		html string
		says bool
	}{
		"Body":         {`<p>No results found</p>`, true},
		"Main":         {`<main><h1>No results found</h1></main>`, true},
		"HeaderInMain": {`<main><header><h1>No results found</h1></header></main>`, true},
		"Header":       {`<header><p>No results found</p></header>`, false},
		"Footer":       {`<footer>No results found? Add your business</footer>`, false},
		"FooterInMain": {`<main><footer>No results found? Write to us</footer></main>`, false},
		"Nav":          {`<nav>No results found</nav>`, false},
		"Aside":        {`<aside><div><p>No results found</p></div></aside>`, false},
		"Form":         {`<form><input><p>No results found</p></form>`, false},
		"FormOfAll":    {`<form id="aspnetForm"><header>x</header><p>No results found</p></form>`, true},
		"Dialog":       {`<dialog open>No results found</dialog>`, false},
		"RoleDialog":   {`<div role="dialog">No results found</div>`, false},
		"Hidden":       {`<div hidden="until-found">No results found</div>`, false},
		"HiddenMarker": {`<div hidden><div class="no-results-main">No results found</div></div>`, false},
		"Noscript":     {`<noscript><div class="no-results-main">No results found</div></noscript>`, false},
		"Template":     {`<template>No results found</template>`, false},
	} {
		for _, cards := range []string{"", `<div class="organic">` + resultCard("") + `</div>`} {
			p := parse(t, s, siteHTML(`<div id="main-header"></div>`+c.html+cards), srp, 200)
			if cards == "" {
				storetest.Equal(t, p.Outcome, map[bool]Outcome{true: NoListings, false: HTMLChanged}[c.says], name, p.Reason)
				storetest.Equal(t, len(p.Nothing), 0, name)
				continue
			}
			storetest.Equal(t, p.SaysBoth(), c.says, name, p.Nothing)
		}
	}
}

// TestHiddenSigns: what a page without listings hides says nothing, regions or not.
func TestHiddenSigns(t *testing.T) {
	main := func(s string) string { return siteHTML(`<div id="main-content">` + s + `</div>`) }
	for html, want := range map[string]Outcome{
		`<div class="no-results-main" style="display:none">x</div>`:             HTMLChanged,
		`<p style="display: none">No results found</p>`:                         HTMLChanged,
		`<p class="showing-count" hidden>0 of 0</p>`:                            HTMLChanged,
		`<p class="showing-count" hidden>0 of 0</p><i class="showing-count">0`:  NoListings,
		`<p hidden>No results found</p><p>No results found</p>`:                 NoListings,
		`<i class="no-results-main" hidden></i><i class="no-results-main"></i>`: NoListings,
		`<noscript><p class="x">No results found</p></noscript>`:                HTMLChanged,
	} {
		p := parse(t, builtin(t, "yellowpages"), main(html), srp, 200)
		storetest.Equal(t, p.Outcome, want, html, p.Reason)
	}
}

func TestStructuredSaysBoth(t *testing.T) {
	const (
		acme  = `<script type="application/ld+json">{"@type":"Plumber","name":"Acme","url":"/biz/acme-400001"}</script>`
		empty = `<p>Sorry, no results found.</p>`
		micro = `<div itemscope itemtype="https://schema.org/Plumber"><a itemprop="name" href="/biz/card-400001">Card</a>`
	)
	for html, want := range map[string]bool{
		acme: false, acme + empty: true, "<footer>" + empty + "</footer>" + acme: false, micro + empty + "</div>": false, micro + "</div>" + empty: true,
		`<main itemscope itemtype="https://schema.org/SearchResultsPage">` + empty + micro + "</div></main>": true,
		`<noscript>` + empty + `</noscript>` + acme:                                                          false,
	} {
		p := parse(t, prairie(t), `<html><body><header id="pd-header"></header>`+html+"</body>", prairieList, 200)
		storetest.Equal(t, p.Outcome, OK, html)
		storetest.Equal(t, p.SaysBoth(), want, html, p.Nothing)
	}
}

// TestNothingRegionEqualsWhole makes pages of what signs may be in, and compares the two ways to read them.
func TestNothingRegionEqualsWhole(t *testing.T) {
	s := builtin(t, "yellowpages")
	signs := 0
	rapid.Check(t, func(rt *rapid.T) {
		page := []byte(signPage(func(all ...string) string { return rapid.SampledFrom(all).Draw(rt, "part") }))
		signs += checkNothing(t, s, page)
	})
	if signs == 0 {
		t.Error("no page had a sign: the test proves nothing")
	}
}

func signPage(pick func(all ...string) string) string {
	var block func(depth string) string
	block = func(depth string) (out string) {
		for pick("y", "y", "n") == "y" && len(depth) < 4 {
			switch what := pick("say", "say", "card", "noscript", "div"); what {
			case "say":
				out += pick("No results found", "<b>no</b> results <i>found</i>", "did not match", `<i class="no-results-main">x</i>`, `<p class="showing-count">0 of 0</p>`, "No results&#32;for x")
			case "card":
				out += `<div class="result" data-ypid="` + pick("1", "2", "3") + `"><b class="business-name">A</b>` + pick("", "no results found") + `</div>`
			case "noscript":
				out += `<noscript><p class="` + pick("x", "no-results-main", "result", "pagination") + `">` + pick("no results found", `<img src=x>`, `<a class="next" href="?page=2">n</a>`) + `</p></noscript>`
			default:
				out += "<div" + pick("", " hidden", ` style="display:none"`, ` class="search-results"`, ` class="pagination"`) + ">" + block(depth+"x") + "</div>"
			}
		}
		return out
	}
	return "<!DOCTYPE html><html><head><title>" + pick("x", "No results found") + "</title></head><body>" + block("") +
		`<div id="main-content">` + block("") + "</div>" + block("") + "</body></html>"
}

// checkNothing compares the signs on a page that is read from its regions with those that the same regions bear in the
// tree of the whole page. It returns their number.
func checkNothing(t testing.TB, s *Source, page []byte) int {
	t.Helper()
	got, _ := s.parseRegions(page, finalURL(t))
	if got == nil {
		return 0
	}
	doc, _, err := region.Parse(page)
	noError(t, err)
	title, scripts := titleOf(doc), region.Scripts(doc)
	regions, _ := region.Graft(s.regions.Find(doc))
	w := s.workspace()
	whole := s.extract(w, regions, scripts, s.linksAt(finalURL(t)), false)
	want := s.nothing(whole, w, regions, slices.Collect(regions.ChildNodes()), title)
	if diff := cmp.Diff(want, got.Nothing); diff != "" {
		t.Fatalf("signs differ (-whole +region):\n%s\n%s", diff, page)
	}
	return len(want)
}

func FuzzNothing(f *testing.F) {
	s := builtin(f, "yellowpages")
	card := `<div class="result" data-ypid="1"><b class="business-name">A</b></div>`
	for _, sign := range []string{"<p hidden>no results found</p>did not match", `<i class="no-results-main" style="display:none">x</i>`, `<noscript><i class="x">no results found</i></noscript>`} {
		f.Add([]byte(regiontest.Shell(card + sign)))
	}
	for _, page := range seedPages(f) {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, page []byte) { checkNothing(t, s, page) })
}
