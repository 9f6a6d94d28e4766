package report_test

import (
	"testing"
	"time"
)

// TestGrowth: targets that are not done count with as many pages as those that are done have.
func TestGrowth(t *testing.T) {
	t.Parallel()
	b := setup(t, 5, "CA") // of two categories: ten searches
	g, err := b.Growth(t.Context(), time.Time{})
	noErr(t, err)
	if g.Targets != 10 || g.TargetsLeft() != 10 || g.PagesLeft() != 10 || g.Pages != 0 || g.Requests != 0 || g.Attempts != 0 {
		t.Errorf("at the beginning: %+v, %d targets and %d pages left", g, g.TargetsLeft(), g.PagesLeft())
	}
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', page_current = 3 WHERE id IN (SELECT id FROM targets ORDER BY id LIMIT 3)`,
		`UPDATE targets SET status = 'DONE', finished_at = 'x', page_current = 7 WHERE id = (SELECT max(id) FROM targets)`,
		`UPDATE runs SET pages = 40`,
		`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, metadata)
			SELECT id, 90, 1, 'w', 1, 0, 'x', 'x', 'released', '"' || printf('%.*c', 98, 'm') || '"' FROM targets`)
	g, err = b.Growth(t.Context(), time.Time{})
	noErr(t, err)
	if g.Pages != 16 || g.LoggedPages != 40 || g.TargetsLeft() != 6 || g.PagesLeft() != 24 || g.Attempts != 10 || g.StepBytes != 100 {
		t.Errorf("in the middle: %+v, %d targets and %d pages left; want 16, 40, 6, 24, 10 and 100", g, g.TargetsLeft(), g.PagesLeft())
	}
	// What is no page of results weighs as little as is said.
	execute(t, b.DB(), `INSERT INTO targets (source_id, kind, state, population, priority, max_pages, status, finished_at, page_current, created_at) VALUES
		(1, 'index', 'TX', 0, 0, 1, 'DONE', 'x', 20, 'x'), (1, 'index', 'WY', 0, 0, 1, 'PLANNED', NULL, 0, 'x')`)
	g, err = b.Growth(t.Context(), time.Time{})
	noErr(t, err)
	if read, logged, left := g.Weigh(0.5); read != 16+10 || logged != 26*40.0/36 || left != 24+10 {
		t.Errorf("weighed: %g read, %g logged, %g left; want 26, 28.9, 34", read, logged, left)
	}
	// Runs that ended before the oldest log are not in the logs.
	if g, err = b.Growth(t.Context(), time.Now().Add(time.Hour)); err != nil || g.LoggedPages != 0 {
		t.Errorf("of young logs: %d pages, %v", g.LoggedPages, err)
	}
	// What is kept for a time does not grow beyond what that time brings: 100 requests in two days.
	execute(t, b.DB(), `INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, result_count, latency_ms)
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
		SELECT 1, 'x', 'listing', 'u', iif(i < 99, '2026-11-01T00:00:00.000Z', '2026-11-03T00:00:00.000Z'), iif(i < 99, '2026-11-01T00:00:00.000Z', '2026-11-03T00:00:00.000Z'), 'success', 1, 1 FROM n`)
	g, err = b.Growth(t.Context(), time.Time{})
	noErr(t, err)
	if g.Requests != 100 || g.RequestDays != 2 || g.DaysLeft() != float64(g.PagesLeft())/50 {
		t.Errorf("requests: %+v, %g days left", g, g.DaysLeft())
	}
	if n := g.AtEnd(g.Requests, g.PagesLeft(), 14); n != 100+g.PagesLeft() {
		t.Errorf("a rest that is shorter than they are kept: %d rows at its end", n)
	}
	g.RequestDays = 2000
	if n := g.AtEnd(g.Requests, g.PagesLeft(), 14); n != 100 {
		t.Errorf("at a hundred requests in 2,000 days: %d rows", n)
	}
}
