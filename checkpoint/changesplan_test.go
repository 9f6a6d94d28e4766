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
			[]string{"SEARCH e USING INDEX listing_events_by_time (at>?)", "SEARCH l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "(source_id=? AND listing_id=?)"},
			[]string{"SCAN e", "SCAN l", "SCAN r", "SCAN g", "TEMP B-TREE FOR ORDER BY"},
		},
		"count":      {countChanges, f.args(), []string{"listing_events_by_time (at>?)"}, []string{"SCAN e", "SCAN l", "SCAN g", "SCAN r"}},
		"count fast": {countPlain, f.args()[:2], []string{"listing_events_by_time (at>?)"}, []string{"SCAN e"}},
		"history":    {listHistory, []any{1, 1, "a"}, []string{"listing_events_by_listing (listing<?)", "listing_events_by_listing (listing=?)"}, []string{"SCAN e", "SCAN l", "SCAN listing_events"}},
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
