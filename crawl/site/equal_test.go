package site

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/store/storetest"
)

var noError = storetest.NoError

// finalURL is where the test pages are said to come from.
func finalURL(t testing.TB) *url.URL { return urlOf(t, srp) }

// yellowWith is the built-in source of that name with more in its definition.
func yellowWith(t testing.TB, more string) *Source {
	t.Helper()
	s, err := Parse("x.yaml", []byte("extends: yellowpages\nname: x\n"+more+"\n"))
	noError(t, err)
	return s
}

func builtin(t testing.TB, name string) *Source {
	t.Helper()
	s, err := Builtin(name)
	noError(t, err)
	return s
}

// checkResults compares what is read of a page's regions with what is read of the same
// regions in the tree of the whole page. It tells whether the page was read so at all.
func checkResults(t testing.TB, s *Source, page []byte) (read bool) {
	t.Helper()
	final := finalURL(t)
	got, more := s.parseRegions(page, final)
	if got == nil {
		return false
	}
	checkNext(t, s, got, more, page)
	doc, end, err := region.Parse(page)
	if err == nil {
		err = s.cut(OK, end, final)
	}
	if err != nil {
		t.Fatalf("regions parsed, the whole page not: %v", err)
	}
	scripts, at := region.Scripts(doc), s.linksAt(final).within(region.Base(doc))
	regions, _ := region.Graft(s.regions.Find(doc))
	w := s.workspace()
	whole := s.extract(w, regions, scripts, at, adsLackMarks(s, regions))
	s.readPaging(whole, regions, at, w.cards)
	opts := cmp.Options{cmpopts.IgnoreFields(Page{}, "Via", "Nothing"), cmp.AllowUnexported(Page{})}
	if diff := cmp.Diff(whole, got, opts); diff != "" {
		t.Fatalf("results differ (-whole +region):\n%s", diff)
	}
	return true
}

// adsLackMarks reports whether cards in boxes of ads lack the mark that others there bear, as a change of a page leaves them:
// they are ads where the page is in good order, and organic where it is not (organicInAds).
func adsLackMarks(s *Source, doc *html.Node) bool {
	w := s.workspace()
	w.card.src = s
	cards, _ := s.cardsOf(doc, w.pageHits, false)
	before := slices.Clone(cards)
	s.organicInAds(&w.card, cards)
	return !slices.EqualFunc(before, cards, func(a, b card) bool { return a.sponsored == b.sponsored })
}

// TestResultsRegionEqualsWhole reads the pages on which package region compares trees.
func TestResultsRegionEqualsWhole(t *testing.T) {
	t.Parallel()
	s, pages := builtin(t, "yellowpages"), seedPages(t)
	for _, page := range pages {
		checkResults(t, s, []byte(page))
	}
	names := slices.Sorted(maps.Keys(pages))
	read := 0
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(what string, most int) int { return rapid.IntRange(0, most).Draw(rt, what) }
		if checkResults(t, s, []byte(regiontest.Mutate(pages[names[pick("page", len(names)-1)]], pick))) {
			read++
		}
	})
	if t.Logf("%d pages were read from their regions", read); read == 0 {
		t.Error("no page was read from its regions: the test proves nothing")
	}
	for _, a := range regiontest.Fragments {
		for _, b := range regiontest.Fragments {
			checkResults(t, s, []byte(regiontest.Shell(a+b+"x")))
			checkResults(t, s, []byte(regiontest.Shell(a+`<div id="main-content">`+b+`y</div>z`)))
		}
	}
}

// checkNext looks for the next link in the whole page where the regions alone say that there is none.
func checkNext(t testing.TB, s *Source, p *Page, more bool, page []byte) (asked, found bool) {
	t.Helper()
	if p.NextURL != "" || p.NextHost != "" || p.atEnd {
		return false, false
	}
	whole := *p
	s.findNext(&whole, page, finalURL(t))
	found = whole.NextURL != "" || whole.NextHost != ""
	if found && !more {
		t.Fatalf("the page has a next link, %q %q, for which the whole of it was not looked at:\n%s", whole.NextURL, whole.NextHost, page)
	}
	return more, found
}

