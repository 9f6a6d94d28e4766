package store_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

type tester = storetest.Tester

var rows, noErr, same = storetest.Table, storetest.NoError, storetest.Same

// world is a database with two sources and some targets to find listings under.
type world struct {
	*store.DB
	targets int // ids 1..targets; odd ones belong to source 1, even ones to source 2
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldOn(t, storetest.Open(t))
}

// inWorld is a subtest with a world of its own, beside others.
func inWorld(t *testing.T, name string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t))
	})
}

// worlds runs a test in an ordinary world, and in one in which most keys of companies
// have the number of another.
func worlds(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorld(t, "numbers of keys", test)
	t.Run("numbers that collide", func(t *testing.T) {
		t.Parallel()
		cfg := store.Config{Path: filepath.Join(t.TempDir(), "test.db"), KeyHash: func(key string) int64 { return int64(len(key) % 3) }}
		test(t, worldOn(t, storetest.OpenConfig(t, cfg)))
	})
}

func worldOn(t testing.TB, db *store.DB) *world {
	t.Helper()
	w := &world{DB: db, targets: 6}
	plan := storetest.World{
		Sources: []storetest.Source{{Name: "one", BaseURL: "http://one"}, {Name: "two", BaseURL: "http://two"}}, Categories: storetest.Categories("Plumbers"),
		Planned: func(city, _, source int) bool { return source == city%2 },
	}
	for i := range w.targets {
		plan.Cities = append(plan.Cities, yp.City{Slug: fmt.Sprint("city-", i+1), Name: "City", State: w.state(i + 1), Population: 1000, Tier: 1})
	}
	plan.Plant(t, db)
	return w
}

func (w *world) source(target int) int64 { return int64(2 - target%2) }
func (w *world) state(target int) string { return []string{"CA", "TX", "NY"}[target%3] }

func (w *world) must(t tester, queries ...string) {
	t.Helper()
	storetest.Execute(t, w.DB, queries...)
}

// is checks the rows that a query gives.
func (w *world) is(t tester, query string, want ...string) {
	t.Helper()
	same(t, query, rows(t, w.DB, query), want)
}

// empty removes all that was found, so that one file serves many rounds; the
// counters must follow it down.
func (w *world) empty(t testing.TB) {
	w.must(t, `DELETE FROM sightings`, `DELETE FROM listing_events`, `DELETE FROM company_keys`, `DELETE FROM listings`, `DELETE FROM companies`)
}

func (w *world) save(target, page int, crawl int64, listings ...yp.Listing) (saved store.Saved, err error) {
	err = w.Write(context.Background(), func(tx *store.Tx) (err error) {
		at := store.PageOf{SourceID: w.source(target), TargetID: int64(target), State: w.state(target), Crawl: crawl}
		saved, err = store.SaveListings(tx, at, store.Prepare(&yp.Page{Number: page, Listings: listings}))
		return err
	})
	return saved, err
}

// countListings is what listing_totals must say.
const countListings = `
	SELECT l.source_id, l.found_state, count(*), sum(l.dropped_at IS NOT NULL), sum(l.dropped_at IS NULL AND l.email IS NOT NULL)
	FROM listings l GROUP BY 1, 2`

