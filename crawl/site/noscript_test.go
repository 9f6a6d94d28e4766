package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// second is a next link in a pagination.
const second = `<div class="pagination"><a class="next" href="?page=2">Next</a></div>`

func noscript(s string) string { return "<noscript>" + s + "</noscript>" }

// readNames lists the listings of a page: "801 N801".
func readNames(p *Page) string {
	var all []string
	for i := range p.Listings {
		all = append(all, p.Listings[i].ID+" "+p.Listings[i].Name)
	}
	return strings.Join(all, ", ")
}

// namedCard is an organic card.
func namedCard(id, more string) string {
	return `<div class="result" data-ypid="` + id + `"><a class="business-name" href="/x-il/mip/n-` + id + `"><span>N` + id + `</span></a>` + more + `</div>`
}

// TestNoscriptLinks: a next link counts wherever a noscript with it is.
func TestNoscriptLinks(t *testing.T) {
	list := `<div class="organic">` + namedCard("1", "") + `</div>`
	for name, page := range map[string]string{
		"InRegion":      resultsMain(list + noscript(second)),
		"Outside":       siteHTML(`<div id="main-content">` + list + `</div>` + noscript(second)),
		"Before":        siteHTML(noscript(second) + `<div id="main-content">` + list + `</div>`),
		"InPagination":  resultsMain(list + `<div class="pagination">` + noscript(`<a class="next" href="?page=2">Next</a>`) + `</div>`),
		"Rel":           resultsMain(list + noscript(`<a rel="next" href="?page=2">Next</a>`)),
		"RelOutside":    siteHTML(`<div id="main-content">` + list + `</div>` + noscript(`<a rel=next href=?page=2>Next</a>`)),
		"Capitals":      resultsMain(list + strings.ReplaceAll(strings.ReplaceAll(noscript(second), "noscript", "NOSCRIPT"), "<a ", "<A ")),
		"Entity":        resultsMain(list + noscript(strings.ReplaceAll(second, `"next"`, `"n&#101;xt"`))),
		"Twice":         resultsMain(list + noscript("<noscript>"+second)),
		"Comment":       resultsMain(list + noscript("<!-- x --> "+second)),
		"Open":          resultsMain(list + noscript(strings.ReplaceAll(second, "</div>", ""))),
		"BehindImages":  resultsMain(list + noscript(`<img src="/px.gif">`) + noscript(`<p>Turn on scripts</p>`) + noscript(second)),
		"Head":          strings.Replace(resultsMain(list), "<title>", noscript(`<link rel="next" href="?page=2">`)+"<title>", 1),
		"InDisorder":    resultsMain("</p>" + list + noscript(second)),
		"ListAndLink":   resultsMain(noscript(list + second)),
		"InTheCardToo":  resultsMain(`<div class="organic">` + namedCard("1", noscript(`<img src="/a.png">`)) + `</div>` + noscript(second)),
		"BesideOutside": resultsMain(list + strings.Replace(second, `class="next"`, `class="next disabled"`, 1) + noscript(second)),
	} {
		p := parse(t, builtin(t, "yellowpages"), page, srp, 200)
		storetest.Equal(t, p.NextURL, srp+"?page=2", name, p.Reason)
		storetest.Equal(t, readNames(p), "1 N1", name)
		storetest.Equal(t, p.Raw, 1, name, "cards")
	}
	for name, link := range map[string]string{
		"Disabled": strings.Replace(second, `class="next"`, `class="next disabled"`, 1), "Template": "<template>" + second + "</template>", "Text": "&lt;a class=next href=?page=2&gt;",
		"ThreeDeep": "<noscript><noscript><noscript>" + second, "Image": `<img class="next" src="?page=2">`, "InAScript": `<script>'` + second + `'</script>`,
	} {
		p := parse(t, builtin(t, "yellowpages"), resultsMain(list+noscript(link)), srp, 200)
		storetest.Equal(t, p.NextURL, "", name)
	}
}

