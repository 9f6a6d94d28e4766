package site

import (
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// TestChainEqualsCascadia matches every selector of the built-in source, as a
// chain and as cascadia compiled it, against every element of the seed pages;
// and what the index finds with what cascadia finds.
func TestChainEqualsCascadia(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	for name, page := range seedPages(t) {
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*index{s.page, s.cards} {
			found := x.newHits()
			x.run(doc, found, nil)
			for text, id := range x.ids {
				sel, err := compileSelector(text)
				if err != nil {
					t.Fatal(err)
				}
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

func TestDemand(t *testing.T) {
	t.Parallel()
	for sel, want := range map[string]string{
		"a.b":                         ".b",
		"div #x":                      "#x",
		"h2.n a.c > span":             "tspan",
		".p a.next:not(.x)":           ".next",
		".p .next:not(.x > .y) > a":   "ta",
		`a[href*="/mip/"]`:            "ta",
		`a[href="x > .y"]`:            "ta",
		"[data-ypid]":                 "[data-ypid",
		`div [itemprop="name"]`:       "[itemprop",
		"*":                           "",
		":first-child":                "",
		"DIV":                         "tdiv",
		".x[data-a]":                  ".x",
		"li:first-child":              "tli",
		`.a\.b`:                       "",
		`[title="a b"].c`:             "[title",
		".ratings > .count + b":       "tb",
		`a:contains("x ( y") b.d > c`: "tc",
	} {
		t.Run(sel, func(t *testing.T) {
			t.Parallel()
			mark, word := demand(sel)
			got := word
			if mark != 0 {
				got = string(mark) + word
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	t.Run("Simplify", func(t *testing.T) {
		t.Parallel()
		for sel, want := range map[string]bool{".result": true, "a": true, "#x .y > b.c": true, "a.business-name > span": true, "[a]": false, ".a:not(.b)": false, ".a + .b": false} {
			g, err := compileSelector(sel)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := simplify(g[0]).(chain); ok != want {
				t.Errorf("%q (%s): a chain: %t, want %t", sel, g[0].String(), ok, want)
			}
		}
	})
}
