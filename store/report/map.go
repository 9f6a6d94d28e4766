package report

import (
	"context"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// A StateMeasure is a column of States that a map of the states shows.
type StateMeasure struct{ Name, Word, Column, Unit string }

// StateMeasures are all of them, in the order in which they are offered. What is done stands in counters; for the others every target
// of the scope is read, or every page of the last passes with new listings.
var StateMeasures = []StateMeasure{
	{"done", "Done", "done_percent", "Targets that are done or dead letters, in percent of those planned."},
	{"coverage", "Coverage", "coverage_percent", "Listings seen, in percent of those that the site says it has. Where it says no number: -"},
	{"success", "Success", "success_percent", "Attempts that succeeded, in percent of all so far."},
	{"freshness", "Freshness", "crawled_at", "How long ago the targets were last crawled successfully, on average: m minutes, h hours, d days."},
	{"new", "New", "new", "Listings seen for the first time in the last pass: k thousands, M millions."},
}

// troubled: FAILED, STUCK or PARKED. listings are those first seen in the state.
const (
	stateTotals = `
	WITH planned AS (
		SELECT state, sum(iif(status = 'RETIRED', 0, targets)) AS targets, sum(iif(status IN ('DONE', 'PARKED'), targets, 0)) AS finished,
			sum(iif(status IN ('FAILED', 'STUCK', 'PARKED'), targets, 0)) AS troubled, sum(iif(status = 'IN_PROGRESS', targets, 0)) AS in_progress
		FROM target_totals WHERE kind = 'search' AND ` + places + ` GROUP BY state),
	found AS (` + listingCounts + ` HAVING sum(listings) > 0)
	SELECT ifnull(planned.state, found.state) AS state, ifnull(targets, 0) AS targets, 100.0 * finished / nullif(targets, 0) AS done_percent, ifnull(troubled, 0) AS troubled,
		ifnull(in_progress, 0) AS in_progress, ifnull(listings, 0) AS listings
	FROM planned FULL JOIN found ON found.state = planned.state ORDER BY 1`
	listingCounts = `SELECT state, sum(listings) AS listings FROM listing_totals WHERE ` + places + ` GROUP BY state`
	// Of the targets of which the site says a number; of all attempts so far; the mean of those that were crawled well once.
	stateShares = `
	SELECT t.state, 100.0 * sum(` + seen + `) / nullif(sum(t.site_total), 0) AS coverage_percent, 100.0 * sum(t.total_successes) / nullif(sum(t.total_attempts), 0) AS success_percent,
		strftime('%Y-%m-%dT%H:%M:%fZ', avg(unixepoch(t.last_success_at)), 'unixepoch') AS crawled_at
	FROM targets t WHERE t.kind = 'search' AND t.retired_at IS NULL AND ` + placesOn + ` GROUP BY t.state`
	// Of the new listings of a page one stands for all: a page is of one target.
	stateNew = `
	SELECT l.found_state AS state, sum(e.listings) AS new FROM listing_events e INDEXED BY listing_events_by_time CROSS JOIN listings l ON l.id = e.listing
	WHERE e.at >= ?3 AND e.at >= ifnull(?4 ->> ('$."' || e.source_id || '"'), ?3) AND e.kind = 'new' AND (?1 = 0 OR e.source_id = ?1) AND (?2 = '[]' OR l.found_state IN (SELECT value FROM json_each(?2))) GROUP BY 1`
)

// States is a row for each state with targets or listings, with the column of a measure. Of the scope, source and states count.
func (k *Reader) States(ctx context.Context, scope store.Scope, measure StateMeasure) (*Table, error) {
	all, err := k.ask(ctx, Part{Name: "states", Query: stateTotals}, placesOf(scope)...)
	if err != nil || measure.Column == "done_percent" {
		return all, err
	}
	more, nothing := Part{Name: "the measures of states", Query: stateShares}, any(nil)
	args := placesOf(scope)
	if measure.Column == "new" {
		passes, err := k.LastPasses(ctx, scope)
		if err != nil || len(passes) == 0 { // without a pass nothing is known to be new
			return all, err
		}
		first, of := begins(passes)
		began := map[int64]string{}
		for source, at := range of {
			began[source] = yp.FormatTime(at)
		}
		more.Query, nothing, args = stateNew, int64(0), placesOf(scope, yp.FormatTime(first), store.JSON(began))
	}
	added, err := k.ask(ctx, more, args...)
	if err != nil {
		return nil, err
	}
	for _, column := range added.Columns[1:] {
		all.Add(column, func(row []any) any {
			if i := slices.IndexFunc(added.Rows, func(r []any) bool { return r[0] == row[0] }); i >= 0 {
				return added.Value(added.Rows[i], column)
			}
			return nothing
		})
	}
	return all, nil
}

// StateTable is the searches of a state: its largest cities, and their categories.
type StateTable struct {
	State          string        `json:"state"`
	Categories     []string      `json:"categories"` // at most MostCategories
	MoreCategories int           `json:"more_categories"`
	Cities         []CityTargets `json:"cities"` // the largest first
	MoreCities     bool          `json:"more_cities"`
}

// CityTargets are the searches of a city, one for each category of the table.
type CityTargets struct {
	City       string        `json:"city"`
	Population int64         `json:"population"` // 0 = not known
	Cells      []CellTargets `json:"cells"`

	id int64
}

// CellTargets are the targets of a city and a category: one for each source.
type CellTargets struct {
	Targets  int64     `json:"targets"`
	TargetID int64     `json:"target_id"` // the first of them
	Status   yp.Status `json:"status"`    // the one that most wants looking at; "" = none is planned
	Done     int64     `json:"done"`
	Page     int64     `json:"pages"`
	Listings int64     `json:"listings"`   // kept by the last crawls
	Seen     int64     `json:"seen"`       // of those that a site says it has
	Says     *int64    `json:"site_total"` // nil = it says none
	Code     string    `json:"error_code"` // of FAILED and PARKED
}

// MostCategories bounds the columns of a StateTable.
const MostCategories = 16

const (
	citiesOf = `
	SELECT c.id, c.name, c.population FROM cities c
	WHERE c.state = ?2 AND EXISTS (SELECT 1 FROM sources s CROSS JOIN targets t ON t.source_id = s.id AND t.city_id = c.id AND t.kind = 'search'
		WHERE (?1 = 0 OR s.id = ?1) AND t.retired_at IS NULL)
	ORDER BY c.population DESC, c.id LIMIT ?3`
	// The status that most wants looking at has the least rank.
	cellsOf = `
	SELECT t.city_id, t.category_id, k.name, count(*), min(t.id),
		min(CASE t.status WHEN 'IN_PROGRESS' THEN 0 WHEN 'STUCK' THEN 1 WHEN 'PARKED' THEN 2 WHEN 'FAILED' THEN 3 WHEN 'PLANNED' THEN 4 ELSE 5 END),
		sum(t.status = 'DONE'), sum(t.page_current), sum(t.accepted_count), sum(` + seen + `), sum(t.site_total),
		ifnull(max(iif(t.status IN ('FAILED', 'PARKED'), t.last_error_code, NULL)), '')
	FROM json_each(?2) x CROSS JOIN sources s CROSS JOIN targets t ON t.source_id = s.id AND t.city_id = x.value AND t.kind = 'search'
	JOIN categories k ON k.id = t.category_id
	WHERE (?1 = 0 OR s.id = ?1) AND t.retired_at IS NULL GROUP BY t.city_id, t.category_id`
)

// StateTable reads the searches of a state, of its so many largest cities.
func (k *Reader) StateTable(ctx context.Context, sourceID int64, state string, cities int) (*StateTable, error) {
	t := &StateTable{State: state, Categories: []string{}}
	var err error
	t.Cities, err = list(ctx, k, "read the cities of a state", citiesOf, []any{sourceID, state, cities + 1}, func(c *CityTargets) []any {
		return []any{&c.id, &c.City, &c.Population}
	})
	if err != nil {
		return nil, err
	}
	if t.MoreCities = len(t.Cities) > cities; t.MoreCities {
		t.Cities = t.Cities[:cities]
	}
	type cell struct {
		CellTargets
		city, category int64
		name           string
		rank           int
	}
	rowOf, ids := map[int64]int{}, make([]int64, len(t.Cities))
	for i, c := range t.Cities {
		ids[i], rowOf[c.id] = c.id, i
	}
	cells, err := list(ctx, k, "read the targets of a state", cellsOf, []any{sourceID, store.JSONInts(ids)}, func(c *cell) []any {
		return []any{&c.city, &c.category, &c.name, &c.Targets, &c.TargetID, &c.rank, &c.Done, &c.Page, &c.Listings, &c.Seen, &c.Says, &c.Code}
	})
	if err != nil {
		return nil, err
	}
	// The categories that most cities have come first.
	type column struct {
		name string
		n    int
	}
	columns := map[int64]*column{}
	for _, c := range cells {
		if columns[c.category] == nil {
			columns[c.category] = &column{name: c.name}
		}
		columns[c.category].n++
	}
	order := make([]int64, 0, len(columns))
	for id := range columns {
		order = append(order, id)
	}
	slices.SortFunc(order, func(a, b int64) int {
		if x, y := columns[a], columns[b]; x.n != y.n {
			return y.n - x.n
		}
		return strings.Compare(columns[a].name, columns[b].name)
	})
	if t.MoreCategories = max(0, len(order)-MostCategories); t.MoreCategories > 0 {
		order = order[:MostCategories]
	}
	at := map[int64]int{}
	for i, id := range order {
		t.Categories, at[id] = append(t.Categories, columns[id].name), i
	}
	for i := range t.Cities {
		t.Cities[i].Cells = make([]CellTargets, len(order))
	}
	ranks := []yp.Status{yp.InProgress, yp.Stuck, yp.Parked, yp.Failed, yp.Planned, yp.Done}
	for _, c := range cells {
		if i, ok := at[c.category]; ok {
			c.Status = ranks[c.rank]
			t.Cities[rowOf[c.city]].Cells[i] = c.CellTargets
		}
	}
	return t, nil
}