// sound fails the test unless what holds of every database holds of this one.
func (w *world) sound(t tester) {
	t.Helper()
	for what, query := range map[string]string{
		"a broken reference":           `SELECT * FROM pragma_foreign_key_check`,
		"a key without a company":      `SELECT hash FROM company_keys WHERE company_id NOT IN (SELECT id FROM companies)`,
		"a company without listings":   `SELECT id FROM companies WHERE id NOT IN (SELECT company_id FROM listings)`,
		"a company led by another's":   `SELECT c.id FROM companies c LEFT JOIN listings l ON l.source_id = lead_source AND l.listing_id = lead_listing WHERE l.company_id IS NOT c.id`,
		"a lead that is not the first": `SELECT c.id FROM companies c JOIN listings l ON l.company_id = c.id WHERE (l.source_id, l.listing_id) < (lead_source, lead_listing)`,
		"fields that are not the lead's": `SELECT c.id FROM companies c JOIN listings l ON l.source_id = lead_source AND l.listing_id = lead_listing
			WHERE (c.name, c.phone_e164, c.street, c.city, c.state, c.postal_code) IS NOT (l.name, l.phone_e164, l.street, l.city, l.state, l.postal_code)`,
		"listing_totals that lie":       `SELECT source_id, state, listings, dropped, emails FROM listing_totals WHERE (listings, dropped, emails) <> (0, 0, 0) EXCEPT ` + countListings,
		"listing_totals that miss some": countListings + ` EXCEPT SELECT source_id, state, listings, dropped, emails FROM listing_totals`,
		"company_totals that lie": `SELECT state, companies FROM company_totals WHERE companies <> 0
			EXCEPT SELECT ifnull(state, ''), count(*) FROM companies GROUP BY 1`,
		"company_totals that miss some": `SELECT ifnull(state, ''), count(*) FROM companies GROUP BY 1
			EXCEPT SELECT state, companies FROM company_totals`,
	} {
		if got := rows(t, w.DB, query); len(got) > 0 {
			t.Errorf("%s: %v", what, got)
		}
	}
	w.soundCompanies(t)
}

// soundCompanies compares each company's website with its listings', and every
// two listings that share a key with each other.
func (w *world) soundCompanies(t tester) {
	t.Helper()
	type row struct {
		key     string
		company int
		l       yp.Listing
	}
	var all []row
	for _, r := range rows(t, w.DB, `SELECT source_id || '/' || listing_id, company_id, name, phone_e164, street, postal_code, website FROM listings`) {
		f := strings.Split(r, "|")
		var company int
		_, _ = fmt.Sscan(f[1], &company)
		all = append(all, row{f[0], company, yp.Listing{Name: f[2], PhoneE164: f[3], Street: f[4], PostalCode: f[5], Website: f[6]}})
	}
	owner, website := map[string]row{}, map[int]string{}
	for _, r := range all {
		for _, k := range yp.CompanyKeys(&r.l, yp.DefaultCountry) {
			if o, ok := owner[k]; ok && o.company != r.company {
				t.Errorf("%s and %s share the key %s and are two companies", o.key, r.key, k)
			}
			owner[k] = r
		}
		if web, ok := yp.CanonicalWebsite(r.l.Website); ok && !web.Shared && (website[r.company] == "" || r.l.Website < website[r.company]) {
			website[r.company] = r.l.Website
		}
	}
	for _, r := range rows(t, w.DB, `SELECT id, website FROM companies`) {
		id, web, _ := strings.Cut(r, "|")
		var company int
		_, _ = fmt.Sscan(id, &company)
		storetest.Equal(t, web, website[company], "website, the smallest of its listings', of company", company)
	}
}

// partition lists the listings of each company, as the database has them.
func (w *world) partition(t tester) []string {
	t.Helper()
	got := rows(t, w.DB, `
		SELECT group_concat(k, ' ') FROM (SELECT company_id, source_id || '/' || listing_id AS k FROM listings ORDER BY k) GROUP BY company_id`)
	slices.Sort(got)
	return got
}

// oracle is the partition that union-find over the keys gives.
func oracle(listings map[string]*yp.Listing) []string {
	parent := map[string]string{}
	var find func(string) string
	find = func(x string) string {
		if p, ok := parent[x]; ok && p != x {
			return find(p)
		}
		return x
	}
	for id, l := range listings {
		for _, k := range yp.CompanyKeys(l, yp.DefaultCountry) {
			parent[find(k)] = find(id)
		}
	}
	groups := map[string][]string{}
	for id := range listings {
		groups[find(id)] = append(groups[find(id)], id)
	}
	var out []string
	for _, g := range groups {
		slices.SortFunc(g, cmp.Compare[string])
		out = append(out, strings.Join(g, " "))
	}
	slices.Sort(out)
	return out
}
