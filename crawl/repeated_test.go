package crawl_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// threeOf30 serves a target of three pages with 30 shops each.
func threeOf30(w *world) {
	w.on(target, ok(page(target+"?page=2", shops(1, 30)...)))
	w.on(target+"?page=2", ok(page(target+"?page=3", shops(31, 30)...)))
	w.on(target+"?page=3", ok(counting(90, "", shops(61, 30)...)))
}

// always serves the first page under every address, with a link to a next one, the ads others
// each time and the shops in another order.
func always(w *world) {
	n := 0
	for _, address := range []string{target, target + "?page=2", target + "?page=3"} {
		w.on(address, func(rw http.ResponseWriter, r *http.Request) {
			n++
			all := shops(1, 30)
			slices.Reverse(all[:1+n%30])
			ok(pageWithAds(target+"?page=2", []biz{{id: fmt.Sprint(900 + n), name: "Ad"}}, all...))(rw, r)
		})
	}
}

const (
	keepPages = checkpoint.Reset
	fromPage1 = checkpoint.ResetFromPage1
)

// again makes all targets due.
func (w *world) again(o checkpoint.Operation) {
	w.t.Helper()
	w.write(`UPDATE targets SET wait_reason = 'recrawl', not_before = '2000-01-01T00:00:00.000Z', crawl_started_at = '2000-01-01T00:00:00.000Z' WHERE status = 'DONE'`)
	if _, err := w.keeper.Operate(w.t.Context(), o, checkpoint.Chosen{Scope: w.scope}); err != nil {
		w.t.Fatal(err)
	}
}

// fails says that the target has failed because a page repeats another, with so many pages.
func (w *world) fails(pages int, text string) {
	w.t.Helper()
	if r := w.is(1, waiting, pages, yp.CodeParseError); !strings.HasPrefix(r.Error, text) {
		w.t.Errorf("it failed with %q, want %q", r.Error, text)
	}
	if n := w.number("SELECT count(*) FROM v_source_availability WHERE open = 0"); n > 0 {
		w.t.Error("the source is closed")
	}
	if n := w.unknown(); n > 0 {
		w.t.Errorf("%d pages count against the layout", n)
	}
}

// nothingClosed says that no listing is, and what coverage says of the target's end.
func (w *world) nothingClosed(wantEnd string) {
	w.t.Helper()
	if n := w.number("SELECT count(*) FROM listings WHERE dropped_at IS NOT NULL"); n > 0 {
		w.t.Errorf("%d listings are closed", n)
	}
	c, err := report.New(w.db).CoverageTotals(w.t.Context(), w.scope)
	storetest.NoError(w.t, err)
	u := c.Unread
	storetest.Equal(w.t, fmt.Sprintf("%d unread: %d unconfirmed, %d failed", u.Targets, u.Unconfirmed, u.Failed), wantEnd, "coverage says")
}

