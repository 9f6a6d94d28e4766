package crawl_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// TestEndlessPages: a list whose every page leads to a new one has an end, and is not said to be read to its end.
func TestEndlessPages(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, r *http.Request) {
		n, _ := yp.FirstInt(r.URL.Query().Get("page"))
		n = max(n, 1)
		ok(page(target+"?page="+fmt.Sprint(n+1), shops(n, 1)...))(w, r)
	}
	for _, tt := range []struct {
		name, yaml string
		pages      int
		text       string
	}{
		{"1,000 pages", "page_cap: 0\n", 1000, "at most 1,000 pages are read of a list; page_cap in the definition allows more"},
		{"more, where the definition says so", "page_cap: 1003\n", 1003, "the limit of pages"},
		{"fewer, where the definition says so", "page_cap: 3\n", 3, "the limit of pages"},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := setup(t, layout{yaml: tt.yaml, synchronous: "OFF"})
			w.on(target+"*", endless)
			w.done(func(c *crawl.Config) { c.LazyLogs = true })
			w.is(1, yp.Done, tt.pages, "")
			w.ending(1, yp.EndLimit)
			w.counts("the reason", 1, "SELECT count(*) FROM targets WHERE complete_at IS NULL AND end_text = ?", tt.text)
			w.askedTimes(tt.pages)
			if why := strings.Join(w.table("SELECT unread FROM targets_and_coverage"), ""); why != "unconfirmed" && why != "max_pages" {
				t.Errorf("it counts as read to the end: %q", why)
			}
		})
	}
}
