package report_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// numbers begins a statement that reads the numbers from 1 to n as s.
func numbers(n int) string {
	return fmt.Sprintf("WITH RECURSIVE s (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < %d) ", n)
}

// large is a database of 1,000,000 listings of 100,000 searches, half of them done and due again,
// half done this week. 36,000 requests are of the last hour (ten a second) and 60,000 attempts of
// the last day.
func large(b *testing.B) *store.DB {
	b.Helper()
	db := storetest.Open(b)
	triggers := table(b, db, `SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	restore := table(b, db, `SELECT sql FROM sqlite_schema WHERE type = 'trigger'`)
	for _, name := range triggers {
		execute(b, db, "DROP TRIGGER "+name)
	}
	states := ""
	for i, s := range yp.States() {
		states += fmt.Sprintf("INSERT INTO meta VALUES ('state%02d', '%s');", i, s.Code)
	}
	execute(b, db, states,
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'demo', 'http://x', 'x', 'x')`,
		numbers(300)+`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome, pages)
			SELECT value, 'R' || value, 'h', 1, 1, 'run', '`+ago(0)+`', 'x', 'x', 'done', 10 FROM s`,
		numbers(10)+`INSERT INTO categories SELECT value, 'k' || value, 'K' || value FROM s`,
		numbers(10_000)+`INSERT INTO cities SELECT value, 'c' || value, 'City', (SELECT value FROM meta WHERE key = format('state%02d', s.value % 51)), 5, 0, 0, 1 FROM s`,
		`INSERT INTO targets (source_id, city_id, category_id, state, population, max_pages, priority, created_at, status, finished_at, wait_reason, not_before,
			page_current, raw_count, accepted_count, site_total, crawl_started_at, next_page_url)
			SELECT 1, c.id, k.id, c.state, c.population, 3, 1, 'x', 'DONE', 'x', 'recrawl', iif(c.id % 2 = 0, '`+ago(time.Hour)+`', '`+ahead(time.Hour)+`'),
				3, 30, 30, iif(k.id % 4 = 0, NULL, 90), 'x', '/x/plumbers?page=4' FROM cities c CROSS JOIN categories k`,
		`INSERT INTO target_totals SELECT source_id, kind, state, status, count(*), sum(page_current), sum(raw_count), sum(accepted_count) FROM targets GROUP BY 1, 2, 3, 4`,
		numbers(1_000_000)+`INSERT INTO companies (id, name, state, lead_source, lead_listing, first_seen_at) SELECT value, 'N' || value, 'CA', 1, 'l' || value, 'x' FROM s`,
		`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at)
			SELECT id, 1, lead_listing, id, name, 'CA', id, 'x', 'x' FROM companies`,
		`INSERT INTO listing_totals VALUES (1, 'CA', 1000000, 10000, 300000)`,
		`INSERT INTO company_totals VALUES ('CA', 1000000)`,
		numbers(100_000)+`INSERT INTO requests (source_id, target_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, parse_ok, result_count)
			SELECT 1, value, 'x', 'listing', '/x', 'x', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', format('-%.3f seconds', value / 10.0)), iif(value % 20, 'success', 'failure'),
				iif(value % 20, NULL, 'timeout'), 500, iif(value % 20, 1, NULL), iif(value % 20, 30, NULL) FROM s`,
		numbers(100_000)+`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code)
			SELECT value, 1, 1, 'w', 1, 0, 'x', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', format('-%.3f seconds', value * 1.44)), iif(value % 20, 'done', 'failed'), iif(value % 20, 'SUCCESS', 'TIMEOUT') FROM s`)
	execute(b, db, restore...)
	return db
}

// BenchmarkPage is what each part of the page costs when it is read.
func BenchmarkPage(b *testing.B) {
	k := report.New(large(b))
	parts := map[string]func() error{
		"what is going on": func() error { _, err := k.Standing(b.Context(), store.Scope{}); return err },
		"numbers":          func() error { _, err := k.Overview(b.Context(), store.Scope{}); return err },
		"state, 25 cities": func() error { _, err := k.StateTable(b.Context(), 0, "TX", 25); return err },
	}
	for _, by := range report.MapBys() {
		parts["map by "+string(by)] = func() error { _, err := k.Map(b.Context(), store.Scope{}, by); return err }
	}
	for name, ask := range parts {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				storetest.NoError(b, ask())
			}
		})
	}
}

// BenchmarkMeasure is what monitoring costs each time that it asks, and how much was seen of
// what the sites list: while a crawl is under way, and before it, with all that is due waiting.
func BenchmarkMeasure(b *testing.B) {
	db := large(b)
	k := report.New(db)
	for _, c := range []struct {
		name  string
		due   int64
		since string
	}{
		{"before a crawl", 50_000, ""},
		{"under way", 50_000, `UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL WHERE not_before < '` + ago(0) + `'`},
	} {
		execute(b, db, c.since)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				m, err := k.Measure(b.Context(), b.TempDir())
				if err != nil || m.Listings.Alive != 990_000 || m.Targets[0].Due != c.due || m.Sources[0].Pages[yp.KindSearch] < 30_000 {
					b.Fatalf("%+v %v", m, err)
				}
			}
		})
	}
	b.Run("slowly", func(b *testing.B) {
		for b.Loop() {
			if s, err := k.MeasureSlowly(b.Context()); err != nil || *s.Coverage.SiteTotal < 70_000*90 {
				b.Fatalf("%+v %v", s, err)
			}
		}
	})
}
