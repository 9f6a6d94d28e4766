package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// shopPages is how the pages of a town's shops are found.
const shopPages = "detail:\n  path: '/mip/shop(\\d+)$'\n"

func detailed(c *crawl.Config) { c.Details.Wanted = true }

func detailsOnly(c *crawl.Config) { c.Details = crawl.Details{Wanted: true, Only: true} }

// shopTown is a world with n shops on one results page, each with a good page of its own.
func shopTown(t testing.TB, n int) *world {
	t.Helper()
	w := setup(t, layout{yaml: shopPages})
	w.on(target, ok(page("", shops(1, n)...)))
	for i := range n {
		w.on(shop(i+1), ok(own(i+1)))
	}
	return w
}

func shop(n int) string { return fmt.Sprint("/x/mip/shop", n) }

// own is the page of a shop.
func own(n int) string {
	return shell(fmt.Sprintf(`<main id="bpp" data-ypid="%d"><h1 class="business-name">Shop %d</h1><section id="default-ctas"><a class="website-link" href="https://shop%d.example/">Web</a>
		<a class="email-business" href="mailto:shop%d@x.example">Mail</a></section></main>`, n, n, n, n))
}

const detailRows = `SELECT l.listing_id, t.status, ifnull(t.last_error_code, ''), ifnull(d.email, ''), t.total_attempts
	FROM targets t JOIN listings l ON l.id = t.listing LEFT JOIN details d ON d.listing = t.listing WHERE t.kind = 'detail' ORDER BY l.id`

// details compares the rows, of which each reads "1 DONE  shop1@x.example 1".
func (w *world) detailsAre(want ...string) {
	w.t.Helper()
	w.same("details", w.table(detailRows), want)
	w.counts("details are still in hand", 0, "SELECT count(*) FROM targets WHERE kind = 'detail' AND status = 'IN_PROGRESS'")
	w.tidy()
}

func TestDetailTrouble(t *testing.T) {
	t.Parallel()
	good := "1 DONE  shop1@x.example 1"
	for _, tt := range []struct {
		name     string
		page     http.HandlerFunc
		robots   string
		want     string
		requests int64 // for the page
		failed   int64
		missing  int64
	}{
		{"a good page", ok(own(1)), "", good, 1, 0, 0},
		{"trouble that passes", inTurn(status(500, ""), garbled, ok(own(1))), "", good, 3, 0, 0},
		{"no such page", status(404, shell("gone")), "", "1 PARKED NO_LISTINGS  1", 1, 0, 1},
		{"the page of another listing", ok(own(2)), "", "1 PLANNED BLOCKED_PROXY  1", 2, 1, 0},
		{"sent on to another listing", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, shop(2), http.StatusMovedPermanently)
		}, "", "1 PARKED NO_LISTINGS  1", 1, 0, 1},
		{"blocked", status(403, shell("no")), "", "1 PLANNED BLOCKED_PROXY  1", 1, 1, 0},
		{"500 for ever", status(500, ""), "", "1 PLANNED NETWORK_ERROR  1", 4, 1, 0},
		{"a layout that is not known", ok(shell("<p>Hello</p>")), "", "1 PLANNED HTML_CHANGED  1", 1, 1, 0},
		{"forbidden by robots.txt", ok(own(1)), "User-agent: *\nDisallow: /x/mip", "1 PARKED " + string(yp.CauseDisallowed.Policy().Code) + "  1", 0, 1, 0},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := shopTown(t, 1)
			w.robots = tt.robots
			w.on(shop(1), tt.page)
			w.on(shop(2), ok(own(2)))
			st := w.done(detailed)
			w.detailsAre(tt.want)
			w.counts("requests", tt.requests, "SELECT count(*) FROM requests WHERE type = 'detail'")
			if st.DetailsFailed != tt.failed || st.DetailsMissing != tt.missing {
				t.Errorf("%d failed and %d missing, want %d and %d", st.DetailsFailed, st.DetailsMissing, tt.failed, tt.missing)
			}
			w.counts("the listing is gone", 1, "SELECT count(*) FROM listings WHERE dropped_at IS NULL")
			w.is(1, yp.Done, 1, "")
		})
	}
}

// TestDetailLayout: three pages of listings running that nobody can read end the details of
// the run, and nothing else: the results pages are as they were.
func TestDetailLayout(t *testing.T) {
	t.Parallel()
	w := shopTown(t, 6)
	for i := range 6 {
		w.on(shop(i+1), ok(shell("<p>Hello</p>")))
	}
	st := w.done(detailed)
	storetest.Equal(t, st.DetailsFailed, 3, "own pages failed")
	w.inForce("3 pages kept")
}

