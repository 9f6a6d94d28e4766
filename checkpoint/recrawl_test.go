package checkpoint_test

import (
	"errors"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// TestRecrawlKeepsTheGap: what is crawled again on demand starts two minutes after its
// last crawl did, and not a millisecond earlier; it is counted meanwhile, and nothing
// else has to be said for it to be crawled then.
func TestRecrawlKeepsTheGap(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	b.scope.CategoryIDs = b.cats[:1]
	began := clock.now()
	b.again(t, checkpoint.Page{Last: true, End: true, Listings: cards("a")})
	clock.move(3 * time.Second)
	if n, err := b.Recrawl(t.Context(), b.scope, 0); err != nil || n != 1 {
		t.Fatalf("%d targets are crawled again (%v), want 1", n, err)
	}
	waits := func(want int64) {
		t.Helper()
		n, until, err := b.InGap(t.Context(), b.scope)
		if err != nil || n != want || want > 0 && !until.Equal(began.Add(yp.MinCrawlGap)) {
			t.Errorf("%d wait until %s (%v), want %d until 2 minutes after %s", n, stamp(until), err, want, stamp(began))
		}
	}
	claimable := func(want bool) {
		t.Helper()
		if _, err := b.Wake(t.Context(), b.scope); err != nil {
			t.Fatal(err)
		}
		_, err := b.Claim(t.Context(), b.worker(0), b.scope, 5)
		if want && err != nil || !want && !errors.Is(err, checkpoint.ErrNothing) {
			t.Errorf("%s after the last crawl began: claimed with %v", clock.now().Sub(began), err)
		}
	}
	waits(1)
	claimable(false)
	if o := b.outlook(t, 1, 5*time.Minute); !o.Next.Equal(began.Add(yp.MinCrawlGap)) {
		t.Errorf("the next falls due %s", stamp(o.Next))
	}
	clock.move(yp.MinCrawlGap - 3*time.Second - time.Millisecond)
	waits(1)
	claimable(false)
	clock.move(time.Millisecond)
	waits(0)
	claimable(true)
}

// TestInGap: only what waits for the gap and for nothing else is counted.
func TestInGap(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 4, "CA") // 8 targets
	at := func(d time.Duration) string { return "'" + yp.FormatTime(clock.now().Add(d)) + "'" }
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', next_crawl_at = `+at(-time.Second)+`, gap_until = `+at(time.Minute),
		`UPDATE targets SET gap_until = `+at(2*time.Minute)+` WHERE id = 1`,
		`UPDATE targets SET gap_until = `+at(2*time.Minute+time.Millisecond)+` WHERE id = 2`, // a clock that was set back
		`UPDATE targets SET next_crawl_at = `+at(time.Hour)+` WHERE id = 3`,
		`UPDATE targets SET enabled = 0 WHERE id = 4`, `UPDATE targets SET crawl_status = 'paused' WHERE id = 5`, `UPDATE targets SET retired_at = 'x' WHERE id = 6`)
	n, until, err := b.InGap(t.Context(), b.scope)
	if err != nil || n != 3 || !until.Equal(clock.now().Add(2*time.Minute)) {
		t.Errorf("%d until %s (%v), want 1, 7 and 8, for 2 minutes", n, stamp(until), err)
	}
}
