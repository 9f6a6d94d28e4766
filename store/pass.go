package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ypcrawl/yp"
)

// Claimable is the condition of the indexes that serve a claim, word for word, on targets t.
const Claimable = `t.status = 'PLANNED' AND t.enabled = 1 AND t.paused = 0 AND t.not_before IS NULL AND t.retired_at IS NULL`

// The targets of a scope that a claim may find, by the same indexes as the claim: a
// look at a scope that is exhausted costs no walk through a million others.
const (
	ofKinds      = `FROM (SELECT DISTINCT value FROM json_each(?6)) AS k CROSS JOIN `
	ofAll        = ofKinds + `targets t ON t.source_id = ?1 AND t.kind = k.value WHERE ` + Claimable + ` AND ` + InScope
	ofStates     = ofKinds + `(SELECT DISTINCT value FROM json_each(?2)) AS s CROSS JOIN targets t ON t.source_id = ?1 AND t.kind = k.value AND t.state = s.value WHERE ` + Claimable + ` AND ` + InScope
	ofCategories = ofKinds + `(SELECT DISTINCT value FROM json_each(?2)) AS s CROSS JOIN (SELECT DISTINCT value FROM json_each(?3)) AS c
		CROSS JOIN targets t ON t.source_id = ?1 AND t.kind = k.value AND t.state = s.value AND t.category_id = c.value WHERE ` + Claimable + ` AND ` + InScope
	ofCities = ofKinds + `(SELECT DISTINCT value FROM json_each(?4)) AS c CROSS JOIN targets t INDEXED BY targets_ready_city
		ON t.source_id = ?1 AND t.kind = k.value AND t.city_id = c.value WHERE ` + Claimable + ` AND ` + InScope
)

// Candidates is what follows SELECT in a statement over the targets t of the scope that a
// claim may find, with the arguments of InScope. The scope must have a source and be one of Parts.
func (s Scope) Candidates() string {
	switch {
	case len(s.CityIDs) > 0:
		return ofCities
	case len(s.States) == 0:
		return ofAll
	case len(s.CategoryIDs) > 0:
		return ofCategories
	}
	return ofStates
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
	s.States, s.CityIDs, s.CategoryIDs = slices.Sorted(slices.Values(s.States)), slices.Sorted(slices.Values(s.CityIDs)), slices.Sorted(slices.Values(s.CategoryIDs))
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
	unreadInPass = ` AND iif(t.last_success_at IS NULL, t.created_at <= ?8, t.last_success_at < ?7)`
	mayBeCrawled = ` AND t.enabled = 1 AND t.paused = 0 AND t.retired_at IS NULL AND ` + InScope + unreadInPass + `)`
	passIsHeld   = `EXISTS (SELECT 1 FROM targets t INDEXED BY targets_held WHERE t.status = 'IN_PROGRESS' AND t.source_id = ?1 AND ` + InScope + unreadInPass + `)`
	passRests    = `EXISTS (SELECT 1 FROM targets t INDEXED BY targets_waiting WHERE t.wait_reason = 'backoff' AND t.not_before IS NOT NULL AND t.status = 'PLANNED'` + mayBeCrawled
	passWaits    = `EXISTS (SELECT 1 FROM targets t INDEXED BY targets_waiting WHERE t.wait_reason IN ('recrawl', 'gap') AND t.not_before <= ?9` + mayBeCrawled

	// A run that was killed has no end until a later one has recovered what it held. One that ended
	// before its pass began is the mark of a clock that was set back.
	passEnded = `
	SELECT max(?3, ifnull(max(ifnull(r.finished_at, '9999')), '')) FROM run_passes x CROSS JOIN runs r ON r.id = x.run_id
	WHERE x.source_id = ?1 AND x.selection = ?2 AND x.began_at = ?3`

	// What a pass could not read; a listing's own page that is gone failed at nothing.
	failedInPass = `targets t WHERE t.status IN ('FAILED', 'STUCK', 'PARKED') AND t.retired_at IS NULL
		AND NOT (t.kind = 'detail' AND t.last_error_code IS 'NO_LISTINGS') AND ` + InScope + unreadInPass
	passFailed = `SELECT count(*) FROM ` + failedInPass
	passUnseen = `
	SELECT count(DISTINCT l.id) FROM (SELECT t.id FROM ` + failedInPass + ` AND t.kind = 'search') f CROSS JOIN sightings g ON g.target_id = f.id CROSS JOIN listings l ON l.id = g.listing
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

// GoesOn is the statement that asks whether something is left to crawl of a pass over the scope,
// which must have a source and be one of Parts. After those of InScope come the time at which it
// began, that of its end, and that until which it makes targets due.
func (s Scope) GoesOn() string {
	return `SELECT ` + passIsHeld + ` OR ` + passRests + ` OR ` + passWaits + ` OR EXISTS (SELECT 1 ` + s.Candidates() + unreadInPass + `)`
}

// Open reports whether something is left to crawl of the pass, as its targets stand.
func (p PassRow) Open(get Reading) (open bool, err error) {
	scope, times, err := p.args(get)
	times = append(times, yp.FormatTime(p.Began.Add(yp.MinCrawlGap))) // what a pass makes due is due by then
	for _, part := range scope.Parts() {
		if err == nil && !open {
			err = get(part.GoesOn(), part.Args(times...), &open)
		}
	}
	return open, err
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
