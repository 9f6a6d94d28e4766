package checkpoint

import (
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestInspectPlans: to look at one target, or to change named ones, reads no table
// from end to end.
func TestInspectPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	whole := regexp.MustCompile(`(?m)SCAN (t|v|a|c|k|targets|crawl_attempts|requests|cities)$`)
	chosen := Chosen{IDs: []int64{1}}
	for name, c := range map[string]struct {
		query string
		args  []any
		want  string
	}{
		"show":       {showTarget, []any{1}, "SEARCH t USING INTEGER PRIMARY KEY"},
		"by id":      {targetByID, []any{1, 0}, "USING INTEGER PRIMARY KEY"},
		"by slugs":   {targetBySlugs, []any{"a", "b", 0}, "(source_id=? AND city_id=? AND category_id=?)"},
		"attempts":   {lastAttempts, []any{1, 5}, "(target_id=?)"},
		"requests":   {attemptRequests, []any{1, 1}, "requests_by_target (target_id=? AND claim_token=?)"},
		"last hour":  {recentPages, []any{1, "x"}, "requests_rollup (source_id=? AND finished_at>?)"},
		"different":  {recentListings, []any{1, "x"}, "crawl_attempts_by_end (finished_at>?)"},
		"listing":    {listingsByID, []any{"a", 0}, "(source_id=? AND listing_id=?)"},
		"last steps": {errorSummary, []any{0}, "crawl_attempts_by_end (finished_at>?)"},
		"backoff":    {backoffWaits, Scope{}.args("x"), "targets_backoff (backoff_until>?)"},
		"future":     {futureRows, []any{"x"}, "requests_rollup (source_id=? AND finished_at>?)"},
		"proxies":    {recentProxies, []any{1, "x"}, "requests USING INTEGER PRIMARY KEY (rowid>?)"},
		"pause":      {pauseTargets, chosen.args(db.Now(), "[1]"), "SEARCH t USING INTEGER PRIMARY KEY"},
		"requeue":    {requeueKeep, chosen.args(db.Now(), "[1]"), "USING INTEGER PRIMARY KEY"},
		"count":      {countGiven + canPause + chosenOnes, chosen.args(db.Now(), "[1]"), "USING INTEGER PRIMARY KEY"},
		"next":       {nextChosen + canPause + chosenOnes + inOrder, chosen.args(db.Now(), 7, 100), "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)"},
	} {
		plan := strings.Join(explain(t, db.Read(), c.query, c.args), "\n")
		if found := whole.FindString(plan); found != "" || !strings.Contains(plan, c.want) {
			t.Errorf("%s: %s; want %s in\n%s", name, found, c.want, plan)
		}
	}
}
