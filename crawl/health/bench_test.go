package health

import (
	"fmt"
	"slices"
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

// BenchmarkPrune1M deletes the older half of 1,000,000 requests, on a disk that is
// told to keep its word, while a worker commits. An op is a commit; what it takes
// when nothing is deleted stands beside it.
func BenchmarkPrune1M(b *testing.B) {
	w := setup(b)
	rows := many()
	fill(b, w.db, rows, 28*day)
	if err := w.db.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := store.Open(b.Context(), store.Config{Path: w.path, Now: w.clock.now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	commit := func() time.Duration {
		began := time.Now()
		must(b, db, `UPDATE sources SET consecutive_failures = consecutive_failures + 1 WHERE id = 1`)
		return time.Since(began)
	}
	report := func(name string, took []time.Duration) {
		slices.Sort(took)
		for unit, d := range map[string]time.Duration{"p50": took[len(took)/2], "p99": took[len(took)*99/100], "worst": took[len(took)-1]} {
			b.ReportMetric(float64(d.Microseconds())/1000, name+"-"+unit+"-ms")
		}
	}
	var alone, beside []time.Duration
	for range 1000 {
		alone = append(alone, commit())
	}
	done := make(chan error, 1)
	go func() {
		n, _, err := New(db).Prune(b.Context(), 0)
		if err == nil && n < rows/2-pruneBatch {
			err = fmt.Errorf("%d deleted", n)
		}
		done <- err
	}()
	for b.Loop() {
		beside = append(beside, commit())
	}
	for len(done) == 0 {
		beside = append(beside, commit())
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	report("alone", alone)
	report("beside", beside)
}

// BenchmarkObserved is what the pacing of a host costs a page.
func BenchmarkObserved(b *testing.B) {
	w := setup(b)
	h, err := w.Hosts(b.Context(), demo, delay, &tape{})
	if err != nil {
		b.Fatal(err)
	}
	seen := Seen{Host: "a", Started: noon}
	b.ReportAllocs()
	for b.Loop() {
		if err := h.Observed(b.Context(), seen); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLayoutPage is what the layout alarm costs a page of 30 listings, of targets
// of four pages that 16 workers walk.
func BenchmarkLayoutPage(b *testing.B) {
	w := setup(b)
	l, err := w.Layout(b.Context(), demo)
	if err != nil {
		b.Fatal(err)
	}
	listings := pageOf(30, true)
	b.ReportAllocs()
	for page := int64(0); b.Loop(); page++ {
		if alarm, err := l.Page(b.Context(), page/64*16+page%16, 1, listings); alarm != "" || err != nil {
			b.Fatal(alarm, err)
		}
	}
}

// BenchmarkTake is what a turn costs that processes share: one small transaction, on the
// disk when it returns.
func BenchmarkTake(b *testing.B) {
	for _, synchronous := range []string{"FULL", "OFF"} {
		b.Run(synchronous, func(b *testing.B) {
			w := setup(b)
			db, err := store.Open(b.Context(), store.Config{Path: w.path, MustExist: true, Now: w.clock.now, Synchronous: synchronous})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			m := New(db)
			b.ReportAllocs()
			for b.Loop() {
				w.clock.move(time.Minute)
				if wait, err := m.Take(b.Context(), "a", time.Second); wait > 0 || err != nil {
					b.Fatal(wait, err)
				}
			}
		})
	}
}