// TestChain: indexes come first and plan the searches of their cities, searches plan the
// details of their listings, and no detail is asked for while a results page can be had. Each
// is due again by itself: an index and a search a week after it began, a tenth sooner, and a detail when the run says.
func TestChain(t *testing.T) {
	t.Parallel()
	c := newClock()
	w := newWorld(t, newTown(t), layout{yaml: shopPages, now: c.Now})
	w.write("DELETE FROM targets")
	w.indexes("ca")
	w.on("/alpha-ca/plumbers", ok(page("", shops(1, 1)...)))
	w.on("/beta-ca/plumbers", ok(page("", shops(2, 1)...)))
	w.on(shop(1), ok(own(1)))
	w.on(shop(2), ok(own(2)))
	w.wantIndexes("CA")
	chain := func(c *crawl.Config) {
		w.reads()(c)
		c.Index.Only, c.Details = false, crawl.Details{Wanted: true, Every: 14 * 24 * time.Hour}
	}
	if st := w.done(chain); st.IndexPages != 27 || st.Done != 2 || st.Details != 2 {
		t.Errorf("stats: %+v", st)
	}
	if all := w.asked(); len(all) != 31 || !slices.Equal(all[27:], []string{"/alpha-ca/plumbers", "/beta-ca/plumbers", shop(1), shop(2)}) {
		t.Errorf("asked %q", all)
	}
	for _, step := range []struct {
		wait                     time.Duration
		index, searches, details int64
	}{{6 * 24 * time.Hour, 0, 0, 0}, {8 * time.Hour, 27, 2, 0}, {6 * 24 * time.Hour, 0, 0, 0}, {8 * time.Hour, 27, 2, 2}} {
		c.Move(step.wait)
		if st := w.done(chain); st.IndexPages != step.index || st.Done != step.searches || st.Details != step.details {
			t.Errorf("%s later: %d pages of indexes, %d searches, %d details; want %d, %d, %d", step.wait, st.IndexPages, st.Done, st.Details, step.index, step.searches, step.details)
		}
	}
}

// TestPlaces: --max-per-state spreads searches; details are taken by as many workers as there are.
func TestPlaces(t *testing.T) {
	t.Parallel()
	w := shopTown(t, 2)
	both := meeting(t, 2)
	for i := range 2 {
		w.on(shop(i+1), after(both, ok(own(i+1))))
	}
	w.done()
	w.done(detailsOnly, workers(2), func(c *crawl.Config) { c.MaxPerState = 1 })
}

func TestDetailBudgets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		budget crawl.Budget
		done   int64
	}{
		{"requests", crawl.Budget{Requests: 4}, 3},
		{"targets end the run", crawl.Budget{Targets: 1}, 0},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := shopTown(t, 5)
			endedBy(t, w.crawl(w.engine(detailed, func(c *crawl.Config) { c.Budget = tt.budget })), crawl.ErrBudget)
			w.counts("details are done", tt.done, "SELECT count(*) FROM targets WHERE kind = 'detail' AND status = 'DONE'")
			w.start()
			storetest.Equal(t, w.done(detailed).Details, 5-tt.done, "details of the next run")
			w.tidy()
			w.counts("pages were asked for", 5, "SELECT count(*) FROM requests WHERE type = 'detail'")
		})
	}
}

// TestDetailsCompleteListings: what the cards have never said is taken from the listing's
// own page, and a later card that does not say it does not undo it.
func TestDetailsCompleteListings(t *testing.T) {
	t.Parallel()
	c := newClock()
	w := newWorld(t, newTown(t), layout{yaml: shopPages, now: c.Now})
	w.on(target, ok(page("", biz{id: "1", name: "Shop 1", bare: true}, biz{id: "2", name: "Other"})))
	same := strings.ReplaceAll(own(1), "shop1", "acme")
	w.on(shop(1), ok(same))
	w.on(shop(2), ok(strings.ReplaceAll(strings.ReplaceAll(same, "Shop 1", "Other"), `ypid="1"`, `ypid="2"`)))
	w.done(detailed)
	const rows = `SELECT listing_id, ifnull(website, ''), company_id, (SELECT ifnull(c.website, '') FROM companies c WHERE c.id = company_id) FROM listings ORDER BY id`
	want := []string{"1 https://acme.example 1 https://acme.example", "2 https://acme.example 1 https://acme.example"}
	w.same("listings", w.table(rows), want)
	c.Move(8 * yp.RecrawlAfter / 7)
	w.on(target, ok(page("", biz{id: "1", name: "Shop 1 and Sons", bare: true}, biz{id: "2", name: "Other"})))
	w.done()
	w.same("listings after another card", w.table(rows), want)
	w.same("changes", w.table("SELECT field, ifnull(old, ''), ifnull(new, '') FROM listing_changes"), []string{"name Shop 1 Shop 1 and Sons"})
}
