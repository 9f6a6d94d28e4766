package crawl_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// Sites say no by more statuses than 403, and have more words for a request that they do not take.

// TestRefusalsRest: whatever the status of a "no", the source rests after as few requests as after a 403.
func TestRefusalsRest(t *testing.T) {
	t.Parallel()
	for _, code := range []int{403, 402, 406, 412, 418, 428, 451} {
		parallel(t, fmt.Sprint(code), func(t *testing.T) {
			w := setup(t, layout{cities: 12})
			for n := range 12 {
				w.on(city(n), status(code, shell("no")))
			}
			w.isBlocked(w.crawl(w.engine(func(c *crawl.Config) { c.Patience = time.Millisecond })), "held", "penalty")
			if n := len(w.asked()); n < 2 || n > 5 {
				t.Errorf("the server was asked %d times", n)
			}
			w.counts("sources with a block", 1, "SELECT count(*) FROM v_sources WHERE last_block_at IS NOT NULL")
			w.counts("attempts that ended otherwise", 0, "SELECT count(*) FROM crawl_attempts WHERE error_code IS NOT NULL AND error_code <> 'BLOCKED_PROXY'")
		})
	}
}

// TestRefusedIsNoEnd: an answer of a status that has no page neither ends a list nor completes a target.
func TestRefusedIsNoEnd(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 402, 405, 406, 412, 414, 415, 418, 422, 428, 431, 451} {
		want := yp.CodeUnknown
		if yp.Refusal(code) {
			want = yp.CodeBlockedProxy
		}
		parallel(t, fmt.Sprint(code), func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, ok(page(target+"?page=2", shops(1, 3)...)))
			w.on(target+"?page=2", status(code, noResults()))
			w.done()
			w.is(1, waiting, 1, want)
			w.counts("listings", 3, "SELECT count(*) FROM listings WHERE dropped_at IS NULL")
		})
		parallel(t, fmt.Sprint(code, " for an index"), func(t *testing.T) {
			w := setup(t, layout{})
			w.indexes("az")
			w.on("/state-az?page=c", status(code, indexPage("az")))
			w.discovered([]string{"AZ"}, fmt.Sprintf("AZ PLANNED 3/27 2 %s", want))
		})
		parallel(t, fmt.Sprint(code, " for a listing's own page"), func(t *testing.T) {
			w := shopTown(t, 1)
			w.on(shop(1), status(code, own(1)))
			w.done(detailed)
			w.detailsAre(fmt.Sprintf("1 PLANNED %s  1", want))
		})
		parallel(t, fmt.Sprint(code, " for robots.txt is no rule (RFC 9309, 2.3.1.3)"), func(t *testing.T) {
			w := setup(t, layout{})
			w.rules = status(code, "User-agent: *\nDisallow: /")
			w.on(target, ok(page("", shops(1, 3)...)))
			w.done()
			w.is(1, yp.Done, 1, "")
		})
	}
}

// TestRefusedWhoeverAsks: 402 and 451 are the same by another proxy, and no proxy is blamed for them; other refusals may be
// about the one that asks.
func TestRefusedWhoeverAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code    int
		attempt string
		scores  string
	}{
		{402, "failed BLOCKED_PROXY 402", "map[1:[1 0]]"},
		{451, "failed BLOCKED_PROXY 451", "map[1:[1 0]]"},
		{406, "failed BLOCKED_PROXY 406: rotated retry rotated", "map[1:[0 1] 2:[0 1]]"},
		{428, "failed BLOCKED_PROXY 428: rotated retry rotated", "map[1:[0 1] 2:[0 1]]"},
	} {
		parallel(t, fmt.Sprint(tt.code), func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, status(tt.code, shell("no")))
			var s scores
			w.done(s.through(fetch.PolicyRequire, way(t, 1, newProxy(t, 0), 0), way(t, 2, newProxy(t, 0), 0)))
			w.attempted(tt.attempt)
			storetest.Equal(t, fmt.Sprint(s.sum), tt.scores, "scores")
			if text := w.row(1).Error; !strings.Contains(text, fmt.Sprint("status ", tt.code)) {
				t.Errorf("last_error %q", text)
			}
		})
	}
}
