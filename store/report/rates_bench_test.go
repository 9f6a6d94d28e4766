//go:build unix

package report_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// ratesEnv, when set, is how many requests the file of BenchmarkRates has; 10,000,000 take some minutes and
// 4 GB. Without it there are few: that it runs.
const ratesEnv = "YPCRAWL_BENCH_REQUESTS"

// Requests of three sources over 14 days, as their ids; attempts and listings in the numbers of a crawl of that size; hours of two years.
const (
	manyRequests = `
	WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)
	INSERT INTO requests (source_id, target_id, claim_token, page, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, parse_ok,
		result_count, bytes)
	SELECT 1 + i % 3, 1 + i / 30 % 300, i / 9000, 1, 'correlation-' || i, 'listing', 'https://directory.example/city-' || (i % 5000) || '/plumbers?page=' || (i % 9),
		strftime('%Y-%m-%dT%H:%M:%fZ', ?4, (i * 1209600.0 / ?3 - 1209600) || ' seconds'), strftime('%Y-%m-%dT%H:%M:%fZ', ?4, (i * 1209600.0 / ?3 - 1209600) || ' seconds'),
		iif(i % 20 = 0, 'failure', 'success'), iif(i % 20 = 0, iif(i % 40 = 0, 'timeout', 'http_403'), NULL), 40 + abs(random()) % 1500, iif(i % 20 = 0, NULL, 1),
		iif(i % 20 = 0, NULL, 30), 250000
	FROM n`
	manyListings = `
	WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)
	INSERT INTO listings (id, source_id, listing_id, company_id, name, state, found_state, fingerprint, first_seen_at, last_seen_at)
	SELECT i + 1, 1 + i % 3, 'id-' || i, 1, 'Acme Plumbing ' || i, 'CA', 'CA', i, ?3, ?3 FROM n`
	manyEvents = `
	WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)
	INSERT INTO listing_events (at, kind, source_id, listing, company_id, run_id, what)
	SELECT strftime('%Y-%m-%dT%H:%M:%fZ', ?4, (i * 1209600.0 / ?3 - 1209600) || ' seconds'), iif(i % 3 = 0, 'dropped', 'changed'), 1 + i % 3, i + 1, 1,
		1 + 300 * i / ?3, iif(i % 3 = 0, NULL, '{"changes":[{"field":"phone","old":"(310) 555-0123","new":"(310) 555-0124"}]}')
	FROM n`
	manyHours = `
	WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 17520)
	INSERT INTO request_spans (source_id, span, began_at, requests, pages, timeout, ms_100, ms_400)
	SELECT s.id, 'hour', strftime('%Y-%m-%dT%H:00:00.000Z', ?1, '-' || i || ' hours'), 9000, 8000, 1000, 3000, 9000 FROM n CROSS JOIN sources s
	WHERE true ON CONFLICT DO NOTHING`
	manyRuns = `
	WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
	INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at, finished_at, outcome, pages)
	SELECT i, 'u' || i, 'h', 1, 'run', at, at, at, 'done', 1000 FROM (SELECT i, strftime('%Y-%m-%dT%H:%M:%fZ', ?1, '-' || (301 - i) || ' hours') AS at FROM n)`
	manyPasses = `
	INSERT INTO run_passes (source_id, run_id, selection, began_at) SELECT s.id, r.id, '{}', r.started_at FROM runs r CROSS JOIN sources s`
	manyAttempts = `
	WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 / 30)
	INSERT OR IGNORE INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code, pages)
	SELECT 1 + i % 300, i / 300, 1 + i * 299 / (?1 / 30 + 1), 'w', 1, 0, at, at, 'done', 'SUCCESS', 1
	FROM (SELECT i, strftime('%Y-%m-%dT%H:%M:%fZ', ?2, (i * 1209600.0 / (?1 / 30 + 1) - 1209600) || ' seconds') AS at FROM n)`
)

