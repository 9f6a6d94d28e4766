package checkpoint_test

import (
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
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
		if n, err := b.CountChosen(ctx, checkpoint.Reset, c.reset); err != nil || n != c.want {
			t.Errorf("%s: %d (%v), want %d", c.name, n, err, c.want)
		}
	}
	for _, s := range []yp.Status{yp.Done, yp.InProgress, yp.Planned} {
		if _, err := b.Operate(ctx, checkpoint.Reset, checkpoint.Chosen{Statuses: []yp.Status{s}}); err == nil {
			t.Errorf("%s was reset", s)
		}
	}
	if n, err := b.Operate(ctx, checkpoint.Reset, checkpoint.Chosen{Error: yp.CodeTimeout}); err != nil || n != 3 {
		t.Errorf("reset %d (%v), want 3", n, err)
	}
	if n, err := b.CountChosen(ctx, checkpoint.Reset, checkpoint.Chosen{}); err != nil || n != 2 {
		t.Errorf("left are %d (%v), want 2", n, err)
	}
}

// TestResetEndsEveryWait: an operator's word ends the short backoff, the rest
// and the count; a pause is another word of the operator's.
func TestResetEndsEveryWait(t *testing.T) {
	t.Parallel()
	for _, o := range []checkpoint.Operation{checkpoint.Reset, checkpoint.ResetFromPage1} {
		b, clock := setupClock(t, 3, "CA") // 6 targets
		until := "'" + yp.FormatTime(clock.Now().Add(time.Minute)) + "'"
		execute(t, b.DB(),
			`UPDATE targets SET page_current = 2, raw_count = 60, next_page_url = '/3', recoveries = 2, consecutive_failures = 1, last_error_code = 'TIMEOUT', finished_at = 'x'`,
			`UPDATE targets SET wait_reason = 'backoff', not_before = `+until+` WHERE id = 1`,
			`UPDATE targets SET wait_reason = 'backoff', not_before = `+until+`, paused = 1 WHERE id = 2`,
			`UPDATE targets SET status = 'FAILED', backoff_level = 3, wait_reason = 'backoff', not_before = `+until+` WHERE id = 3`,
			`UPDATE targets SET status = 'PARKED', backoff_level = 5 WHERE id = 4`,
			`UPDATE targets SET status = 'STUCK' WHERE id = 5`)
		n, err := b.Operate(t.Context(), o, checkpoint.Chosen{Statuses: []yp.Status{yp.Failed, yp.Stuck, yp.Parked}})
		if err != nil || n != 5 {
			t.Errorf("reset %d (%v), want 5", n, err)
		}
		progress := "2|60|/3"
		if o == checkpoint.ResetFromPage1 {
			progress = "0|0|"
		}
		const q = `SELECT status, crawl_status, consecutive_failures, backoff_level, not_before, auto_disabled, wait_reason, finished_at, recoveries, page_current, raw_count, next_page_url
			FROM targets JOIN (SELECT id, crawl_status, auto_disabled FROM v_crawler_status) USING (id) WHERE id < 6 ORDER BY id`
		row := "|0|0||0|||0|" + progress
		same(t, "targets", table(t, b.DB(), q), []string{"PLANNED|active" + row, "PLANNED|paused" + row, "PLANNED|active" + row, "PLANNED|active" + row, "PLANNED|active" + row})
		same(t, "who waits for nothing is no failure", table(t, b.DB(), `SELECT page_current FROM targets WHERE id = 6`), []string{"2"})
		for range 4 {
			b.claim(t, 0)
		}
	}
}
