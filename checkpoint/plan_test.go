package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func planOf(source int64, cities, categories int) checkpoint.Plan {
	p := checkpoint.Plan{SourceID: source, TierPages: storetest.TierPages}
	for i := range categories {
		p.Categories = append(p.Categories, yp.Category{Slug: fmt.Sprint("k", i), Name: fmt.Sprint("K", i)})
	}
	for i := range cities {
		p.Cities = append(p.Cities, yp.City{Slug: fmt.Sprintf("c%d", i), Name: "C", State: []string{"CA", "TX"}[i%2], Population: 5000 - i, Tier: 1 + i%3})
	}
	return p
}

func planned(t *testing.T, k *checkpoint.Keeper, p checkpoint.Plan) checkpoint.Planned {
	t.Helper()
	out, err := k.Plan(t.Context(), p)
	noErr(t, err)
	return out
}

func newKeeper(t *testing.T) (*checkpoint.Keeper, int64) {
	t.Helper()
	k := checkpoint.New(storetest.Open(t))
	id, err := k.Source(t.Context(), "demo", "http://x")
	noErr(t, err)
	return k, id
}

const plannedRows = `SELECT c.slug, k.slug, t.state, t.population, priority, max_pages, status FROM targets t JOIN cities c ON c.id = city_id
	JOIN categories k ON k.id = category_id ORDER BY t.id`

func TestPlan(t *testing.T) {
	t.Parallel()
	t.Run("what is named twice is planned once", func(t *testing.T) {
		t.Parallel()
		k, id := newKeeper(t)
		p := planOf(id, 2, 2)
		p.Cities, p.Categories = append(p.Cities, p.Cities[0]), append(p.Categories, p.Categories[1])
		storetest.Equal(t, planned(t, k, p), checkpoint.Planned{Selected: 9, Added: 4}, "planned")
	})
	t.Run("order, pages by tier, and nothing the second time", func(t *testing.T) {
		t.Parallel()
		k, id := newKeeper(t)
		p := planOf(id, 4, 2)
		storetest.Equal(t, planned(t, k, p), checkpoint.Planned{Selected: 8, Added: 8}, "first")
		rows := table(t, k.DB(), plannedRows)
		want := []string{
			"c0|k0|CA|5000|1|3|PLANNED", "c0|k1|CA|5000|1|3|PLANNED", "c1|k0|TX|4999|2|2|PLANNED", "c1|k1|TX|4999|2|2|PLANNED",
			"c2|k0|CA|4998|3|1|PLANNED", "c2|k1|CA|4998|3|1|PLANNED", "c3|k0|TX|4997|1|3|PLANNED", "c3|k1|TX|4997|1|3|PLANNED",
		}
		same(t, "targets", rows, want)
		storetest.Equal(t, planned(t, k, p), checkpoint.Planned{Selected: 8}, "second")
		same(t, "targets the second time", table(t, k.DB(), plannedRows), want)
	})
	t.Run("chunks and the limit across them", func(t *testing.T) {
		t.Parallel()
		for _, limit := range []int{1, 999, 1499, 1500, 1501, 3001, 3599, 3600, 5000} {
			k, id := newKeeper(t)
			p := planOf(id, 1200, 3) // two chunks of 500 cities and a rest
			p.MaxTargets = limit
			want := min(limit, 3600)
			for _, added := range []int{want, 0} {
				if out := planned(t, k, p); out.Added != added || out.Selected != want {
					t.Errorf("limit %d: %+v, want %d added of %d", limit, out, added, want)
				}
			}
			storetest.Equal(t, table(t, k.DB(), `SELECT count(*), max(id) FROM targets`)[0], fmt.Sprintf("%d|%d", want, want), fmt.Sprintf("limit %d: targets", limit))

			recount(t, k.DB())
		}
	})
}

func TestDeepen(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA") // 4 targets
	ctx := t.Context()
	more, done := b.claim(t, 0), b.claim(t, 1)
	b.save(t, more, yp.Page{Number: 1, NextURL: "/2", Last: true})
	b.save(t, done, yp.Page{Number: 1, Last: true})
	ended := b.claim(t, 2)
	b.save(t, ended, yp.Page{Number: 1, NextURL: "/2"})
	if err := b.Complete(ctx, ended, "", "", checkpoint.End{How: yp.EndNoWord}); err != nil { // page 2 said that there is nothing
		t.Fatal(err)
	}
	deeper := func(pages, limit int) checkpoint.Planned {
		p := checkpoint.Plan{
			SourceID: b.scope.SourceID, TierPages: [4]int{0, pages, pages, pages}, Explicit: true, MaxTargets: limit,
			Categories: []yp.Category{{Slug: "plumbers"}, {Slug: "dentists"}},
			Cities:     []yp.City{{Slug: "city-0-ca", State: "CA", Tier: 1}, {Slug: "city-1-ca", State: "CA", Tier: 2}},
		}
		return planned(t, b.Keeper, p)
	}
	const state = `SELECT status, page_current, max_pages FROM targets ORDER BY id`
	storetest.Equal(t, deeper(1, 0).Deepened, 0, "deepened for no more pages than done")
	storetest.Equal(t, deeper(5, 1).Deepened, 1, "deepened with a limit of 1")
	same(t, "targets", table(t, b.DB(), state), []string{"PLANNED|1|5", "DONE|1|1", "DONE|1|1", "PLANNED|0|1"})
	storetest.Equal(t, deeper(0, 0).Deepened, 0, "deepened for all pages, no other having a next page,")
	same(t, "targets", table(t, b.DB(), state), []string{"PLANNED|1|0", "DONE|1|0", "DONE|1|0", "PLANNED|0|0"})
	c := b.claim(t, 0)
	if c.TargetID != more.TargetID || c.PageCurrent != 1 || c.NextPageURL != "/2" || c.MaxPages != 0 {
		t.Errorf("goes on with %+v, want page 2 of target %d", c, more.TargetID)
	}
}

