package checkpoint_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const million = 1_000_000

// freshHealth makes every target claimable. Of mixed ones, by number, three of ten wait and
// one is disabled.
const freshHealth = `'PLANNED', 1, NULL, NULL, NULL, 0, NULL`

func mixedHealth(number string) string {
	return strings.ReplaceAll(`CASE # % 10 WHEN 1 THEN 'FAILED' WHEN 2 THEN 'DONE' ELSE 'PLANNED' END, # % 10 <> 3,
		iif(# % 10 < 3, '2099-01-0' || (1 + # % 10), NULL), CASE # % 10 WHEN 0 THEN 'backoff' WHEN 1 THEN 'backoff' WHEN 2 THEN 'recrawl' END,
		iif(# % 10 = 1, 'TIMEOUT', NULL), # % 10 = 1, iif(# % 10 IN (1, 2), 'x', NULL)`, "#", "("+number+")")
}

const (
	healthColumns = `status, enabled, not_before, wait_reason, last_error_code, backoff_level, finished_at`
	countTargets  = `INSERT OR REPLACE INTO target_totals SELECT source_id, kind, state, status, count(*), 0, 0, 0 FROM targets GROUP BY 1, 2, 3, 4`
)

// mixedDB is a database of n targets of the three kinds: the indexes of 51 states, of which
// most were read this week, and half searches, half details, in mixed health.
func mixedDB(b *testing.B, n int) *checkpoint.Keeper {
	b.Helper()
	k := benchDBOf(b, n/2, true, mixedHealth("c.id + k.id"))
	triggers := table(b, k.DB(), `SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	restore := table(b, k.DB(), `SELECT sql FROM sqlite_schema WHERE type = 'trigger'`)
	for _, name := range triggers {
		execute(b, k.DB(), "DROP TRIGGER "+name)
	}
	execute(b, k.DB(),
		`INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, max_pages, priority, created_at, `+healthColumns+`)
			SELECT 1, 'detail', t.state, t.city_id, t.category_id, l.id, t.population, 1, 100 + l.id % 2, 'x', `+mixedHealth("l.id / 2")+`
			FROM listings l JOIN targets t ON t.id = l.id`,
		`INSERT INTO targets (source_id, kind, state, population, max_pages, priority, created_at, `+healthColumns+`)
			SELECT DISTINCT 1, 'index', value, 0, 26, 0, 'x', `+mixedHealth("iif(substr(key, 6) % 10 = 5, 5, 2)")+` FROM meta WHERE key LIKE 'state%'`,
		countTargets)
	execute(b, k.DB(), restore...)
	return k
}

// benchDB is a database of n targets over all states, ten categories each city,
// made by plain SQL; with listings, it has as many of them.
func benchDB(b *testing.B, n int, listings bool) *checkpoint.Keeper {
	b.Helper()
	return benchDBOf(b, n, listings, freshHealth)
}

func benchDBOf(b *testing.B, n int, listings bool, health string) *checkpoint.Keeper {
	b.Helper()
	db := storetest.Open(b)
	var states string
	for i, s := range yp.States() {
		states += fmt.Sprintf("INSERT INTO meta VALUES ('state%02d', '%s');", i, s.Code)
	}
	triggers := table(b, db, `SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	restore := table(b, db, `SELECT sql FROM sqlite_schema WHERE type = 'trigger'`)
	execute(b, db, states)
	for _, name := range triggers {
		execute(b, db, "DROP TRIGGER "+name)
	}
	execute(b, db,
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'demo', 'http://x', 'x', 'x')`,
		upTo(10)+`INSERT INTO categories SELECT value, 'k' || value, 'K' || value FROM s`,
		upTo(n/10)+`INSERT INTO cities SELECT value, 'c' || value, 'City', (SELECT value FROM meta WHERE key = format('state%02d', s.value % 51)),
			1000000 - value, 0, 0, iif(value % 10 = 0, 1, iif(value % 2 = 0, 2, 3)) FROM s`,
		`INSERT INTO targets (source_id, city_id, category_id, state, population, max_pages, priority, created_at, `+healthColumns+`)
			SELECT 1, c.id, k.id, c.state, c.population, 4 - c.tier, c.tier, 'x', `+health+` FROM cities c CROSS JOIN categories k`,
		countTargets)
	if listings {
		execute(b, db,
			upTo(n)+`INSERT INTO companies (id, name, state, lead_source, lead_listing, first_seen_at)
				SELECT value, 'N' || value, 'CA', 1, 'l' || value, 'x' FROM s`,
			`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at)
				SELECT id, 1, lead_listing, id, name, 'CA', id, 'x', 'x' FROM companies`,
			`INSERT INTO listing_totals (source_id, state, listings) SELECT source_id, found_state, count(*) FROM listings GROUP BY 1, 2`,
			`INSERT INTO company_totals SELECT state, count(*) FROM companies GROUP BY 1`)
	}
	execute(b, db, restore...)
	return checkpoint.New(db)
}

// upTo begins a statement that reads the numbers from 1 to n as s.
func upTo(n int) string {
	return fmt.Sprintf("WITH RECURSIVE s (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < %d) ", n)
}

func allStates() []string {
	var codes []string
	for _, s := range yp.States() {
		codes = append(codes, s.Code)
	}
	return codes
}

// together runs fn in n goroutines and fails the benchmark with their errors.
func together(b *testing.B, n int, fn func(i int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := fn(i); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

const benchWorkers = 16

// BenchmarkClaim: sixteen workers claim at once, each in a durable transaction
// that they may share, of the three kinds mixed. An op is one claim.
func BenchmarkClaim(b *testing.B) {
	for _, n := range []int{10_000, million} {
		if n > 10_000 && testing.Short() { // a minute to make it
			continue
		}
		k := mixedDB(b, n)
		run, err := k.StartRun(b.Context(), 1, "bench", false)
		noErr(b, err)
		for _, c := range []struct {
			name  string
			scope store.Scope
		}{
			{"51 states", store.Scope{States: allStates(), Kinds: yp.Kinds()}},
			{"2 states", store.Scope{States: []string{"CA", "TX"}, Kinds: yp.Kinds()}},
			{"details", store.Scope{States: allStates(), Kinds: []yp.Kind{yp.KindDetail}}},
		} {
			c.scope.SourceID = 1
			b.Run(fmt.Sprintf("%d targets/%s", n, c.name), func(b *testing.B) { benchClaim(b, k, run, c.scope) })
		}
		noErr(b, run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0))
	}
}

func benchClaim(b *testing.B, k *checkpoint.Keeper, run *checkpoint.Run, scope store.Scope) {
	claim := func(i int) error {
		_, err := k.Claim(b.Context(), checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID}, scope, 8)
		return err
	}
	release := func() {
		execute(b, k.DB(), `UPDATE targets SET status = 'PLANNED', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`,
			`UPDATE crawl_attempts SET ended = 'released', finished_at = started_at WHERE ended = 'running'`)
	}
	together(b, benchWorkers, claim) // statements prepared, pages read
	release()
	b.ResetTimer()
	for left := b.N; left > 0; left -= benchWorkers {
		together(b, min(benchWorkers, left), claim)
		b.StopTimer()
		release()
		b.StartTimer()
	}
}

// many is a million rows, and far fewer where each benchmark is only to run once: a million
// take a minute to make.
func many() int {
	if testing.Short() {
		return 30_000
	}
	return million
}

// BenchmarkProgress reads progress over a million targets and listings.
func BenchmarkProgress(b *testing.B) {
	n := many()
	k := benchDB(b, n, true)
	for _, states := range [][]string{nil, {"CA", "TX"}} {
		b.Run(fmt.Sprintf("%d states asked", len(states)), func(b *testing.B) {
			for b.Loop() {
				p, err := report.New(k.DB()).Progress(b.Context(), store.Scope{States: states})
				if err != nil || p.Overall.Targets == 0 || len(states) == 0 && p.Overall.Listings != int64(n) {
					b.Fatal(p, err)
				}
			}
		})
	}
}
