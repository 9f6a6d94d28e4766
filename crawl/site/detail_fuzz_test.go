package site

import (
	"path/filepath"
	"testing"

	"ypcrawl/crawl/site/region/regiontest"
)

// FuzzParseDetail: whatever the page, what is kept of it is bounded and clean,
// and a page read from its regions says the same as all of it.
func FuzzParseDetail(f *testing.F) {
	s := builtin(f, "yellowpages")
	final := urlOf(f, mip)
	for _, page := range detailPages() {
		f.Add([]byte(page), 200)
	}
	for _, page := range regiontest.Golden(f, filepath.Join(pagesDir, "detail")) {
		f.Add([]byte(page), 404)
	}
	f.Fuzz(func(t *testing.T, page []byte, status int) {
		p, err := s.ParseDetail(page, final, status)
		if err != nil {
			return
		}
		if p.Reason == "" || (p.Outcome == OK) != (p.OwnListing() != nil && p.OwnListing().ID == "400001" && p.OwnListing().Name != "") || p.Outcome == NoListings && !gone(status) {
			t.Fatalf("%v %q %+v", p.Outcome, p.Reason, p.OwnListing())
		}
		if p.OwnListing() != nil {
			checkBounds(t, p.OwnListing())
		}
		checkDetailEqual(t, s, page, final)
	})
}
