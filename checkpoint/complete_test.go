package checkpoint_test

import (
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// oneTarget is a target alone, and the listings that its site would show.
func oneTarget(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, 1, "CA")
	b.scope.CategoryIDs = b.cats[:1]
	return b
}

// due makes what is done claimable at once, the gap between two crawls or not.
func (b *bundle) due(t *testing.T) {
	t.Helper()
	execute(t, b.DB(), `UPDATE targets SET wait_reason = 'recrawl', not_before = '2026-01-01T00:00:00.000Z' WHERE status = 'DONE' AND kind = 'search'`)
	b.wake(t, b.scope)
}

// again makes the target due at once and commits one page of its next crawl.
func (b *bundle) again(t *testing.T, p yp.Page) checkpoint.Committed {
	t.Helper()
	b.due(t)
	p.Number, p.Raw = 1, max(p.Raw, len(p.Listings))
	out, err := b.CommitPage(t.Context(), b.claim(t, 0), p)
	noErr(t, err)
	return out
}

const goneRows = `SELECT group_concat(listing_id, ' ') FROM (SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY 1)`

// TestCompleteCrawls: which crawls prove that what they did not meet is not there.
func TestCompleteCrawls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page     yp.Page
		complete bool
	}{
		"the site ends the list":               {yp.Page{Last: true, Ending: yp.EndSaid, Listings: cards("a")}, true},
		"the limit of pages ends it":           {yp.Page{Last: true, Listings: cards("a")}, false},
		"all that the site says it has":        {yp.Page{Last: true, Ending: yp.EndSaid, SiteTotal: 20, Raw: 19, Listings: cards("a")}, true},
		"the site says that it has more":       {yp.Page{Last: true, Ending: yp.EndTooFew, SiteTotal: 20, Raw: 18, Listings: cards("a")}, false},
		"a card could not be read":             {yp.Page{Last: true, Ending: yp.EndSaid, Bad: 1, Listings: cards("a")}, false},
		"a card breaks a rule and is no other": {yp.Page{Last: true, Ending: yp.EndSaid, Listings: cards("a"), Rejected: []yp.Rejection{{Listing: cards("x")[0], Reasons: []string{"id"}}}}, true},
		"the page that no link leads on from":  {yp.Page{Last: true, Ending: yp.EndSaid}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := oneTarget(t)
			b.again(t, yp.Page{Last: true, Ending: yp.EndSaid, Listings: cards("a", "b")})
			for range 2 {
				if out := b.again(t, c.page); !out.Done {
					t.Fatal("the crawl is not done")
				}
			}
			gone := table(t, b.DB(), goneRows)[0]
			storetest.Equal(t, strings.Contains(gone, "b"), c.complete, "b is gone")
			storetest.Equal(t, table(t, b.DB(), `SELECT complete_at IS NOT NULL AND complete_at = finished_at FROM targets WHERE claim_token > 0`)[0] == "1", c.complete, "complete_at is that of the last crawl")
		})
	}
}

// TestCompleteByAnEmptyPage: a page beyond the end, or one that says that there is nothing, ends
// a crawl as well; the limit of pages does not.
func TestCompleteByAnEmptyPage(t *testing.T) {
	t.Parallel()
	for _, confirmed := range []bool{true, false} {
		b := oneTarget(t)
		b.again(t, yp.Page{Last: true, Ending: yp.EndSaid, Listings: cards("a", "b")})
		for range 2 {
			b.due(t)
			c := b.claim(t, 0)
			b.save(t, c, yp.Page{Number: 1, NextURL: "/2", Raw: 1, Listings: cards("a")})
			noErr(t, b.Complete(t.Context(), c, "", "", checkpoint.End{How: map[bool]yp.Ending{true: yp.EndSaid, false: yp.EndNoWord}[confirmed]}))
		}
		storetest.Equal(t, table(t, b.DB(), goneRows)[0] == "b", confirmed, "b is gone")
		same(t, "counted with the run", table(t, b.DB(), `SELECT sum(listings_dropped) FROM runs`), table(t, b.DB(), `SELECT sum(action = 'dropped') FROM promotion_log`))
	}
}

// TestCompleteInOneGo: a crawl that was interrupted for long, or goes on deeper days
// later, has seen two states of its source: what it missed may just have moved up.
func TestCompleteInOneGo(t *testing.T) {
	t.Parallel()
	for _, rest := range []time.Duration{time.Hour, checkpoint.IndexRest + time.Hour} {
		b, clock := setupClock(t, 1, "CA")
		b.scope.CategoryIDs = b.cats[:1]
		b.again(t, yp.Page{Last: true, Ending: yp.EndSaid, Listings: cards("a", "b")})
		for range 2 {
			clock.Move(time.Hour)
			b.again(t, yp.Page{NextURL: "/2", Last: true, Listings: cards("a")})
			execute(t, b.DB(), `UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL WHERE status = 'DONE'`)
			clock.Move(rest)
			b.save(t, b.claim(t, 0), yp.Page{Number: 2, Last: true, Ending: yp.EndSaid, Raw: 1, Listings: cards("c")})
		}
		if gone, want := table(t, b.DB(), goneRows)[0] == "b", rest < checkpoint.IndexRest; gone != want {
			t.Errorf("after a rest of %v: b is gone: %v, want %v", rest, gone, want)
		}
	}
}
