package checkpoint

import (
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestWalkQueryPlans: what a walk does with a page reads what the page is about, however
// many cities and targets there are.
func TestWalkQueryPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	targets := "SEARCH targets USING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=?)"
	for name, c := range map[string]struct {
		query string
		want  []string
	}{
		"count":      {countFound, []string{"SEARCH c USING COVERING INDEX sqlite_autoindex_cities_1 (slug=?)", "SEARCH x USING PRIMARY KEY (source_id=? AND city_id=?)"}},
		"upsert":     {upsertFound, []string{"SEARCH c USING COVERING INDEX sqlite_autoindex_cities_1 (slug=?)"}},
		"bring back": {bringBack, []string{targets}},
		"retire":     {retireGone, []string{targets, "cities_by_state (state=?)"}},
		"mark":       {markGone, []string{"SEARCH source_cities USING PRIMARY KEY (source_id=? AND city_id=?)", "cities_by_state (state=?)"}},
		"advance":    {advanceWalk, []string{"SEARCH discoveries USING INTEGER PRIMARY KEY (rowid=?)"}},
		"begin":      {beginWalk, []string{"SEARCH discoveries USING INDEX sqlite_autoindex_discoveries_1 (source_id=? AND state=?)"}},
		"plan":       {insertTargets, []string{"SEARCH x USING PRIMARY KEY (source_id=? AND city_id=?)", "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := explain(t, db.Read(), c.query, make([]any, parameters(c.query)))
			for _, want := range c.want {
				if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, want) }) {
					t.Errorf("no %q in\n%s", want, strings.Join(lines, "\n"))
				}
			}
		})
	}
}
