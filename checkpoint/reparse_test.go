package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// TestStoreAgain: what pages say that are read again is stored once, and nothing of it by a dry run; targets
// stay as they are.
func TestStoreAgain(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	c := g.anew(t)
	fetched := g.clock.Now()
	g.page(t, c, true, 1, 2)
	again := func(dryRun bool, phone string, ids ...string) (out checkpoint.Reparsed) {
		t.Helper()
		p := &yp.Page{Number: 1}
		for _, id := range ids {
			p.Listings = append(p.Listings, yp.Listing{ID: id, Name: "N" + id, Phone: phone})
		}
		g.clock.Move(time.Minute)
		target := &wal.Target{ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Source: "demo", Place: c.Place}
		noErr(t, g.StoreReparsed(t.Context(), []checkpoint.KeptPage{{Target: target, Page: p, Fetched: fetched}}, dryRun, &out))
		return out
	}
	const events = `SELECT kind, reparsed, listing, listings FROM listing_events ORDER BY id`
	targets, before := storetest.Table(t, g.DB(), `SELECT * FROM targets`), storetest.Table(t, g.DB(), events)
	first := checkpoint.Reparsed{Stored: 1, New: 1, Changed: 1}
	storetest.Equal(t, again(true, "7", "l1", "l3"), first, "a dry run")
	storetest.Same(t, "events after a dry run", storetest.Table(t, g.DB(), events), before)
	storetest.Equal(t, again(false, "7", "l1", "l3"), first, "stored again")
	again(false, "8", "l1", "l3")
	rows, before := storetest.Table(t, g.DB(), foundRows), storetest.Table(t, g.DB(), events)
	storetest.Equal(t, again(false, "8", "l1", "l3"), checkpoint.Reparsed{Same: 1}, "once more")
	for _, e := range g.events {
		if held, err := g.Holds(t.Context(), e); err != nil || !held {
			t.Errorf("%s is not held (%v)", e.Type, err)
		}
	}
	g.replay(t, g.Keeper, g.events)
	storetest.Same(t, "listings after a replay", storetest.Table(t, g.DB(), foundRows), rows)
	storetest.Same(t, "events after a replay", storetest.Table(t, g.DB(), events), before)
	storetest.Same(t, "targets", storetest.Table(t, g.DB(), `SELECT * FROM targets`), targets)

	for _, kind := range []yp.Kind{yp.KindSearch, "photos"} { // the second one is of a later program
		unknown := &wal.Target{Kind: kind, Source: "demo", Place: yp.Place{CitySlug: "nowhere-zz", CategorySlug: "plumbers"}}
		var got checkpoint.Reparsed
		err := g.StoreReparsed(t.Context(), []checkpoint.KeptPage{{Target: unknown, Page: &yp.Page{Number: 1}, Fetched: fetched}}, false, &got)
		if err != nil || got.Unknown != 1 {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

// TestStoreAgainIsNoCrawl: a page that was kept and never committed is no page that its crawl has shown, or the crawl that
// goes on would take it for one that repeats itself.
func TestStoreAgainIsNoCrawl(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	c := g.anew(t)
	g.page(t, c, false, 1, 2)
	target := &wal.Target{ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Source: "demo", Place: c.Place}
	page := &yp.Page{Number: 2, Listings: []yp.Listing{{ID: "l3", Name: "N"}}}
	var out checkpoint.Reparsed
	noErr(t, g.StoreReparsed(t.Context(), []checkpoint.KeptPage{{Target: target, Page: page, Fetched: g.clock.Now()}}, false, &out))
	storetest.Equal(t, out.New, 1, "listings of the kept page")
	seen, err := g.SeenPages(t.Context(), c)
	noErr(t, err)
	if len(seen) != 1 || seen[0].Page != 1 {
		t.Errorf("the crawl has shown %+v", seen)
	}
	storetest.Same(t, "pages of passes", storetest.Table(t, g.DB(), `SELECT * FROM pass_pages WHERE pass = 'run 0'`), nil)
}
