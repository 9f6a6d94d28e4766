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
	d := named("d")[0]
	d.Email = "d@x.example"
	mustSave(t, w, 1, 1, 0, d)
	totals("one whose card has an address", "4|0|1")
	w.must(t, `DELETE FROM sightings WHERE listing = 4`, `DELETE FROM listing_events WHERE listing = 4`, `DELETE FROM company_keys`, `DELETE FROM listings WHERE listing_id = 'd'`,
		`DELETE FROM companies WHERE lead_listing = 'd'`)
	totals("and without it", "3|0|0")
	w.detail(t, "a", yp.Listing{ID: "a", Email: "a@x.example"})
	w.detail(t, "b", yp.Listing{ID: "b", Phone: "1"})
	totals("one with e-mail", "3|0|1")
	w.detail(t, "a", yp.Listing{ID: "a", Email: "other@x.example"})
	totals("another address", "3|0|1")
	w.detail(t, "b", yp.Listing{ID: "b", Email: "b@x.example"})
	totals("an address at the second reading", "3|0|2")
	w.must(t, `UPDATE listings SET dropped_at = 'x' WHERE listing_id IN ('a', 'c')`)
	totals("two are dropped", "3|2|1")
	w.must(t, `UPDATE listings SET dropped_at = 'y' WHERE listing_id = 'a'`)
	totals("dropped at another time", "3|2|1")
	w.detail(t, "c", yp.Listing{ID: "c", Email: "c@x.example"})
	totals("an address of one that is dropped", "3|2|1")
	w.must(t, `UPDATE listings SET dropped_at = NULL`)
	totals("they are back", "3|0|3")
	w.must(t, `UPDATE listings SET email = NULL WHERE listing_id = 'c'`)
	totals("an address less", "3|0|2")
	w.must(t, `UPDATE listings SET dropped_at = 'x' WHERE listing_id = 'a'`, `UPDATE listings SET email = NULL`)
	totals("no addresses", "3|1|0")
	w.must(t, `DELETE FROM listing_events`)
	w.empty(t)
	totals("nothing", "0|0|0")
}
