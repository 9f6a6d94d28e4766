package site

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParseDetail: whatever the page, what is kept of it is bounded and clean,
// and a page read from its regions says the same as all of it.
func FuzzParseDetail(f *testing.F) {
	s := builtin(f, "yellowpages")
	final, err := url.Parse(mip)
	if err != nil {
		f.Fatal(err)
	}
	for _, page := range detailPages() {
		f.Add([]byte(page), 200)
	}
	files, err := filepath.Glob(filepath.Join(pagesDir, "detail", "*.html"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page, 404)
	}
	f.Fuzz(func(t *testing.T, page []byte, status int) {
		p, err := s.ParseDetail(page, final, status)
		if err != nil {
			return
		}
		if p.Reason == "" || (p.Outcome == OK) != (p.Detail != nil && p.Detail.ID == "400001" && p.Detail.Name != "") || p.Outcome == NoListings && !gone(status) {
			t.Fatalf("%v %q %+v", p.Outcome, p.Reason, p.Detail)
		}
		if p.Detail != nil {
			checkBounds(t, p.Detail)
		}
		checkDetailEqual(t, s, page, final)
	})
}
