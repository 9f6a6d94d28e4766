package checkpoint_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// found are cities of Arizona as an index page shows them.
func found(slugs ...string) []yp.FoundCity {
	var all []yp.FoundCity
	for _, s := range slugs {
		all = append(all, yp.FoundCity{
			City:    yp.City{Slug: s, Name: s, State: "AZ", Population: 1000, Lat: 33, Lon: -112, Tier: 3},
			Address: s, Shown: s, Matched: "slug",
		})
	}
	return all
}

// indexes is the scope of the indexes of some states.
func (b *bundle) indexes(states ...string) store.Scope {
	return store.Scope{SourceID: b.scope.SourceID, States: states, Kinds: []yp.Kind{yp.KindIndex}}
}

func (b *bundle) planIndexes(t *testing.T, pages int, states ...string) {
	t.Helper()
	var list []checkpoint.StateIndex
	for _, s := range states {
		list = append(list, checkpoint.StateIndex{State: s, Pages: pages})
	}
	noErr(t, b.PlanIndexes(t.Context(), b.scope.SourceID, list))
}

// index plans Arizona's index and claims it.
func (b *bundle) index(t *testing.T, pages int) *checkpoint.Claim {
	t.Helper()
	b.planIndexes(t, pages, "AZ")
	c, err := b.Claim(t.Context(), b.worker(0), b.indexes("AZ"), 5)
	noErr(t, err)
	return c
}

// commitIndex brings the next page of an index; the last one ends it.
func (b *bundle) commitIndex(t *testing.T, c *checkpoint.Claim, cities ...yp.FoundCity) checkpoint.IndexEnd {
	t.Helper()
	n := c.PageCurrent + 1
	out, err := b.CommitPage(t.Context(), c, yp.Page{
		Number: n, Last: n == c.MaxPages, Path: fmt.Sprintf("/state-az?page=%d", n), Cities: cities, Plan: b.planOf(nil).Searches(0),
	})
	noErr(t, err)
	recount(t, b.DB())
	return out.Index
}

// readIndex reads an index of one page that shows these cities, again if it was read.
func (b *bundle) readIndex(t *testing.T, slugs ...string) checkpoint.IndexEnd {
	t.Helper()
	execute(t, b.DB(), `UPDATE targets SET not_before = '2000-01-01T00:00:00.000Z' WHERE kind = 'index' AND not_before IS NOT NULL`)
	b.wake(t, b.indexes("AZ"))
	c := b.index(t, 1)
	return b.commitIndex(t, c, found(slugs...)...)
}

func (b *bundle) planOf(cities []yp.City) checkpoint.Plan {
	return checkpoint.Plan{
		SourceID: b.scope.SourceID, Cities: cities, TierPages: [4]int{0, 3, 2, 1},
		Categories: []yp.Category{{Slug: "plumbers", Name: "Plumbers"}},
	}
}

func want(t *testing.T, db *store.DB, query string, rows ...string) {
	t.Helper()
	if got := table(t, db, query); !slices.Equal(got, rows) {
		t.Errorf("%s:\n got %q\nwant %q", query, got, rows)
	}
}

const (
	indexRow   = `SELECT status, page_current, raw_count, accepted_count FROM targets WHERE kind = 'index'`
	cityRows   = `SELECT c.slug, x.removed_at IS NOT NULL FROM source_cities x JOIN cities c ON c.id = x.city_id ORDER BY 1`
	retiredRow = `SELECT c.slug, t.retired_at IS NOT NULL FROM targets t JOIN cities c ON c.id = t.city_id ORDER BY 1`
)