// TestNextOutsideRegions makes pages of what next links, and what they are in, may bear, for many forms of rules.
func TestNextOutsideRegions(t *testing.T) {
	t.Parallel()
	for _, css := range []string{
		"a.next", ".next > a", ".pagination a.next:not(.disabled)", ".pagination .next:not(.disabled) > a", "a[rel~=next]", "a[rel=next]", "a[rel*=ext]", "a[rel]",
		"a[rel~=NEXT i]", "a[rel!=next]", "a:not([rel=prev])", "#next", "#next a", "[id=next]", "[class=next]", "[class]", "[id^=n] > *", "a", "* > .next", ".pager.next",
		".pagination + .next", "div ~ a.next", "a:first-child", "div:has(a.next) a", ".pagination:first-child a", "a:contains(n)", "a.next:not(.x .y)", `.n\65 xt`, ".next, #next",
		"link[rel~=next]", "body.next a", "html a.next", "[title=\"a b\"] a",
	} {
		t.Run(css, func(t *testing.T) {
			t.Parallel()
			s := yellowWith(t, "next: [{css: '"+css+"', attr: href}, {css: .pagination .far, attr: href}]")
			asked, spared := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				page := []byte(nextPage(func(what string, all ...string) string { return rapid.SampledFrom(all).Draw(rt, what) }))
				if p, more := s.parseRegions(page, finalURL(t)); p != nil {
					if asked, found := checkNext(t, s, p, more, page); !asked && !found {
						spared++
					}
					if more {
						asked++
					}
				}
			})
			t.Logf("%d pages parsed whole, %d spared", asked, spared)
		})
	}
}

// nextPage is a page in good order.
func nextPage(pick func(what string, all ...string) string) string {
	attrs := func() string {
		return pick("class", "", "", "", ` class="next"`, ` CLASS=next`, ` class="pagination x"`, ` class="pager next"`, ` class="next disabled"`, ` class="n&#101;xt"`) +
			pick("id", "", "", "", ` id=next`, ` id="main-content"`) + pick("rel", "", "", ` rel=next`, ` rel="x next"`, ` rel="n&#101;xt"`, ` rel=prev`, ` rel=NEXT`) +
			pick("title", "", "", ` title="a b"`)
	}
	var block func(depth string) string
	block = func(depth string) (out string) {
		for pick("more", "y", "y", "n") == "y" && len(depth) < 5 {
			switch pick("what", "div", "a", "far", "card") {
			case "div":
				out += "<div" + attrs() + ">" + block(depth+"x") + "</div>"
			case "far":
				out += `<a class=far href="?page=3">n</a>`
			case "card":
				out += `<div class="result" data-ypid="1"><b class="business-name">A</b></div>`
			default:
				out += `<a href="` + pick("href", "?page=2", "?page=2", "https://other.example/", "/x") + `"` + attrs() + `>n</a>`
			}
		}
		return out
	}
	head := pick("link", "", `<link rel=next href="?page=2">`)
	body := block("") + `<div class="search-results"><div class="result" data-ypid="9"><b class="business-name">B</b></div>` + block("x") + "</div>" + block("")
	return "<!DOCTYPE html><html" + attrs() + "><head>" + head + "</head><body" + attrs() + ">" + body + "</body></html>"
}

func FuzzResultsRegionEqualsWhole(f *testing.F) {
	s := builtin(f, "yellowpages")
	for _, page := range seedPages(f) {
		f.Add([]byte(page))
	}
	for _, fragment := range regiontest.Fragments {
		f.Add([]byte(regiontest.Shell(fragment)))
	}
	f.Add([]byte(regiontest.Shell(`<noscript><div class="result" data-ypid="1"><b class="business-name">A</b></div></noscript>`)))
	f.Fuzz(func(t *testing.T, page []byte) {
		checkResults(t, s, page)
	})
}
