package crawl_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// closing is what becomes of a site, and what is closed then.
type closing struct {
	name          string
	layout        layout
	before, after func(w *world)
	passes        int    // after the first; 0 = 2
	want          string // the listings closed
	verdicts      []string
}

// TestEndsClose: after two crawls that were read to their ends what is gone is closed, and
// nothing that the site has.
func TestEndsClose(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(listClosings(), oddClosings()) {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, tt.layout)
			tt.before(w)
			w.pass()
			tt.after(w)
			for range cmp.Or(tt.passes, 2) {
				nextWeek()
				w.pass()
			}
			storetest.Equal(w.t, strings.Join(w.table(`SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY CAST(listing_id AS INTEGER)`), " "), tt.want, "closed")
			if tt.verdicts != nil {
				w.verdicts(tt.verdicts...)
			}
		})
	}
}

// threePagesOf80 is a list of 80 listings on three pages of 30.
func threePagesOf80(w *world) { w.shows(big, leaves(big, 30, shops(1, 80), nextBar)...) }

// listClosings are about lists that lose listings, or their links.
func listClosings() []closing {
	ids := func(from, to int) string {
		var all []string
		for n := from; n <= to; n++ {
			all = append(all, fmt.Sprint(n))
		}
		return strings.Join(all, " ")
	}
	script := likeThis(`<div class="pagination"><a class="next" href="javascript:go(NUMBER)">Next</a></div>`)
	long := func(w *world) { w.shows(big, ofTotal(110, leaves(big, 30, shops(5001, 110), nextBar))...) }
	relaunched := func(w *world) {
		w.shows(big, leaves(big, 50, shops(5001, 190), nextBar)...)
		w.shows(small, leaves(small, 30, shops(1, 30), without)...)
	}
	before := func(w *world) {
		w.shows(big, leaves(big, 50, shops(5001, 190), nextBar)...)
		w.shows(small, leaves(small, 50, shops(1, 130), nextBar)...)
	}
	return []closing{
		{name: "two left, the pagination ends", before: threePagesOf80, after: func(w *world) {
			w.shows(big, leaves(big, 30, shops(3, 78), nextBar)...)
		}, want: ids(1, 2), verdicts: []string{"complete, 3 pages"}},
		{name: "one crawl that misses them is not enough", before: threePagesOf80, after: func(w *world) {
			w.shows(big, leaves(big, 30, shops(3, 78), nextBar)...)
		}, passes: 1},
		{name: "two of four left a small town", layout: layout{cities: 2}, before: func(w *world) {
			long(w)
			w.shows(small, leaves(small, 30, shops(1, 4), without)...)
		}, after: func(w *world) { w.shows(small, leaves(small, 30, shops(1, 2), without)...) }, want: ids(3, 4)},
		{name: "two of four left a small town without others", before: func(w *world) {
			w.shows(big, leaves(big, 30, shops(1, 4), without)...)
		}, after: func(w *world) { w.shows(big, leaves(big, 30, shops(1, 2), without)...) }},
		{name: "all left, the site says that nothing is there", before: threePagesOf80, after: func(w *world) {
			w.forget(big)
			w.on(big, ok(noResults()))
			w.on(search, ok(noResults()))
		}, want: ids(1, 80)},
		{name: "the next link becomes a script", before: threePagesOf80, after: func(w *world) {
			w.shows(big, leaves(big, 30, shops(1, 80), script)...)
		}, verdicts: []string{"unconfirmed, 1 page"}},
		{name: "the pagination is gone", before: threePagesOf80, after: func(w *world) {
			w.shows(big, leaves(big, 30, shops(1, 80), without)...)
		}, verdicts: []string{"unconfirmed, 1 page"}},
		{name: "a cap of one page, with its pagination", before: threePagesOf80, after: func(w *world) {
			w.shows(big, leaves(big, 30, shops(1, 30), nextBar)...)
		}, verdicts: []string{"unconfirmed, 1 page"}},
		{
			name: "pages of 30 instead of 50 behind an unknown link, beside a list that has kept its own", layout: layout{cities: 2}, before: before, after: relaunched,
			verdicts: []string{"complete, 4 pages", "unconfirmed, 1 page"},
		},
		{
			name: "the same, from the third crawl on that shows no more", layout: layout{cities: 2}, before: before, after: relaunched, passes: 3,
			verdicts: []string{"complete, 4 pages", "complete, 1 page"},
		},
		{name: "the same, once more", layout: layout{cities: 2}, before: before, after: relaunched, passes: 4, want: ids(31, 130)},
	}
}

