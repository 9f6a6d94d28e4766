package checkpoint

import (
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

var scannedDetails = regexp.MustCompile(`SCAN (d|details|l|listings)( USING (COVERING )?INDEX details_ready)?$`)

// TestDetailQueryPlans: what runs often reads an index that holds but what it is about,
// so that a million details cost what a thousand do.
func TestDetailQueryPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	fresh := "SEARCH d USING INDEX details_ready (source_id=? AND due_at=? AND listing>?)"
	due := "SEARCH d USING INDEX details_ready (source_id=? AND due_at>? AND due_at<?)"
	byID, held := "SEARCH details USING INTEGER PRIMARY KEY", "details USING INDEX details_held"
	for _, c := range []struct {
		name, query string
		want        []string
	}{
		{"claim", claimDetail, []string{fresh, due, byID, "SEARCH l USING INTEGER PRIMARY KEY"}},
		{"end of a window", barrenEnd, []string{fresh, due}},
		{"look", countDetails, []string{fresh, due}},
		{"next", nextDetail, []string{"INDEX details_ready (source_id=? AND due_at>? AND due_at<?)"}},
		{"peek", peekDetail, []string{fresh, due}},
		{"plan a page", planDetails, []string{"SEARCH l USING INDEX sqlite_autoindex_listings_1 (source_id=? AND listing_id=?)", "SEARCH d USING INTEGER PRIMARY KEY"}},
		{"sweep", sweep, []string{"SEARCH l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}},
		{"retime", retimeDetails, []string{"INDEX details_ready (source_id=? AND due_at>?)", byID}},
		{"fail", failDetail, []string{byID}},
		{"standing", detailStanding, []string{byID}},
		{"release", releaseDetail, []string{byID}},
		{"recover: dead", recoverDetailRuns, []string{held}},
		{"recover: stale", recoverDetailStale, []string{held}},
		{"hand back", releaseDetails, []string{held + " (run_id=?)"}},
		{"beat", beatDetails, []string{held + " (run_id=?)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := explain(t, db.Read(), c.query, make([]any, parameters(c.query)))
			all := strings.Join(plan, "\n")
			for _, line := range plan {
				if scannedDetails.MatchString(line) || strings.Contains(line, "USE TEMP B-TREE") {
					t.Errorf("reads or sorts too much: %s", line)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("the plan lacks %q:\n%s", want, all)
				}
			}
		})
	}
}
