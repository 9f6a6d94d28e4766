package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestResetFilters: six targets in trouble, three of which wait PLANNED after a first
// failure.
func TestResetFilters(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 5, "CA") // 10 targets
	ctx := t.Context()
	for i, code := range []yp.ErrorCode{yp.CodeTimeout, yp.CodeBlockedProxy, yp.CodeTimeout, yp.CodeTimeout, yp.CodeNetworkError} {
		c := b.claim(t, i)
		if i >= 3 { // the third in a row
			execute(t, b.DB(), `UPDATE targets SET consecutive_failures = 2 WHERE status = 'IN_PROGRESS'`)
		}
		if _, err := b.Fail(ctx, c, code, "x"); err != nil {
			t.Fatal(err)
		}
		clock.Move(time.Hour)
	}
	noErr(t, b.Park(ctx, b.claim(t, 5), yp.CodeTimeout, "x"))
	execute(t, b.DB(), `UPDATE targets SET total_attempts = 9 WHERE id = 1`, `UPDATE targets SET status = 'STUCK', finished_at = 'x' WHERE id = 10`)
	same(t, "in trouble", table(t, b.DB(), `SELECT status, count(*) FROM targets WHERE finished_at IS NOT NULL GROUP BY 1`), []string{"FAILED|2", "PARKED|1", "PLANNED|3", "STUCK|1"})
	for _, c := range []struct {
		name  string
		reset checkpoint.Chosen
		want  int
	}{
		{"all failed", checkpoint.Chosen{}, 5},
		{"parked", checkpoint.Chosen{Statuses: []yp.Status{yp.Parked}}, 1},
		{"stuck", checkpoint.Chosen{Statuses: []yp.Status{yp.Stuck}}, 1},
		{"all three", checkpoint.Chosen{Statuses: []yp.Status{yp.Parked, yp.Failed, yp.Stuck}}, 7},
		{"by code", checkpoint.Chosen{Error: yp.CodeTimeout}, 3},
		{"by another code", checkpoint.Chosen{Error: yp.CodeNetworkError}, 1},
		{"by code and status", checkpoint.Chosen{Error: yp.CodeTimeout, Statuses: []yp.Status{yp.Parked}}, 1},
		{"few attempts", checkpoint.Chosen{MaxAttempts: new(8)}, 4},
		{"no attempt at all", checkpoint.Chosen{MaxAttempts: new(0)}, 0},
		{"stuck by hand, with no attempt at all", checkpoint.Chosen{MaxAttempts: new(0), Statuses: []yp.Status{yp.Failed, yp.Stuck}}, 1},
		{"old", checkpoint.Chosen{OlderThan: 3 * time.Hour}, 2}, // they failed five and four hours ago, and three, to the millisecond
		{"older", checkpoint.Chosen{OlderThan: 8 * time.Hour}, 0},
		{"in a city", checkpoint.Chosen{Scope: store.Scope{CityIDs: []int64{1}}}, 2},
		{"elsewhere", checkpoint.Chosen{Scope: store.Scope{States: []string{"TX"}}}, 0},
	} {
		storetest.Equal(t, b.chosen(t, checkpoint.Reset, c.reset), c.want, c.name)
	}
	for _, s := range []yp.Status{yp.Done, yp.InProgress, yp.Planned} {
		if _, err := b.Operate(ctx, checkpoint.Reset, checkpoint.Chosen{Statuses: []yp.Status{s}}); err == nil {
			t.Errorf("%s was reset", s)
		}
	}
	storetest.Equal(t, b.operate(t, checkpoint.Reset, checkpoint.Chosen{Error: yp.CodeTimeout}), 3, "targets changed")
	storetest.Equal(t, b.chosen(t, checkpoint.Reset, checkpoint.Chosen{}), 2, "left")
}
