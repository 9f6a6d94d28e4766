//go:build unix

package e2e

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// rows are what `discover` leaves behind, without times and numbers.
func (w *world) rows() (rows []string) {
	w.t.Helper()
	db := w.open(filepath.Join(w.dir, "ypcrawl.db"))
	for _, query := range []string{
		`SELECT state || ' ' || status || ' ' || page_current || ' ' || raw_count || ' ' || (complete_at IS NOT NULL) FROM targets WHERE kind = 'index' ORDER BY 1`,
		`SELECT c.slug || ' ' || x.slug || ' ' || x.name || ' ' || x.found_on || ' ' || x.matched || ' ' || (x.removed_at IS NOT NULL)
		FROM source_cities x JOIN cities c ON c.id = x.city_id ORDER BY 1`,
		`SELECT c.slug || ' ' || k.slug || ' ' || t.priority || ' ' || t.max_pages || ' ' || t.status || ' ' || (t.retired_at IS NOT NULL)
		FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id ORDER BY 1`,
	} {
		rows = append(rows, storetest.Table(w.t, db, query)...)
	}
	if err := db.IntegrityCheck(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	return rows
}

// TestDiscoverCrash kills `discover` ten times at random points; what is found in the end
// is what an undisturbed one finds, and no page is asked for twice but the one in
// hand.
func TestDiscoverCrash(t *testing.T) {
	t.Parallel()
	w, calm := newIndexWorld(t), newIndexWorld(t)
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 4))
	points := []crawl.Point{crawl.PointClaimed, crawl.PointFetched, crawl.PointParsed, crawl.PointInTx, crawl.PointCommitted}
	rest := slices.Clone(points)
	points = append(append(points, crawl.PointEnded), rest[1:]...)
	rnd.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	for _, p := range points {
		nth := 1 + rnd.IntN(5)
		if p == crawl.PointClaimed || p == crawl.PointEnded { // once a state
			nth = 1
		}
		t.Logf("killed at %s:%d", p, nth)
		w.dies(p, nth, w.discoverArgs()...)
	}
	w.discover()
	w.checkCities(indexStates...)
	if extra := w.counter.extra(); extra > len(points) {
		t.Errorf("%d pages were asked for again after %d kills", extra, len(points))
	}
	calm.discover()
	if diff := cmp.Diff(calm.rows(), w.rows()); diff != "" {
		t.Errorf("rows differ from those of an undisturbed crawl (-want +got):\n%s", head(diff))
	}
}

// TestDiscoverEpochs: killed in a crawl of the index of the next epoch, nothing is marked as gone too
// soon, and in the end what is gone and what has come is exactly the truth.
func TestDiscoverEpochs(t *testing.T) {
	t.Parallel()
	w := newIndexWorld(t)
	w.discover()
	before := w.site.Cities(indexStates...)
	if err := w.site.SetEpoch(2); err != nil {
		t.Fatal(err)
	}
	w.dies(crawl.PointCommitted, 20, w.discoverArgs()...)
	if n := w.count(`SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL`); n != 0 {
		t.Errorf("%d cities are gone before the first index is read", n)
	}
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
	if n := w.count(wrong); n != 0 {
		t.Errorf("%d targets are retired and their city is not gone, or the other way round", n)
	}
	if err := w.site.SetEpoch(0); err != nil {
		t.Fatal(err)
	}
	w.discover()
	w.checkCities(indexStates...)
	if n := w.count(wrong); n != 0 {
		t.Errorf("%d targets did not come back with their cities", n)
	}
}

// TestDiscoverTwoProcesses: two at once on one database read no state twice.
func TestDiscoverTwoProcesses(t *testing.T) {
	t.Parallel()
	w := newIndexWorld(t)
	w.counter.latency.Store(int64(10 * time.Millisecond))
	one := command(w.dir, nil, w.discoverArgs("--user-agent", "one")...)
	if err := one.Start(); err != nil {
		t.Fatal(err)
	}
	w.counter.waitFor(t, 3) // it has begun its pass
	two := command(w.dir, nil, w.discoverArgs("--user-agent", "two")...)
	out, err := two.CombinedOutput()
	if err != nil {
		t.Errorf("the second: %v\n%s", err, out)
	}
	if code := exitCode(t, one.Wait()); code != 0 {
		t.Errorf("the first exited with %d", code)
	}
	w.checkCities(indexStates...)
	if extra := w.counter.extra(); extra != 0 {
		t.Errorf("%d pages were asked for twice", extra)
	}
	if n := w.count(`SELECT count(*) FROM runs WHERE outcome = 'done'`); n != 2 {
		t.Errorf("%d runs are done, want 2", n)
	}
}