// TestPageCounts: what was kept counts, whatever the page claims.
func TestPageCounts(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	c := b.claim(t, 0)
	out := b.save(t, c, yp.Page{Number: 1, NextURL: "/next", Raw: 1, Bad: 2, SiteTotal: 1108, Listings: append(cards("a", "b", "a"), yp.Listing{ID: "x"})})
	if out.New != 2 || out.Dropped != 2 || out.Done {
		t.Errorf("%+v, want 2 new and 2 dropped", out)
	}
	const q = `SELECT page_current, raw_count, accepted_count, bad_count, site_total FROM targets WHERE id = ?`
	same(t, "target", table(t, b.DB(), q, c.TargetID), []string{"1|2|2|4|1108"})
	same(t, "run", table(t, b.DB(), `SELECT pages, listings_new, targets FROM runs`), []string{"1|2|0"})
}

// TestPlanFollowsTheIndex: where a source's index of a state was read to its end, whole
// states mean the cities in it.
func TestPlanFollowsTheIndex(t *testing.T) {
	t.Parallel()
	k, source := newKeeper(t)
	p := planOf(source, 3, 1)
	p.Listed = &checkpoint.Listed{States: []string{p.Cities[0].State}}
	extra := yp.City{Slug: "only-listed", Name: "Only Listed", State: p.Cities[0].State, Tier: 3}
	ids, err := k.CityIDs(t.Context(), append(slices.Clone(p.Cities), extra))
	noErr(t, err)
	listed := func(n int, gone string) {
		execute(t, k.DB(), `INSERT INTO source_cities (source_id, city_id, slug, name, found_on, matched, first_seen_at, last_seen_at, crawl, removed_at)
			SELECT s.id, c.id, c.slug, c.name, '/', 'slug', 'x', 'x', 1, `+gone+` FROM sources s, cities c WHERE c.id = (SELECT id FROM cities ORDER BY id LIMIT 1 OFFSET `+string(rune('0'+n))+`)`)
	}
	planned := func(p checkpoint.Plan) string {
		execute(t, k.DB(), `DELETE FROM targets WHERE kind = 'search'`)
		if _, err := k.Plan(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return strings.Join(table(t, k.DB(), `SELECT c.slug FROM targets t JOIN cities c ON c.id = t.city_id ORDER BY c.id`), " ")
	}
	all := planned(p)
	if n := len(strings.Fields(all)); n != 3 || len(ids) != 4 {
		t.Fatalf("planned %q before any index was read, want the three named", all)
	}
	names := strings.Fields(all)
	listed(0, "NULL")
	listed(1, "'x'")
	listed(3, "NULL")
	storetest.Equal(t, planned(p), names[0]+" "+names[2], "planned before an index is read to its end, those that are not gone,")
	execute(t, k.DB(), `INSERT INTO targets (source_id, kind, state, population, priority, max_pages, complete_at, created_at) SELECT s.id, 'index', (SELECT state FROM cities LIMIT 1), 0, 0, 2, 'x', 'x' FROM sources s`)
	if got, want := planned(p), names[0]+" only-listed"; got != want {
		t.Errorf("after that: %q, want %q", got, want)
	}
	p.Listed.MinPopulation = 1
	if got := planned(p); strings.Contains(got, "only-listed") {
		t.Errorf("%q: a city without a known population is not above any", got)
	}
	p.Listed = nil
	storetest.Equal(t, planned(p), names[0]+" "+names[2], "planned of named cities, those that are not gone,")
}

// TestPlanted: the rows of a storetest.World are those that a plan of it writes.
func TestPlanted(t *testing.T) {
	t.Parallel()
	planted, now := storetest.OpenClock(t)
	cities, categories := storetest.Cities(4, "CA", "TX"), storetest.Categories("Plumbers", "Dentists")
	scope := storetest.World{Cities: cities, Categories: categories, Pages: storetest.TierPages}.Plant(t, planted)
	storetest.Diff(t, scope, store.Scope{SourceID: 1, States: []string{"CA", "TX"}}, "scope")

	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: now.Now})
	k := checkpoint.New(db)
	id, err := k.Source(t.Context(), storetest.Demo.Name, storetest.Demo.BaseURL)
	noErr(t, err)
	planned(t, k, checkpoint.Plan{SourceID: id, Cities: cities, Categories: categories, TierPages: storetest.TierPages})
	for _, name := range []string{"sources", "categories", "cities", "targets", "target_totals"} {
		same(t, name, table(t, planted, `SELECT * FROM `+name+` ORDER BY 1, 2, 3`), table(t, db, `SELECT * FROM `+name+` ORDER BY 1, 2, 3`))
	}
}