// TestRepeatedPages: a page that repeats an earlier one of its target ends it and confirms
// nothing; where the last complete crawl found more, the attempt fails.
func TestRepeatedPages(t *testing.T) {
	t.Parallel()
	parallel(t, "a site that comes to ignore the page closes nothing", func(t *testing.T) {
		w := setup(t, layout{})
		threeOf30(w)
		w.done()
		w.is(1, yp.Done, 3, "")
		w.nothingClosed("0 unread: 0 unconfirmed, 0 failed")
		always(w)
		for range 2 {
			w.again(fromPage1)
			w.done()
			w.fails(1, "page 2 repeats page 1, but the last complete crawl found other listings")
			w.nothingClosed("1 unread: 0 unconfirmed, 1 failed")
		}
		w.counts("listings are stored", 90, "SELECT count(*) FROM listings")
		threeOf30(w)
		w.again(keepPages)
		w.done()
		w.is(1, yp.Done, 3, "")
		w.nothingClosed("0 unread: 0 unconfirmed, 0 failed")
		if asked := w.asked(); !slices.Equal(asked[len(asked)-2:], []string{target + "?page=2", target + "?page=3"}) {
			t.Errorf("asked for %q at last, want pages 2 and 3", asked)
		}
	})
	parallel(t, "without a total or a complete crawl the target ends unconfirmed", func(t *testing.T) {
		w := setup(t, layout{pages: 2})
		threeOf30(w)
		w.done()
		always(w)
		for range 3 {
			w.again(fromPage1)
			w.done()
			if r := w.is(1, yp.Done, 1, ""); r.Raw != 30 || r.Next != "" {
				t.Errorf("%+v", r)
			}
			w.nothingClosed("1 unread: 1 unconfirmed, 0 failed")
		}
		db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "replayed.db")})
		w.replayLogs(db)
		const rows = `SELECT status, page_current, next_page_url, raw_count, accepted_count, complete_at FROM targets`
		storetest.Same(t, "the targets of a replay", storetest.Table(t, db, rows), storetest.Table(t, w.db, rows))
	})
	parallel(t, "a site that says 300 and repeats page 1 after 30", func(t *testing.T) {
		w := setup(t, layout{})
		for _, address := range []string{target, target + "?page=2"} {
			w.on(address, ok(counting(300, target+"?page=2", shops(1, 30)...)))
		}
		w.done()
		w.is(1, yp.Done, 1, "")
		w.requested(target, target+"?page=2", target+"?page=2")
		w.nothingClosed("1 unread: 1 unconfirmed, 0 failed")
	})
	parallel(t, "a total that is met but for a few is asked for again and ends", func(t *testing.T) {
		w := setup(t, layout{})
		for _, address := range []string{target, target + "?page=2"} {
			w.on(address, ok(counting(32, target+"?page=2", shops(1, 30)...)))
		}
		w.done()
		w.is(1, yp.Done, 1, "")
		w.requested(target, target+"?page=2", target+"?page=2")
		w.nothingClosed("1 unread: 1 unconfirmed, 0 failed")
	})
	for _, complete := range []bool{true, false} {
		parallel(t, fmt.Sprint("after a resume, crawled whole before: ", complete), func(t *testing.T) {
			w := setup(t, layout{})
			threeOf30(w)
			if complete {
				w.done()
				w.again(fromPage1)
			}
			endedBy(t, w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Requests = 1 })), crawl.ErrBudget)
			w.is(1, yp.Planned, 1, "")
			always(w)
			w.done()
			if complete {
				w.fails(1, "page 2 repeats page 1")
			} else {
				w.is(1, yp.Done, 1, "")
				w.nothingClosed("1 unread: 1 unconfirmed, 0 failed")
			}
		})
	}
	parallel(t, "after a resume, with a filter", func(t *testing.T) {
		w := setup(t, layout{})
		filtered := func(c *crawl.Config) { c.Filter.Words = []string{"1", "2", "3", "4"} } // of 30 shops 26 are left
		threeOf30(w)
		endedBy(t, w.crawl(w.engine(filtered, func(c *crawl.Config) { c.Budget.Requests = 1 })), crawl.ErrBudget)
		always(w)
		w.done(filtered)
		w.is(1, yp.Done, 1, "")
	})
	parallel(t, "after a resume, with a filter that leaves little", func(t *testing.T) {
		w := setup(t, layout{})
		filtered := func(c *crawl.Config) {
			for n := 2; n <= 90; n++ {
				c.Filter.Words = append(c.Filter.Words, fmt.Sprint(n))
			}
		}
		w.on(target, ok(page(target+"?page=2", shops(1, 30)...)))
		w.on(target+"?page=2", ok(page(target+"?page=3", append(shops(1, 1), shops(31, 29)...)...))) // the first is on every page
		w.on(target+"?page=3", ok(page("", append(shops(1, 1), shops(61, 29)...)...)))
		endedBy(t, w.crawl(w.engine(filtered, func(c *crawl.Config) { c.Budget.Requests = 1 })), crawl.ErrBudget)
		w.done(filtered)
		w.is(1, yp.Done, 3, "")
	})
	parallel(t, "not only the page before", func(t *testing.T) {
		w := setup(t, layout{})
		threeOf30(w)
		w.on(target+"?page=3", ok(page(target+"?page=4", shops(1, 30)...)))
		w.done()
		w.is(1, yp.Done, 2, "")
		w.nothingClosed("1 unread: 1 unconfirmed, 0 failed")
		w.requested(target, target+"?page=2", target+"?page=3")
	})
	parallel(t, "a full page without a next link is one, a short last one is none", func(t *testing.T) {
		w := setup(t, layout{})
		threeOf30(w)
		w.on(target+"?page=3", ok(lastPage(3, shops(1, 2)...)))
		w.done()
		w.is(1, yp.Done, 3, "")
		w.nothingClosed("0 unread: 0 unconfirmed, 0 failed")
		w.on(target+"?page=3", ok(page("", shops(1, 30)...)))
		w.write("UPDATE targets SET complete_at = NULL")
		w.again(fromPage1)
		w.done()
		w.is(1, yp.Done, 2, "")
		w.nothingClosed("1 unread: 1 unconfirmed, 0 failed")
	})
}
