package checkpoint_test

import (
	"testing"

	"ypcrawl/checkpoint"
)

// BenchmarkStatus: all that `status` reads, over a million targets of which one in
// ten rests and half are done. It must stay under two seconds.
func BenchmarkStatus(b *testing.B) {
	k := benchDB(b, million, false)
	execute(b, k.DB(),
		`UPDATE targets SET status = 'DONE', page_current = 3, finished_at = '2026-01-01T00:00:00.000Z', next_crawl_at = '2099-01-01T00:00:00.000Z' WHERE id % 2 = 0`,
		`UPDATE targets SET status = 'FAILED', crawl_status = 'degraded', backoff_level = 2, consecutive_failures = 4, last_error_code = 'TIMEOUT',
			last_error = 'slow', backoff_until = '2099-01-01T00:00:00.000Z' WHERE id % 10 = 1`)
	for name, scope := range map[string]checkpoint.Scope{"all": {}, "one state": {States: []string{"CA"}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := k.Status(b.Context(), scope)
				if err != nil || s.Schedule.Targets == 0 {
					b.Fatal(s, err)
				}
			}
		})
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if _, err := k.Targets(b.Context(), checkpoint.Filter{}, 50); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("show", func(b *testing.B) {
		for b.Loop() {
			if _, err := k.Trace(b.Context(), million/2, 5); err != nil {
				b.Fatal(err)
			}
		}
	})
}
