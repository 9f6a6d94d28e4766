package crawl_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// threePages serves a target of three pages, each with its own shops.
func threePages(w *world) {
	w.on(target, ok(page(target+"?page=2", shops(1, 3)...)))
	w.on(target+"?page=2", ok(page(target+"?page=3", shops(4, 3)...)))
	w.on(target+"?page=3", ok(page("", shops(7, 2)...)))
}

func TestPages(t *testing.T) {
	t.Parallel()
	parallel(t, "follows next links to the last page", func(t *testing.T) {
		w := setup(t, layout{})
		threePages(w)
		st := w.done()
		r := w.is(1, yp.Done, 3, "")
		if r.Raw != 8 || r.Accepted != 8 || r.Bad != 0 || r.Next != "" || r.LastSeenID != "8" {
			t.Errorf("counted %+v", r)
		}
		w.requested(target, target+"?page=2", target+"?page=3")
		w.logged("start page:1 page:2 page:3 complete")
		if st.Pages != 3 || st.Done != 1 || st.New != 8 || st.Requests != 4 {
			t.Errorf("stats %+v", st)
		}
	})
	parallel(t, "stops at max pages and keeps the next link for deeper crawls", func(t *testing.T) {
		w := setup(t, layout{pages: 2})
		threePages(w)
		w.done()
		storetest.Equal(t, w.is(1, yp.Done, 2, "").Next, target+"?page=3", "next_page_url")
		w.requested(target, target+"?page=2")
		for _, e := range w.events() {
			if e.Page != nil && e.Page.Last != (e.Page.Number == 2) {
				t.Errorf("the log says of page %d: last %v", e.Page.Number, e.Page.Last)
			}
		}
	})
	parallel(t, "a cap that shrank below the pages done completes without a request", func(t *testing.T) {
		w := setup(t, layout{pages: 2})
		w.write("UPDATE targets SET page_current = 2, next_page_url = ? WHERE id = 1", target+"?page=3")
		w.done()
		w.is(1, yp.Done, 2, "")
		w.requested()
	})
	for name, beyond := range map[string]http.HandlerFunc{"404": nil, "a page of no results": ok(noResults())} {
		parallel(t, name+" beyond the end completes", func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, ok(page(target+"?page=2", shops(1, 3)...)))
			w.on(target+"?page=2", beyond)
			w.done()
			storetest.Equal(t, w.is(1, yp.Done, 1, "").Accepted, 3, "listings accepted")
			if beyond == nil { // what is not there is asked for once more
				w.requested(target, target+"?page=2", target+"?page=2")
				return
			}
			w.requested(target, target+"?page=2")
		})
	}
	parallel(t, "a next link back to page 1 ends in one turn", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(page(target+"?page=2", shops(1, 3)...)))
		w.on(target+"?page=2", ok(page(target, shops(4, 3)...)))
		w.done()
		r := w.is(1, yp.Done, 2, "")
		if r.Raw != 6 || r.Accepted != 6 || r.Next != "" {
			t.Errorf("the page seen again was counted: %+v", r)
		}
		w.requested(target, target+"?page=2", target)
	})
}

// lastForEver serves the shops of the last page with a next link again and again.
func lastForEver(w *world) {
	w.on(target+"*", func(rw http.ResponseWriter, r *http.Request) {
		n := 1
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &n)
		ads := []biz{{id: fmt.Sprint(900 + n), name: "Ad"}}
		ok(pageWithAds(fmt.Sprintf("%s?page=%d", target, n+1), ads, shops(min(n, 3)*10, 3)...))(rw, r)
	})
}

