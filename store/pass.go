package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ypcrawl/yp"
)

// The targets of a scope that a claim may find, by the same indexes as the claim: a look at a scope that is exhausted costs
// no walk through a million others. That a claim may find one is the condition of these indexes, word for word.
const (
	readyAnywhere = `
	SELECT count(*), ifnull(min(id), 0)
	FROM (
		SELECT t.id
		FROM (SELECT DISTINCT value FROM json_each(?6)) AS k
			CROSS JOIN targets t ON t.source_id = ?1 AND t.kind = k.value
		WHERE t.status = 'PLANNED'
			AND t.enabled = 1
			AND t.paused = 0
			AND t.not_before IS NULL
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND (?7 IS NULL OR iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))
		LIMIT ?9)`
	readyInStates = `
	SELECT count(*), ifnull(min(id), 0)
	FROM (
		SELECT t.id
		FROM (SELECT DISTINCT value FROM json_each(?6)) AS k
			CROSS JOIN (SELECT DISTINCT value FROM json_each(?2)) AS s
			CROSS JOIN targets t ON t.source_id = ?1 AND t.kind = k.value AND t.state = s.value
		WHERE t.status = 'PLANNED'
			AND t.enabled = 1
			AND t.paused = 0
			AND t.not_before IS NULL
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND (?7 IS NULL OR iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))
		LIMIT ?9)`
	readyInCategories = `
	SELECT count(*), ifnull(min(id), 0)
	FROM (
		SELECT t.id
		FROM (SELECT DISTINCT value FROM json_each(?6)) AS k
			CROSS JOIN (SELECT DISTINCT value FROM json_each(?2)) AS s
			CROSS JOIN (SELECT DISTINCT value FROM json_each(?3)) AS c
			CROSS JOIN targets t ON t.source_id = ?1 AND t.kind = k.value AND t.state = s.value AND t.category_id = c.value
		WHERE t.status = 'PLANNED'
			AND t.enabled = 1
			AND t.paused = 0
			AND t.not_before IS NULL
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND (?7 IS NULL OR iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))
		LIMIT ?9)`
	readyInCities = `
	SELECT count(*), ifnull(min(id), 0)
	FROM (
		SELECT t.id
		FROM (SELECT DISTINCT value FROM json_each(?6)) AS k
			CROSS JOIN (SELECT DISTINCT value FROM json_each(?4)) AS c
			CROSS JOIN targets t INDEXED BY targets_ready_city ON t.source_id = ?1 AND t.kind = k.value AND t.city_id = c.value
		WHERE t.status = 'PLANNED'
			AND t.enabled = 1
			AND t.paused = 0
			AND t.not_before IS NULL
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND (?7 IS NULL OR iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))
		LIMIT ?9)`
)

// Candidates is the statement that counts the targets of the scope that a claim may find, and names one of them by its id. The
// scope must have a source and be one of Parts. After its arguments come those of a pass, when it began and when it ended, so that
// what the pass has read is left out (NULL = nothing is), and up to how many are counted.
func (s Scope) Candidates() string {
	switch {
	case len(s.CityIDs) > 0:
		return readyInCities
	case len(s.States) == 0:
		return readyAnywhere
	case len(s.CategoryIDs) > 0:
		return readyInCategories
	}
	return readyInStates
}

// Parts are the scope kind by kind, in the order in which they are claimed. The index of a
// state is of all its cities.
func (s Scope) Parts() (all []Scope) {
	for _, kind := range yp.Kinds() {
		if !s.Has(kind) {
			continue
		}
		part := s
		part.Kinds = []yp.Kind{kind}
		if kind == yp.KindIndex {
			part.CityIDs, part.CategoryIDs, part.MinPopulation = nil, nil, 0
		}
		all = append(all, part)
	}
	return all
}

// Selection is what a pass crawls of a source, as its row holds it: the same command has the
// same one.
type Selection struct {
	Scope
	Recrawl *time.Duration `json:"recrawl,omitempty"` // what was crawled so long ago is crawled again; nil = what is due
}

// SelectionOf is the selection of a run over a scope.
func SelectionOf(s Scope, again *time.Duration) Selection {
	s.States, s.CityIDs, s.CategoryIDs = slices.Sorted(slices.Values(s.States)), slices.Sorted(slices.Values(s.CityIDs)),
		slices.Sorted(slices.Values(s.CategoryIDs))
	return Selection{s, again}
}

// ParseSelection reads the selection of a source as a row holds it.
func ParseSelection(text string, sourceID int64) (s Selection, err error) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read the selection of a pass: %w", err)
	}
	s.SourceID = sourceID
	return s, nil
}

