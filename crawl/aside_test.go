package crawl_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// ending says how the target's list ended.
func (w *world) ending(id int, want yp.Ending) {
	w.t.Helper()
	storetest.Equal(w.t, yp.Ending(storetest.Table(w.t, w.db, fmt.Sprint("SELECT ifnull(ending, '') FROM targets WHERE id = ", id))[0]), want, "the list ended")
}

// suggestions say that nothing was found, and show something else.
func suggestions(next string, cards ...biz) string {
	return strings.Replace(page(next, cards...), `<div class="search-results organic">`, `<div class="search-results organic"><h1>No results found for Plumbers</h1><p>Popular near you:</p>`, 1)
}

// TestOtherList: a page to which another place's or category's address leads is not stored under the search, and
// closes nothing.
func TestOtherList(t *testing.T) {
	t.Parallel()
	led := func(to string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusFound) }
	}
	parallel(t, "a city of the gazetteer", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(counting(3, "", shops(1, 3)...)))
		w.done()
		w.ending(1, yp.EndTotal)
		w.on(target, led("/arlington-va/plumbers"))
		w.on("/arlington-va/plumbers", ok(counting(2, "", shops(50, 2)...)))
		for range 3 {
			w.again(fromPage1)
			st := w.done()
			w.is(1, yp.Done, 0, "")
			w.ending(1, yp.EndElsewhere)
			if st.Empty > 0 || st.New > 0 {
				t.Errorf("%+v", st)
			}
		}
		w.counts("the last complete crawl is forgotten", 3, "SELECT count(*) FROM listings WHERE dropped_at IS NULL")
		w.counts("nobody is told where it leads", 3, "SELECT count(*) FROM crawl_attempts WHERE metadata LIKE '%leads to /arlington-va/plumbers%'")
	})
	parallel(t, "a page that says there is nothing", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, led("/arlington-va/plumbers"))
		w.on("/arlington-va/plumbers", ok(noResults()))
		w.done()
		w.is(1, yp.Done, 0, "")
		w.ending(1, yp.EndElsewhere)
	})
	parallel(t, "a block keeps its verdict", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, led("/arlington-va/plumbers"))
		w.on("/arlington-va/plumbers", status(http.StatusForbidden, "no"))
		w.done()
		w.is(1, waiting, 0, yp.CodeBlockedProxy)
	})
	parallel(t, "another spelling is the same", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, led("/City-0-CA/plumbers/?src=seo"))
		w.on("/City-0-CA/plumbers/?src=seo", ok(counting(2, "", shops(1, 2)...)))
		w.done()
		w.is(1, yp.Done, 1, "")
		w.ending(1, yp.EndTotal)
	})
	parallel(t, "a renamed category is stored, and closes nothing until most is met", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(counting(4, "", shops(1, 4)...)))
		w.done()
		w.on(target, led("/city-0-ca/plumbing-services"))
		w.on("/city-0-ca/plumbing-services", ok(counting(2, "", shops(40, 2)...)))
		for range 2 {
			w.again(fromPage1)
			w.done()
			w.is(1, yp.Done, 1, "")
			w.ending(1, yp.EndAlias)
		}
		w.counts("what it shows is not stored", 6, "SELECT count(*) FROM listings WHERE dropped_at IS NULL")
		w.on("/city-0-ca/plumbing-services", ok(counting(4, "", shops(1, 4)...)))
		w.again(fromPage1)
		w.done()
		w.ending(1, yp.EndTotal)
	})
	parallel(t, "an address to which two are led is nobody's", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		for _, uri := range []string{target, "/city-1-ca/plumbers"} {
			w.on(uri, led("/us/everything"))
		}
		w.on("/us/everything", ok(counting(2, "", shops(40, 2)...)))
		w.done()
		w.ending(2, yp.EndElsewhere)
	})
	parallel(t, "three in a row end the run, and are planned again", func(t *testing.T) {
		w := setup(t, layout{cities: 5})
		for n := range 5 {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), led("/arlington-va/plumbers"))
		}
		w.on("/arlington-va/plumbers", ok(counting(2, "", shops(50, 2)...)))
		endedBy(t, w.crawl(w.engine()), crawl.ErrElsewhere)
		w.counts("targets are not planned", 5, "SELECT count(*) FROM targets WHERE status = 'PLANNED' AND ending IS NULL AND page_current = 0")
		w.counts("something is stored", 0, "SELECT count(*) FROM listings")
	})
	parallel(t, "a page in between that is read", func(t *testing.T) {
		w := setup(t, layout{cities: 5})
		for _, n := range []int{0, 1, 3, 4} {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), led("/arlington-va/plumbers"))
		}
		w.on("/arlington-va/plumbers", ok(counting(2, "", shops(50, 2)...)))
		w.done()
		w.counts("targets led elsewhere", 4, "SELECT count(*) FROM targets WHERE status = 'DONE' AND ending = 'other_list'")
	})
}

