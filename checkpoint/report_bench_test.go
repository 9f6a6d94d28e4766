package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// many is a million targets, and far fewer where each benchmark is only to run once: they
// take a minute to make.
func many() int {
	if testing.Short() {
		return 30_000
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

// BenchmarkChanges counts what became of a million listings, all new, by 30 a page, and
// shows the first three: what `changes --limit 3` asks.
func BenchmarkChanges(b *testing.B) {
	n := many()
	k := benchDB(b, n, true)
	r := report.New(k.DB())
	execute(b, k.DB(), upTo(n/30)+`INSERT INTO listing_events (at, kind, source_id, listing, listings)
		SELECT printf('2026-11-20T12:%02d:%02d.%03dZ', value / 60000 % 60, value / 1000 % 60, value % 1000), 'new', 1, 30 * value - 29, 30 FROM s`)
	for b.Loop() {
		counts, err := r.CountChanges(b.Context(), report.ChangeFilter{})
		if err != nil || counts[store.EventNew] != int64(n/30*30) {
			b.Fatal(counts, err)
		}
		shown := 0
		err = r.EachChange(b.Context(), report.ChangeFilter{Kinds: []store.Event{store.EventNew}}, 3, func(*report.Change) error {
			shown++
			return nil
		})
		if err != nil || shown != 3 {
			b.Fatal(shown, err)
		}
	}
}

// BenchmarkDetails: what a run costs that takes details over a million listings, besides the
// claims: the start with nothing to plan, a look, and the line of progress.
func BenchmarkDetails(b *testing.B) {
	for _, d := range []struct {
		name string
		n    int
	}{{"10000", 10_000}, {"1000000", million}} {
		if testing.Short() && d.n == million { // a minute to make it
			continue
		}
		k := benchDB(b, d.n, true)
		execute(b, k.DB(), `UPDATE listings SET profile_url = 'http://127.0.0.1/mip/' || listing_id, snippet = printf('%300s', id), found_state = iif(id % 2, 'CA', 'TX')`)
		scope := store.Scope{SourceID: 1, States: []string{"CA", "TX"}, Kinds: []yp.Kind{yp.KindDetail}}
		want := func(b *testing.B) {
			for range b.N {
				if _, err := k.WantDetails(b.Context(), 1, scope.States, month); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(d.name+"/first start", func(b *testing.B) {
			execute(b, k.DB(), `DELETE FROM meta WHERE key LIKE 'details:%'`, `DELETE FROM targets WHERE kind = 'detail'`)
			b.ResetTimer()
			want(b)
		})
		b.Run(d.name+"/second start", want)
		b.Run(d.name+"/look", func(b *testing.B) {
			for range b.N {
				if _, err := k.Look(b.Context(), scope, 50, time.Hour); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(d.name+"/totals", func(b *testing.B) {
			for range b.N {
				if _, err := report.New(k.DB()).DetailTotals(b.Context(), 0, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(d.name+"/stats", func(b *testing.B) {
			for range b.N {
				if _, err := report.New(k.DB()).DetailStats(b.Context(), 0, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPasses: the last pass of a source with a million listings, which found them all new,
// 30 a page, or all changed.
func BenchmarkPasses(b *testing.B) {
	n := many()
	k := benchDB(b, n, true)
	r := report.New(k.DB())
	execute(b, k.DB(), `INSERT INTO runs (id, uuid, host, source_id, pid, command, started_at, heartbeat_at, finished_at, outcome, pages)
			VALUES (1000, 'u', 'h', 1, 1, 'run', '2026-11-20T12:00:00.000Z', 'x', '2026-11-20T13:00:00.000Z', 'done', 1)`,
		`INSERT INTO run_passes (source_id, run_id, selection, began_at) VALUES (1, 1000, '{}', '2026-11-20T12:00:00.000Z')`,
		upTo(n/30)+`INSERT INTO listing_events (at, kind, source_id, listing, listings)
		SELECT printf('2026-11-20T12:%02d:%02d.%03dZ', value / 60000 % 60, value / 1000 % 60, value % 1000), 'new', 1, 30 * value - 29, 30 FROM s`)
	measure := func(b *testing.B, scope store.Scope, want func(report.Pass) int64) {
		b.Helper()
		for b.Loop() {
			all, err := r.Passes(b.Context(), scope)
			if err != nil || len(all) != 1 || want(all[0]) == 0 {
				b.Fatal(all, err)
			}
		}
	}
	b.Run("all new", func(b *testing.B) { measure(b, store.Scope{}, func(p report.Pass) int64 { return p.New }) })
	b.Run("all new, a state", func(b *testing.B) {
		measure(b, store.Scope{States: []string{"CA"}}, func(p report.Pass) int64 { return p.New })
	})
	execute(b, k.DB(), upTo(n)+`INSERT INTO listing_events (at, kind, source_id, listing, company_id, what)
		SELECT printf('2026-11-20T12:%02d:%02d.%03dZ', value / 60000 % 60, value / 1000 % 60, value % 1000), 'changed', 1, value, 1,
			'{"changes":[{"field":"rating","old":"4","new":"4.5"}]}' FROM s`)
	b.Run("all changed", func(b *testing.B) { measure(b, store.Scope{}, func(p report.Pass) int64 { return p.Changed }) })
}
