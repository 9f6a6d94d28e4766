package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// whole matches a plan line that reads a table from end to end of which there may be a
// million rows.
var whole = regexp.MustCompile(`(?m)SCAN (t|v|a|c|k|l|d|m|g|targets|listings|companies|cities|sightings|crawl_attempts|requests|listing_events|company_keys)` +
	`( USING (COVERING )?INDEX sqlite_autoindex_\w+)?$`)

// TestQueryPlans: what is asked often, or of one thing, reads an index that holds but what
// it is about, so that a million targets cost what a thousand do.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := ChangeFilter{Since: time.Now(), Scope: store.Scope{SourceID: 1, States: []string{"CA"}}, Kinds: ChangeKinds()[:1]}
	progress := []any{1, `["CA"]`}
	asked := func(name, filter, word string) string {
		choice := Choice{Columns: strings.Fields(Find(name).Show), Limit: 50, Values: map[string]any{}}
		if filter != "" {
			choice.Values[filter] = []string{word}
		}
		query, _, err := New(db).question(t.Context(), Find(name), choice)
		if err != nil {
			t.Fatal(err)
		}
		return query
	}
	part := func(name, sort string, stage int, at ...any) string {
		l, choice := Find(name), Choice{Columns: strings.Fields(Find(name).Show), Sort: sort}
		query, _, err := New(db).questionIn(t.Context(), l, choice, l.stagesOf(choice)[stage], at, 101)
		if err != nil {
			t.Fatal(err)
		}
		return query
	}
	status := func(name string) string {
		return statusParts[slices.IndexFunc(statusParts, func(p Part) bool { return p.Name == name })].Query
	}
	for name, c := range map[string]struct {
		query string
		args  []any // nil = so many NULLs
		want  []string
		never string
	}{
		"progress: states":  {progressStates.Query, progress, nil, ""},
		"states: totals":    {stateTotals, append(progress, ""), nil, ""},
		"progress: overall": {overallCounts, progress, nil, ""},
		"progress: held":    {holdingRuns, progress, []string{"INDEX targets_held"}, ""},
		"progress: workers": {progressWorkers.Query, progress, []string{"INDEX targets_held"}, ""},
		"progress: errors":  {progressErrors.Query, progress, []string{"INDEX targets_troubled"}, ""},
		"progress: runs":    {liveRuns, progress[:1], []string{"INDEX runs_alive"}, ""},
		"waiting":           {countWaiting, nil, []string{"INDEX targets_waiting (wait_reason=? AND not_before>?)"}, ""},

		"status: last hour": {status("last_hour"), []any{1}, []string{"requests_rollup (source_id=? AND finished_at>?)"}, ""},
		"status: errors":    {status("errors"), []any{0}, []string{"crawl_attempts_by_end (finished_at>?)"}, ""},
		"status: workers":   {status("workers"), []any{0, "[]"}, []string{"INDEX targets_held"}, ""},

		"target: show":       {showTarget.row, []any{1}, []string{"SEARCH t USING INTEGER PRIMARY KEY"}, ""},
		"target: by id":      {targetByID, []any{1, 0}, []string{"USING INTEGER PRIMARY KEY"}, ""},
		"target: by slugs":   {targetBySlugs, []any{"a", "b", 0}, []string{"(source_id=? AND city_id=? AND category_id=?)"}, ""},
		"listings: by id":    {listingsByID, []any{"a", 0}, []string{"(source_id=? AND listing_id=?)"}, ""},
		"target: attempts":   {showTarget.parts[0].Query, []any{1, 5}, []string{"SEARCH a USING INDEX sqlite_autoindex_crawl_attempts_1 (target_id=?"}, "SCAN a"},
		"target: steps":      {showTarget.parts[1].Query, []any{1, 5}, []string{"requests_by_target (target_id=? AND claim_token=?)"}, "SCAN a"},
		"target: requests":   {showTarget.parts[2].Query, []any{1, 5}, []string{"requests_by_target (target_id=? AND claim_token=?)"}, ""},
		"company: show":      {showCompany.row, []any{1}, []string{"listings_by_company (company_id=?)"}, ""},
		"company: places":    {showCompany.parts[0].Query, []any{1, -1, 0, "[]"}, []string{"listings_by_company (company_id=?)"}, ""},
		"details: totals":    {detailTotals, nil, nil, "TEMP B-TREE"},
		"details: woken":     {detailsWoken, nil, []string{"COVERING INDEX targets_waiting (wait_reason=? AND not_before>?)", "COVERING INDEX targets_waiting (wait_reason=? AND not_before<?)"}, ""},
		"list: dead letters": {asked("targets list", "status", "PARKED"), nil, []string{"targets_troubled"}, ""},
		"list: errors":       {asked("errors", "", ""), nil, []string{"crawl_attempts_by_end (finished_at>?"}, ""},
		"list: set aside":    {asked("waits", "", ""), nil, []string{"targets_set_aside"}, ""},

		"queue: in progress":     {part("targets list", "", 0), nil, []string{"INDEX targets_held"}, ""},
		"queue: in trouble":      {part("targets list", "", 1, 1), nil, []string{"INDEX targets_troubled"}, ""},
		"queue: ready":           {part("targets list", "", 2), nil, []string{"INDEX targets_ready (source_id=? AND kind=? AND state=? AND"}, "SCAN r "},
		"queue: ready, further":  {part("targets list", "", 2, 1, 1), nil, []string{"INDEX targets_ready (source_id=? AND kind=? AND state=? AND"}, ""},
		"queue: gap":             {part("targets list", "", 3, "x", 1), nil, []string{"INDEX targets_waiting (wait_reason=? AND not_before>?"}, "TEMP B-TREE FOR ORDER BY"},
		"queue: recrawl":         {part("targets list", "", 4), nil, []string{"INDEX targets_waiting (wait_reason=?"}, "TEMP B-TREE FOR ORDER BY"},
		"queue: the rest":        {part("targets list", "", 5, 1), nil, []string{"SEARCH t USING INTEGER PRIMARY KEY (rowid>?)"}, ""},
		"part: queue by key":     {part("targets list", ByKey, 0, 1), nil, []string{"SEARCH t USING INTEGER PRIMARY KEY (rowid>?)"}, "TEMP B-TREE FOR ORDER BY"},
		"part: listings":         {part("listings list", "", 0, 1), nil, []string{"SEARCH l USING INTEGER PRIMARY KEY (rowid<?)"}, "TEMP B-TREE FOR ORDER BY"},
		"part: listings by key":  {part("listings list", ByKey, 0, 1), nil, []string{"SEARCH l USING INTEGER PRIMARY KEY (rowid>?)"}, "TEMP B-TREE FOR ORDER BY"},
		"part: attempts":         {part("attempts list", "", 0, 1), nil, []string{"SEARCH a USING INTEGER PRIMARY KEY (rowid<?)"}, "TEMP B-TREE FOR ORDER BY"},
		"part: changes":          {part("changes", "", 0, "x", 1, "a"), nil, []string{"listing_events_by_time (at<?)"}, "TEMP B-TREE FOR ORDER BY"},
		"part: changes by key":   {part("changes", ByKey, 0, "x", 1, "a"), nil, []string{"listing_events_by_time (at>?)"}, "TEMP B-TREE FOR ORDER BY"},
		"part: companies by key": {part("companies list", ByKey, 0, 1), nil, []string{"INTEGER PRIMARY KEY (rowid>?)"}, ""},
		"part: coverage by key":  {part("coverage", ByKey, 0, 1), nil, []string{"INTEGER PRIMARY KEY (rowid>?)"}, ""},

		"time left: pages": {lastPages, []any{1, "x", 100}, []string{"requests_rollup (source_id=? AND finished_at>?)"}, "TEMP B-TREE"},
		"time left: work":  {workLeft, []any{0, "[]"}, []string{"targets_set_aside (kind=?)", "targets_of_index (source_id=?"}, "targets_of_search"},

		"closings: count": {countClosings, []any{"x"}, []string{"USING COVERING INDEX listing_events_closings (at>?)"}, ""},
		"measures: runs":  {runHolders, nil, []string{"INDEX runs_alive", "INDEX targets_held_by_run (run_id=?)"}, ""},
		"metrics":         {metrics, nil, []string{"requests_rollup (source_id=? AND finished_at<?)", "requests_rollup (source_id=? AND finished_at>? AND finished_at<?)", "INDEX targets_ready", "INDEX targets_waiting"}, ""},

		"list: changes":       {asked("changes", "kind", "new"), nil, []string{"SEARCH l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "(source_id=? AND listing_id=?)"}, ""},
		"changes: count":      {countChanges, f.args(), []string{"listing_events_by_time (at>?)"}, ""},
		"changes: count fast": {countPlain, f.args(), []string{"listing_events_by_time (at>?)"}, ""},
		"changes: count one":  {countOfOne, f.args(), []string{"listing_events_by_time (at>?)"}, "TEMP B-TREE"},
		"history":             {showListing.parts[3].Query, []any{1}, []string{"listing_events_by_listing (listing<?)", "listing_events_by_listing (listing=?)"}, "SCAN e"},
		"history: of a list":  {asked("changes", "listing", `{"row": 1, "source": 1, "id": "a"}`), nil, []string{"listing_events_by_listing (listing=?)"}, "SCAN e"},
		"listing":             {showListing.row, []any{1}, []string{"SEARCH l USING INTEGER PRIMARY KEY"}, ""},
		"listing: rejected":   {showListing.parts[1].Query, []any{1}, []string{"SEARCH g USING PRIMARY KEY (source_id=? AND listing_id=?)"}, ""},
		"rejected":            {showRejected.row, []any{1, "a"}, []string{"SEARCH g USING PRIMARY KEY (source_id=? AND listing_id=?)", "listing_events_by_listing (listing=?)"}, "SCAN e"},
		"rejected: history":   {showRejected.parts[0].Query, []any{1, "a"}, []string{"listing_events_by_listing (listing=?)"}, "SCAN e"},
		"run":                 {runByID, []any{1}, []string{"INTEGER PRIMARY KEY"}, ""},

		"page: runs":           {liveRuns, []any{0}, []string{"INDEX runs_alive", "sqlite_autoindex_workers_1 (run_id=?)"}, ""},
		"page: held":           {anyHeld, []any{0, "[]"}, []string{"INDEX targets_held"}, ""},
		"page: anything ready": {anyReady, []any{0, "[]"}, []string{"INDEX targets_ready"}, ""},
		"page: first due":      {firstDue, []any{0, "[]"}, []string{"INDEX targets_waiting (wait_reason=? AND not_before>?)"}, "TEMP B-TREE FOR ORDER BY"},
		"page: requests":       {hourOfRequests, []any{0, "x", "x"}, []string{"requests_rollup (source_id=? AND finished_at>?)"}, ""},
		"page: waits":          {waitsNow, []any{0}, []string{"targets_waiting (wait_reason=? AND not_before>?)", "targets_set_aside"}, ""},
		"page: last run":       {lastEnding, []any{0}, nil, "TEMP B-TREE"},
		"page: listings":       {overviewListings, []any{0, "[]"}, nil, ""},
		"page: coverage":       {overviewCoverage, []any{0, "[]"}, []string{"INDEX targets_of_search"}, ""},
		"page: map":            {stateTotals, []any{0, "[]", ""}, nil, ""},
		"page: new":            {stateNew, []any{0, "[]", "", "x", "{}"}, []string{"listing_events_by_time (at>?)", "SEARCH l USING INTEGER PRIMARY KEY"}, ""},
		"page: categories":     {stateCategories.Query, []any{0, "[\"TX\"]", ""}, nil, ""},

		"rates":              {requestRates, nil, []string{"SEARCH r USING PRIMARY KEY (source_id=? AND span=? AND began_at>? AND began_at<?)"}, ""},
		"rates: by query":    {"SELECT * FROM v_request_minutes WHERE began_at >= ?", nil, []string{"SEARCH r USING PRIMARY KEY (source_id=? AND span=? AND began_at>? AND began_at<?)"}, ""},
		"changes: of passes": {passChanges, nil, []string{"SEARCH x USING PRIMARY KEY (source_id=?)"}, ""},
		"changes: of runs":   {runChanges, nil, []string{"SCAN runs"}, ""},
		"changes: of one's":  {runChangesOf, nil, []string{"SEARCH run_passes USING PRIMARY KEY (source_id=?)", "SEARCH r USING INTEGER PRIMARY KEY"}, ""},
		"metrics: of spans":  {metrics, nil, []string{"SEARCH r USING PRIMARY KEY (source_id=? AND span=? AND began_at=?)"}, "SCAN r "},

		"pass: last":      {lastPass, store.Scope{SourceID: 1}.Args(), []string{"SEARCH x USING PRIMARY KEY (source_id=?)", "crawl_attempts_by_run (run_id=?)", "SEARCH r USING INTEGER PRIMARY KEY"}, "TEMP B-TREE"},
		"pass: any":       {lastOfAny, []any{1, "[]"}, []string{"SEARCH x USING PRIMARY KEY (source_id=?)", "crawl_attempts_by_run (run_id=?)"}, "TEMP B-TREE"},
		"pass: runs":      {passRuns, []any{1, "{}", "x"}, []string{"SEARCH x USING PRIMARY KEY (source_id=?)"}, "TEMP B-TREE"},
		"pass: followed":  {passFollowed, []any{"x", 1, "{}"}, []string{"PRIMARY KEY (source_id=? AND selection=?)"}, ""},
		"pass: first one": {crawledBefore, store.Scope{SourceID: 1}.Args(1, "x"), []string{"SEARCH x USING PRIMARY KEY (source_id=? AND run_id<?)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := c.args
			if args == nil {
				args = make([]any, storetest.Parameters(c.query))
			}
			plan := strings.Join(storetest.Explain(t, db.Read(), c.query, args), "\n")
			if found := whole.FindString(plan); found != "" {
				t.Errorf("reads a whole table: %s", found)
			}
			for _, want := range c.want {
				if !strings.Contains(plan, want) {
					t.Errorf("the plan lacks %q:\n%s", want, plan)
				}
			}
			if c.never != "" && strings.Contains(plan, c.never) {
				t.Errorf("the plan has %q:\n%s", c.never, plan)
			}
		})
	}
}
