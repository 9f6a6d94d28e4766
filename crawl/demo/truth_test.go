package demo_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp/gazetteer"
)

// setup returns the directory of the default places and its gazetteer.
func setup(t testing.TB, cfg demo.Config) (*demo.Directory, *gazetteer.Gazetteer) {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := demo.New(cfg, g)
	if err != nil {
		t.Fatal(err)
	}
	return d, g
}

// get asks the directory for a page, without compression.
func get(d http.Handler, uri string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, uri, nil))
	return w
}

// TestSearches: the targets of a selection, named one by one with their limits, have the same truth in the first epoch
// and in later ones, where cities have left.
func TestSearches(t *testing.T) {
	t.Parallel()
	base := &url.URL{Scheme: "http", Host: "127.0.0.1"}
	for epoch, limit := range map[int]int{0: 2, 30: -1} {
		d, _ := setup(t, demo.Config{Places: 6, Epoch: epoch})
		sel := demo.Selection{States: []string{"WY", "DE"}, Categories: []string{"Plumbers", "Dentists"}, MaxPages: limit, Planned: true}
		want, all := d.Truth(base, sel), d.Searches(sel)
		pages := 0
		for i := range all {
			pages += all[i].Pages
			all[i].Pages = max(limit, 0)
		}
		if len(all) != want.Targets || pages != want.Pages || pages == 0 {
			t.Errorf("epoch %d: %d searches with %d pages, want %d with %d", epoch, len(all), pages, want.Targets, want.Pages)
		}
		if diff := cmp.Diff(want, d.Truth(base, demo.Selection{Searches: all})); diff != "" {
			t.Errorf("epoch %d: named one by one (-want +got):\n%s", epoch, diff)
		}
	}
}
