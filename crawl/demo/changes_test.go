package demo_test

import (
	"net/url"
	"testing"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp"
)

// TestChangeCensus: an epoch changes enough of every kind to be worth a crawl, and nothing that never changes.
func TestChangeCensus(t *testing.T) {
	t.Parallel()
	for _, sel := range []demo.Selection{{States: []string{"CA", "TX"}}, {States: []string{"AZ"}, MaxPages: -1}} {
		d, _ := setup(t, demo.Config{})
		counts, was := map[string]int{}, map[string]yp.Listing{}
		for _, l := range d.Truth(&url.URL{}, sel).Listings {
			was[l.ID] = l
		}
		if err := d.SetEpoch(1); err != nil {
			t.Fatal(err)
		}
		for _, l := range d.Truth(&url.URL{}, sel).Listings {
			old, known := was[l.ID]
			if !known {
				counts["new"]++
				continue
			}
			for i := range yp.ListingFields {
				f := &yp.ListingFields[i]
				if a, b := f.Text(&old), f.Text(&l); f.Is(yp.Counted) && a != b && b != "" {
					counts[f.Name]++
				}
			}
		}
		gone, err := d.Changes(sel, 0)
		if err != nil {
			t.Fatal(err)
		}
		counts["gone"] = len(gone.Dropped)
		for _, what := range []string{"new", "gone", "name", "phone", "street", "postal_code", "rating", "review_count", "website"} {
			if counts[what] < 24 {
				t.Errorf("%v: only %d of %q", sel.States, counts[what], what)
			}
		}
		if (len(gone.Unconfirmed) > 24) != (sel.MaxPages == 0) || len(gone.Retired) == 0 {
			t.Errorf("%v: %d unconfirmed, %d retired", sel.States, len(gone.Unconfirmed), len(gone.Retired))
		}
		for _, never := range []string{"city", "state", "categories", "hours", "price_range", "service_area"} {
			if counts[never] > 0 {
				t.Errorf("%v: %d changes of %q", sel.States, counts[never], never)
			}
		}
	}
}
