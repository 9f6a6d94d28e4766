package crawl_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
)

// TestReplayAfterAClockThatWentBack: a crawl by four workers, stopped and gone on with again
// and again while the clock is set back ten seconds every few lines, is rebuilt from its logs
// whole, with the order and the times of what happened.
func TestReplayAfterAClockThatWentBack(t *testing.T) {
	t.Parallel()
	w, _, truth := demoWorld(t, demo.Config{Places: 1}, "CA", "TX")
	var looks atomic.Int64
	now := func() time.Time { return time.Now().Add(-10 * time.Second * time.Duration(looks.Add(1)/25)) }
	stops := 0
	for {
		err := w.crawl(w.engine(workers(4), func(c *crawl.Config) {
			c.Budget.Requests = 12
			c.OpenLog = func(id string) (crawl.Log, error) {
				return wal.Create(wal.Config{Dir: w.walDir, WorkerID: id, Now: now})
			}
		}))
		if err == nil {
			break
		}
		if !errors.Is(err, crawl.ErrBudget) {
			t.Fatal(err)
		}
		stops++
	}
	w.holds(truth)
	if stops < 2 {
		t.Fatalf("stopped %d times: too few to have targets that several workers had", stops)
	}
	db := storetest.Open(t)
	out := w.replayLogs(db)
	if out.Late+out.Known+out.Uncommitted+out.Unknown > 0 || out.New != len(truth.Listings) {
		t.Errorf("replayed %+v, want %d listings and nothing passed over", out, len(truth.Listings))
	}
	rebuilt := *w
	rebuilt.db = db
	rebuilt.holds(truth)
	for what, query := range map[string]string{
		"events":    `SELECT e.at, kind, ifnull(e.listing_id, l.listing_id), what FROM listing_events e LEFT JOIN listings l ON l.id = e.listing ORDER BY e.id`,
		"listings":  `SELECT listing_id, first_seen_at, last_seen_at FROM listings ORDER BY 1`,
		"sightings": `SELECT l.listing_id, m.page, m.rank, m.seen_at FROM sightings m JOIN listings l ON l.id = m.listing ORDER BY 1, 4, 2, 3`,
	} {
		rebuilt.same(what, rebuilt.table(query), w.table(query))
	}
}
