//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

const brokenDemo = `extends: demo
name: demo
fields:
  id:
    - {attr: data-ypid, match: '^([1-8]\d*)$'}
  snippet:
    - .no-such-thing
`

// TestCrashReparse kills a crawl that keeps its pages and reads them by a broken definition,
// then kills `reparse` by the mended one: in the end the listings are those of the truth, in the
// database and in what a replay makes of the logs and `reparse` of the same pages.
func TestCrashReparse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	for name, text := range map[string]string{"broken.yaml": brokenDemo, "mended.yaml": "extends: demo\nname: demo\n"} {
		storetest.NoError(t, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600))
	}
	w.args = []string{
		"run", "--keep-pages", "30", "--source-file", "broken.yaml", "--base-url", w.url, "--states", "CA", "TX", "--delay", "0", "--workers", "5", "--log-level", "warn", "--max-cities", "1",
	}
	for i, point := range crawl.Points() {
		if i%pointStep == 0 {
			w.dies(point, 3, w.args...)
		}
	}
	w.finish()
	reparse := []string{"reparse", "--source-file", "mended.yaml"}
	for batch := 1; batch <= 2; batch++ { // of 16 pages
		w.dies(crawl.PointReparsed, batch, reparse...)
		w.dies(crawl.PointInTx, batch, reparse...)
	}
	w.must(reparse...)
	w.checkTruth()
	rebuilt := w.rebuilt()
	pages, err := os.ReadFile(filepath.Join(w.dir, "ypcrawl.db.pages"))
	if err == nil {
		err = os.WriteFile(rebuilt+".pages", pages, 0o600)
	}
	storetest.NoError(t, err)
	w.must(append([]string{"--db", rebuilt}, reparse...)...)
	w.checkRows(rebuilt)
	events := w.count(`SELECT count(*) FROM listing_events`)
	w.must(reparse...)
	storetest.Equal(t, w.count(`SELECT count(*) FROM listing_events`), events, "events after one more reparse")
	storetest.Equal(t, w.count(`SELECT sum(listings) FROM listing_events WHERE kind = 'new'`)-w.count(`SELECT count(*) FROM listings`), 0, "listings that are new by the events alone")
}