// TestNoscriptCards: cards in noscript are read, those that are outside, too, once.
func TestNoscriptCards(t *testing.T) {
	one, two := namedCard("1", ""), namedCard("2", `<div class="phones">(217) 555-0142</div>`)
	ad := strings.Replace(adSaying("x"), "931", "1", 2)
	for name, c := range map[string]struct {
		main, want string
		raw, bad   int
	}{
		"List":             {noscript(`<div class="organic">` + one + two + `</div>`), "1 N1, 2 N2", 2, 0},
		"ListAround":       {`<div class="organic">` + noscript(one+two) + `</div>`, "1 N1, 2 N2", 2, 0},
		"EachInOne":        {`<div class="organic">` + noscript(one) + noscript(two) + `</div>`, "1 N1, 2 N2", 2, 0},
		"Rest":             {one + noscript(two), "1 N1, 2 N2", 2, 0},
		"Copies":           {one + two + noscript(one+two), "1 N1, 2 N2", 2, 0},
		"CopiesBefore":     {noscript(one+two) + one + two, "1 N1, 2 N2", 2, 0},
		"CopyInCard":       {namedCard("1", noscript(one)) + two, "1 N1, 2 N2", 2, 0},
		"CopyWithoutId":    {namedCard("1", noscript(`<div class="result"><b class="business-name">N1</b></div>`)) + two, "1 N1, 2 N2", 2, 0},
		"Unreadable":       {one + noscript(`<div class="result"><b class="business-name">x</b></div>`), "1 N1", 1, 0},
		"UnreadableAlone":  {ad + noscript(two+`<div class="result"><b class="business-name">x</b></div>`), "1 Ad 1, 2 N2", 3, 1},
		"OfAnAd":           {ad + noscript(one), "1 N1", 2, 0},
		"Placeholder":      {`<div class="result loading">` + noscript(one) + `</div>` + two, "1 N1, 2 N2", 2, 0},
		"ContentOfCard":    {`<div class="result" data-ypid="1">` + noscript(`<a class="business-name" href="/x-il/mip/n-1">N1</a>`) + `</div>`, "1 N1", 1, 0},
		"ContentAndId":     {`<div class="result">` + noscript(`<i data-ypid="1"><a class="business-name" href="/x-il/mip/n-1">N1</a></i>`) + `</div>` + two, "1 N1, 2 N2", 2, 0},
		"OtherInCard":      {namedCard("1", noscript(two)), "1 N1, 2 N2", 2, 0},
		"LazyImage":        {namedCard("1", noscript(`<img src="/a.png">`)) + two, "1 N1, 2 N2", 2, 0},
		"NoTotal":          {one + noscript(`<p class="showing-count">Showing 1-2 of 9</p>`), "1 N1", 1, 0},
		"LinkWithoutACard": {one + noscript(`<a class="business-name" href="/x-il/mip/n-7">N7</a>`), "1 N1", 1, 1},
		"LinksToThem":      {one + noscript(`<a class="business-name" href="/x-il/mip/n-1">N1</a>`), "1 N1", 1, 0},
	} {
		p := parse(t, builtin(t, "yellowpages"), resultsMain(c.main), srp, 200)
		storetest.Equal(t, readNames(p), c.want, name, p.Reason)
		storetest.Equal(t, [2]int{p.Raw, p.Bad}, [2]int{c.raw, c.bad}, name, "cards and bad ones")
		storetest.Equal(t, p.SiteTotal, 0, name)
	}
}

// TestNoscriptInCards: what a card shows wins over what is in its noscripts, of which the link to its page counts alone.
func TestNoscriptInCards(t *testing.T) {
	const card = `<div class="result" data-ypid="1">%s<div class="media-thumbnail">%s</div>%s</div>`
	name := `<a class="business-name" href="/x-il/mip/n-1">N1</a>`
	full := yp.Listing{ID: "1", Name: "N1", ProfileURL: "https://www.yellowpages.com/x-il/mip/n-1"}
	with := func(f func(*yp.Listing)) yp.Listing {
		l := full
		f(&l)
		return l
	}
	lazy := with(func(l *yp.Listing) { l.ImageURL = "https://www.yellowpages.com/lazy.png" })
	for what, c := range map[string]struct {
		name, image, more string
		want              yp.Listing
	}{
		"LazyImage":    {name, `<img data-src="/lazy.png">` + noscript(`<img src="/b.png">`), "", lazy},
		"ImageInIt":    {name, noscript(`<img src="/b.png">`), "", full},
		"ImageInALink": {name, noscript(`<a class="x" href="/x"><img src="/b.png"></a>`), "", full},
		"Phone":        {name, "", noscript(`<p class="phone">(217) 555-0142</p>`), full},
		"ProfileURL":   {`<b class="business-name">N1</b>`, "", noscript(`<a class="business-name" href="/x-il/mip/n-1">More</a>`), full},
		"OtherURL":     {name, "", noscript(`<a class="business-name" href="/x-il/mip/other-1">More</a>`), full},
		"Website":      {name, "", noscript(`<a class="track-visit-website" href="https://acme.example/">x</a>`), full},
	} {
		bodies := []string{resultsMain(fmt.Sprintf(card, c.name, c.image, c.more))}
		bodies = append(bodies, strings.Replace(bodies[0], "</body>", "</p></body>", 1))
		for _, body := range bodies {
			p := parse(t, builtin(t, "yellowpages"), body, srp, 200)
			if diff := cmp.Diff([]yp.Listing{c.want}, p.Listings); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", what, p.Via, diff)
			}
		}
	}
}

