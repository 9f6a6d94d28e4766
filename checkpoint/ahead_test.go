package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// TestAhead: what is due is counted by what it is, up to the limit.
func TestAhead(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA", "TX")
	scope := b.scope
	scope.Kinds = []yp.Kind{yp.KindSearch}
	ahead := func(limit int) checkpoint.Ahead {
		t.Helper()
		a, err := b.Ahead(t.Context(), scope, limit)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if got, want := ahead(1000), (checkpoint.Ahead{Due: 12, New: 12, Cities: 6}); got != want {
		t.Errorf("at first %+v, want %+v", got, want)
	}
	execute(t, b.DB(), `UPDATE targets SET total_attempts = 1, page_current = 1 WHERE id = 1`, `UPDATE targets SET paused = 1 WHERE id = 2`)
	if got, want := ahead(1000), (checkpoint.Ahead{Due: 11, New: 10, Resumed: 1, Cities: 6}); got != want {
		t.Errorf("then %+v, want %+v", got, want)
	}
	if got := ahead(2); got.Due != 2 {
		t.Errorf("up to 2: %+v", got)
	}
}

// TestPassRemembersListings: a pass knows how many listings its searches had shown before it,
// also when a later run goes on with it.
func TestPassRemembersListings(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA") // 4 targets
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = created_at, last_success_at = created_at, crawl_started_at = created_at, raw_count = 30, accepted_count = 30`,
		`UPDATE targets SET retired_at = created_at WHERE id = 4`)
	clock.Move(time.Hour)
	begin := func(goesOn bool) {
		t.Helper()
		p, err := b.run.BeginPass(t.Context(), b.scope, new(time.Duration))
		if err != nil || p.Listings != 90 || p.GoesOn != goesOn {
			t.Errorf("got %+v, %v", p, err)
		}
	}
	begin(false)
	execute(t, b.DB(), `UPDATE targets SET accepted_count = 1 WHERE id = 1`)
	clock.Move(time.Minute)
	begin(true)
}
