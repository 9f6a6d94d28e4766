package site

import (
	"bytes"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
)

// benchPage is a page of 250 KB with 30 cards.
func benchPage(b *testing.B) []byte {
	b.Helper()
	page := []byte(resultsPage(30, 95))
	if kb := len(page) / 1024; kb < 235 || kb > 265 {
		b.Fatalf("the page has %d KB, want about 250", kb)
	}
	return page
}

// BenchmarkParsePage compares the parse of the regions with that of the whole
// page, results and all.
func BenchmarkParsePage(b *testing.B) {
	s, page, final := builtin(b, "yellowpages"), benchPage(b), finalURL(b)
	b.Run("region", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			p, err := s.ParsePage(page, final, 200)
			if err != nil || len(p.Listings) != 30 || p.Via != "region" {
				b.Fatal(p, err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			p, err := s.parseWhole(page, final, 200)
			if err != nil || len(p.Listings) != 30 {
				b.Fatal(p, err)
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		var p region.Parser
		for b.Loop() {
			if _, _, ok := p.Parse(string(page), &s.regions); !ok {
				b.Fatal("not scanned")
			}
		}
	})
}

// BenchmarkHTMLParse is what a plain program does: html.Parse of the whole
// page, then the same fields through goquery.
func BenchmarkHTMLParse(b *testing.B) {
	page := benchPage(b)
	b.Run("bare", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := html.Parse(bytes.NewReader(page)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goquery", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
			noError(b, err)
			if n := plainFields(doc); n != 30*12 {
				b.Fatal(n)
			}
		}
	})
}

var plainSelectors = []goquery.Matcher{
	goquery.Single("a.business-name > span"), goquery.Single(".n"), goquery.Single(".phone"), goquery.Single(".street-address"),
	goquery.Single(".locality"), goquery.Single("a.track-visit-website"), goquery.Single(".categories"), goquery.Single(".result-rating"),
	goquery.Single(".ratings .count"), goquery.Single(".years-in-business .count"), goquery.Single(".price-range"), goquery.Single(".snippet .body"),
}

func plainFields(doc *goquery.Document) (n int) {
	doc.FindMatcher(resultMatcher).Each(func(_ int, card *goquery.Selection) {
		for _, m := range plainSelectors {
			n += card.FindMatcher(m).Length()
		}
	})
	return n
}

var resultMatcher = cascadia.MustCompile(".search-results .result")
