package checkpoint_test

import (
	"slices"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// searches crawls all searches of Arizona to the end that the site confirms; shown says what the
// pages of each city list. The listings have a page of their own.
func (g *logged) searches(t *testing.T, shown map[string]string) {
	t.Helper()
	g.clock.Move(8 * 24 * 3600e9)
	scope := store.Scope{SourceID: g.scope.SourceID, States: []string{"AZ"}}
	_, err := g.Wake(t.Context(), scope)
	noErr(t, err)
	for {
		c, err := g.Claim(t.Context(), g.worker(0), scope, 5)
		if err != nil {
			return
		}
		p := yp.Page{Number: 1, Last: true, End: true, Listings: cards(strings.Fields(shown[c.Place.CitySlug])...)}
		for i := range p.Listings {
			p.Listings[i].ProfileURL = "http://127.0.0.1:1/mip/" + p.Listings[i].ID
		}
		p.Raw = len(p.Listings)
		g.log(wal.TargetStart, c, nil, "", yp.InProgress)
		g.log(wal.PageComplete, c, &p, "", yp.InProgress)
		_, err = g.CommitPage(t.Context(), c, p)
		noErr(t, err)
		g.log(wal.TargetComplete, c, nil, "", yp.Done)
	}
}

// TestCityLeftIndex: a listing that only targets of a city showed is dropped by the second
// complete read of the index in a row that lacks the city, and comes back with it. The logs
// bring the same.
func TestCityLeftIndex(t *testing.T) {
	t.Parallel()
	const (
		dropped = `SELECT ifnull(group_concat(listing_id, ' '), '') FROM (SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY 1)`
		log     = `SELECT listing_id, action, what FROM promotion_log WHERE action IN ('dropped', 'restored') ORDER BY id`
		details = `SELECT l.listing_id, t.retired_at IS NOT NULL FROM targets t JOIN listings l ON l.id = t.listing ORDER BY 1`
	)
	all := map[string]string{"a-az": "a both", "b-az": "b", "c-az": "c both"}
	whole, lacks := []string{"a-az", "b-az", "c-az"}, []string{"a-az", "b-az"}
	type step func(t *testing.T, g *logged)
	index := func(slugs []string, want string) step {
		return func(t *testing.T, g *logged) {
			t.Helper()
			g.readsIndex(t, false, slugs)
			same(t, "dropped", table(t, g.DB(), dropped), []string{want})
		}
	}
	crawls := func(shown map[string]string, want string) step {
		return func(t *testing.T, g *logged) {
			t.Helper()
			g.searches(t, shown)
			same(t, "dropped", table(t, g.DB(), dropped), []string{want})
		}
	}
	for name, tt := range map[string]struct {
		steps []step
		log   []string
	}{
		"two reads, and no crawl": {
			[]step{index(lacks, ""), index(lacks, "c"), index(lacks, "c")},
			[]string{`c|dropped|{"reasons":["city_left_index"]}`},
		},
		"crawls of other cities alone don't drop what it showed": {
			[]step{index(lacks, ""), crawls(map[string]string{"a-az": "a", "b-az": "b"}, ""), crawls(map[string]string{"a-az": "a", "b-az": "b"}, ""), index(lacks, "both c")},
			[]string{`both|dropped|{"reasons":["city_left_index"]}`, `c|dropped|{"reasons":["city_left_index"]}`},
		},
		"a crawl of another city drops the rest": {
			[]step{index(lacks, ""), index(lacks, "c"), crawls(map[string]string{"a-az": "a", "b-az": "b"}, "c"), crawls(map[string]string{"a-az": "a", "b-az": "b"}, "both c")},
			[]string{`c|dropped|{"reasons":["city_left_index"]}`, `both|dropped|`},
		},
		"two reads that are not in a row": {
			[]step{index(lacks, ""), index(whole, ""), index(lacks, ""), index(whole, "")}, nil,
		},
		"it returns, and its next crawl shows the listing": {
			[]step{index(lacks, ""), index(lacks, "c"), index(whole, "c"), crawls(all, ""), index(lacks, ""), index(lacks, "c")},
			[]string{`c|dropped|{"reasons":["city_left_index"]}`, `c|restored|`, `c|dropped|{"reasons":["city_left_index"]}`},
		},
		"it returns, and its next crawl does not": {
			[]step{index(lacks, ""), index(lacks, "c"), index(whole, "c"), crawls(map[string]string{"a-az": "a both", "b-az": "b", "c-az": "d"}, "c")},
			[]string{`c|dropped|{"reasons":["city_left_index"]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, clock := setupClock(t, 0)
			g := &logged{bundle: b, clock: clock}
			g.readsIndex(t, false, whole)
			g.searches(t, all)
			b.want(t, "AZ")
			for _, s := range tt.steps {
				s(t, g)
			}
			same(t, "log", table(t, g.DB(), log), tt.log)
			retired := slices.DeleteFunc(table(t, g.DB(), details), func(row string) bool { return strings.HasSuffix(row, "|0") })
			if got := strings.ReplaceAll(strings.Join(retired, " "), "|1", ""); got != table(t, g.DB(), dropped)[0] {
				t.Errorf("the pages of %q are not asked for any more", got)
			}
			same(t, "counted with the run", table(t, g.DB(), `SELECT sum(listings_dropped), sum(listings_restored) FROM runs`), table(t, g.DB(), `SELECT ifnull(sum(kind = 'dropped'), 0), ifnull(sum(kind = 'restored'), 0) FROM listing_events`))
			k := checkpoint.New(storetest.Open(t))
			for range 2 {
				g.replay(t, k, g.events)
				same(t, "dropped by a replay", table(t, k.DB(), dropped), table(t, g.DB(), dropped))
				same(t, "log of a replay", table(t, k.DB(), log), tt.log)
			}
			g.replay(t, g.Keeper, g.events)
			same(t, "log after a replay into the crawl itself", table(t, g.DB(), log), tt.log)
		})
	}
}

// TestIndexPageLoggedTwice: the last page of an index that was logged, and not committed because
// its process died, stands in the logs twice and is one read.
func TestIndexPageLoggedTwice(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 0)
	g := &logged{bundle: b, clock: clock}
	g.readsIndex(t, false, []string{"a-az", "b-az"})
	g.searches(t, map[string]string{"a-az": "a", "b-az": "b"})
	g.clock.Move(8 * 24 * 3600e9)
	_, err := g.Wake(t.Context(), g.indexes("AZ"))
	noErr(t, err)
	c := g.index(t, 2)
	first := yp.Page{Number: 1, Path: "/state-az", Cities: found("a-az")}
	g.log(wal.TargetStart, c, nil, "", yp.InProgress)
	g.log(wal.PageComplete, c, &first, "", yp.InProgress)
	_, err = g.CommitPage(t.Context(), c, first)
	noErr(t, err)
	p := yp.Page{Number: 2, Last: true, Path: "/state-az?page=2", Plan: g.planOf(nil).Searches(0)}
	g.log(wal.PageComplete, c, &p, "", yp.InProgress)
	noErr(t, g.Release(t.Context(), c, "died")) // as a recovery does
	c = g.index(t, 2)
	g.log(wal.TargetStart, c, nil, "", yp.InProgress)
	g.log(wal.PageComplete, c, &p, "", yp.InProgress)
	_, err = g.CommitPage(t.Context(), c, p)
	noErr(t, err)
	const missed = `SELECT c.slug, x.missed FROM source_cities x JOIN cities c ON c.id = x.city_id ORDER BY 1`
	want(t, g.DB(), missed, "a-az|0", "b-az|1")
	k := checkpoint.New(storetest.Open(t))
	g.replay(t, k, g.events)
	want(t, k.DB(), missed, "a-az|0", "b-az|1")
	want(t, k.DB(), `SELECT count(*) FROM listings WHERE dropped_at IS NOT NULL`, "0")
}
