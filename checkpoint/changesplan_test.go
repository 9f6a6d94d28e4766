package checkpoint

import (
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// TestChangePlans: changes are read through the index of times, in its order, and what
// belongs to them through keys.
func TestChangePlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := ChangeFilter{Since: time.Now(), Scope: Scope{SourceID: 1, States: []string{"CA"}}, Kinds: ChangeKinds()[:1]}
	for name, c := range map[string]struct {
		query string
		args  []any
		want  []string
		never []string
	}{
		"list": {
			listChanges, f.args(50),
			[]string{"SEARCH p USING INDEX promotion_log_by_time (at>?)", "listing_changes_by_listing (listing=?)", "(source_id=? AND listing_id=?)"},
			[]string{"SCAN p", "SCAN l", "SCAN x", "SCAN g", "TEMP B-TREE FOR ORDER BY"},
		},
		"count":      {countChanges, f.args(), []string{"promotion_log_by_time (at>?)"}, []string{"SCAN p", "SCAN l", "SCAN g"}},
		"count fast": {countPlain, f.args()[:2], []string{"promotion_log_by_time (at>?)"}, []string{"SCAN p"}},
		"run":        {runByID, []any{1}, []string{"INTEGER PRIMARY KEY"}, []string{"SCAN"}},
		"last run":   {lastRun, nil, nil, []string{"TEMP B-TREE"}},
		"listing":    {showListing, []any{1, "a"}, []string{"(source_id=? AND listing_id=?)"}, []string{"SCAN"}},
	} {
		plan := strings.Join(explain(t, db.Read(), c.query, c.args), "\n")
		for _, want := range c.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%s: want %s in\n%s", name, want, plan)
			}
		}
		for _, never := range c.never {
			if strings.Contains(plan, never) {
				t.Errorf("%s: %s in\n%s", name, never, plan)
			}
		}
	}
}
