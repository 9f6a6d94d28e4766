package crawl_test

import (
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

// TestMuchUnread checks that more than a tenth of the cards is much, and what may be ads is none of it.
func TestMuchUnread(t *testing.T) {
	for name, c := range map[string]struct {
		stats crawl.Stats
		want  bool
	}{
		"Nothing":      {crawl.Stats{}, false},
		"All":          {crawl.Stats{Cards: 1, Bad: 1, NoID: 1}, true},
		"ATenth":       {crawl.Stats{Cards: 30, Bad: 3, NoID: 2, NoCard: 1}, false},
		"MoreThanThat": {crawl.Stats{Cards: 30, Bad: 4, NoName: 4}, true},
		"Ads":          {crawl.Stats{Cards: 30, Bad: 5, PerhapsAds: 4, NoID: 1}, false},
	} {
		storetest.Equal(t, c.stats.MuchUnread(), c.want, name)
	}
}

// TestUnreadAdds checks that the reasons of several sources add up.
func TestUnreadAdds(t *testing.T) {
	st := crawl.Stats{NoID: 1, Alike: 2}
	st.Add(crawl.Stats{NoID: 3, NotShown: 1})
	n := st.Unread()
	storetest.Equal(t, n.Text(), "4 no id, 1 announced but not shown, 2 same id as another")
}
