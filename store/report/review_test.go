package report_test

import (
	"errors"
	"fmt"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

func reviewText(r *report.Review) (out []string) {
	for _, c := range r.Changes {
		out = append(out, fmt.Sprintf("%d %s %s %s %v", c.Event, c.Kind, c.ListingID, c.Name, c.Reasons))
	}
	return append(out, fmt.Sprintf("%d dropped, %d restored, %d rejected, mark %d, %d more", r.Dropped, r.Restored, r.Rejected, r.Mark, r.More))
}

// TestReview: what came since the last review is listed, and what comes while the list is
// open is left for the next one.
func TestReview(t *testing.T) {
	t.Parallel()
	b := told(t) // events 4 to 6 are to be reviewed
	review := func(limit int) *report.Review {
		t.Helper()
		r, err := b.Review(t.Context(), 0, limit)
		noErr(t, err)
		counts, err := b.ToReview(t.Context())
		noErr(t, err)
		if counts != r.ToReview {
			t.Errorf("counted %+v, listed %+v", counts, r.ToReview)
		}
		return r
	}
	mark := func(event int64, want bool) {
		t.Helper()
		if got, err := b.DB().MarkReviewed(t.Context(), event, store.ReviewedByCommand); got != want || err != nil {
			t.Errorf("mark %d: %v, %v; want %v", event, got, err, want)
		}
	}
	whole := []string{"4 dropped b Best []", "5 restored b Best []", "6 rejected c  [no name id: odd]"}
	same(t, "never reviewed", reviewText(review(0)), append(whole, "1 dropped, 1 restored, 1 rejected, mark 6, 0 more"))
	some := review(2)
	same(t, "the first ones", reviewText(some), append(whole[:2:2], "1 dropped, 1 restored, 1 rejected, mark 5, 1 more"))
	if !some.Since.IsZero() {
		t.Errorf("reviewed %s", some.Since)
	}

	open := review(0)
	execute(t, b.DB(), `INSERT INTO listing_events (at, kind, source_id, listing, company_id) VALUES ('2026-11-20T17:00:00.000Z', 'dropped', 1, 1, 7), ('2026-11-20T17:00:00.000Z', 'completed', 1, 1, 7)`)
	again, err := b.Review(t.Context(), open.Mark, 0)
	noErr(t, err)
	same(t, "the same list again", reviewText(again), append(whole, "2 dropped, 1 restored, 1 rejected, mark 6, 0 more"))
	if again.Later != 1 || open.Later != 0 {
		t.Errorf("%d came later, want 1; %d before, want 0", again.Later, open.Later)
	}
	mark(some.Mark, true)
	mark(open.Mark, true)
	mark(open.Mark, false) // a second reviewer of the same list
	mark(some.Mark, false) // and one of an older list: the mark never goes back
	left := review(0)
	same(t, "came meanwhile", reviewText(left), []string{"7 dropped a Acme []", "1 dropped, 0 restored, 0 rejected, mark 8, 0 more"})
	if left.Since.IsZero() {
		t.Error("when it was reviewed is not known")
	}
	mark(left.Mark, true)
	same(t, "none is left", reviewText(review(0)), []string{"0 dropped, 0 restored, 0 rejected, mark 8, 0 more"})
	same(t, "reviews", table(t, b.DB(), `SELECT event, by FROM reviews ORDER BY id`), []string{"5|command", "6|command", "8|command"})

	for _, event := range []int64{-1, 9, 1 << 60} {
		var refused *store.RefusedError
		if _, err := b.DB().MarkReviewed(t.Context(), event, store.ReviewedByPage); !errors.As(err, &refused) {
			t.Errorf("mark %d: %v, want it refused", event, err)
		}
	}
}
