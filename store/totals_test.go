package store_test

import (
	"testing"

	"ypcrawl/yp"
)

// TestListingTotals: the counters follow listings and their e-mail addresses, whatever becomes
// of either.
func TestListingTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	totals := func(what, want string) {
		t.Helper()
		same(t, what, rows(t, w.DB, `SELECT sum(listings), sum(dropped), sum(emails) FROM listing_totals`), []string{want})
		w.sound(t)
	}
	mustSave(t, w, 1, 1, 0, named("a", "b", "c")...)
	totals("three listings", "3|0|0")
	w.detail(t, "a", yp.Detail{ID: "a", Email: "a@x.example"})
	w.detail(t, "b", yp.Detail{ID: "b", Phone: "1"})
	totals("one with e-mail", "3|0|1")
	w.detail(t, "a", yp.Detail{ID: "a", Email: "other@x.example"})
	totals("another address", "3|0|1")
	w.detail(t, "b", yp.Detail{ID: "b", Email: "b@x.example"})
	totals("an address at the second reading", "3|0|2")
	w.must(t, `UPDATE listings SET dropped_at = 'x' WHERE listing_id IN ('a', 'c')`)
	totals("two are dropped", "3|2|1")
	w.must(t, `UPDATE listings SET dropped_at = 'y' WHERE listing_id = 'a'`)
	totals("dropped at another time", "3|2|1")
	w.detail(t, "c", yp.Detail{ID: "c", Email: "c@x.example"})
	totals("an address of one that is dropped", "3|2|1")
	w.must(t, `UPDATE listings SET dropped_at = NULL`)
	totals("they are back", "3|0|3")
	w.must(t, `UPDATE details SET email = NULL WHERE listing = (SELECT id FROM listings WHERE listing_id = 'c')`)
	totals("an address less", "3|0|2")
	w.must(t, `UPDATE listings SET dropped_at = 'x' WHERE listing_id = 'a'`, `DELETE FROM details`)
	totals("no details", "3|1|0")
	w.must(t, `DELETE FROM listing_events`)
	w.empty(t)
	totals("nothing", "0|0|0")
}
