package checkpoint_test

import (
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// many is a million targets, and far fewer where each benchmark is only to run once: they
// take a minute to make.
func many() int {
	if testing.Short() {
		return 10_000
	}
	return million
}

// BenchmarkStatus: all that `status` reads, over a million targets of which one in
// ten rests and half are done. It must stay under two seconds.
func BenchmarkStatus(b *testing.B) {
	n := many()
	k := benchDB(b, n, false)
	r := report.New(k.DB())
	execute(b, k.DB(),
		`UPDATE targets SET status = 'DONE', page_current = 3, finished_at = '2026-01-01T00:00:00.000Z', wait_reason = 'recrawl', not_before = '2099-01-01T00:00:00.000Z' WHERE id % 2 = 0`,
		`UPDATE targets SET status = 'FAILED', backoff_level = 2, consecutive_failures = 4, last_error_code = 'TIMEOUT',
			last_error = 'slow', wait_reason = 'backoff', not_before = '2099-01-01T00:00:00.000Z' WHERE id % 10 = 1`)
	for name, scope := range map[string]store.Scope{"all": {}, "one state": {States: []string{"CA"}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := r.Status(b.Context(), scope)
				if err != nil || s.Schedule.Targets == 0 {
					b.Fatal(s, err)
				}
			}
		})
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Targets(b.Context(), report.Filter{}, 50); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("show", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Trace(b.Context(), int64(n/2), 5); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFutureRows: what doctor's look at the clock costs over a million targets.
func BenchmarkFutureRows(b *testing.B) {
	r := report.New(mixedDB(b, many()).DB())
	for b.Loop() {
		if _, err := r.FutureRows(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCoverage: 160,000 targets, half of them crawled, in less than a second.
func BenchmarkCoverage(b *testing.B) {
	k := benchDB(b, 160_000, false)
	r := report.New(k.DB())
	execute(b, k.DB(), `UPDATE targets SET status = 'DONE', page_current = 3, finished_at = '2026-01-01T00:00:00.000Z', raw_count = 90,
		site_total = 30 + id % 1000, next_page_url = iif(id % 3 = 0, '/n', NULL) WHERE id % 2 = 0`)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if rows, err := r.Coverage(b.Context(), report.CoverageFilter{}, 20); err != nil || len(rows) != 20 {
				b.Fatal(len(rows), err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Coverage(b.Context(), report.CoverageFilter{All: true}, 20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("totals", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.CoverageTotals(b.Context(), store.Scope{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
