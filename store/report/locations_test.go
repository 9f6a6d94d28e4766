package report_test

import (
	"reflect"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// located is a file of 3,000 listings of two sources: some have a position, some a city alone, some neither. Their ids have gaps, and
// some cities have bytes that are not UTF-8.
func located(t *testing.T) *store.DB {
	t.Helper()
	db := storetest.Open(t)
	storetest.World{
		Sources:    []storetest.Source{{Name: "demo", BaseURL: "http://one"}, {Name: "other", BaseURL: "http://two"}},
		Cities:     []yp.City{{Slug: "reno-nv", Name: "Reno", State: "NV", Tier: 1}, {Slug: "miami-fl", Name: "Miami", State: "FL", Tier: 1}},
		Categories: storetest.Categories("Plumbers"),
	}.Plant(t, db)
	execute(t, db, `UPDATE cities SET lat = 39.53, lon = -119.81 WHERE slug = 'reno-nv'`,
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (1, 'c', 1, 'l', 'x')`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
		INSERT INTO listings (id, source_id, listing_id, company_id, name, city, state, country, found_state, lat, lon, dropped_at, fingerprint, first_seen_at, last_seen_at)
		SELECT i + 5000 * (i > 1000) + 90000 * (i > 2500), 1 + i % 2, 'l' || i, 1, 'n',
			CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'Reno' WHEN 2 THEN 'reno' WHEN 3 THEN 'Miami' WHEN 4 THEN '' WHEN 5 THEN 'a' || x'ff' || 'b' || x'fe' || 'c' ELSE 'Town ' || i % 50 END,
			CASE i % 4 WHEN 0 THEN 'NV' WHEN 1 THEN NULL ELSE 'FL' END, iif(i % 100 = 0, 'CA', 'US'), iif(i % 3 = 0, 'NV', 'FL'),
			iif(i % 5 < 2, -90 + i % 181, NULL), iif(i % 5 < 2, -180 + i % 361, NULL), iif(i % 11 = 0, 'x', NULL), 0, 'x', 'x' FROM n`,
		`INSERT INTO sightings (target_id, listing, page, rank, seen_at) SELECT (SELECT min(id) FROM targets), id, 1, 0, 'x' FROM listings WHERE id % 3 = 0`)
	return db
}

// TestLocations: a choice that only the status narrows, which is read another way, comes to what any other does; all that is read is on
// the map, or its place is not known.
func TestLocations(t *testing.T) {
	t.Parallel()
	k := report.New(located(t))
	for _, scope := range []store.Scope{{}, {SourceID: 2}, {States: []string{"NV"}}, {SourceID: 1, States: []string{"FL", "NV"}}} {
		for _, status := range []string{"open", "dropped", ""} {
			choice := report.Choice{Values: map[string]any{}, Scope: scope}
			if status != "" {
				choice.Values["status"] = status
			}
			one, err := k.Locations(t.Context(), choice, time.Minute)
			noErr(t, err)
			choice.Values["has"] = []string{"name"} // as all have
			other, err := k.Locations(t.Context(), choice, time.Minute)
			noErr(t, err)
			if !reflect.DeepEqual(one, other) {
				t.Errorf("%+v, %q: %d listings, %d dots, %d towns; by filters %d, %d, %d", scope, status,
					one.Listings, len(one.Dots), len(one.Towns), other.Listings, len(other.Dots), len(other.Towns))
			}
			count := &rows{}
			noErr(t, k.List(t.Context(), report.Find("listings list"), report.Choice{Values: choice.Values, Scope: scope, Columns: []string{"id"}}, count))
			// Bytes that are no text may make two of a listing.
			if n := int64(len(count.texts)); one.Listings < n || one.Listings > n+n/7+1 || one.Partial || len(one.Towns) < 3 {
				t.Errorf("%+v, %q: %d listings of %d, partial: %v, %d towns", scope, status, one.Listings, n, one.Partial, len(one.Towns))
			}
			placed := one.Nowhere
			for _, d := range one.Dots {
				placed += d.Listings
			}
			storetest.Equal(t, placed, one.Listings, "listings on the map or nowhere")
		}
	}
}

// TestLocationsOf: positions are those of own pages to a ten-thousandth of a degree, also at the edges of the world; one city in two
// spellings is at one place.
func TestLocationsOf(t *testing.T) {
	t.Parallel()
	db := located(t)
	execute(t, db, `DELETE FROM sightings`, `DELETE FROM listings WHERE id > 8`,
		`UPDATE listings SET city = NULL, state = 'NV', country = 'US', lat = NULL, lon = NULL, dropped_at = NULL`,
		`UPDATE listings SET lat = 90, lon = 180 WHERE id = 1`, `UPDATE listings SET lat = -90, lon = -180 WHERE id = 2`,
		`UPDATE listings SET lat = 39.12344, lon = -119.87654, city = 'Carson City' WHERE id = 3`,
		`UPDATE listings SET city = 'Reno' WHERE id IN (4, 5)`, `UPDATE listings SET city = 'RENO' WHERE id = 6`)
	got, err := report.New(db).Locations(t.Context(), report.Choice{}, time.Minute)
	noErr(t, err)
	want := &report.Locations{
		Dots: []report.Dot{{Lat: 39.53, Lon: -119.81, Listings: 3}, {Lat: -90, Lon: -180, Listings: 1}, {Lat: 39.1234, Lon: -119.8765, Listings: 1}, {Lat: 90, Lon: 180, Listings: 1}},
		Towns: []report.Town{
			{Name: "Reno", State: "NV", Country: "US", Dot: report.Dot{Lat: 39.53, Lon: -119.81, Listings: 2}, Placed: true},
			{Name: "Carson City", State: "NV", Country: "US", Dot: report.Dot{Lat: 39.1234, Lon: -119.8765, Listings: 1}, Placed: true},
			{Name: "RENO", State: "NV", Country: "US", Dot: report.Dot{Lat: 39.53, Lon: -119.81, Listings: 1}, Placed: true},
		},
		Listings: 8, Nowhere: 2,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	got, err = report.New(db).Locations(t.Context(), report.Choice{}, 0)
	noErr(t, err)
	if !got.Partial || got.Listings != 0 {
		t.Errorf("without time: %+v", got)
	}
}