// oddClosings are about pages of another search, and those that say two things.
func oddClosings() []closing {
	two := func(w *world) {
		w.shows(big, leaves(big, 30, shops(1, 16), nextBar)...)
		w.shows(small, leaves(small, 30, shops(101, 16), nextBar)...)
	}
	both := func(main, title string) func(w *world) {
		return func(w *world) {
			html := leaf{above: main, cards: shops(201, 8)}.html()
			w.on(big, ok(strings.Replace(html, "<title>Plumbers", "<title>"+title, 1)))
			w.on(search, w.route(big))
		}
	}
	return []closing{
		{name: "a city is led to the list of another one", layout: layout{cities: 2}, before: two, after: func(w *world) {
			w.forget(small)
			w.on(small, redirectTo(big))
		}},
		{name: "a category is led to another one's list", layout: layout{categories: []string{"Plumbers", "Roofers"}}, before: func(w *world) {
			w.shows(big, leaves(big, 30, shops(1, 16), nextBar)...)
			w.shows("/city-0-ca/roofers", leaves("/city-0-ca/roofers", 30, shops(101, 16), nextBar)...)
		}, after: func(w *world) {
			w.forget("/city-0-ca/roofers")
			w.on("/city-0-ca/roofers", redirectTo(big))
		}},
		{name: "five cities are led to one list", layout: layout{cities: 6}, before: func(w *world) {
			for n := range 6 {
				w.shows(city(n), leaves(city(n), 30, shops(100*n+1, 16), nextBar)...)
			}
		}, after: func(w *world) {
			for n := 1; n < 6; n++ {
				w.forget(city(n))
				w.on(city(n), redirectTo(city(0)))
			}
		}},
		{name: "the mark of an empty result, and others' listings", before: threePagesOf80, after: both(`<div class="no-results-main"><h1>Nothing here</h1></div>`, "Plumbers"), verdicts: []string{"unconfirmed"}},
		{name: "the words of an empty result, and others' listings", before: threePagesOf80, after: both(`<h1>No results found</h1>`, "Plumbers"), verdicts: []string{"unconfirmed"}},
		{name: "the title of an empty result, and others' listings", before: threePagesOf80, after: both("", "No results found"), verdicts: []string{"unconfirmed"}},
	}
}

// TestBothStoresNothing: a page that says that nothing was found shows nothing of this search.
func TestBothStoresNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, "suggestions", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		html := leaf{above: `<div class="no-results-main"><h1>No results found</h1></div><h2>Popular near you</h2>`, cards: shops(201, 8)}.html()
		w.on(big, ok(html))
		w.on(search, ok(html))
		w.pass()
		w.stored("")
		w.verdicts("unconfirmed")
		w.same("rows", w.table(`SELECT DISTINCT outcome, ifnull(result_count, '-') FROM requests WHERE type = 'listing'`), []string{"success 0"})
	})
	inBubble(t, "ads alone", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		html := leaf{above: `<div class="no-results-main"><h1>No results found</h1></div>`, ads: shops(201, 2)}.html()
		w.on(big, ok(html))
		w.on(search, ok(html))
		w.pass()
		w.stored("")
		w.verdicts("complete, 0 pages NO_LISTINGS")
	})
}

// TestLedElsewhere: what redirects to another search is stored under none but that one.
func TestLedElsewhere(t *testing.T) {
	t.Parallel()
	inBubble(t, "one city", func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 2})
		w.shows(big, ofTotal(16, leaves(big, 30, shops(1, 16), nextBar))...)
		w.on(small, redirectTo(big))
		w.pass()
		w.same("sightings", w.table(`SELECT target_id, count(*) FROM sightings GROUP BY 1`), []string{"1 16"})
		w.verdicts("complete, 1 page", "unconfirmed")
	})
	inBubble(t, "a challenge stays one", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.on(big, redirectTo("/captcha/verify"))
		w.on("/captcha/verify", status(http.StatusOK, loginPage()))
		_ = w.crawl(w.engine())
		if r := w.row(1); r.Status == "DONE" || r.Code != "BLOCKED_PROXY" {
			t.Errorf("it is %s %s", r.Status, r.Code)
		}
	})
}
