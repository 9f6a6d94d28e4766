package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

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
