package crawl_test

import (
	"fmt"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	cards := []biz{
		{id: "1", name: "Joe's Bar", cats: []string{"Bars", "Restaurants"}},
		{id: "2", name: "Barber &amp; Sons Inc.", cats: []string{"Barbers"}},
		{id: "3", name: "Café Olé", cats: []string{"Coffee Shops", "Restaurants"}},
		{id: "4", name: "Quick Lube", cats: []string{"Auto Repair &amp; Service"}},
		{id: "5", name: "No Frills", bare: true},
		{id: "6", name: "二胡 Lessons", cats: []string{"音楽"}},
	}
	ads := []biz{{id: "90", name: "Joe's Ad", cats: []string{"Bars"}}, {id: "1", name: "Joe's Bar", cats: []string{"Bars"}}}
	for _, tt := range []struct {
		name   string
		filter crawl.Filter
		ids    string
		raw    int
	}{
		{"none keeps all but ads", crawl.Filter{}, "1 2 3 4 5 6", 6},
		{"ads are kept when wanted", crawl.Filter{Sponsored: true}, "1 2 3 4 5 6 90", 7},
		{"allowed category", crawl.Filter{Allow: []string{"Restaurants"}}, "1 3", 6},
		{"allowed categories, any of them, any letter case", crawl.Filter{Allow: []string{"barbers", "COFFEE SHOPS"}}, "2 3", 6},
		{"a category by its slug", crawl.Filter{Allow: []string{"auto-repair-service"}}, "4", 6},
		{"a category in words", crawl.Filter{Allow: []string{"Auto Repair and Service"}}, "4", 6},
		{"part of a category is none", crawl.Filter{Allow: []string{"Bar", "Auto Repair"}}, "", 6},
		{"a category in another script", crawl.Filter{Allow: []string{"音楽"}}, "6", 6},
		{"blocked category", crawl.Filter{Block: []string{"Restaurants"}}, "2 4 5 6", 6},
		{"blocked beats allowed", crawl.Filter{Allow: []string{"Restaurants"}, Block: []string{"Bars"}}, "3", 6},
		{"blocked word is a whole word", crawl.Filter{Words: []string{"bar"}}, "2 3 4 5 6", 6},
		{"blocked words in a row", crawl.Filter{Words: []string{"quick lube", "barber sons"}}, "1 2 3 5 6", 6},
		{"blocked word without its accents", crawl.Filter{Words: []string{"CAFE"}}, "1 2 4 5 6", 6},
		{"blocked word with punctuation", crawl.Filter{Words: []string{"Joes"}}, "2 3 4 5 6", 6},
		{"a legal form is a word", crawl.Filter{Words: []string{"inc"}}, "1 3 4 5 6", 6},
		{"a legal form after a word", crawl.Filter{Words: []string{"Frills LLC"}}, "1 2 3 4 5 6", 6},
		{"empty words block nothing", crawl.Filter{Words: []string{"", " ", "'"}, Allow: []string{""}}, "1 2 3 4 5 6", 6},
		{"least score", crawl.Filter{MinScore: 20}, "1 2 3 4 6", 6},
		{"score that nobody has", crawl.Filter{MinScore: 100, Sponsored: true}, "", 7},
		{"filters hold for ads too", crawl.Filter{Sponsored: true, Words: []string{"ad"}}, "1 2 3 4 5 6", 7},
	} {
		parallel(t, tt.name, func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, ok(pageWithAds("", ads, cards...)))
			st := w.done(func(c *crawl.Config) { c.Filter = tt.filter })
			r := w.is(1, yp.Done, 1, "")
			w.stored(tt.ids)
			n := int(w.number("SELECT count(*) FROM listings"))
			if r.Raw != tt.raw || r.Accepted != n || int(st.Raw) != tt.raw || int(st.Accepted) != n {
				t.Errorf("raw %d, accepted %d (stats %d, %d), want %d, %d", r.Raw, r.Accepted, st.Raw, st.Accepted, tt.raw, n)
			}
			if ads := w.number("SELECT count(*) FROM listings WHERE sponsored"); ads > 0 && !tt.filter.Sponsored {
				t.Errorf("%d ads were kept", ads)
			}
		})
	}
}

// TestFilterClosesNothing: what a filter leaves out is shown by the site all the same.
func TestFilterClosesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on(target, ok(page("", shops(1, 9)...)))
	w.done()
	for range 2 {
		w.again(fromPage1)
		w.done(func(c *crawl.Config) { c.Filter.Words = []string{"2", "3", "7"} })
	}
	w.counts("crawls are complete", 3, "SELECT crawls FROM targets")
	w.counts("listings are closed", 0, "SELECT count(*) FROM listings WHERE dropped_at IS NOT NULL")
}

func TestFilterFault(t *testing.T) {
	t.Parallel()
	bar := yp.Listing{ID: "1", Name: "Joe's Bar", Categories: []string{"Bars"}}
	ad := bar
	ad.Sponsored = true
	for want, c := range map[string]struct {
		filter crawl.Filter
		l      yp.Listing
	}{
		"":                                      {crawl.Filter{}, bar},
		"it is an ad":                           {crawl.Filter{}, ad},
		"its score is too low":                  {crawl.Filter{MinScore: 100}, bar},
		"its name holds a word that is blocked": {crawl.Filter{Words: []string{"BAR"}}, bar},
		"none of its categories is allowed":     {crawl.Filter{Allow: []string{"Diners"}}, bar},
		"one of its categories is blocked":      {crawl.Filter{Block: []string{"bars"}, Sponsored: true}, ad},
	} {
		storetest.Equal(t, fmt.Sprintf("%+v", c.filter), c.filter.Fault(&c.l), want)
	}
}
