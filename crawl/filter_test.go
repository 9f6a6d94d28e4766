package crawl_test

import (
	"fmt"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	of := func(id, name string, categories ...string) yp.Listing {
		return yp.Listing{ID: id, Name: name, Categories: categories, PhoneE164: "+12175550100", Street: "1 Main St", City: "Springfield", State: "IL"}
	}
	all := []yp.Listing{
		of("1", "Joe's Bar", "Bars", "Restaurants"), of("2", "Barber & Sons Inc.", "Barbers"), of("3", "Café Olé", "Coffee Shops", "Restaurants"),
		of("4", "Quick Lube", "Auto Repair & Service"),
		{ID: "5", Name: "No Frills"},
		of("6", "二胡 Lessons", "音楽"), of("90", "Joe's Ad", "Bars"),
	}
	all[6].Sponsored = true
	for _, tt := range []struct {
		name   string
		filter crawl.Filter
		ids    string
	}{
		{"none keeps all but ads", crawl.Filter{}, "1 2 3 4 5 6"},
		{"ads are kept when wanted", crawl.Filter{Sponsored: true}, "1 2 3 4 5 6 90"},
		{"allowed category", crawl.Filter{Allow: []string{"Restaurants"}}, "1 3"},
		{"allowed categories, any of them, any letter case", crawl.Filter{Allow: []string{"barbers", "COFFEE SHOPS"}}, "2 3"},
		{"a category by its slug", crawl.Filter{Allow: []string{"auto-repair-service"}}, "4"},
		{"a category in words", crawl.Filter{Allow: []string{"Auto Repair and Service"}}, "4"},
		{"part of a category is none", crawl.Filter{Allow: []string{"Bar", "Auto Repair"}}, ""},
		{"a category in another script", crawl.Filter{Allow: []string{"音楽"}}, "6"},
		{"blocked category", crawl.Filter{Block: []string{"Restaurants"}}, "2 4 5 6"},
		{"blocked beats allowed", crawl.Filter{Allow: []string{"Restaurants"}, Block: []string{"Bars"}}, "3"},
		{"blocked word is a whole word", crawl.Filter{Words: []string{"bar"}}, "2 3 4 5 6"},
		{"blocked words in a row", crawl.Filter{Words: []string{"quick lube", "barber sons"}}, "1 2 3 5 6"},
		{"blocked word without its accents", crawl.Filter{Words: []string{"CAFE"}}, "1 2 4 5 6"},
		{"blocked word with punctuation", crawl.Filter{Words: []string{"Joes"}}, "2 3 4 5 6"},
		{"a legal form is a word", crawl.Filter{Words: []string{"inc"}}, "1 3 4 5 6"},
		{"a legal form after a word", crawl.Filter{Words: []string{"Frills LLC"}}, "1 2 3 4 5 6"},
		{"empty words block nothing", crawl.Filter{Words: []string{"", " ", "'"}, Allow: []string{""}}, "1 2 3 4 5 6"},
		{"least score", crawl.Filter{MinScore: 20}, "1 2 3 4 6"},
		{"score that nobody has", crawl.Filter{MinScore: 100, Sponsored: true}, ""},
		{"filters hold for ads too", crawl.Filter{Sponsored: true, Words: []string{"ad"}}, "1 2 3 4 5 6"},
	} {
		kept := ""
		for i := range all {
			if tt.filter.Fault(&all[i]) == "" {
				kept += " " + all[i].ID
			}
		}
		storetest.Equal(t, strings.TrimSpace(kept), tt.ids, tt.name+": kept")
	}
}

// TestFiltered: what a filter leaves out counts as seen, not as accepted; a card without an id or a name as bad.
func TestFiltered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter crawl.Filter
		ids    string
		raw    int64
	}{
		{crawl.Filter{Allow: []string{"Bars"}}, "1", 3},
		{crawl.Filter{Sponsored: true, Block: []string{"Diners"}}, "1 3 90", 4}, // the ad of 1 is no listing of its own
	} {
		w := setup(t, layout{})
		bars, diners := []string{"Bars"}, []string{"Diners"}
		ads := []biz{{id: "90", name: "Joe's Ad", cats: bars}, {id: "1", name: "Joe's Bar", cats: bars}}
		w.on(target, ok(pageWithAds("", ads, biz{id: "1", name: "Joe's Bar", cats: bars}, biz{id: "2", name: "Joe's Diner", cats: diners},
			biz{id: "3", name: "Joe's"}, biz{id: "4"}, biz{name: "No id"})))
		st := w.done(func(c *crawl.Config) { c.Filter = tt.filter })
		w.stored(tt.ids)
		r, n := w.is(1, yp.Done, 1, ""), int64(len(strings.Fields(tt.ids)))
		if int64(r.Raw) != tt.raw || int64(r.Accepted) != n || st.Raw != tt.raw || st.Accepted != n || r.Bad != 2 || st.Bad != 2 {
			t.Errorf("raw %d, accepted %d, bad %d (stats %+v), want %d, %d, 2", r.Raw, r.Accepted, r.Bad, st, tt.raw, n)
		}
		if st.Cards != 7 || st.NoID != 1 || st.NoName != 1 || !st.MuchUnread() {
			t.Errorf("%d cards, %d without an id, %d without a name; want 7, 1, 1, and that this is much", st.Cards, st.NoID, st.NoName)
		}
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
		"":                                  {crawl.Filter{}, bar},
		"it is an ad":                       {crawl.Filter{}, ad},
		"its score is too low":              {crawl.Filter{MinScore: 100}, bar},
		"its name has a blocked word":       {crawl.Filter{Words: []string{"BAR"}}, bar},
		"none of its categories is allowed": {crawl.Filter{Allow: []string{"Diners"}}, bar},
		"one of its categories is blocked":  {crawl.Filter{Block: []string{"bars"}, Sponsored: true}, ad},
	} {
		storetest.Equal(t, c.filter.Fault(&c.l), want, fmt.Sprintf("%+v", c.filter))
	}
}
