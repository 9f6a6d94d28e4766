//go:build unix

package e2e

import (
	"math/rand/v2"
	"testing"

	"ypcrawl/crawl"
)

// TestCrashDetails kills a crawl with details again and again after a random number of
// requests, and then `details` once at every named point. In the end all is there,
// nothing was fetched twice but what the workers had in hand, and the logs alone say
// the same.
func TestCrashDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.only("Plumbers", "Dentists")
	rnd := rand.New(rand.NewPCG(4, 4))
	for range orLong(detailKills) {
		if w.killAfter(rnd.IntN(40)+20, "--details") {
			w.kills++
		}
	}
	for i, point := range crawl.Points() {
		if i%pointStep != 0 {
			continue
		}
		w.dies(point, 20, w.detailArgs()...)
		w.kills++
	}
	w.finish()
	for range 2 {
		w.must(w.detailArgs()...)
		w.must("details", "retry", "--status", "STUCK", "--yes")
	}
	w.truth.Details = w.site.Details(w.base(), w.sel)
	w.checkTruth()
	w.checkRefetched(w.kills)
	w.checkReplay()
	if n := w.count("SELECT count(*) FROM requests WHERE type = 'detail' AND target_id IS NULL"); n != 0 {
		t.Errorf("%d requests for details are of no target", n)
	}
}

// detailArgs fetches the listings' own pages alone.
func (w *world) detailArgs() []string {
	return []string{"details", "--source", "demo", "--base-url", w.url, "--states", "CA", "TX", "--delay", "0", "--log-level", "warn"}
}