// TestNoscriptSaysNothing: no text in noscript is the page's.
func TestNoscriptSaysNothing(t *testing.T) {
	main := func(s string) string { return siteHTML(`<div id="main-content">` + s + `</div>`) }
	for name, c := range map[string]struct {
		html string
		want Outcome
	}{
		"Words":  {main(noscript("No results found")), HTMLChanged},
		"Marker": {main(noscript(none)), HTMLChanged},
		"Zero":   {main(noscript(`<p class="showing-count">0 of 0</p><a href="x">x</a>`)), HTMLChanged},
		"Title":  {`<html><head>` + noscript("<title>No results found | The Real Yellow Pages</title>") + `</head><body></body></html>`, Unrecognised},
		"Chrome": {`<html><head></head><body>` + noscript(`<div id="main-header"><a class="next" href="?page=2">n</a></div>`) + `<p>x</p></body></html>`, Unrecognised},
		"Block":  {main(noscript("Enable JavaScript and cookies to continue") + none), NoListings},
		"Total":  {main(noscript(count9+second) + `<p>did not match</p>`), HTMLChanged}, // for the next link
	} {
		p := parse(t, builtin(t, "yellowpages"), c.html, srp, 200)
		storetest.Equal(t, p.Outcome, c.want, name, p.Reason)
		storetest.Equal(t, p.SiteTotal, 0, name)
	}
}

// TestNoscriptSpeed: what noscripts usually hold leaves a page to its regions.
func TestNoscriptSpeed(t *testing.T) {
	usual := noscript(`<iframe src="https://tags.example/ns.html?id=1" height="0" style="display:none"></iframe>`) + noscript(`<img src="/px.gif?a=1&b=2" alt="">`) +
		noscript(`<p class="warning">Please <a href="https://www.enable-javascript.com/">turn on scripts</a>.</p>`)
	p := parse(t, builtin(t, "yellowpages"), siteHTML(usual+`<div id="main-content">`+namedCard("1", noscript(`<img src="/a.png">`))+`</div>`+usual), srp, 200)
	storetest.Equal(t, p.Via, "region")
	storetest.Equal(t, readNames(p), "1 N1")
}

func TestStructuredNoscript(t *testing.T) {
	const micro = `<div itemscope itemtype="https://schema.org/Plumber"><a itemprop="name" href="/biz/card-400001">Card</a></div>`
	acme := ldOf(`{"@type":"Plumber","name":"Acme","url":"/biz/acme-400002"}`)
	for name, c := range map[string]struct{ html, want, next string }{
		"Next":       {acme + noscript(`<a rel="next" href="?page=2">2</a>`), "400002 Acme", prairieList + "?page=2"},
		"Link":       {noscript(`<link rel=next href="?page=2">`) + acme, "400002 Acme", prairieList + "?page=2"},
		"Pagination": {acme + `<ul class="pager">` + noscript(`<li><a href="?page=2">Next</a>`) + `</ul>`, "400002 Acme", prairieList + "?page=2"},
		"List":       {noscript("<main>" + micro + "</main>"), "400001 Card", ""},
		"Beside":     {acme + noscript(micro), "400002 Acme", ""},
		"Twice":      {micro + noscript(micro), "400001 Card", ""},
		"JSONLD":     {micro + noscript(acme), "400001 Card", ""},
	} {
		p := parse(t, prairie(t), `<html><body><header id="pd-header"></header>`+c.html+"</body>", prairieList, 200)
		storetest.Equal(t, readNames(p), c.want, name)
		storetest.Equal(t, p.NextURL, c.next, name)
		storetest.Equal(t, p.Bad, 0, name)
	}
}

func TestIndexNoscript(t *testing.T) {
	body := siteHTML(`<div id="main-header"></div>` + noscript(`<ul class="cities-list"><li><a href="/tempe-az">Tempe</a></li></ul>`))
	p, err := builtin(t, "yellowpages").ParseIndex([]byte(body), urlOf(t, "https://www.yellowpages.com/state-az?page=t"), 200, "AZ")
	noError(t, err)
	storetest.Equal(t, len(p.Cities), 1, p.Reason)
}

// TestNoscriptAnywhere puts a part of a page into noscript: where the page is still read from its regions, it says what
// the whole of it says.
func TestNoscriptAnywhere(t *testing.T) {
	s := builtin(t, "yellowpages")
	pages := seedPages(t)
	names := slices.Sorted(maps.Keys(pages))
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(what string, most int) int { return rapid.IntRange(0, most).Draw(rt, what) }
		page := pages[names[pick("page", len(names)-1)]]
		from := pick("from", len(page))
		to := from + pick("length", min(4000, len(page)-from))
		page = page[:from] + "<noscript>" + page[from:to] + "</noscript>" + page[to:]
		checkResults(t, s, []byte(page))
		checkNothing(t, s, []byte(page))
		checkWholeNext(t, s, []byte(page))
	})
	for _, a := range regiontest.Fragments {
		checkResults(t, s, []byte(regiontest.Shell(`<div class="result" data-ypid="1"><b class="business-name">A</b></div>`+noscript(a+`<i class="result">`))))
	}
}

// checkWholeNext compares the next link that a page says with that which its whole tree says.
func checkWholeNext(t testing.TB, s *Source, page []byte) {
	t.Helper()
	got, err := s.ParsePage(page, finalURL(t), 200)
	if err != nil || got.Via != "region" {
		return
	}
	whole, err := s.parseWhole(page, finalURL(t), 200)
	noError(t, err)
	if got.NextURL == "" && !got.atEnd && whole.NextURL != "" {
		t.Fatalf("the page says that %q is next, and was read without it:\n%s", whole.NextURL, page)
	}
}
