package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// WalkRest is how old a walk through a state's index may grow: one that began earlier
// starts over instead of being resumed, for pages read a day apart are no picture of
// one index.
const WalkRest = 24 * time.Hour

// ErrWalked means that the state's walk is not to be had: another run walks it now, or
// has just brought it to its end.
var ErrWalked = errors.New("the state is walked by somebody else")

// WalkStatus is the status of a walk.
type WalkStatus string

// The statuses of a walk.
const (
	WalkPlanned    WalkStatus = "PLANNED"
	WalkInProgress WalkStatus = "IN_PROGRESS"
	WalkDone       WalkStatus = "DONE"
	WalkFailed     WalkStatus = "FAILED" // the next round goes on behind its last page
)

// StateIndex is a state's index: how many pages a walk through it has.
type StateIndex struct {
	State string
	Pages int
}

// Walk is a run's hold on the walk through a state's index.
type Walk struct {
	ID        int64
	Token     int64
	RunID     int64
	SourceID  int64
	State     string
	Pages     int
	PagesDone int    // last page committed
	Cities    int    // met so far
	Added     int    // of them new to the source, or back
	StartedAt string // of this walk, over all resumptions

	// Requests are those made since the last write; the next one takes them along.
	Requests []store.Request
}

// FoundCity is a city of an index page, matched to the gazetteer.
type FoundCity = yp.FoundCity

// IndexPage is what a walk hands over of one page.
type IndexPage struct {
	Number int    // must be the walk's PagesDone + 1
	Path   string // of the page, without the host
	Cities []FoundCity
}

const (
	walkUnderWay = `
	SELECT EXISTS (SELECT 1 FROM discoveries d WHERE d.source_id = ?1 AND d.state IN (SELECT value ->> 0 FROM json_each(?2))
		AND (d.status IN ('PLANNED', 'IN_PROGRESS') OR d.status = 'FAILED' AND d.last_error_code <> 'NO_LISTINGS' AND d.finished_at BETWEEN ?3 AND ?4))`
	insertWalks = `
	INSERT INTO discoveries (source_id, state, status, pages)
	SELECT ?1, value ->> 0, 'PLANNED', value ->> 1 FROM json_each(?2) WHERE true
	ON CONFLICT (source_id, state) DO NOTHING`
	// A walk that ended in the middle goes on there, unless it is too old or the index
	// has another number of pages now. One that failed with all of its pages does not.
	planWalks = `
	UPDATE discoveries AS d SET status = 'PLANNED', pages = j.value ->> 1,
		pages_done = iif(` + goesOn + `, d.pages_done, 0), started_at = iif(` + goesOn + `, d.started_at, NULL),
		finished_at = NULL
	FROM json_each(?2) AS j
	WHERE d.source_id = ?1 AND d.state = j.value ->> 0
		AND (d.status IN ('PLANNED', 'FAILED') OR d.status = 'DONE' AND (?5 OR d.last_done_at < ?3 OR d.last_done_at > ?4))`
	goesOn = `d.status <> 'DONE' AND d.pages = j.value ->> 1 AND d.started_at BETWEEN ?3 AND ?4
		AND (d.status = 'PLANNED' OR d.pages_done < d.pages)`
	walksToDo = `
	SELECT d.state FROM json_each(?2) AS j CROSS JOIN discoveries d ON d.source_id = ?1 AND d.state = j.value ->> 0
	WHERE d.status = 'PLANNED' ORDER BY j.key`
)

