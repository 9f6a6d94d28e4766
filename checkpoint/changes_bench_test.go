package checkpoint_test

import (
	"testing"

	"ypcrawl/checkpoint"
)

// BenchmarkChanges counts what became of a million listings, all new, by 30 a page, and
// shows the first three: what `changes --limit 3` asks.
func BenchmarkChanges(b *testing.B) {
	n := million
	if testing.Short() {
		n = 30_000
	}
	k := benchDB(b, n, true)
	execute(b, k.DB(), upTo(n/30)+`INSERT INTO listing_events (at, kind, source_id, listing, listings)
		SELECT printf('2026-11-20T12:%02d:%02d.%03dZ', value / 60000 % 60, value / 1000 % 60, value % 1000), 'new', 1, 30 * value - 29, 30 FROM s`)
	for b.Loop() {
		counts, err := k.CountChanges(b.Context(), checkpoint.ChangeFilter{})
		if err != nil || counts[checkpoint.ChangeNew] != int64(n/30*30) {
			b.Fatal(counts, err)
		}
		shown := 0
		err = k.EachChange(b.Context(), checkpoint.ChangeFilter{Kinds: []checkpoint.ChangeKind{checkpoint.ChangeNew}}, 3, func(*checkpoint.Change) error {
			shown++
			return nil
		})
		if err != nil || shown != 3 {
			b.Fatal(shown, err)
		}
	}
}
