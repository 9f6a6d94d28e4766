package report

import (
	"context"
	"slices"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// A StateMeasure is a column of States that a map of the states shows.
type StateMeasure struct{ Name, Word, Column, Unit string }

// StateMeasures are all of them, in the order in which they are offered. What is done is in counters; for the others every target
// of the scope is read, or every page of the last passes with new listings.
var StateMeasures = []StateMeasure{
	{"done", "Done", "done_percent", "Share of searches finished (including those given up)."},
	{"coverage", "Coverage", "coverage_percent", "Share of the site's listings seen; - where the site does not say how many it has."},
	{"success", "Success", "success_percent", "Share of attempts that succeeded."},
	{
		"freshness", "Freshness", "crawled_at",
		"Average time since searches were last crawled successfully: m minutes, h hours, d days.",
	},
	{"new", "New", "new", "Listings first seen in the last pass: k thousands, M millions."},
}

// troubled: FAILED, STUCK or PARKED. listings are those first seen in the state.
const (
	stateTotals = `
	WITH planned AS (
		SELECT state, sum(iif(status = 'RETIRED', 0, targets)) AS targets,
			sum(iif(status IN ('DONE', 'PARKED'), targets, 0)) AS finished,
			sum(iif(status IN ('FAILED', 'STUCK', 'PARKED'), targets, 0)) AS troubled,
			sum(iif(status = 'IN_PROGRESS', targets, 0)) AS in_progress
		FROM target_totals
		WHERE kind = 'search' AND (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '' OR source_id IN (SELECT id FROM sources WHERE country = ?3))
		GROUP BY state),
	found AS (
		SELECT state, sum(listings) AS listings FROM listing_totals
		WHERE (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '' OR source_id IN (SELECT id FROM sources WHERE country = ?3))
		GROUP BY state HAVING sum(listings) > 0)
	SELECT ifnull(planned.state, found.state) AS state, ifnull(targets, 0) AS targets,
		100.0 * finished / nullif(targets, 0) AS done_percent, ifnull(troubled, 0) AS troubled,
		ifnull(in_progress, 0) AS in_progress, ifnull(listings, 0) AS listings
	FROM planned FULL JOIN found ON found.state = planned.state ORDER BY 1`
	// Of the targets of which the site says a number; of all attempts so far; the mean of those that were crawled well once.
	stateShares = `
	SELECT t.state,
		100.0 * sum(min(t.raw_count, ifnull(t.site_total, 0))) / nullif(sum(t.site_total), 0) AS coverage_percent,
		100.0 * sum(t.total_successes) / nullif(sum(t.total_attempts), 0) AS success_percent,
		strftime('%Y-%m-%dT%H:%M:%fZ', avg(unixepoch(t.last_success_at)), 'unixepoch') AS crawled_at
	FROM targets t
	WHERE t.kind = 'search'
		AND t.retired_at IS NULL
		AND (?3 = '' OR t.source_id IN (SELECT id FROM sources WHERE country = ?3))
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
	GROUP BY t.state`
	// Of the new listings of a page one stands for all: a page is of one target.
	stateNew = `
	SELECT l.found_state AS state, sum(e.listings) AS new
	FROM listing_events e INDEXED BY listing_events_by_time CROSS JOIN listings l ON l.id = e.listing
	WHERE e.at >= ?4
		AND e.at >= ifnull(?5 ->> ('$."' || e.source_id || '"'), ?4)
		AND e.kind = 'new'
		AND (?1 = 0 OR e.source_id = ?1)
		AND (?2 = '[]' OR l.found_state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '' OR e.source_id IN (SELECT id FROM sources WHERE country = ?3))
	GROUP BY 1`
)

const countriesKnown = `
	SELECT country FROM sources WHERE ?1 = 0 OR id = ?1
	GROUP BY country ORDER BY country <> 'US', country`

// Countries returns the countries of a source, 0 = of all: the USA first, also where there is no source.
func (k *Reader) Countries(ctx context.Context, sourceID int64) ([]string, error) {
	all, err := list(ctx, k, "read the countries of the sources", countriesKnown, []any{sourceID}, func(code *string) []any {
		return []any{code}
	})
	if err == nil && len(all) == 0 {
		all = []string{yp.DefaultCountry}
	}
	return all, err
}

// States is a row for each state with targets or listings, with the column of a measure; of the sources of a country, "" = of all. Of the
// scope, source and states count.
func (k *Reader) States(ctx context.Context, scope store.Scope, measure StateMeasure, country string) (*Table, error) {
	all, err := k.ask(ctx, Part{Name: "states", Query: stateTotals}, placesOf(scope, country)...)
	if err != nil || measure.Column == "done_percent" {
		return all, err
	}
	more, nothing := Part{Name: "the measures of states", Query: stateShares}, any(nil)
	args := placesOf(scope, country)
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
		more.Query, nothing, args = stateNew, int64(0), placesOf(scope, country, yp.FormatTime(first), store.JSON(began))
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

// stateCategories are the searches of states by category: those of the same category stand together.
var stateCategories = Part{
	Name: "categories", Show: "category state targets done_percent troubled listings coverage_percent",
	Query: `
	SELECT k.name AS category, t.state, count(*) AS targets,
		100.0 * sum(t.status IN ('DONE', 'PARKED')) / count(*) AS done_percent,
		sum(t.status IN ('FAILED', 'STUCK', 'PARKED')) AS troubled, sum(t.accepted_count) AS listings,
		100.0 * sum(min(t.raw_count, ifnull(t.site_total, 0))) / nullif(sum(t.site_total), 0) AS coverage_percent
	FROM targets t JOIN categories k ON k.id = t.category_id
	WHERE t.kind = 'search'
		AND t.retired_at IS NULL
		AND (?3 = '' OR t.source_id IN (SELECT id FROM sources WHERE country = ?3))
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
	GROUP BY t.category_id, t.state ORDER BY k.name, t.state`,
}

// StateCategories are the searches of the scope's states, a row for each category and state: listings are those that the
// last crawls kept; of the sources of a country, "" = of all. Of the scope, source and states count.
func (k *Reader) StateCategories(ctx context.Context, scope store.Scope, country string) (*Table, error) {
	t, err := k.ask(ctx, stateCategories, placesOf(scope, country)...)
	if err != nil {
		return nil, err
	}
	return t.Shown(), nil
}
