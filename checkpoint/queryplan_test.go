package checkpoint

import (
	"database/sql"
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// scanned matches a plan line that reads the whole table of targets, listings,
// companies or sightings.
var scanned = regexp.MustCompile(`SCAN (t|targets|l|listings|companies|sightings)( USING COVERING INDEX sqlite_autoindex_\w+)?$`)

// TestQueryPlans: what runs often reads an index that holds but what it is about,
// so that a million targets cost what a thousand do.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	scope := Scope{SourceID: 1, States: []string{"CA"}}
	_, anyArgs := claimStatement(scope, 5)
	byCategory := scope
	byCategory.CategoryIDs = []int64{1}
	_, categoryArgs := claimStatement(byCategory, 5)
	byCity := byCategory
	byCity.CityIDs = []int64{1}
	_, cityArgs := claimStatement(byCity, 5)
	claim := func(args []any) []any { return append([]any{"w", 1, "now"}, args...) }
	progress := []any{1, `["CA"]`}
	held := "INDEX targets_held"
	for _, c := range []struct {
		name, query string
		args        []any
		want        []string
	}{
		{"claim", claimAny, claim(anyArgs), []string{
			"SEARCH t USING COVERING INDEX targets_ready (source_id=? AND state=?)", "SEARCH targets USING INTEGER PRIMARY KEY", held,
		}},
		{"claim by category", claimCategory, claim(categoryArgs), []string{
			"SEARCH t USING COVERING INDEX targets_ready_category (source_id=? AND state=? AND category_id=?)",
			"SEARCH targets USING INTEGER PRIMARY KEY", held,
		}},
		{"claim by city", claimCity, claim(cityArgs), []string{
			"SEARCH t USING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=?)", "SEARCH targets USING INTEGER PRIMARY KEY", held,
		}},
		{"advance", advancePage, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"complete", completeTarget, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"heartbeat", beatTargets, nil, []string{held}},
		{"release of a run", releaseRun, nil, []string{held}},
		{"recover runs", recoverRuns, nil, []string{held}},
		{"recover stale", recoverStale, nil, []string{held}},
		{"list runs", listRuns, nil, []string{held, "INDEX runs_alive"}},
		{"wake failed", wakeFailed, nil, []string{"INDEX targets_backoff (backoff_until<?)"}},
		{"wake done", wakeDone, nil, []string{"INDEX targets_due (next_crawl_at<?)"}},
		{"next due", nextDue, nil, []string{"INDEX targets_backoff"}},
		{"ready", countReady, nil, []string{"INDEX targets_ready"}},
		{"plan: deepen", deepenDone, nil, []string{"SEARCH t USING COVERING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=? AND category_id=?)"}},
		{"plan: pages", setPages, nil, []string{"SEARCH t USING COVERING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=? AND category_id=?)"}},
		{"plan: cities", cityIDs, nil, []string{"SEARCH c USING COVERING INDEX"}},
		{"progress: states", stateCounts, progress, nil},
		{"progress: listings", listingCounts, progress, nil},
		{"progress: companies", companyCounts, progress, nil},
		{"progress: workers", holders, progress, []string{held}},
		{"progress: errors", troubles, progress, []string{"INDEX targets_troubled"}},
		{"progress: runs", liveRuns, progress, []string{"INDEX runs_alive"}},
		{"replay: state", replayState, nil, []string{"SEARCH sightings USING PRIMARY KEY (target_id=?)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := c.args
			if args == nil {
				args = make([]any, parameters(c.query))
			}
			plan := explain(t, db.Read(), c.query, args)
			for _, line := range plan {
				if scanned.MatchString(line) {
					t.Errorf("reads a whole table: %s", line)
				}
			}
			all := strings.Join(plan, "\n")
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("the plan lacks %q:\n%s", want, all)
				}
			}
		})
	}
}

var numbered = regexp.MustCompile(`\?(\d)`)

// parameters is how many arguments query takes.
func parameters(query string) int {
	n := 0
	for _, m := range numbered.FindAllStringSubmatch(query, -1) {
		n = max(n, int(m[1][0]-'0'))
	}
	return n + strings.Count(numbered.ReplaceAllString(query, ""), "?")
}

func explain(t *testing.T, pool *sql.DB, query string, args []any) (lines []string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
