package checkpoint

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// scanned matches a plan line that reads the whole table of targets, listings,
// companies, sightings, attempts or requests.
var scanned = regexp.MustCompile(`SCAN (t|targets|l|listings|companies|sightings|a|crawl_attempts|requests|w|workers)( USING COVERING INDEX sqlite_autoindex_\w+)?$`)

// TestQueryPlans: what runs often reads an index that holds but what it is about,
// so that a million targets cost what a thousand do.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	scope := store.Scope{SourceID: 1, States: []string{"CA"}, Kinds: []yp.Kind{yp.KindSearch}}
	_, anyArgs := claimStatement(scope, 5)
	byCategory, anywhere := scope, store.Scope{SourceID: 1, Kinds: scope.Kinds}
	byCategory.CategoryIDs = []int64{1}
	_, categoryArgs := claimStatement(byCategory, 5)
	byCity := byCategory
	byCity.CityIDs = []int64{1}
	_, cityArgs := claimStatement(byCity, 5)
	claim := func(args []any) []any { return append([]any{"w", 1, "now"}, args...) }
	now := time.Now()
	inTrouble, troubledArgs := operations[Reset].where(Chosen{Statuses: []yp.Status{yp.Failed}}, now)
	byID, byIDArgs := operations[Pause].where(Chosen{IDs: []int64{1}}, now)
	held := "INDEX targets_held"
	inStates := []string{"SEARCH t USING INDEX targets_ready (source_id=? AND kind=? AND state=?)"}
	inCategories := []string{"SEARCH t USING INDEX targets_ready_category (source_id=? AND kind=? AND state=? AND category_id=?)"}
	inCities := []string{"SEARCH t USING INDEX targets_ready_city (source_id=? AND kind=? AND city_id=?)"}
	byKey := []string{"SEARCH t USING INDEX targets_of_search (source_id=? AND city_id=? AND category_id=?)"}
	ofCity := "SEARCH targets USING INDEX targets_of_search (source_id=? AND city_id=?)"
	waits := "INDEX targets_waiting (wait_reason=? AND not_before<?)"
	waiting := []string{"INDEX targets_troubled", "INDEX targets_waiting (wait_reason=? AND not_before>?)"}
	for _, c := range []struct {
		name, query string
		args        []any
		want        []string
	}{
		{"claim", claimAny, claim(anyArgs), []string{
			inStates[0], "SEARCH targets USING INTEGER PRIMARY KEY", held,
			"SEARCH sources USING INTEGER PRIMARY KEY", "SEARCH connectivity_profiles USING INTEGER PRIMARY KEY", "SEARCH h USING PRIMARY KEY (source_id=?)",
		}},
		{"claim by category", claimCategory, claim(categoryArgs), []string{
			inCategories[0], "SEARCH targets USING INTEGER PRIMARY KEY", held,
			"SEARCH sources USING INTEGER PRIMARY KEY", "SEARCH connectivity_profiles USING INTEGER PRIMARY KEY", "SEARCH h USING PRIMARY KEY (source_id=?)",
		}},
		{"claim by city", claimCity, claim(cityArgs), []string{
			inCities[0], "SEARCH targets USING INTEGER PRIMARY KEY", held,
		}},
		{"advance", advancePage, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"complete", completeTarget, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"fail", failTarget, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"standing", standing, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"gate", sourceAvailability, nil, []string{"SEARCH s USING INTEGER PRIMARY KEY", "SEARCH connectivity_profiles USING INTEGER PRIMARY KEY", "SEARCH h USING PRIMARY KEY (source_id=?)"}},
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
		{"wake waiting", wakeWaiting, nil, []string{waits, "INDEX targets_waiting (wait_reason=? AND not_before>?)"}},
		{"wake lost", wakeLost, nil, []string{"INDEX targets_waiting (wait_reason=? AND not_before>?)"}},
		{"wake out of the gap", wakeGap, nil, []string{"INDEX targets_waiting (wait_reason=? AND not_before>?)"}},
		{"wake done", wakeDone, nil, []string{waits}},
		{"ready", scope.Candidates(), nil, inStates},
		{"ready by category", byCategory.Candidates(), nil, inCategories},
		{"ready by city", byCity.Candidates(), nil, inCities},
		{"ready anywhere", anywhere.Candidates(), nil, []string{"INDEX targets_ready"}},
		{"next due", nextDue, nil, []string{waits}},
		{"peek", peekTarget, nil, []string{"SEARCH t USING INTEGER PRIMARY KEY"}},
		{"reset", `SELECT count(*) FROM targets t` + inTrouble, troubledArgs, waiting},
		{"plan: deepen", deepenDone, nil, byKey},
		{"plan: pages", setPages, nil, byKey},
		{"plan: cities", cityIDs, nil, []string{"SEARCH c USING COVERING INDEX"}},
		{"plan: targets", insertTargets, nil, []string{"SEARCH x USING PRIMARY KEY (source_id=? AND city_id=?)", "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)"}},
		{"index: plan", insertIndexes, nil, nil},
		{"index: renew", renewIndexes, nil, []string{"SEARCH t USING INDEX targets_of_index (source_id=?"}},
		{"index: count cities", countFound, nil, []string{"SEARCH c USING COVERING INDEX sqlite_autoindex_cities_1 (slug=? AND state=? AND country=?)", "SEARCH x USING PRIMARY KEY (source_id=? AND city_id=?)"}},
		{"index: save cities", upsertFound, nil, []string{"SEARCH c USING COVERING INDEX sqlite_autoindex_cities_1 (slug=? AND state=? AND country=?)"}},
		{"index: bring back", bringBack, nil, []string{ofCity}},
		{"index: mark", markRemoved, nil, []string{"SEARCH source_cities USING PRIMARY KEY (source_id=? AND city_id=?)", "cities_by_state (state=?)"}},
		{"index: retire", retireRemoved, nil, []string{ofCity, "cities_by_state (state=?)"}},
		{"index: its cities", listedCities, nil, []string{"SEARCH x USING PRIMARY KEY (source_id=? AND city_id=?)"}},
		{"index: was it read", statesRead, nil, []string{"SEARCH targets USING INDEX targets_of_index (source_id=? AND state=?)"}},
		{"details: plan a page", planDetails, nil, []string{"SEARCH l USING INDEX sqlite_autoindex_listings_1 (source_id=? AND listing_id=?)", "INDEX targets_of_detail (listing=?)"}},
		{"details: sweep", sweep, nil, []string{"SEARCH l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "INDEX targets_of_detail (listing=?)"}},
		{"details: of a listing that is gone", `UPDATE targets SET retired_at = ?1 WHERE listing = ?2`, nil, []string{"INDEX targets_of_detail (listing=?)"}},
		{"operate by id", `SELECT count(*) FROM targets t` + byID, byIDArgs, []string{"SEARCH t USING INTEGER PRIMARY KEY"}},
		{"replay: city", cityLogged, nil, []string{"USING COVERING INDEX source_cities_by_slug (source_id=? AND slug=?)"}},
		{"replay: claim", claimLogged, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"replay: begin", beginLogged, nil, []string{"SEARCH targets USING INTEGER PRIMARY KEY"}},
		{"logs: a search that is there", loggedSearch, nil, []string{"INDEX targets_of_search (source_id=? AND city_id=? AND category_id=?)"}},
		{"logs: an index that is there", loggedIndex, nil, []string{"INDEX targets_of_index (source_id=? AND state=?)"}},
		{"logs: a detail that is there", loggedOwnPage, nil, []string{"INDEX targets_of_detail (listing=?)"}},
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
	for name, query := range map[string]string{"any": claimAny, "by category": claimCategory, "by city": claimCity} {
		ops := program(t, db.Read(), query)
		sought := map[int]bool{} // cursors of the table that the index would move, if somebody read a column of theirs
		for _, o := range ops {
			if o.name == "DeferredSeek" {
				sought[o.p3] = true
			}
		}
		if len(sought) != 2 { // one for whether there is any
			t.Errorf("%s: %d searches, want two", name, len(sought))
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
	storetest.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var o op
		var addr, p2, p5 int
		var p4, comment sql.NullString
		storetest.NoError(t, rows.Scan(&addr, &o.name, &o.p1, &p2, &o.p3, &p4, &p5, &comment))
		ops = append(ops, o)
	}
	storetest.NoError(t, rows.Err())
	return ops
}

var explain, parameters = storetest.Explain, storetest.Parameters
