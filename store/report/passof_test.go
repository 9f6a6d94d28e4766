package report

import (
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestPassNamesItsSelection: what a pass crawls is named in a few words, whatever the selection is made of.
func TestPassNamesItsSelection(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	storetest.Execute(t, db,
		`INSERT INTO categories (id, slug, name) VALUES (1, 'plumbers', 'Plumbers'), (2, 'dentists', 'Dentists'), (3, 'gyms', 'Gyms')`,
		`INSERT INTO cities (id, slug, name, state, population, tier) VALUES (1, 'reno-nv', 'Reno', 'NV', 9, 1), (2, 'ely-nv', 'Ely', 'NV', 5, 1), (3, 'elko-nv', 'Elko', 'NV', 3, 1)`)
	all := make([]string, 0, 51)
	for _, s := range yp.States() {
		all = append(all, s.Code)
	}
	for _, c := range []struct {
		of   store.Scope
		want string
	}{
		{store.Scope{}, ""},
		{store.Scope{States: all}, ""},
		{store.Scope{States: []string{"NH"}}, "NH"},
		{store.Scope{States: []string{"CA", "NV", "TX"}}, "CA, NV, TX"},
		{store.Scope{States: []string{"AZ", "CA", "NH", "NV", "TX"}}, "5 states"},
		{store.Scope{States: []string{"NV"}, CategoryIDs: []int64{1}}, "Plumbers in NV"},
		{store.Scope{States: all, CategoryIDs: []int64{1, 2}}, "Plumbers and Dentists"},
		{store.Scope{States: []string{"NV"}, CategoryIDs: []int64{1, 2, 3}}, "3 categories in NV"},
		{store.Scope{States: []string{"NV"}, CityIDs: []int64{1}}, "Reno, NV"},
		{store.Scope{States: []string{"NV"}, CityIDs: []int64{1, 2}, CategoryIDs: []int64{3}}, "Gyms in Reno, NV and Ely, NV"},
		{store.Scope{States: []string{"NV"}, CityIDs: []int64{1, 2, 3}}, "3 cities in NV"},
		{store.Scope{States: []string{"NV"}, MinPopulation: 10000}, "cities of 10,000 people or more in NV"},
		{store.Scope{States: all, MinPopulation: 10000, CategoryIDs: []int64{1}}, "Plumbers in cities of 10,000 people or more"},
	} {
		got, err := New(db).selectionText(t.Context(), c.of)
		storetest.NoError(t, err)
		storetest.Equal(t, got, c.want, "the selection")
	}
}
