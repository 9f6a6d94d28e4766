package crawl_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
)

// TestEpochInTrouble: blocks, errors, damaged pages and limits of pages call nothing gone
// that is there.
func TestEpochInTrouble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sel := demo.Selection{States: []string{"AZ"}, Planned: true}
		w, dir, _ := demoInBubble(t, demo.Config{Places: 3, Fail: map[string]float64{
			"429": 0.05, "503": 0.05, "challenge": 0.01, "timeout": 0.01, "truncate": 0.03,
		}}, sel.States...)
		sel.Cities = w.table("SELECT slug FROM cities")
		w.fetch.DelayMin, w.fetch.ConcurrencyPerHost = siegeDelay, siegeWorkers
		w.write("UPDATE targets SET crawl_frequency_minutes = 60")
		e := w.watching(5 * time.Minute)
		done := w.begin(t.Context(), e)
		w.until("SELECT count(*) FROM targets WHERE total_successes < 1", e, done)
		storetest.NoError(t, dir.SetEpoch(1))
		want, err := dir.Changes(sel, 0)
		storetest.NoError(t, err)
		w.start()
		e = w.watching(5 * time.Minute)
		w.until("SELECT count(*) FROM targets WHERE total_successes < 4", e, w.begin(t.Context(), e))
		gone := w.table("SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY listing_id")
		for _, id := range gone {
			if !slices.Contains(want.Dropped, id) && !slices.Contains(want.Retired, id) {
				t.Errorf("%s is called gone, and is there", id)
			}
		}
		if len(gone) < len(want.Dropped)*9/10 {
			t.Errorf("%d are gone, want nearly %d", len(gone), len(want.Dropped))
		}
		st := e.Stats()
		w.same("what the second run counts", []string{fmt.Sprint(st.New, st.Dropped, st.Restored)}, w.table("SELECT listings_new, listings_dropped, listings_restored FROM runs WHERE id = ?", w.run.ID))
		w.same("what both runs count", w.table("SELECT sum(listings_new), sum(listings_dropped), sum(listings_restored) FROM runs"),
			w.table("SELECT sum(action = 'promoted_create'), sum(action = 'dropped'), sum(action = 'restored') FROM promotion_log"))
	})
}
