package site

import (
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
)

// TestChainEqualsCascadia matches every selector of the built-in source, as a
// chain and as cascadia compiled it, against every element of the seed pages;
// and what the index finds with what cascadia finds.
func TestChainEqualsCascadia(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	for name, page := range seedPages(t) {
		doc, err := html.Parse(strings.NewReader(page))
		noError(t, err)
		for _, x := range []*region.Selectors{&s.page, &s.cards} {
			found := x.NewHits()
			x.Find(doc, found, nil)
			for id, text := range x.Texts() {
				sel, err := cascadia.ParseGroup(text)
				noError(t, err)
				want := cascadia.QueryAll(doc, sel)
				if len(found[id]) != len(want) {
					t.Errorf("%s: %q: found %d, want %d", name, text, len(found[id]), len(want))
					continue
				}
				for i := range want {
					if found[id][i] != want[i] {
						t.Errorf("%s: %q: element %d differs", name, text, i)
					}
				}
			}
		}
	}
}
