//go:build unix

package e2e

import (
	"slices"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
)

// indexStates are those whose indexes are read.
var indexStates = []string{"AZ", "NV", "UT"}

func newIndexWorld(t *testing.T) *world {
	t.Helper()
	return siteWorld(t, demo.Config{Places: 30})
}

func (w *world) discoverArgs(more ...string) []string {
	args := append([]string{"discover", "--source", "demo", "--base-url", w.url, "--log-level", "warn", "--states"}, indexStates...)
	return append(args, more...)
}

// discover reads them to the end.
func (w *world) discover() {
	w.t.Helper()
	w.must(w.discoverArgs()...)
}

// TestDiscoverEpochs: killed in a crawl of the index of the next epoch, nothing is marked as gone too
// soon, and in the end what is gone and what has come is exactly the truth.
func TestDiscoverEpochs(t *testing.T) {
	t.Parallel()
	w := newIndexWorld(t)
	w.discover()
	before := w.site.Cities(indexStates...)
	storetest.NoError(t, w.site.SetEpoch(2))
	w.dies(crawl.PointCommitted, 20, w.discoverArgs()...)
	storetest.Equal(t, w.count(`SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL`), 0, "cities gone before the first index is read")

	w.dies(crawl.PointEnded, 1, w.discoverArgs()...)
	w.discover()
	w.checkCities(indexStates...)
	w.discover() // so many are marked when the second read agrees
	w.checkCities(indexStates...)
	lost := 0
	now := w.site.Cities(indexStates...)
	for _, c := range before {
		if !slices.Contains(now, c) {
			lost++
		}
	}
	if n := w.count(`SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL`); n != lost || lost == 0 {
		t.Errorf("%d cities are gone, want %d and some", n, lost)
	}
	const wrong = `SELECT count(*) FROM targets t JOIN source_cities x ON x.source_id = t.source_id AND x.city_id = t.city_id
		WHERE (x.removed_at IS NULL) <> (t.retired_at IS NULL)`
	storetest.Equal(t, w.count(wrong), 0, "targets retired whose city is not gone, or the other way round,")
	storetest.NoError(t, w.site.SetEpoch(0))
	w.discover()
	w.checkCities(indexStates...)
	storetest.Equal(t, w.count(wrong), 0, "targets that did not come back with their cities")
}
