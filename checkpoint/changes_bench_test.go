package checkpoint_test

import (
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

// BenchmarkChanges counts what became of a million listings, all new, by 30 a page, and
// shows the first three: what `changes --limit 3` asks.
func BenchmarkChanges(b *testing.B) {
	n := million
	if testing.Short() {
		n = 30_000
	}
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
