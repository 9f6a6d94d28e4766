package checkpoint

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// scanned matches a plan line that reads the whole table of targets, listings,
// companies, sightings, attempts or requests.
var scanned = regexp.MustCompile(`SCAN (t|targets|l|listings|companies|sightings|a|crawl_attempts|requests|w|workers)( USING COVERING INDEX sqlite_autoindex_\w+)?$`)

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
	chosen, byID := Chosen{IDs: []int64{1}}, []string{"SEARCH t USING INTEGER PRIMARY KEY"}
	held := "INDEX targets_held"
	inStates := []string{"SEARCH t USING INDEX targets_ready", "(source_id=? AND state=?)"} // either of the two
	inCategories := []string{"SEARCH t USING INDEX targets_ready_category (source_id=? AND state=? AND category_id=?)"}
	inCities := []string{"SEARCH t USING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=?)"}
	due := []string{"INDEX targets_backoff (backoff_until>? AND backoff_until<?)", "INDEX targets_due (next_crawl_at<?)"}
	waiting := []string{"INDEX targets_troubled (status=?)", "INDEX targets_backoff (backoff_until>?)"}
	for _, c := range []struct {
		name, query string
		args        []any
		want        []string
	}{
		{"claim", claimAny, claim(anyArgs), []string{
			"SEARCH t USING INDEX targets_ready (source_id=? AND state=?)", "SEARCH targets USING INTEGER PRIMARY KEY", held,
			"SEARCH o USING INTEGER PRIMARY KEY", "SEARCH p USING INTEGER PRIMARY KEY", "SEARCH h USING PRIMARY KEY (source_id=?)",
		}},
		{"claim by category", claimCategory, claim(categoryArgs), []string{
			"SEARCH t USING INDEX targets_ready_category (source_id=? AND state=? AND category_id=?)",
			"SEARCH targets USING INTEGER PRIMARY KEY", held,
			"SEARCH o USING INTEGER PRIMARY KEY", "SEARCH p USING INTEGER PRIMARY KEY", "SEARCH h USING PRIMARY KEY (source_id=?)",
		}},
		{"claim by city", claimCity, claim(cityArgs), []string{
			"SEARCH t USING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=?)", "SEARCH targets USING INTEGER PRIMARY KEY", held,
		}},
		{"advance", advancePage, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"complete", completeTarget, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"fail", failTarget, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"standing", standing, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"gate", sourceGate, nil, []string{"SEARCH s USING INTEGER PRIMARY KEY", "SEARCH p USING INTEGER PRIMARY KEY", "SEARCH h USING PRIMARY KEY (source_id=?)"}},
		{"workers: a page", countWorker, nil, []string{"INDEX sqlite_autoindex_workers_1 (run_id=? AND worker_id=?)"}},
		{"workers: a claim", countClaim, nil, []string{"INDEX sqlite_autoindex_workers_1 (run_id=? AND worker_id=?)"}},
		{"workers: heartbeat", beatWorkers, nil, []string{"INDEX sqlite_autoindex_workers_1 (run_id=?)"}},
		{"workers: dismiss", dismiss, nil, []string{"INDEX sqlite_autoindex_workers_1 (run_id=? AND worker_id=?)"}},
		{"workers: dismiss all", dismissAll, nil, []string{"INDEX sqlite_autoindex_workers_1 (run_id=?)"}},
		{"workers: dismiss the dead", dismissDead, nil, []string{"INDEX sqlite_autoindex_workers_1 (run_id=?)"}},
		{"heartbeat", beatTargets, nil, []string{held}},
		{"release of a run", releaseRun, nil, []string{held}},
		{"recover runs", recoverRuns, nil, []string{held}},
		{"recover stale", recoverStale, nil, []string{held}},
		{"list runs", listRuns, nil, []string{held, "INDEX runs_alive"}},
		{"wake waiting", wakeWaiting, nil, []string{"INDEX targets_backoff (backoff_until<?)", "INDEX targets_backoff (backoff_until>?)"}},
		{"wake lost", wakeLost, nil, []string{"INDEX targets_due (next_crawl_at>?)"}},
		{"wake done", wakeDone, nil, []string{"INDEX targets_due (next_crawl_at<?)"}},
		{"ready", countReady + ofStates + readyRipe, nil, inStates},
		{"ready by category", countReady + ofCategories + readyRipe, nil, inCategories},
		{"ready by city", countReady + ofCities + readyRipe, nil, inCities},
		{"ready anywhere", countReady + ofAll + readyRipe, nil, []string{"INDEX targets_ready"}},
		{"next due", nextDue + nextRipe + ofStates + nextInGap, nil, slices.Concat(inStates, due)},
		{"next due by category", nextDue + nextRipe + ofCategories + nextInGap, nil, slices.Concat(inCategories, due)},
		{"next due by city", nextDue + nextRipe + ofCities + nextInGap, nil, slices.Concat(inCities, due)},
		{"peek", peekTarget + ofStates + " LIMIT 1)", nil, inStates},
		{"peek by category", peekTarget + ofCategories + " LIMIT 1)", nil, inCategories},
		{"peek by city", peekTarget + ofCities + " LIMIT 1)", nil, inCities},
		{"reset: count", countReset, nil, waiting},
		{"reset", resetKeep, nil, waiting},
		{"reset from page 1", resetAnew, nil, waiting},
		{"plan: deepen", deepenDone, nil, []string{"SEARCH t USING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=? AND category_id=?)"}},
		{"plan: pages", setPages, nil, []string{"SEARCH t USING INDEX sqlite_autoindex_targets_1 (source_id=? AND city_id=? AND category_id=?)"}},
		{"plan: cities", cityIDs, nil, []string{"SEARCH c USING COVERING INDEX"}},
		{"operate: pause", pauseTargets, chosen.args(db.Now(), "[1]"), byID},
		{"operate: requeue", requeueKeep, chosen.args(db.Now(), "[1]"), byID},
		{"operate: count", countGiven + canPause + chosenOnes, chosen.args(db.Now(), "[1]"), byID},
		{"operate: next", nextChosen + canPause + chosenOnes + inOrder, chosen.args(db.Now(), 7, 100), []string{"SEARCH t USING INTEGER PRIMARY KEY (rowid>?)"}},
		{"replay: state", replayStand, nil, []string{"SEARCH r USING PRIMARY KEY (target_id=? AND database_id=?)"}},
		{"replay: unknown listings", selectUnknown, nil, []string{"USING COVERING INDEX sqlite_autoindex_listings_1 (source_id=? AND listing_id=?)"}},
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

// TestClaimReadsTheIndexAlone: the search for the best target reads no row of the
// table, only the index: the row of the one that it takes is read by its key. (The
// plan says INDEX, not COVERING INDEX: the index does not hold the columns of its own
// condition, and need not.)
func TestClaimReadsTheIndexAlone(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	for name, query := range map[string]string{"any": claimAny, "by category": claimCategory} {
		ops := program(t, db.Read(), query)
		sought := map[int]bool{} // cursors of the table that the index would move, if somebody read a column of theirs
		for _, o := range ops {
			if o.name == "DeferredSeek" {
				sought[o.p3] = true
			}
		}
		if len(sought) != 1 {
			t.Errorf("%s: %d searches, want one", name, len(sought))
		}
		for i, o := range ops {
			if sought[o.p1] && slices.Contains([]string{"Column", "Rowid", "SeekRowid", "NotExists", "FinishSeek", "Rewind", "Next"}, o.name) {
				t.Errorf("%s: step %d is %s of the table", name, i, o.name)
			}
		}
	}
}

type op struct {
	name   string
	p1, p3 int
}

// program lists the steps of SQLite's machine for a query.
func program(t *testing.T, pool *sql.DB, query string) (ops []op) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), "EXPLAIN "+query, make([]any, parameters(query))...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var o op
		var addr, p2, p5 int
		var p4, comment sql.NullString
		if err := rows.Scan(&addr, &o.name, &o.p1, &p2, &o.p3, &p4, &p5, &comment); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, o)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ops
}

var explain, parameters = storetest.Explain, storetest.Parameters