// TestSaysBoth: what a page shows beside the word that nothing was found is not stored, unless the word is furniture.
func TestSaysBoth(t *testing.T) {
	t.Parallel()
	parallel(t, "suggestions", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(counting(3, "", shops(1, 3)...)))
		w.done()
		w.on(target, ok(suggestions("", shops(60, 8)...)))
		for range 2 {
			w.again(fromPage1)
			w.done()
			w.is(1, yp.Done, 0, "")
			w.ending(1, yp.EndBoth)
		}
		w.counts("listings", 3, "SELECT count(*) FROM listings WHERE dropped_at IS NULL")
		w.counts("requests without a result", 2, "SELECT count(*) FROM requests WHERE type = 'listing' AND outcome = 'success' AND result_count = 0")
	})
	parallel(t, "behind the last page", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(page(target+"?page=2", shops(1, 3)...)))
		w.on(target+"?page=2", ok(suggestions("", shops(60, 8)...)))
		w.done()
		w.is(1, yp.Done, 1, "")
		w.ending(1, yp.EndBoth)
		w.counts("listings", 3, "SELECT count(*) FROM listings")
	})
	parallel(t, "most of them met before", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(counting(3, "", shops(1, 3)...)))
		w.done()
		w.on(target, ok(suggestions("", shops(1, 4)...)))
		w.again(fromPage1)
		w.done()
		w.is(1, yp.Done, 1, "")
		w.counts("listings", 4, "SELECT count(*) FROM listings")
	})
	parallel(t, "words on every page are furniture", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		w.on(target, ok(suggestions(target+"?page=2", shops(1, 3)...)))
		w.on("/city-1-ca/plumbers", ok(suggestions("", shops(20, 3)...)))
		w.done()
		w.ending(1, yp.EndBoth)
		w.is(2, yp.Done, 1, "")
		w.counts("listings", 3, "SELECT count(*) FROM listings")
	})
	parallel(t, "furniture on a page without listings is no word", func(t *testing.T) {
		w := setup(t, layout{cities: 3})
		furniture := func(body string) string {
			return strings.Replace(body, `<div class="center-ads">`, `<p>No results found? Try other words.</p><div class="center-ads">`, 1)
		}
		w.on(target, ok(furniture(counting(3, "", shops(1, 3)...))))
		w.on("/city-1-ca/plumbers", ok(furniture(counting(3, "", shops(10, 3)...))))
		w.on("/city-2-ca/plumbers", ok(furniture(page(""))))
		w.on(strings.Replace(search, "City+0", "City+2", 1), ok(furniture(page(""))))
		w.done()
		w.is(3, waiting, 0, yp.CodeHTMLChanged)
	})
	parallel(t, "a total above 0", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(strings.Replace(counting(3, "", shops(1, 3)...), `<div class="center-ads">`, `<p>No results found in Springfield: showing nearby</p><div class="center-ads">`, 1)))
		w.done()
		w.is(1, yp.Done, 1, "")
		w.ending(1, yp.EndTotal)
	})
}

// TestUnfollowed: a list that leads on by nothing that can be followed is asked for twice, ends without a confirmed
// end, and after three targets in a row raises the layout alarm.
func TestUnfollowed(t *testing.T) {
	t.Parallel()
	script := func(cards ...biz) string {
		return strings.Replace(page("", cards...), `</body>`, `<div class="pagination"><a class="next" href="javascript:goPage(2)">Next</a></div></body>`, 1)
	}
	parallel(t, "one target", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(script(shops(1, 3)...)))
		w.done()
		w.is(1, yp.Done, 1, "")
		w.ending(1, yp.EndUnfollowed)
		w.requested(target, target)
		w.counts("the reason is not told", 1, `SELECT count(*) FROM targets WHERE end_text = '"Next": a script'`)
		w.counts("failed requests", 0, "SELECT count(*) FROM requests WHERE outcome = 'failure'")
	})
	parallel(t, "three in a row", func(t *testing.T) {
		w := setup(t, layout{cities: 4})
		for n := range 4 {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), ok(script(shops(10*n+1, 3)...)))
		}
		endedBy(t, w.crawl(w.engine()), crawl.ErrLayout)
		w.counts("the alarm", 1, "SELECT count(*) FROM sources WHERE auto_disabled = 1 AND paused_reason LIKE 'fields are missing: next%a script%'")
		w.counts("targets done, their pages kept", 3, "SELECT count(*) FROM targets WHERE status = 'DONE' AND ending = 'unfollowed' AND accepted_count = 3")
		w.write("UPDATE sources SET enabled = 1")
		w.again(fromPage1)
		w.done()
		w.counts("an operator who let it go on meets the same alarm", 4, "SELECT count(*) FROM targets WHERE status = 'DONE' AND ending = 'unfollowed'")
	})
	parallel(t, "one in between that ends otherwise", func(t *testing.T) {
		w := setup(t, layout{cities: 5})
		for _, n := range []int{0, 1, 3, 4} {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), ok(script(shops(10*n+1, 3)...)))
		}
		w.done()
		w.counts("targets", 4, "SELECT count(*) FROM targets WHERE ending = 'unfollowed'")
	})
}
