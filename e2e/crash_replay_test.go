//go:build unix

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// ofPages are what pages feed, by table, without times and without the numbers that one
// database gives: listings stand for themselves, a company for its listings, a target for
// what is asked for.
var ofPages = map[string]string{
	"listings": `SELECT s.name, l.found_state, l.dropped_at IS NOT NULL, l.fingerprint, l.cards, l.cards_before, l.own_page_at IS NOT NULL, ` + listingColumns("l.") + `, (SELECT name FROM company WHERE id = l.company_id) AS company
		FROM listings l JOIN sources s ON s.id = l.source_id`,
	"companies": `SELECT n.name AS listings, c.name, c.website, c.domain, c.phone_e164, c.street, c.city, c.state, c.postal_code, c.lead_listing
		FROM companies c JOIN company n ON n.id = c.id`,
	"company_keys":   `SELECT hash, key, (SELECT name FROM company WHERE id = company_id) FROM company_keys`,
	"listing_texts":  `SELECT l.listing_id, m.payment, m.social, m.services, m.languages, m.neighborhoods, m.aka, m.about FROM listing_texts m JOIN listings l ON l.id = m.listing`,
	"cities":         `SELECT slug, name, state, population, lat, lon, tier FROM cities`,
	"categories":     `SELECT slug, name FROM categories`,
	"source_cities":  `SELECT c.slug, x.slug AS address, x.name, x.found_on, x.matched, x.crawl, x.removed_at IS NOT NULL FROM source_cities x JOIN cities c ON c.id = x.city_id`,
	"sightings":      `SELECT t.name, l.listing_id, m.page, m.rank, m.since, m.crawl, m.missed FROM sightings m JOIN target t ON t.id = m.target_id JOIN listings l ON l.id = m.listing`,
	"listing_events": `SELECT kind, iif(kind = 'new', listings, NULL), ifnull(e.listing_id, l.listing_id), what FROM listing_events e LEFT JOIN listings l ON l.id = e.listing`,
	"staged":         `SELECT g.listing_id, t.name, g.page, g.reasons, g.listing FROM staged_listings g JOIN target t ON t.id = g.target_id`,
	"listing_totals": `SELECT state, listings, dropped, emails FROM listing_totals WHERE listings <> 0`,
	"company_totals": `SELECT state, companies FROM company_totals WHERE companies <> 0`,
	"targets": `SELECT n.name, t.status, t.population, t.priority, t.max_pages, t.page_current, t.next_page_url, t.last_listing_id, t.site_total, t.raw_count, t.accepted_count,
		t.bad_count, t.crawls, t.crawl_started_at IS NOT NULL, t.complete_at IS NOT NULL, t.wait_reason, t.retired_at IS NOT NULL, t.crawl_frequency_minutes, t.backoff_level,
		t.last_error_code, t.last_error, t.consecutive_failures, t.total_successes FROM targets t JOIN target n ON n.id = t.id`,
}

// named gives companies and targets names that mean the same in every database.
const named = `
	WITH company AS (SELECT company_id AS id, group_concat(listing_id, ' ') AS name FROM (SELECT company_id, listing_id FROM listings ORDER BY 2) GROUP BY 1),
	target AS (SELECT t.id, t.kind || ' ' || t.state || ifnull(' ' || c.slug, '') || ifnull(' ' || k.slug, '') || ifnull(' ' || l.listing_id, '') AS name
		FROM targets t LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id LEFT JOIN listings l ON l.id = t.listing)
	`

func listingColumns(prefix string) string {
	var columns []string
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Table == yp.InListings {
			columns = append(columns, prefix+f.ColumnName())
		}
	}
	return strings.Join(columns, ", ")
}

// rowsOf reads a query as sorted texts.
func rowsOf(t *testing.T, db *store.DB, query string) (all []string) {
	t.Helper()
	all = storetest.Table(t, db, named+query)
	slices.Sort(all)
	return all
}

// TestReplayOfEverything: a crawl with discovery and details, and
// SIGKILLs in between, over two states of its site. A database that is built from its logs
// holds the same in every table that pages feed, and so it does after a second replay.
func TestReplayOfEverything(t *testing.T) {
	t.Parallel()
	w := siteWorld(t, demo.Config{Places: 6})
	site := []string{"--source", "demo", "--base-url", w.url, "--states", "UT", "--log-level", "warn", "--delay", "0"}
	discover := append([]string{"discover", "--categories", "Plumbers"}, site...)
	crawl := append([]string{"run", "--categories", "Plumbers", "--details", "--workers", "1", "--linger", "0"}, site...)
	path := filepath.Join(w.dir, "ypcrawl.db")
	w.dies("appended", 3, discover...)
	w.run(discover...)
	w.dies("committed", 9, crawl...)
	w.dies("appended", 20, crawl...)
	w.run(crawl...)
	storetest.NoError(t, w.site.SetEpoch(2))
	w.dies("committed", 2, discover...)
	w.run(discover...)
	w.run(crawl...)
	for what, query := range map[string]string{
		"cities that are gone": `SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL`, "details": `SELECT count(*) FROM details`,
		"indexes that were read twice": `SELECT count(*) FROM targets WHERE kind = 'index' AND crawls = 2`,
		"retired targets":              `SELECT count(*) FROM targets WHERE retired_at IS NOT NULL`,
	} {
		if w.count(query) == 0 {
			t.Errorf("the crawl had none: %s", what)
		}
	}

	rebuilt := filepath.Join(t.TempDir(), "rebuilt.db")
	for _, round := range []string{"once", "twice"} {
		t.Log(w.run("--db", rebuilt, "wal", "replay", "logs/yp_wal"))
		w.compare(path, rebuilt, "replayed "+round)
	}
	w.run("wal", "replay") // into the file that was crawled
	w.compare(path, rebuilt, "replayed into the file itself")
}

// run runs a crawl, or what belongs to it, to its end: some of it may wait.
func (w *world) run(args ...string) string {
	w.t.Helper()
	out, err := command(w.dir, nil, args...).CombinedOutput()
	if code := exitCode(w.t, err); code != 0 && code != 3 {
		w.t.Fatalf("%s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return string(out)
}

// compare holds every table that pages feed in one database to that in another one.
func (w *world) compare(path, rebuilt, what string) {
	w.t.Helper()
	want, got := w.open(path), w.open(rebuilt)
	for table, query := range ofPages {
		if diff := cmp.Diff(rowsOf(w.t, want, query), rowsOf(w.t, got, query)); diff != "" {
			w.t.Errorf("%s: %s differ (-crawled +replayed):\n%s", what, table, head(diff))
		}
	}
	storetest.NoError(w.t, got.IntegrityCheck(w.t.Context()))
}
