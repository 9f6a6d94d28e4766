package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// logOfOne is a target alone, with its log.
func logOfOne(t *testing.T) *logged {
	t.Helper()
	b, clock := setupClock(t, 1, "CA")
	b.scope.CategoryIDs = b.cats[:1]
	return &logged{bundle: b, clock: clock}
}

// anew makes the target due, and takes it.
func (g *logged) anew(t *testing.T) *checkpoint.Claim {
	t.Helper()
	g.clock.Move(time.Hour)
	g.recrawl(t)
	g.wake(t)
	return g.take(t, 0)
}

// brings logs and commits the claim's next page.
func (g *logged) brings(t *testing.T, c *checkpoint.Claim, p yp.Page, ids ...string) {
	t.Helper()
	p.Number, p.Raw, p.Listings = c.PageCurrent+1, len(ids), cards(ids...)
	g.log(wal.PageComplete, c, &yp.Page{
		Number: p.Number, NextURL: p.NextURL, Last: p.Last, End: p.End, Raw: p.Raw, Accepted: p.Raw, Listings: p.Listings,
	}, "", yp.InProgress)
	out, err := g.CommitPage(t.Context(), c, p)
	noErr(t, err)
	if out.Done {
		g.log(wal.TargetComplete, c, nil, "", yp.Done)
	}
}

// empty ends the claim with the site's word that there is nothing.
func (g *logged) empty(t *testing.T, c *checkpoint.Claim) {
	t.Helper()
	noErr(t, g.Complete(t.Context(), c, yp.CodeNoListings, "none", true))
	g.log(wal.TargetComplete, c, nil, yp.CodeNoListings, yp.Done)
	g.events[len(g.events)-1].Complete = true
}

const (
	standRows = `SELECT status, page_current, next_page_url, raw_count, last_error_code, crawls = (SELECT max(crawl) FROM sightings), complete_at IS NOT NULL FROM targets WHERE status <> 'PLANNED'`
	sightRows = `SELECT listing_id, missed, dropped_at IS NOT NULL FROM listings l JOIN sightings s ON s.listing = l.id ORDER BY 1`
	trailRows = `SELECT action, listing_id FROM promotion_log ORDER BY id`
)

// agrees holds a database made from the log to the one that was crawled, at every
// reading of the log, and the crawled one to itself.
func (g *logged) agrees(t *testing.T) {
	t.Helper()
	queries := []string{standRows, sightRows, trailRows}
	var want [][]string
	for _, q := range queries {
		want = append(want, table(t, g.DB(), q))
	}
	k := checkpoint.New(storetest.Open(t))
	for _, k := range []*checkpoint.Keeper{k, k, g.Keeper} {
		g.replay(t, k, g.events)
		for i, q := range queries {
			same(t, q, table(t, k.DB(), q), want[i])
		}
	}
}

// TestReplayOfAnEmptyCrawl: a crawl that found that nothing is left is a crawl like any
// other, and so is the one after it.
func TestReplayOfAnEmptyCrawl(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	g.empty(t, g.take(t, 0))
	g.brings(t, g.anew(t), yp.Page{Last: true, End: true}, "a", "b")
	g.agrees(t)
	g.empty(t, g.anew(t))
	g.agrees(t)
	g.empty(t, g.anew(t))
	g.agrees(t)
	same(t, "gone", table(t, g.DB(), goneRows), []string{"a b"})
	g.brings(t, g.anew(t), yp.Page{Last: true, End: true}, "b")
	g.agrees(t)
}

// TestReplayOfADeeperCrawl: a crawl that the limit of pages had ended, and that went on
// behind it, ends at its last page, and once.
func TestReplayOfADeeperCrawl(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	c := g.take(t, 0)
	g.brings(t, c, yp.Page{NextURL: "/2"}, "a")
	g.brings(t, c, yp.Page{Last: true, End: true}, "b", "c")
	for range 2 {
		g.brings(t, g.anew(t), yp.Page{NextURL: "/2", Last: true}, "a")
		g.agrees(t)
		execute(t, g.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL WHERE claim_token > 0`)
		c := g.take(t, 0)
		g.brings(t, c, yp.Page{NextURL: "/3"}, "b")
		noErr(t, g.Release(t.Context(), c, "stop"))
		k := checkpoint.New(storetest.Open(t))
		g.replay(t, k, g.events)
		same(t, "in the middle", table(t, k.DB(), `SELECT status, page_current FROM targets`), []string{"PLANNED|2"})
		g.brings(t, g.take(t, 0), yp.Page{Last: true, End: true}, "d")
		g.agrees(t)
	}
	same(t, "gone", table(t, g.DB(), goneRows), []string{"c"})
}

// TestReplayOfALastPageThatWasNone: the last page was logged, the process died before its
// commit, and when it was read again there was one more. That is one crawl.
func TestReplayOfALastPageThatWasNone(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	g.brings(t, g.take(t, 0), yp.Page{Last: true, End: true}, "a", "b")
	c := g.anew(t)
	g.log(wal.PageComplete, c, &yp.Page{Number: 1, Last: true, End: true, Raw: 1, Accepted: 1, Listings: cards("a")}, "", yp.InProgress)
	g.brings(t, c, yp.Page{NextURL: "/2"}, "a")
	g.brings(t, c, yp.Page{Last: true, End: true}, "c")
	c = g.anew(t)
	g.brings(t, c, yp.Page{NextURL: "/2"}, "a")
	g.log(wal.PageComplete, c, &yp.Page{Number: 2, Last: true, End: true, Raw: 1, Accepted: 1, Listings: cards("b")}, "", yp.InProgress)
	g.brings(t, c, yp.Page{NextURL: "/3"}, "b")
	g.brings(t, c, yp.Page{Last: true, End: true}, "c")
	k := checkpoint.New(storetest.Open(t))
	g.replay(t, k, g.events)
	same(t, "gone", table(t, k.DB(), goneRows), []string{""})
}
