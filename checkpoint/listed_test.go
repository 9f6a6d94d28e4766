package checkpoint_test

import (
	"slices"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

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
		execute(t, k.DB(), `INSERT INTO source_cities (source_id, city_id, slug, name, found_on, matched, first_seen_at, last_seen_at, crawl, gone_at)
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
	if got := planned(p); got != names[0]+" "+names[2] {
		t.Errorf("before an index is read to its end: %q, want the named ones that are not gone", got)
	}
	execute(t, k.DB(), `INSERT INTO targets (source_id, kind, state, population, priority, max_pages, complete_at, created_at) SELECT s.id, 'index', (SELECT state FROM cities LIMIT 1), 0, 0, 2, 'x', 'x' FROM sources s`)
	if got, want := planned(p), names[0]+" only-listed"; got != want {
		t.Errorf("after that: %q, want %q", got, want)
	}
	p.Listed.MinPopulation = 1
	if got := planned(p); strings.Contains(got, "only-listed") {
		t.Errorf("%q: a city without a known population is not above any", got)
	}
	p.Listed = nil
	if got := planned(p); got != names[0]+" "+names[2] {
		t.Errorf("named cities: %q, want those that are not gone", got)
	}
}
