package report_test

import "testing"

// TestGrowth: targets that are not done count with as many pages as those that are done have.
func TestGrowth(t *testing.T) {
	t.Parallel()
	b := setup(t, 5, "CA") // of two categories: ten searches
	g, err := b.Growth(t.Context())
	noErr(t, err)
	if g.Targets != 10 || g.TargetsLeft() != 10 || g.PagesLeft() != 10 || g.Pages != 0 || g.Requests != 0 || g.Attempts != 0 {
		t.Errorf("at the beginning: %+v, %d targets and %d pages left", g, g.TargetsLeft(), g.PagesLeft())
	}
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', finished_at = 'x', page_current = 3 WHERE id IN (SELECT id FROM targets ORDER BY id LIMIT 3)`,
		`UPDATE targets SET status = 'DONE', finished_at = 'x', page_current = 7 WHERE id = (SELECT max(id) FROM targets)`,
		`UPDATE runs SET pages = 40`,
		`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, metadata)
			SELECT id, 90, 1, 'w', 1, 0, 'x', 'x', 'released', '"' || printf('%.*c', 98, 'm') || '"' FROM targets`)
	g, err = b.Growth(t.Context())
	noErr(t, err)
	if g.Pages != 16 || g.LoggedPages != 40 || g.TargetsLeft() != 6 || g.PagesLeft() != 24 || g.Attempts != 10 || g.StepBytes != 100 {
		t.Errorf("in the middle: %+v, %d targets and %d pages left; want 16, 40, 6, 24, 10 and 100", g, g.TargetsLeft(), g.PagesLeft())
	}
	// What is no page of results weighs as little as is said.
	execute(t, b.DB(), `INSERT INTO targets (source_id, kind, state, population, priority, max_pages, status, finished_at, page_current, created_at) VALUES
		(1, 'index', 'TX', 0, 0, 1, 'DONE', 'x', 20, 'x'), (1, 'index', 'WY', 0, 0, 1, 'PLANNED', NULL, 0, 'x')`)
	g, err = b.Growth(t.Context())
	noErr(t, err)
	if read, logged, left := g.Weigh(0.5); read != 16+10 || logged != 40+10 || left != 24+10 {
		t.Errorf("weighed: %g read, %g logged, %g left; want 26, 50, 34", read, logged, left)
	}
}