func TestIndexGone(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	t.Run("a city that is gone keeps its row, and its searches are retired", func(t *testing.T) {
		storetest.Equal(t, b.readIndex(t, "a-az", "b-az", "c-az").Planned, 3, "planned")
		if end := b.readIndex(t, "a-az", "b-az", "d-az"); end.Removed != 1 || end.Retired != 1 || end.Planned != 1 {
			t.Errorf("%+v", end)
		}
		want(t, b.DB(), indexRow, "DONE|1|3|1")
		want(t, b.DB(), cityRows, "a-az|0", "b-az|0", "c-az|1", "d-az|0")
		want(t, b.DB(), retiredRow, "a-az|0", "b-az|0", "c-az|1", "d-az|0")
	})
	t.Run("a plan neither brings it back nor plans more in it", func(t *testing.T) {
		p := b.planOf([]yp.City{found("c-az")[0].City, found("a-az")[0].City})
		p.Categories = append(p.Categories, yp.Category{Slug: "dentists", Name: "Dentists"})
		p.Explicit = true
		out, err := b.Plan(t.Context(), p)
		if err != nil || out.Added != 1 {
			t.Errorf("%+v, %v: want the dentists of a-az alone", out, err)
		}
		want(t, b.DB(), `SELECT count(*), sum(retired_at IS NOT NULL) FROM targets t JOIN cities c ON c.id = t.city_id WHERE c.slug = 'c-az'`, "1|1")
	})
	t.Run("its searches come back with it", func(t *testing.T) {
		storetest.Equal(t, b.readIndex(t, "a-az", "b-az", "c-az", "d-az").Removed, 0, "removed")
		want(t, b.DB(), indexRow, "DONE|1|4|1")
		want(t, b.DB(), `SELECT count(*) FROM targets WHERE retired_at IS NOT NULL`, "0")
	})
	t.Run("a claim forms addresses with the source's slug", func(t *testing.T) {
		execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL, page_current = 0 WHERE kind = 'index'`)
		c := b.index(t, 1)
		cities := found("a-az", "b-az", "c-az", "d-az")
		for i := range cities {
			cities[i].Address = "own-" + cities[i].Address
		}
		b.commitIndex(t, c, cities...)
		got, err := b.Claim(t.Context(), b.worker(1), store.Scope{SourceID: b.scope.SourceID, States: []string{"AZ"}}, 5)
		if err != nil || got.Place.CitySlug != "own-"+"a-az" {
			t.Errorf("claimed %+v, %v", got, err)
		}
	})
}

// TestIndexLacksMany: a read that lacks more than 3 of the known cities, and more than a
// tenth, marks none of them until the next one agrees; one that shows none has failed.
func TestIndexLacksMany(t *testing.T) {
	t.Parallel()
	const gone = `SELECT (SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL), (SELECT count(*) FROM targets WHERE retired_at IS NOT NULL)`
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprintf("c%02d-az", i))
	}
	for name, tt := range map[string]struct {
		first, then, last []string
		gone              [2]string
	}{
		"3 of 4":                             {all[:4], all[:1], all[:1], [2]string{"3|3", "3|3"}},
		"4 of 5, twice":                      {all[:5], all[:1], all[:1], [2]string{"0|0", "4|4"}},
		"4 of 5, and the next has them":      {all[:5], all[:1], all[:5], [2]string{"0|0", "0|0"}},
		"4 of 5, and the next has 3 of them": {all[:5], all[:1], all[:4], [2]string{"0|0", "1|1"}},
		"4 of 8, and the next has others":    {all[:8], all[:4], all[4:8], [2]string{"0|0", "0|0"}},
		"5 of 50":                            {all, all[:45], all[:45], [2]string{"5|5", "5|5"}},
		"6 of 50":                            {all, all[:44], all[:44], [2]string{"0|0", "6|6"}},
		"new ones don't stand for those lost": {
			all[:5], append([]string{"x-az", "y-az", "z-az"}, all[:1]...), append([]string{"x-az", "y-az", "z-az"}, all[:1]...), [2]string{"0|0", "4|4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 0)
			b.readIndex(t, tt.first...)
			for i, slugs := range [][]string{tt.then, tt.last} {
				end := b.readIndex(t, slugs...)
				want(t, b.DB(), gone, tt.gone[i])
				if warned := tt.gone[i] == "0|0" && len(slugs) < len(tt.first); end.Suspect != "" || (end.Warning != "") != warned {
					t.Errorf("read %d: %+v", i+2, end)
				}
				want(t, b.DB(), `SELECT status, page_current, last_error_code, ifnull(last_error, '') FROM targets WHERE kind = 'index'`, "DONE|1||"+end.Warning)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 0)
		b.readIndex(t, "a-az", "b-az")
		if end := b.readIndex(t, "x-az"); end.Suspect == "" || end.Setback.Event != yp.EventBackOff {
			t.Errorf("%+v", end)
		}
		want(t, b.DB(), `SELECT status, page_current, last_error_code FROM targets WHERE kind = 'index'`, "PLANNED|0|HTML_CHANGED") // after a short wait, from page 1
		want(t, b.DB(), gone, "0|0")
		want(t, b.DB(), `SELECT count(*) FROM targets WHERE kind = 'search'`, "2") // nothing is planned of what is not believed
		b.readIndex(t, "a-az", "b-az")
		want(t, b.DB(), `SELECT status, page_current, last_error IS NULL FROM targets WHERE kind = 'index'`, "DONE|1|1")
	})
	t.Run("nothing before and nothing now is a state without cities", func(t *testing.T) {
		t.Parallel()
		storetest.Equal(t, setup(t, 0).readIndex(t).Suspect, "", "suspect")
	})
}

func TestIndexResume(t *testing.T) {
	t.Parallel()
	t.Run("a city on two pages counts once", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 0)
		c := b.index(t, 2)
		b.commitIndex(t, c, found("a-az", "b-az")...)
		b.commitIndex(t, c, found("b-az", "c-az")...)
		want(t, b.DB(), indexRow, "DONE|2|3|3")
		want(t, b.DB(), `SELECT slug, found_on FROM source_cities ORDER BY 1`, "a-az|/state-az?page=1", "b-az|/state-az?page=2", "c-az|/state-az?page=2")
	})
	t.Run("released or failed, it goes on; too old, it starts over", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 0)
		c := b.index(t, 3)
		began := c.StartedAt
		b.commitIndex(t, c, found("a-az")...)
		noErr(t, b.Release(t.Context(), c, "stop"))
		clock.Move(checkpoint.IndexRest - time.Hour)
		if c = b.index(t, 3); c.PageCurrent != 1 || c.StartedAt != began || c.Seen != 1 || c.Crawl != 1 {
			t.Errorf("resumed %+v", c)
		}
		set, err := b.Fail(t.Context(), c, yp.CodeTimeout, "slow")
		noErr(t, err)
		clock.Move(set.Wait)
		storetest.Equal(t, b.wake(t, b.indexes("AZ")), 1, "targets woken")
		if c = b.index(t, 3); c.PageCurrent != 1 || c.StartedAt != began {
			t.Errorf("one that failed was not resumed: %+v", c)
		}
		noErr(t, b.Release(t.Context(), c, "stop"))
		clock.Move(time.Hour)
		if c = b.index(t, 3); c.PageCurrent != 0 || c.StartedAt == began || c.Seen != 0 || c.Crawl != 2 {
			t.Errorf("an old one was resumed: %+v", c)
		}
	})
	t.Run("another number of pages starts over", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 0)
		c := b.index(t, 3)
		b.commitIndex(t, c, found("a-az")...)
		noErr(t, b.Release(t.Context(), c, "stop"))
		if c = b.index(t, 2); c.PageCurrent != 0 || c.MaxPages != 2 {
			t.Errorf("resumed %+v", c)
		}
	})
	t.Run("a clock that was set back marks nothing as gone that was met", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t, 0)
		b.readIndex(t, "a-az", "b-az", "c-az")
		clock.Move(-time.Hour)
		execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL, page_current = 0, max_pages = 2, raw_count = 0, accepted_count = 0 WHERE kind = 'index'`)
		c := b.index(t, 2)
		b.commitIndex(t, c, found("a-az")...)
		clock.Move(-time.Hour)
		storetest.Equal(t, b.commitIndex(t, c, found("b-az")...).Removed, 1, "removed")
		want(t, b.DB(), cityRows, "a-az|0", "b-az|0", "c-az|1")
	})
}