// PlanWalks plans walks through the indexes of the states, and returns those that are
// to be walked, in their order.
//
// The walks of several states are a round: while one of these states is still planned
// or being walked, because the process died or another one is at work, or has just
// failed, the states that the round has done are not walked again. When the round is
// over, all of them are. (A state that the source does not have holds no round up.)
// A walk that ended in its middle goes on behind its last page, if it began
// less than WalkRest ago.
func (k *Keeper) PlanWalks(ctx context.Context, sourceID int64, indexes []StateIndex) (todo []string, err error) {
	rows := make([][2]any, len(indexes))
	for i, x := range indexes {
		rows[i] = [2]any{x.State, x.Pages}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	err = k.write(ctx, func(tx *store.Tx) error {
		todo = nil
		var underWay bool
		rest, ahead := yp.FormatTime(tx.At.Add(-WalkRest)), yp.FormatTime(tx.At.Add(WalkRest)) // ahead: a clock was set back
		if err := tx.Get(walkUnderWay, []any{sourceID, string(list), rest, ahead}, &underWay); err != nil {
			return err
		}
		if _, err := tx.Exec(insertWalks, sourceID, string(list)); err != nil {
			return err
		}
		if _, err := tx.Exec(planWalks, sourceID, string(list), rest, ahead, !underWay); err != nil {
			return err
		}
		todo, err = column(tx, walksToDo, sourceID, string(list))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("plan walks through state indexes: %w", err)
	}
	return todo, nil
}

// column reads a column of texts.
func column(tx *store.Tx, query string, args ...any) (all []string, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// A walk begins later than anything that earlier ones saw, even where the clock was
// set back or stood still since: what it has not met is told by that.
const beginWalk = `
	UPDATE discoveries SET status = 'IN_PROGRESS', run_id = ?3, claim_token = claim_token + 1, gone = 0, finished_at = NULL,
		last_error_code = NULL, last_error = NULL,
		cities = iif(started_at IS NULL, 0, cities), added = iif(started_at IS NULL, 0, added),
		started_at = ifnull(started_at, max(?4, ifnull((
			SELECT strftime('%Y-%m-%dT%H:%M:%fZ', max(x.last_seen_at), '+0.001 seconds') FROM cities c
			CROSS JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id WHERE c.state = ?2), '')))
	WHERE source_id = ?1 AND state = ?2 AND status = 'PLANNED'
	RETURNING id, claim_token, pages, pages_done, cities, added, started_at`

// BeginWalk takes the planned walk through a state's index for a run, or returns
// ErrWalked.
func (k *Keeper) BeginWalk(ctx context.Context, runID, sourceID int64, state string) (*Walk, error) {
	w := &Walk{RunID: runID, SourceID: sourceID, State: state}
	err := k.write(ctx, func(tx *store.Tx) error {
		return tx.Get(beginWalk, []any{sourceID, state, runID, tx.Now}, &w.ID, &w.Token, &w.Pages, &w.PagesDone, &w.Cities, &w.Added, &w.StartedAt)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrWalked
	case err != nil:
		return nil, fmt.Errorf("begin the walk through %s: %w", state, err)
	}
	return w, nil
}

// walkFence is the condition under which a walk may still write; its arguments are
// those of (*Walk).fenced.
const walkFence = ` WHERE id = ? AND run_id = ? AND claim_token = ? AND status = 'IN_PROGRESS'`

func (w *Walk) fenced(more ...any) []any { return append([]any{w.ID, w.RunID, w.Token}, more...) }

// change runs a fenced statement and turns "no row" into ErrClaimLost.
func (w *Walk) change(tx *store.Tx, query string, args ...any) error {
	n, err := tx.Changed(query, args...)
	if err == nil && n == 0 {
		return ErrClaimLost
	}
	return err
}

const (
	advanceWalk = `UPDATE discoveries SET pages_done = ?, cities = cities + ?, added = added + ?` + walkFence + ` AND pages_done = ? - 1 AND ? <= pages`
	// What the page brings: cities that this walk had not met, and of them those that
	// the source did not have.
	countFound = `
	SELECT count(*), ifnull(sum(fresh), 0) FROM (
		SELECT DISTINCT c.id, x.city_id IS NULL OR x.gone_at IS NOT NULL AS fresh
		FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0
		LEFT JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
		WHERE x.city_id IS NULL OR x.last_seen_at < ?3)`
	bringBack = `
	UPDATE targets SET retired_at = NULL WHERE retired_at IS NOT NULL AND source_id = ?1
		AND city_id IN (SELECT c.id FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0)`
	// Two addresses of one place: within a walk the one whose slug is the gazetteer's
	// stays, else the first. A new walk decides anew.
	upsertFound = `
	INSERT INTO source_cities (source_id, city_id, slug, name, found_on, matched, first_seen_at, last_seen_at)
	SELECT ?1, c.id, j.value ->> 7, j.value ->> 8, ?5, j.value ->> 9, ?4, max(?3, ?4)
	FROM json_each(?2) AS j CROSS JOIN cities c ON c.slug = j.value ->> 0 WHERE true ORDER BY j.key
	ON CONFLICT (source_id, city_id) DO UPDATE SET slug = excluded.slug, name = excluded.name, found_on = excluded.found_on,
		matched = excluded.matched, last_seen_at = excluded.last_seen_at, gone_at = NULL
	WHERE last_seen_at < ?3 OR slug = excluded.slug OR matched <> 'slug' AND excluded.matched = 'slug'`
)

// CommitIndex is the checkpoint of a walk: the cities of a page, the walk's progress
// and the requests that brought the page, in one transaction, or ErrClaimLost and
// nothing at all. Targets of a city that is back are no longer retired. On success
// the walk is moved on to the page.
func (k *Keeper) CommitIndex(ctx context.Context, w *Walk, p IndexPage) error {
	list, err := foundRows(p.Cities)
	if err != nil {
		return err
	}
	met, added := 0, 0
	err = k.write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(upsertCities, list); err != nil {
			return err
		}
		if err := tx.Get(countFound, []any{w.SourceID, list, w.StartedAt}, &met, &added); err != nil {
			return err
		}
		if _, err := tx.Exec(bringBack, w.SourceID, list); err != nil {
			return err
		}
		if _, err := tx.Exec(upsertFound, w.SourceID, list, w.StartedAt, tx.Now, p.Path); err != nil {
			return err
		}
		if err := w.change(tx, advanceWalk, append(append([]any{p.Number, met, added}, w.fenced()...), p.Number, p.Number)...); err != nil {
			return err
		}
		return store.SaveRequests(tx, w.Requests)
	})
	if err != nil {
		return fmt.Errorf("commit page %d of the index of %s: %w", p.Number, w.State, err)
	}
	w.Requests = w.Requests[:0]
	w.PagesDone, w.Cities, w.Added = p.Number, w.Cities+met, w.Added+added
	return nil
}

// foundRows is the JSON of a page's cities: a row of upsertCities, then the source's
// own words.
func foundRows(cities []FoundCity) (string, error) {
	rows := make([][10]any, len(cities))
	for i, c := range cities {
		copy(rows[i][:7], cityRow(c.City))
		rows[i][7], rows[i][8], rows[i][9] = c.Address, c.Shown, c.Matched
	}
	list, err := json.Marshal(rows)
	return string(list), err
}