// A pass is open while a target of its selection that was not read since it began is in hand,
// planned (in a short backoff, too), or due when it began. What was planned after its last run
// ended is the next one's. FAILED, PARKED, STUCK, paused, disabled and retired targets don't hold it.
const (
	passHolds = `
	SELECT EXISTS (
		SELECT 1 FROM targets t INDEXED BY targets_held
		WHERE t.status = 'IN_PROGRESS'
			AND t.source_id = ?1
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))`
	passRests = `
	SELECT EXISTS (
		SELECT 1 FROM targets t INDEXED BY targets_waiting
		WHERE t.wait_reason = 'backoff'
			AND t.not_before IS NOT NULL
			AND t.status = 'PLANNED'
			AND t.enabled = 1
			AND t.paused = 0
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))`
	passWaits = `
	SELECT EXISTS (
		SELECT 1 FROM targets t INDEXED BY targets_waiting
		WHERE t.wait_reason IN ('recrawl', 'gap')
			AND t.not_before <= ?9
			AND t.enabled = 1
			AND t.paused = 0
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7))`

	// A run that was killed has no end until a later one has recovered what it held. One that ended
	// before its pass began is the mark of a clock that was set back.
	passEnded = `
	SELECT max(?3, ifnull(max(ifnull(r.finished_at, '9999')), '')) FROM run_passes x CROSS JOIN runs r ON r.id = x.run_id
	WHERE x.source_id = ?1 AND x.selection = ?2 AND x.began_at = ?3`

	// What a pass could not read, and what its searches alone have shown; a listing's own page that is gone failed at nothing.
	passFailed = `
	SELECT count(*) FROM targets t
	WHERE t.status IN ('FAILED', 'STUCK', 'PARKED')
		AND t.retired_at IS NULL
		AND NOT (t.kind = 'detail' AND t.last_error_code IS 'NO_LISTINGS')
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))
		AND iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7)`
	passUnseen = `
	SELECT count(DISTINCT l.id)
	FROM (
		SELECT t.id FROM targets t
		WHERE t.status IN ('FAILED', 'STUCK', 'PARKED')
			AND t.retired_at IS NULL
			AND NOT (t.kind = 'detail' AND t.last_error_code IS 'NO_LISTINGS')
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
			AND iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7)
			AND t.kind = 'search') f
		CROSS JOIN sightings g ON g.target_id = f.id
		CROSS JOIN listings l ON l.id = g.listing
	WHERE l.dropped_at IS NULL AND l.last_seen_at < ?7 AND g.since < 0x7FFFFFFFFFFFFFFF`
)

// PassRow is a pass as its row holds it.
type PassRow struct {
	SourceID  int64
	Selection string // as JSON
	Began     time.Time
}

// Reading reads the row of a statement.
type Reading = func(query string, args []any, into ...any) error

// Open reports whether something is left to crawl of the pass, as its targets stand.
func (p PassRow) Open(get Reading) (open bool, err error) {
	scope, times, err := p.args(get)
	due := yp.FormatTime(p.Began.Add(yp.MinCrawlGap)) // what a pass makes due is due by then
	for _, part := range scope.Parts() {
		if err == nil && !open {
			open, err = goesOn(get, part, times, due)
		}
	}
	return open, err
}

// goesOn reports whether something is left to crawl of a pass over a scope, which must have a source and be one of Parts: it
// is in hand, planned, or due.
func goesOn(get Reading, s Scope, times []any, due string) (open bool, err error) {
	for _, ask := range []struct {
		query string
		args  []any
	}{
		{passHolds, s.Args(times...)},
		{passRests, s.Args(times...)},
		{passWaits, s.Args(append(slices.Clip(times), due)...)},
	} {
		if err = get(ask.query, ask.args, &open); err != nil || open {
			return open, err
		}
	}
	var n, first int64
	err = get(s.Candidates(), s.Args(append(slices.Clip(times), 1)...), &n, &first)
	return n > 0, err
}

// Failed counts the targets that the pass could not read, and the open listings that nothing but
// their searches has shown since it began: nobody knows whether these were dropped.
func (p PassRow) Failed(get Reading) (targets, unseen int64, err error) {
	scope, times, err := p.args(get)
	if err == nil {
		err = get(passFailed, scope.Args(times...), &targets)
	}
	if err == nil && targets > 0 {
		err = get(passUnseen, scope.Args(times...), &unseen)
	}
	return targets, unseen, err
}

// args are the scope of the pass, when it began, and when its last run ended.
func (p PassRow) args(get Reading) (scope Scope, times []any, err error) {
	selection, err := ParseSelection(p.Selection, p.SourceID)
	began, ended := yp.FormatTime(p.Began), ""
	if err == nil {
		err = get(passEnded, []any{p.SourceID, p.Selection, began}, &ended)
	}
	return selection.Scope, []any{began, ended}, err
}
