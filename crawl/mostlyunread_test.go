package crawl_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// nameless are n cards, of which those from the good-th on have lost name and link on the way.
func nameless(first, n, good int) []biz {
	cards := shops(first, n)
	for i := good; i < n; i++ {
		cards[i].name = ""
	}
	return cards
}

// TestMostlyUnread: a page of which more than half of the cards can't be read is one of another layout, however many
// can be: nothing of it is stored, and the attempt says how many and why.
func TestMostlyUnread(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cards []biz
		ads   []biz
		done  bool
	}{
		"29 of 30":                      {cards: nameless(1, 30, 1)},
		"16 of 30":                      {cards: nameless(1, 30, 14)},
		"half of them":                  {cards: nameless(1, 30, 15), done: true},
		"half of them, with the ads":    {cards: nameless(1, 10, 2), ads: shops(60, 6), done: true},
		"more than half, with the ads":  {cards: nameless(1, 10, 0), ads: shops(60, 6)},
		"two of three":                  {cards: nameless(1, 3, 1)},
		"of a page that repeats a card": {cards: append(nameless(1, 5, 1), shops(1, 1)...)},
	} {
		parallel(t, name, func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, ok(pageWithAds("", tt.ads, tt.cards...)))
			st := w.done()
			if tt.done {
				w.is(1, yp.Done, 1, "")
				return
			}
			r := w.is(1, waiting, 0, yp.CodeHTMLChanged)
			if !strings.Contains(r.Error, " could not be read: ") || !strings.Contains(r.Error, " no name, such as ") {
				t.Errorf("it says %q", r.Error)
			}
			w.counts("listings", 0, "SELECT count(*) FROM listings")
			w.counts("strikes", 1, "SELECT layout_strikes FROM sources")
			storetest.Equal(t, w.unknown(), 1, "pages kept")
			if st.NoName == 0 || st.Bad != st.NoName || !st.MuchUnread() {
				t.Errorf("counted %d of %d cards", st.Bad, st.Cards)
			}
		})
	}
	parallel(t, "fewer than half of those that the page announces", func(t *testing.T) {
		w := setup(t, layout{})
		w.on(target, ok(counting(9, "", nameless(1, 6, 4)...)))
		w.done()
		w.is(1, yp.Done, 1, "")
		w.counts("listings", 4, "SELECT count(*) FROM listings")
		storetest.Equal(t, w.unknown(), 1, "pages kept")
	})
	parallel(t, "three running raise the alarm", func(t *testing.T) {
		w := setup(t, layout{cities: 5})
		for n := range 5 {
			w.on(fmt.Sprintf("/city-%d-ca/plumbers", n), ok(page("", nameless(40*n+1, 30, 12)...)))
		}
		endedBy(t, w.crawl(w.engine()), crawl.ErrLayout)
		w.counts("listings", 0, "SELECT count(*) FROM listings")
	})
}

// TestUnreadIsUnseen: a card that could not be read was not seen, and a run with more than a tenth of them says so: in its
// log, and to whoever asks about the source, until a run can read them.
func TestUnreadIsUnseen(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on(target, ok(counting(20, "", nameless(1, 20, 17)...)))
	var log bytes.Buffer
	w.done(func(c *crawl.Config) { c.Logger = zerolog.New(&log) })
	w.is(1, yp.Done, 1, "")
	w.ending(1, yp.EndTooFew)
	if n := strings.Count(log.String(), "more than a tenth of the cards are unreadable"); n != 1 || !strings.Contains(log.String(), `"reason":"no name"`) {
		t.Errorf("the log says so %d times:\n%s", n, &log)
	}
	reader := report.New(w.db)
	totals, err := reader.CoverageTotals(t.Context(), store.Scope{})
	storetest.NoError(t, err)
	if totals.Seen != 17 || totals.SeenOfKnown != 17 || totals.Complete != 0 {
		t.Errorf("coverage: %+v", totals)
	}
	const say = "3 of 20 cards could not be read, most of them with no name, such as "
	saying := func() string {
		sources, err := reader.Sources(t.Context())
		storetest.NoError(t, err)
		return sources[0].Unread
	}
	if got := saying(); !strings.HasPrefix(got, say) || !strings.HasSuffix(got, " on "+w.URL+target) {
		t.Errorf("the source's row says %q", got)
	}
	w.on(target, ok(counting(20, "", shops(1, 20)...)))
	w.again(fromPage1)
	w.done()
	w.ending(1, yp.EndTotal)
	storetest.Equal(t, saying(), "", "after a run that could read all")
}

// TestMostUnread: what may be an ad that the site counts along is no reason to warn.
func TestMostUnread(t *testing.T) {
	for _, tt := range []struct {
		st   crawl.Stats
		much bool
		most site.Unread
	}{
		{crawl.Stats{Cards: 10, Bad: 1, NoID: 1}, false, site.NoID},
		{crawl.Stats{Cards: 9, Bad: 1, NoName: 1}, true, site.NoName},
		{crawl.Stats{Cards: 20, Bad: 10, PerhapsAds: 8, NoCard: 2}, false, site.NoCard},
	} {
		storetest.Equal(t, tt.st.MuchUnread(), tt.much, tt.st)
		storetest.Equal(t, tt.st.MostUnread(), tt.most, tt.st)
	}
}
