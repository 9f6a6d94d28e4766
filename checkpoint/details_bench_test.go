package checkpoint_test

import (
	"context"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// BenchmarkDetails: what a run costs that takes details over a million listings: the
// claim of one, the start with nothing to plan, a look, and the line of progress.
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
		run, err := k.StartRun(b.Context(), 1, "bench", false)
		if err != nil {
			b.Fatal(err)
		}
		states := []string{"CA", "TX"}
		want := func(b *testing.B) {
			for range b.N {
				if _, err := k.WantDetails(b.Context(), 1, states, month); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(d.name+"/first start", func(b *testing.B) {
			execute(b, k.DB(), `DELETE FROM meta WHERE key LIKE 'details:%'`, `DELETE FROM details`)
			b.ResetTimer()
			want(b)
		})
		b.Run(d.name+"/second start", want)
		b.Run(d.name+"/claim", func(b *testing.B) { benchDetails(b, k, run, k.Details(1, states)) })
		b.Run(d.name+"/claim of one state", func(b *testing.B) { benchDetails(b, k, run, k.Details(1, states[1:])) })
		b.Run(d.name+"/claim of one state, the other done", func(b *testing.B) {
			execute(b, k.DB(), `UPDATE details SET status = 'DONE', fetched_at = 'x', due_at = '2099-01-01T00:00:00.000Z' WHERE listing % 2 = 0`)
			execute(b, k.DB(), `UPDATE details SET status = 'PLANNED', due_at = NULL WHERE listing IN (SELECT listing FROM details WHERE listing % 2 = 0 ORDER BY listing DESC LIMIT 5000)`)
			b.ResetTimer()
			benchDetails(b, k, run, k.Details(1, states[1:]))
		})
		b.Run(d.name+"/look", func(b *testing.B) {
			q := k.Details(1, states)
			for range b.N {
				if _, err := q.Look(b.Context(), 50, month); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(d.name+"/totals", func(b *testing.B) {
			for range b.N {
				if _, err := report.New(k.DB()).DetailTotals(b.Context(), 0); err != nil {
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
		if err := run.Finish(context.WithoutCancel(b.Context()), checkpoint.OutcomeDone, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func benchDetails(b *testing.B, k *checkpoint.Keeper, run *checkpoint.Run, q *checkpoint.Details) {
	claim := func(i int) error {
		_, err := q.Claim(b.Context(), checkpoint.Worker{ID: yp.WorkerID(i, 1), RunID: run.ID})
		return err
	}
	release := func() {
		execute(b, k.DB(), `UPDATE details SET status = 'PLANNED', claimed_by = NULL, run_id = NULL, heartbeat_at = NULL WHERE status = 'IN_PROGRESS'`)
	}
	together(b, benchWorkers, claim)
	release()
	b.ResetTimer()
	for left := b.N; left > 0; left -= benchWorkers {
		together(b, min(benchWorkers, left), claim)
		b.StopTimer()
		release()
		b.StartTimer()
	}
}