// TestPlanIndexes: what is planned twice, is read, or done not long ago stays as it is.
func TestPlanIndexes(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 0)
	states := `SELECT state, status, max_pages, page_current, crawl_frequency_minutes FROM targets WHERE kind = 'index' ORDER BY state`
	b.planIndexes(t, 2, "AZ", "NV")
	b.planIndexes(t, 2, "AZ", "NV")
	want(t, b.DB(), states, "AZ|PLANNED|2|0|10080", "NV|PLANNED|2|0|10080")
	c := b.index(t, 2)
	b.commitIndex(t, c, found("a-az")...)
	clock.Move(25 * time.Hour)
	b.planIndexes(t, 3, "AZ", "NV") // AZ is in somebody's hands, who fails to find its pages
	want(t, b.DB(), states, "AZ|IN_PROGRESS|2|1|10080", "NV|PLANNED|3|0|10080")
	b.commitIndex(t, c)
	b.planIndexes(t, 2, "AZ")
	want(t, b.DB(), states, "AZ|DONE|2|2|10080", "NV|PLANNED|3|0|10080")
	b.planIndexes(t, 4, "AZ") // it will have other pages when it is due
	want(t, b.DB(), states, "AZ|DONE|4|0|10080", "NV|PLANNED|3|0|10080")
	want(t, b.DB(), `SELECT finished_at IS NOT NULL, not_before, wait_reason, complete_at IS NOT NULL FROM targets WHERE kind = 'index' AND state = 'AZ'`, "1|2026-11-26T19:12:00.000Z|recrawl|1")
}