func TestRepeatedLastPage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		filter crawl.Filter
		raw    int
		ids    string
	}{
		{"by its listings", crawl.Filter{}, 9, "10 11 12 20 21 22 30 31 32"},
		{"when filters leave nothing of it", crawl.Filter{Words: []string{"shop"}}, 9, ""},
		{"when its ads are others each time", crawl.Filter{Sponsored: true}, 12, "10 11 12 20 21 22 30 31 32 901 902 903"},
	} {
		parallel(t, "is told "+tt.name, func(t *testing.T) {
			w := setup(t, layout{})
			lastForEver(w)
			w.done(func(c *crawl.Config) { c.Filter = tt.filter; c.Budget.Requests = 20 })
			r := w.is(1, yp.Done, 3, "")
			if r.Raw != tt.raw || w.ids() != tt.ids {
				t.Errorf("raw count %d with %q, want %d with %q", r.Raw, w.ids(), tt.raw, tt.ids)
			}
			w.requested(target, target+"?page=2", target+"?page=3", target+"?page=4")
		})
	}
	parallel(t, "pages of ads alone are pages while they bring new ones", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(pageWithAds(target+"?page=2", shops(1, 2))))
		w.on(target+"?page=2", ok(pageWithAds("", shops(3, 2))))
		w.done(func(c *crawl.Config) { c.Filter.Sponsored = true })
		w.is(1, yp.Done, 2, "")
		w.stored("1 2 3 4")
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	parallel(t, "goes on behind the last page at its next link", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(page(target+"?page=2&s=distance", shops(1, 3)...)))
		w.on(target+"?page=2&s=distance", ok(page("", shops(4, 3)...)))
		e := w.engine(func(c *crawl.Config) { c.Budget.Requests = 1 })
		endedBy(t, w.crawl(e), crawl.ErrBudget)
		storetest.Equal(t, w.is(1, yp.Planned, 1, "").Next, target+"?page=2&s=distance", "next_page_url, relative to the source,")
		w.done()
		w.is(1, yp.Done, 2, "")
		w.requested(target, target+"?page=2&s=distance")
		w.logged("start page:1 stop start page:2 complete")
	})
	parallel(t, "goes on where the source is now", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(page(w.URL+target+"?page=2", shops(1, 3)...)))
		endedBy(t, w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Requests = 1 })), crawl.ErrBudget)
		old := w.town
		w.town = newTown(t)
		w.src = source(t, w.URL, "")
		w.on(target+"?page=2", ok(page("", shops(4, 3)...)))
		w.done()
		w.is(1, yp.Done, 2, "")
		w.requested(target + "?page=2")
		storetest.Equal(t, len(old.asked()), 1, "requests at the old place")
	})
	parallel(t, "forms the address itself when none was given", func(t *testing.T) {
		w := setup(t, layout{})
		threePages(w)
		w.write("UPDATE targets SET page_current = 1 WHERE id = 1")
		w.done()
		w.is(1, yp.Done, 3, "")
		w.requested(target+"?page=2", target+"?page=3")
	})
	parallel(t, "a next link with two slashes stays on its host", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(page(w.URL+"//elsewhere.example/plumbers?page=2", shops(1, 3)...)))
		endedBy(t, w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Requests = 1 })), crawl.ErrBudget)
		if r := w.row(1); strings.HasPrefix(r.Next, "//") {
			t.Errorf("next_page_url %q names another host", r.Next)
		}
	})
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	none := ok(noResults())
	missing := status(http.StatusNotFound, shell("No such page"))
	for _, tt := range []struct {
		name         string
		page, search http.HandlerFunc
		status       yp.Status
		code         yp.ErrorCode
	}{
		{"no results on both", none, none, yp.Done, yp.CodeNoListings},
		{"no results, then 404", none, missing, yp.Done, yp.CodeNoListings},
		{"404, then no results", missing, none, yp.Done, yp.CodeNoListings},
		{"404 on both", missing, missing, yp.Parked, yp.CodeNoListings},
		{"no results, then a layout that changed", none, ok(shell("(217) 555-0100")), waiting, yp.CodeHTMLChanged},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, tt.page)
			w.on(search, tt.search)
			st := w.done()
			r := w.is(1, tt.status, 0, tt.code)
			if r.Error == "" {
				t.Error("no reason is kept")
			}
			w.requested(target, search)
			empty := int64(0)
			if tt.status == yp.Done {
				empty = 1
			}
			if st.Empty != empty || st.Pages != 0 || st.Targets != 1 {
				t.Errorf("stats %+v", st)
			}
			c, err := report.New(w.db).CoverageTotals(w.t.Context(), w.scope)
			storetest.NoError(t, err)
			storetest.Equal(t, c.Unread.Targets, 1-empty, "targets not read to the end")
			storetest.Equal(t, c.Untold, 1-empty, "targets of which no share can be told")
		})
	}
	for _, first := range []struct {
		name string
		page http.HandlerFunc
	}{{"no results", none}, {"404", missing}} {
		parallel(t, first.name+", then listings: the search's next links are followed", func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, first.page)
			w.on(search, ok(page(search+"&page=2", shops(1, 3)...)))
			w.on(search+"&page=2", ok(page("", shops(4, 3)...)))
			w.done()
			storetest.Equal(t, w.is(1, yp.Done, 2, "").Raw, 6, "cards")
			w.requested(target, search, search+"&page=2")
		})
	}
	for _, tt := range []struct {
		name   string
		yaml   string
		page   http.HandlerFunc
		status yp.Status
	}{
		{"no results, and robots.txt forbids the search", "", none, yp.Done},
		{"404, and robots.txt forbids the search", "", missing, yp.Parked},
		{"a source without a search is believed at once", "urls:\n  target: /{city_slug}/{category_slug}?page={page}\n  search: \"\"\n", none, yp.Done},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := setup(t, layout{yaml: tt.yaml})
			if tt.yaml == "" {
				w.robots = "User-agent: *\nDisallow: /search\n"
			}
			w.on(target, tt.page)
			w.done()
			w.is(1, tt.status, 0, yp.CodeNoListings)
			w.requested(target)
		})
	}
}
