package crawl_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// closed answers with a page whose end is that of the connection, as servers of old
// did: that something is missing does not show in the transfer.
func closed(body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		conn, buf, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n%s", body)
		_ = buf.Flush()
	}
}

// cutAt is the part of a page before a text.
func cutAt(body, text string) string {
	before, _, ok := strings.Cut(body, text)
	if !ok {
		panic("the page has no " + text)
	}
	return before
}

// counting is a page that says how many listings the site has.
func counting(total int, next string, cards ...biz) string {
	return strings.Replace(page(next, cards...), `<div class="center-ads">`, fmt.Sprintf(`<div class="showing-count">Showing 1-9 of %d</div><div class="center-ads">`, total), 1)
}

func TestCutPages(t *testing.T) {
	t.Parallel()
	whole := page(target+"?page=2", shops(1, 9)...)
	for name, part := range map[string]string{
		"between two cards":     cutAt(whole, `<div class="result" data-ypid="6"`),
		"within a tag":          cutAt(whole, `ata-ypid="6"`),
		"within a comment":      cutAt(whole, `-x-x-->`),
		"before the next link":  cutAt(whole, `<div class="pagination"`),
		"before the first card": cutAt(whole, `<div class="result"`),
		"before the end":        cutAt(whole, `</body>`),
	} {
		inBubble(t, name+", then whole", func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.on(target, inTurn(closed(part), closed(whole)))
			w.on(target+"?page=2", ok(page("", shops(10, 2)...)))
			w.done()
			storetest.Equal(t, w.is(1, yp.Done, 2, "").Accepted, 11, "listings accepted")
			w.requested(target, target, target+"?page=2")
		})
		inBubble(t, name+", for ever", func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.on(target, closed(part))
			w.done()
			storetest.Equal(t, w.is(1, waiting, 0, yp.CodeParseError).Accepted, 0, "listings accepted")
			w.onRecord(times(2, "parse_error 200, unread")...)
			w.attempted("failed PARSE_ERROR 200: retry")
		})
	}
}

// TestEndsEarly: a page without a next link is asked for once more when its own count of
// listings says that much more follows; then the list ends without a confirmed end.
func TestEndsEarly(t *testing.T) {
	t.Parallel()
	far := func(pages int) func(w *world) {
		return func(w *world) {
			w.on(target, ok(counting(5000, target+"?page=2", shops(1, 9)...)))
			for n := 2; n < pages; n++ {
				w.on(fmt.Sprintf("%s?page=%d", target, n), ok(counting(5000, fmt.Sprintf("%s?page=%d", target, n+1), shops(n*10, 9)...)))
			}
			w.on(fmt.Sprintf("%s?page=%d", target, pages), ok(counting(5000, "", shops(pages*10, 9)...)))
		}
	}
	one := func(total int) func(w *world) {
		return func(w *world) { w.on(target, ok(counting(total, "", shops(1, 9)...))) }
	}
	then := func(second http.HandlerFunc) func(w *world) {
		return func(w *world) {
			w.on(target, ok(counting(611, target+"?page=2", shops(1, 9)...)))
			w.on(target+"?page=2", second)
		}
	}
	for name, tt := range map[string]struct {
		layout layout
		serve  func(w *world)
		pages  int  // committed
		doubt  bool // the last one is asked for once more
	}{
		"the first of many pages":               {layout{}, one(1108), 1, true},
		"the first of two":                      {layout{}, one(18), 1, true},
		"one of another count":                  {layout{}, one(9), 1, false},
		"a few are missing":                     {layout{}, one(12), 1, false},
		"a page without a count behind one":     {layout{}, then(ok(page("", shops(10, 9)...))), 2, true},
		"nothing where more was counted":        {layout{}, then(ok(noResults())), 1, true},
		"404 where more was counted":            {layout{}, then(status(http.StatusNotFound, noResults())), 1, true},
		"no count":                              {layout{}, one(0), 1, false},
		"the third of many":                     {layout{yaml: "page_cap: 0"}, far(3), 3, true},
		"as many pages as are wanted":           {layout{pages: 3}, far(3), 3, false},
		"as many pages as the site shows":       {layout{yaml: "page_cap: 3"}, far(3), 3, false},
		"nearly as many as the site shows":      {layout{yaml: "page_cap: 10"}, far(9), 9, false},
		"many pages of a site whose cap nobody": {layout{yaml: "page_cap: 0"}, far(10), 10, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := setupInBubble(t, tt.layout)
			tt.serve(w)
			w.done()
			w.is(1, yp.Done, tt.pages, "")
			w.counts("the crawl passes for complete", 0, "SELECT count(*) FROM targets WHERE complete_at IS NOT NULL AND site_total > 9")
			if tt.doubt {
				w.counts("a page is asked for more than once more", 1, "SELECT count(*) FROM crawl_attempts WHERE metadata LIKE '%is requested again:%'")
				w.counts("the reason does not stand with the target",
					1, "SELECT count(*) FROM targets WHERE ending IN ('too_few', 'gone') AND (end_text LIKE '%listings that the site counts%' OR end_text LIKE '%and the site counts%')")
			}
		})
	}
	inBubble(t, "a full page is doubted once", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.on(target, inTurn(ok(counting(12, "", shops(1, 9)...)), ok(counting(12, target+"?page=2", shops(1, 9)...))))
		w.on(target+"?page=2", ok(counting(12, "", shops(10, 2)...)))
		w.done()
		w.is(1, yp.Done, 2, "")
		w.requested(target, target, target+"?page=2")
		w.counts("that one is missing is not told",
			1, "SELECT count(*) FROM crawl_attempts WHERE metadata LIKE '%with 11 of the 12 listings that the site counts%'")
	})
	parallel(t, "what was seen before a restart counts", func(t *testing.T) {
		w := setup(t, layout{})
		w.write("UPDATE targets SET page_current = 1, raw_count = 9, next_page_url = ? WHERE id = 1", target+"?page=2")
		w.on(target+"?page=2", ok(counting(18, "", shops(10, 9)...)))
		w.done()
		w.is(1, yp.Done, 2, "")
	})
}

// TestLeftOut: what a page has and is neither kept nor followed is said.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on(target, ok(page("http://elsewhere.example/city-0-ca/plumbers?page=2", shops(1, 1003)...)))
	var log bytes.Buffer
	st := w.done(func(c *crawl.Config) { c.Logger = zerolog.New(&log) })
	r := w.is(1, yp.Done, 1, "")
	if st.LeftOut != 3 || st.Elsewhere != 1 || r.Accepted != 1000 {
		t.Errorf("left out %d, next links elsewhere %d, kept %d", st.LeftOut, st.Elsewhere, r.Accepted)
	}
	for _, text := range []string{"3 cards beyond the first 1,000", "elsewhere.example"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log does not say %q", text)
		}
	}
	w.counts("the trace does not tell of it",
		1, "SELECT count(*) FROM crawl_attempts WHERE metadata LIKE '%beyond the first 1,000%elsewhere.example%'")
	w.counts("the crawl passes for complete", 0, "SELECT count(*) FROM targets WHERE complete_at IS NOT NULL")
}
