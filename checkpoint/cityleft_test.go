package checkpoint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// searches crawls all searches of Arizona to the end that the site confirms; shown says what the
// pages of each city list. The listings have a page of their own.
func (b *bundle) searches(t *testing.T, clock *clock, shown map[string]string) {
	t.Helper()
	clock.Move(8 * 24 * 3600e9)
	scope := store.Scope{SourceID: b.scope.SourceID, States: []string{"AZ"}}
	b.wake(t, scope)
	for {
		c, err := b.Claim(t.Context(), b.worker(0), scope, 5)
		if err != nil {
			return
		}
		p := yp.Page{Number: 1, Last: true, Ending: yp.EndSaid, Listings: cards(strings.Fields(shown[c.Place.CitySlug])...)}
		for i := range p.Listings {
			p.Listings[i].ProfileURL = "http://127.0.0.1:1/mip/" + p.Listings[i].ID
		}
		p.Raw = len(p.Listings)
		b.save(t, c, p)
	}
}

// readsIndex reads the index of Arizona when it is due again.
func (b *bundle) readsIndex(t *testing.T, clock *clock, slugs ...string) {
	t.Helper()
	clock.Move(8 * 24 * time.Hour)
	b.wake(t, b.indexes("AZ"))
	b.readIndex(t, slugs...)
}

// TestCityLeftIndex: a listing that only targets of a city showed is dropped by the second
// complete read of the index in a row that lacks the city, and comes back with it.
func TestCityLeftIndex(t *testing.T) {
	t.Parallel()
	const (
		dropped = `SELECT ifnull(group_concat(listing_id, ' '), '') FROM (SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY 1)`
		log     = `SELECT listing_id, action, what FROM promotion_log WHERE action IN ('dropped', 'restored') ORDER BY id`
		details = `SELECT l.listing_id, t.retired_at IS NOT NULL FROM targets t JOIN listings l ON l.id = t.listing ORDER BY 1`
	)
	all := map[string]string{"a-az": "a both", "b-az": "b", "c-az": "c both"}
	whole, lacks := []string{"a-az", "b-az", "c-az"}, []string{"a-az", "b-az"}
	type step func(t *testing.T, b *bundle, clock *clock)
	index := func(slugs []string, want string) step {
		return func(t *testing.T, b *bundle, clock *clock) {
			t.Helper()
			b.readsIndex(t, clock, slugs...)
			same(t, "dropped", table(t, b.DB(), dropped), []string{want})
		}
	}
	crawls := func(shown map[string]string, want string) step {
		return func(t *testing.T, b *bundle, clock *clock) {
			t.Helper()
			b.searches(t, clock, shown)
			same(t, "dropped", table(t, b.DB(), dropped), []string{want})
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
			b.readsIndex(t, clock, whole...)
			b.searches(t, clock, all)
			b.want(t, "AZ")
			for _, s := range tt.steps {
				s(t, b, clock)
			}
			same(t, "log", table(t, b.DB(), log), tt.log)
			retired := slices.DeleteFunc(table(t, b.DB(), details), func(row string) bool { return strings.HasSuffix(row, "|0") })
			storetest.Equal(t, strings.ReplaceAll(strings.Join(retired, " "), "|1", ""), table(t, b.DB(), dropped)[0], "listings whose pages are not asked for any more")

			same(t, "counted with the run", table(t, b.DB(), `SELECT sum(listings_dropped), sum(listings_restored) FROM runs`), table(t, b.DB(), `SELECT ifnull(sum(kind = 'dropped'), 0), ifnull(sum(kind = 'restored'), 0) FROM listing_events`))
		})
	}
}
