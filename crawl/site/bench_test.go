package site

import "testing"

// BenchmarkParsePage reads a page of 250 KB with 30 cards: from its regions, from the whole
// page, and from its structured data.
func BenchmarkParsePage(b *testing.B) {
	page, final := []byte(resultsPage(30, 95)), finalURL(b)
	if kb := len(page) / 1024; kb < 235 || kb > 265 {
		b.Fatalf("the page has %d KB, want about 250", kb)
	}
	cards, structured := builtin(b, "yellowpages"), prairie(b).WithBaseURL(final)
	for name, parse := range map[string]func() (*Page, error){
		"region":     func() (*Page, error) { return cards.ParsePage(page, final, 200) },
		"whole":      func() (*Page, error) { return cards.parseWhole(page, final, 200) },
		"structured": func() (*Page, error) { return structured.ParsePage(page, nil, 200) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := parse()
				if err != nil || len(p.Listings) != 30 || name == "region" && p.Via != "region" {
					b.Fatal(p, err)
				}
			}
		})
	}
}