// TestIndexPass: `discover` reads the index of every state once, over as many processes as
// it takes; typed again after that, it reads them all again, for which nobody waits a week.
func TestIndexPass(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 0)
	scope, none := b.indexes("AZ", "NV", "UT"), time.Duration(0)
	b.planIndexes(t, 1, scope.States...)
	// read lets one process read so many indexes and tells whether its pass went on.
	read := func(most int) (states string, goesOn bool) {
		t.Helper()
		p, err := b.run.BeginPass(t.Context(), scope, &none)
		noErr(t, err)
		b.wake(t, scope)
		for range most {
			c, err := b.Claim(t.Context(), b.worker(0), scope, 1)
			if err != nil {
				break
			}
			states += c.Place.State + " "
			clock.Move(time.Second)
			b.commitIndex(t, c)
		}
		clock.Move(time.Minute)
		return states, p.GoesOn
	}
	for i, want := range []struct {
		most   int
		states string
		goesOn bool
	}{
		{2, "AZ NV ", false},
		{2, "UT ", true},
		{9, "AZ NV UT ", false}, // at once, no two minutes lie between two crawls of an index
		{1, "AZ ", false},
		{9, "NV UT ", true},
	} {
		if states, goesOn := read(want.most); states != want.states || goesOn != want.goesOn {
			t.Errorf("process %d read %s(of a pass under way: %v), want %s(%v)", i+1, states, goesOn, want.states, want.goesOn)
		}
	}
}

// TestIndexTwoAddresses: one place under two addresses has one row, and which of them
// does not depend on chance.
func TestIndexTwoAddresses(t *testing.T) {
	t.Parallel()
	c := found("a-az", "a-az", "a-az")
	c[0].Address, c[0].Matched = "a-1-az", "name"
	c[1].Address, c[1].Matched = "a-2-az", "name"
	for name, tt := range map[string]struct {
		cities []yp.FoundCity
		want   string
	}{
		"the gazetteer's own slug":  {[]yp.FoundCity{c[0], c[2], c[1]}, "a-az|slug"},
		"the first of equal claims": {[]yp.FoundCity{c[0], c[1]}, "a-1-az|name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 0)
			for range 2 { // a second crawl comes to the same end
				execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL, page_current = 0, raw_count = 0, accepted_count = 0 WHERE kind = 'index'`)
				c := b.index(t, 1)
				b.commitIndex(t, c, tt.cities...)
				storetest.Equal(t, c.Seen, 1, "cities")
				want(t, b.DB(), `SELECT slug, matched FROM source_cities`, tt.want)
			}
		})
	}
}

// TestIndexUnknownCity: a city that the gazetteer does not know is crawled with its
// state like any other.
func TestIndexUnknownCity(t *testing.T) {
	t.Parallel()
	for least, n := range map[int]int{0: 1, 1: 0} {
		b := setup(t, 0)
		c := b.index(t, 1)
		city := found("nowhere-az")
		city[0].Population, city[0].Lat, city[0].Lon, city[0].Matched = 0, 0, 0, "none"
		out, err := b.CommitPage(t.Context(), c, yp.Page{Number: 1, Last: true, Path: "/state-az", Cities: city, Plan: b.planOf(nil).Searches(least)})
		want(t, b.DB(), `SELECT population, lat IS NULL, lon IS NULL, tier FROM cities`, "0|1|1|3")
		if err != nil || out.Index.Planned != n {
			t.Errorf("at least %d people: %+v, %v", least, out.Index, err)
		}
		got, err := b.Claim(t.Context(), b.worker(1), store.Scope{SourceID: b.scope.SourceID, States: []string{"AZ"}}, 5)
		if n == 1 && (err != nil || got.Place.CitySlug != "nowhere-az") {
			t.Errorf("claimed %+v, %v", got, err)
		}
	}
}