// crowded is a file with many requests, and a tenth as many listings.
func crowded(b *testing.B, requests int) *store.DB {
	b.Helper()
	db := storetest.Open(b)
	world := storetest.World{Categories: storetest.Categories("Plumbers"), Planned: func(_, _, _ int) bool { return true }}
	for _, name := range []string{"demo", "two", "three"} {
		world.Sources = append(world.Sources, storetest.Source{Name: name, BaseURL: "http://" + name})
	}
	for i := range 100 {
		world.Cities = append(world.Cities, yp.City{Slug: fmt.Sprint("city-", i), Name: fmt.Sprint("City ", i), State: "CA", Population: 1000, Tier: 1})
	}
	world.Plant(b, db)
	now := yp.FormatTime(db.Now())
	execute(b, db, `INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (1, 'Acme', 1, 'id-0', 'x')`)
	write := func(query string, args ...any) {
		b.Helper()
		noErr(b, db.Write(b.Context(), func(tx *store.Tx) error { return tx.Run(query, args...) }))
	}
	write(manyRuns, now)
	write(manyPasses)
	write(manyAttempts, requests, now)
	const step = 200_000
	for from := 0; from < requests; from += step {
		write(manyRequests, from, min(from+step, requests), requests, now)
	}
	for from := 0; from < requests/10; from += step {
		to := min(from+step, requests/10)
		write(manyListings, from, to, now)
		write(manyEvents, from, to, requests/10, now)
	}
	return db
}

// cpuTime is what this process has used of its processors: what other processes do beside a benchmark does not count.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	noErr(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRates is the time of what the plots of the page read, and of the first roll-up of a file that none
// has counted. Bounds: 50 ms a plot and 150 ms the overview.
func BenchmarkRates(b *testing.B) {
	requests, _ := strconv.Atoi(os.Getenv(ratesEnv))
	requests = cmp.Or(requests, 20_000)
	db := crowded(b, requests)
	k, m, now := report.New(db), health.New(db), db.Now()
	b.Run("first roll-up", func(b *testing.B) {
		longest, calls, start := time.Duration(0), 0, time.Now()
		for b.Loop() {
			for left := true; left; calls++ {
				began := time.Now()
				noErr(b, m.RollSeries(b.Context()))
				longest = max(longest, time.Since(began))
				left = len(table(b, db, `SELECT 1 WHERE (SELECT max(id) FROM requests) > (SELECT cast(value AS INTEGER) FROM meta WHERE key = 'rolled:requests')
					OR (SELECT max(id) FROM listing_events) > (SELECT cast(value AS INTEGER) FROM meta WHERE key = 'rolled:events')`)) > 0
			}
		}
		b.ReportMetric(longest.Seconds()*1000, "ms/longest")
		b.ReportMetric(float64(calls), "roll-ups")
		b.ReportMetric(time.Since(start).Seconds(), "s/all")
	})
	noErr(b, db.Write(b.Context(), func(tx *store.Tx) error { return tx.Run(manyHours, tx.Now) }))
	for _, plot := range []struct {
		name string
		read func() error
	}{
		{"minutes of 6 hours", func() error {
			_, err := k.Rates(b.Context(), store.Scope{}, time.Minute, now.Add(-6*time.Hour))
			return err
		}},
		{"minutes of 2 days", func() error {
			_, err := k.Rates(b.Context(), store.Scope{}, time.Minute, now.Add(-48*time.Hour))
			return err
		}},
		{"hours of a day", func() error {
			_, err := k.Rates(b.Context(), store.Scope{}, time.Hour, now.Add(-24*time.Hour))
			return err
		}},
		{"hours of 30 days", func() error {
			_, err := k.Rates(b.Context(), store.Scope{}, time.Hour, now.AddDate(0, 0, -30))
			return err
		}},
		{"passes of 8 weeks", func() error { _, err := k.PassChanges(b.Context(), store.Scope{}, now.AddDate(0, 0, -56)); return err }},
		{"200 runs", func() error { _, err := k.RunChanges(b.Context(), store.Scope{}, 200); return err }},
		{"200 runs of a source", func() error { _, err := k.RunChanges(b.Context(), store.Scope{SourceID: 2}, 200); return err }},
		{"overview", func() error { _, err := k.Overview(b.Context(), store.Scope{}); return err }},
		{"metrics", func() error { _, err := k.Measure(b.Context(), ""); return err }},
		{"roll-up of nothing", func() error { return m.RollSeries(b.Context()) }},
		{"roll-up of 600 requests", func() error {
			noErr(b, db.Write(b.Context(), func(tx *store.Tx) error { return tx.Run(manyRequests, requests-600, requests, requests, tx.Now) }))
			return m.RollSeries(b.Context())
		}},
	} {
		b.Run(plot.name, func(b *testing.B) {
			var took []time.Duration
			used := cpuTime(b)
			for b.Loop() {
				began := time.Now()
				noErr(b, plot.read())
				took = append(took, time.Since(began))
			}
			b.ReportMetric((cpuTime(b)-used).Seconds()*1000/float64(len(took)), "ms/cpu")
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms/median")
		})
	}
}
