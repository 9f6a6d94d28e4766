package site

import (
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/store/storetest"
)

// odd are selectors by which an element is asked for in other ways than those of the built-in source.
var odd = []string{
	"a.b", "div #x", ".p a.next:not(.x)", ".p .next:not(.x > .y) > a", `a[href*="/mip/"]`, `a[href="x > .y"]`, "[data-ypid]", `div [itemprop="name"]`, "*", ":first-child",
	"DIV", ".x[data-a]", "li:first-child", `.a\.b`, `[title="a b"].c`, ".ratings > .count + b", `a:contains("x ( y") b.d > c`, "#x .y > b.c", "[a]", ".a:not(.b)", ".a + .b",
}

const oddPage = `<div class="p"><div id="x"><div class="y"><b class="c" a data-ypid="1">1</b></div></div><ul><li class="next"><a class="next x">2</a><a href="x > .y" class="next">3</a></li></ul>
<i class="y"><i class="next"><a>4</a></i></i><i class="next"><a href="/mip/1">5</a></i><b class="a.b"></b><b title="a b" class="c"></b><b class="x" data-a></b><a class="b"></a>
<div class="ratings"><i class="count"></i><b></b></div><a>x ( y<b class="d"><c>6</c></b></a><i class="a b"></i><i class="a"></i><i class="b"></i><i itemprop="name"></i></div>`

// TestChainEqualsCascadia compares what the built-in source's selectors and odd ones find, each by the way
// that is chosen for it, with what cascadia finds.
func TestChainEqualsCascadia(t *testing.T) {
	s := builtin(t, "yellowpages")
	var others region.Selectors
	for _, text := range odd {
		_, err := others.Add(text)
		noError(t, err)
	}
	pages := seedPages(t)
	pages["odd"] = oddPage
	delete(pages, "noscript.html") // in which Find opens what cascadia takes for text: see region.TestInNoscript
	for name, page := range pages {
		doc, err := html.Parse(strings.NewReader(page))
		noError(t, err)
		for _, x := range []*region.Selectors{&s.page, &s.cards, &others} {
			found := x.NewHits()
			x.Find(doc, found, nil)
			for id, text := range x.Texts() {
				sel, err := cascadia.ParseGroup(text)
				noError(t, err)
				want := cascadia.QueryAll(doc, sel)
				if name == "odd" && x == &others && len(want) == 0 {
					t.Errorf("%q: nothing to be found", text)
				}
				if len(found[id]) != len(want) {
					t.Errorf("%s: %q: found %d, want %d", name, text, len(found[id]), len(want))
					continue
				}
				for i := range want {
					storetest.Equal(t, found[id][i], want[i], "element of", name, text, i)
				}
			}
		}
	}
}
