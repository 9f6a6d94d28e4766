package health

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const million = 1_000_000

// many is a million rows, and far fewer where each benchmark is only to run once.
func many() int {
	if testing.Short() {
		return 50_000
	}
	return million
}

// fill makes n requests of the first source, spread evenly over the time before now
// in the order in which they ended: 5 % fail, latencies lie between 0.1 and 3.1 s.
func fill(tb testing.TB, db *store.DB, n int, span time.Duration) {
	tb.Helper()
	err := db.Write(tb.Context(), func(tx *store.Tx) error {
		return tx.Run(`
			WITH RECURSIVE s (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM s WHERE v < ?1),
				r AS (SELECT v, (v * 2654435761) % 1000 AS x, strftime('%Y-%m-%dT%H:%M:%fZ', julianday(?2) + ?3 * v / ?1) AS at FROM s)
			INSERT INTO requests (source_id, target_id, claim_token, page, correlation_id, type, url, started_at, finished_at, outcome, error_class,
				http_status, latency_ms, parse_ok, result_count, bytes, identity)
			SELECT 1, 1, 1 + v / 30, v % 30, 'worker_0_pid_12345.' || v, 'listing', 'https://www.example.com/los-angeles-ca/plumbers?page=' || v, at, at,
				iif(x < 50, 'failure', 'success'), iif(x < 20, 'timeout', iif(x < 40, 'http_429', iif(x < 50, 'http_5xx', NULL))), 200,
				100 + (v * 40503) % 3001, iif(x < 50, NULL, 1), iif(x < 50, NULL, 30), 250000, 'honest' FROM r`,
			n, yp.FormatTime(tx.At.Add(-span)), span.Hours()/24)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkRollUp1M rolls up a source with 1,000,000 requests: spread over the day,
// so that some 42,000 are of the last hour, and all of them in the last hour.
func BenchmarkRollUp1M(b *testing.B) {
	for _, span := range []time.Duration{day, time.Hour} {
		b.Run(fmt.Sprint("within ", span), func(b *testing.B) {
			w := setup(b)
			n := many()
			fill(b, w.db, n, span)
			b.ReportAllocs()
			for b.Loop() {
				w.clock.move(time.Millisecond)
				p := w.rollUp(b, demo)
				if p.Samples24h < n-100 || p.Samples1h < n/25 || p.P95 < 2900*time.Millisecond {
					b.Fatalf("%+v", p)
				}
			}
		})
	}
}
