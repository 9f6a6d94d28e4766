package site

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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

// bulkyDetail is a detail page of about 120 KB, most of it chrome.
func bulkyDetail() []byte {
	var head, foot strings.Builder
	for i := range 60 {
		fmt.Fprintf(&head, "<script>window.cfg%d={html:\"<div class='result'><p>\",s:'%s'};</script>\n", i, strings.Repeat("lorem ipsum ", 80))
		fmt.Fprintf(&foot, "<ul class=\"foot\"><li><a href=\"/about/a-%d\" data-analytics='{\"click_id\":%d}'>About &amp; more</a></li><li><span>%s</span></li></ul>\n", i, i, strings.Repeat("dolor ", 100))
	}
	page := detailPages()[0]
	page = strings.Replace(page, "</head>", head.String()+"</head>", 1)
	return []byte(strings.Replace(page, "</body>", foot.String()+"</body>", 1))
}
