package checkpoint_test

import (
	"slices"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// TestReplayWithoutAPage: a crawl of which a page is missing in the logs has not ended. Its
// target is crawled on behind the page before, and is done when that crawl says so.
func TestReplayWithoutAPage(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	c := g.take(t, 0)
	g.page(t, c, false, 1, 2)
	g.page(t, c, false, 3, 4)
	g.page(t, c, true, 5, 6)
	g.log(wal.TargetComplete, c, nil, "", yp.Done)
	at := slices.IndexFunc(g.events, func(e *wal.Event) bool { return e.Page != nil && e.Page.Number == 2 })
	missing := slices.Delete(slices.Clone(g.events), at, at+1)
	state := `SELECT status, page_current, total_successes, (SELECT count(*) FROM listings) FROM targets`
	// At once, and in two parts: what is missing is remembered between them.
	for _, parts := range [][][]*wal.Event{{missing}, {missing[:len(missing)-1], missing[len(missing)-1:]}} {
		k := checkpoint.New(storetest.Open(t))
		for _, events := range parts {
			g.replay(t, k, events)
		}
		same(t, "without page 2", table(t, k.DB(), state), []string{"PLANNED|1|0|4"})
		g.replay(t, k, missing)
		same(t, "again", table(t, k.DB(), state), []string{"PLANNED|1|0|4"})
		var rest []*wal.Event
		for i, e := range g.events[at:] { // a later claim has read it, and the one behind it
			later := *e
			claim := *e.Target
			claim.ClaimToken++
			later.Target = &claim
			if i > 0 {
				later.Committed += 100
			}
			rest = append(rest, &later)
		}
		g.replay(t, k, rest)
		same(t, "with it", table(t, k.DB(), state), []string{"DONE|3|1|6"})
	}
}
