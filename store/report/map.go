package report

import (
	"context"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// MapBy is what a map of the states shows.
type MapBy string

// What a map can show.
const (
	MapDone      MapBy = "done"      // targets that are done, or dead letters
	MapCoverage  MapBy = "coverage"  // listings seen of those that the site says it has
	MapSuccess   MapBy = "success"   // attempts that went well
	MapFreshness MapBy = "freshness" // how long ago targets were crawled well, on average
	MapNew       MapBy = "new"       // listings that are new in the last pass of their source
)

// MapBys are the words, in the order in which they are offered.
func MapBys() []MapBy { return []MapBy{MapDone, MapCoverage, MapSuccess, MapFreshness, MapNew} }

// StateFigures are what a map tells of one state. What would read every target or page is nil if it was not asked for.
type StateFigures struct {
	State    string   `json:"state"`
	Targets  int64    `json:"targets"` // searches
	Finished int64    `json:"finished"`
	Troubled int64    `json:"troubled"` // FAILED, STUCK or PARKED
	Held     int64    `json:"in_progress"`
	Listings int64    `json:"listings"` // distinct, first seen in this state
	Done     *float64 `json:"done_percent"`
	Coverage *float64 `json:"coverage_percent"` // of the targets of which the site says a number
	Success  *float64 `json:"success_percent"`  // of all attempts so far
	AgeSec   *float64 `json:"age_seconds"`      // mean of the targets that were crawled well once
	New      *int64   `json:"new"`
}

const (
	mapTotals = `
	SELECT state, sum(iif(status = 'RETIRED', 0, targets)), sum(iif(status IN ('DONE', 'PARKED'), targets, 0)),
		sum(iif(status IN ('FAILED', 'STUCK', 'PARKED'), targets, 0)), sum(iif(status = 'IN_PROGRESS', targets, 0))
	FROM target_totals WHERE kind = 'search' AND ` + places + ` GROUP BY state ORDER BY state`
	listingCounts = `SELECT state, sum(listings) FROM listing_totals WHERE ` + places + ` GROUP BY state`
	mapTargets    = `
	SELECT t.state, 100.0 * sum(` + seen + `) / nullif(sum(t.site_total), 0), 100.0 * sum(t.total_successes) / nullif(sum(t.total_attempts), 0),
		avg(unixepoch(t.last_success_at))
	FROM targets t WHERE t.kind = 'search' AND t.retired_at IS NULL AND ` + placesOn + ` GROUP BY t.state`
	// Of the new listings of a page one stands for all: a page is of one target.
	mapNew = `
	SELECT l.found_state, sum(e.listings) FROM listing_events e INDEXED BY listing_events_by_time CROSS JOIN listings l ON l.id = e.listing
	WHERE e.at >= ?3 AND e.at >= ifnull(?4 ->> ('$."' || e.source_id || '"'), ?3) AND e.kind = 'new' AND (?1 = 0 OR e.source_id = ?1) AND (?2 = '[]' OR l.found_state IN (SELECT value FROM json_each(?2))) GROUP BY 1`
)

// Map reads what a map of the states shows. Of the scope, source and states count. What is done
// stands in counters; for the rest every target of the scope is read, or every page of the last
// passes with new listings.
func (k *Reader) Map(ctx context.Context, scope store.Scope, by MapBy) ([]StateFigures, error) {
	all, err := list(ctx, k, "read the map", mapTotals, placesOf(scope), func(f *StateFigures) []any {
		return []any{&f.State, &f.Targets, &f.Finished, &f.Troubled, &f.Held}
	})
	if err != nil {
		return nil, err
	}
	type count struct {
		state string
		n     int64
	}
	counts := func(query string, args []any) ([]count, error) {
		return list(ctx, k, "read the map", query, args, func(c *count) []any { return []any{&c.state, &c.n} })
	}
	// at is the row of a state; one that has listings and no targets has one, too.
	at := func(state string) *StateFigures {
		i, ok := slices.BinarySearchFunc(all, state, func(f StateFigures, s string) int { return strings.Compare(f.State, s) })
		if !ok {
			all = slices.Insert(all, i, StateFigures{State: state})
		}
		return &all[i]
	}
	listings, err := counts(listingCounts, placesOf(scope))
	if err != nil {
		return nil, err
	}
	for _, c := range listings {
		if c.n > 0 {
			at(c.state).Listings = c.n
		}
	}
	for i := range all {
		if f := &all[i]; f.Targets > 0 {
			f.Done = new(100 * float64(f.Finished) / float64(f.Targets))
		}
	}
	switch by {
	case MapDone:
	case MapNew:
		passes, err := k.LastPasses(ctx, scope)
		if err != nil || len(passes) == 0 { // without a pass nothing is known to be new
			return all, err
		}
		first, of := begins(passes)
		began := map[int64]string{}
		for source, at := range of {
			began[source] = yp.FormatTime(at)
		}
		fresh, err := counts(mapNew, placesOf(scope, yp.FormatTime(first), store.JSON(began)))
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i].New = new(int64)
		}
		for _, c := range fresh {
			at(c.state).New = &c.n
		}
	default:
		type sums struct {
			state                   string
			coverage, success, mean *float64
		}
		rows, err := list(ctx, k, "read the map", mapTargets, placesOf(scope), func(s *sums) []any {
			return []any{&s.state, &s.coverage, &s.success, &s.mean}
		})
		if err != nil {
			return nil, err
		}
		now := float64(k.db.Now().UnixMilli()) / 1000
		for _, s := range rows {
			f := at(s.state)
			if f.Coverage, f.Success = s.coverage, s.success; s.mean != nil {
				f.AgeSec = new(max(0, now-*s.mean))
			}
		}
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
