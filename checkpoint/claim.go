package checkpoint

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"ypcrawl/store"
)

// claimHead begins the one statement that takes a target of a kind. Its inner SELECT asks,
// for each wanted state that is not full, for the best target there – one seek in a
// partial index – and takes the best of those: priority and id travel as one number, so
// that min() compares both. A source that is closed, or has none that is ready, is asked
// no further.
const (
	claimHead = `
	UPDATE targets SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, claimed_at = ?3, heartbeat_at = ?3,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1, crawls = crawls + (page_current = 0),
		crawl_frequency_minutes = iif(kind = 'detail' AND ?9 > 0, ?9, crawl_frequency_minutes),
		crawl_started_at = iif(page_current = 0 OR crawl_started_at IS NULL, ?3, crawl_started_at), finished_at = NULL
	WHERE status = 'PLANNED' AND ` + sourceOpen + ` AND EXISTS (SELECT 1 FROM targets t WHERE ` + claimable + ` AND t.source_id = ?4 AND t.kind = ` + ofKind + `) AND id = `
	claimTail = `
	RETURNING id, claim_token, kind, source_id, priority, max_pages, page_current,
		coalesce(next_page_url, (SELECT l.profile_url FROM listings l WHERE l.id = listing), ''),
		crawl_started_at, crawls, accepted_count, raw_count + bad_count, bad_count, shrunk, ifnull(site_total, 0), state, max_retries, total_attempts, ifnull(category_id, 0),
		ifnull((SELECT name FROM cities WHERE id = city_id), ''),
		coalesce((SELECT sc.slug FROM source_cities sc WHERE sc.source_id = ?4 AND sc.city_id = targets.city_id), (SELECT slug FROM cities WHERE id = city_id), ''),
		ifnull((SELECT name FROM categories WHERE id = category_id), ''), ifnull((SELECT slug FROM categories WHERE id = category_id), ''),
		ifnull(listing, 0), ifnull((SELECT l.listing_id FROM listings l WHERE l.id = listing), ''), committed,
		ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'committed'), 0)`
	sourceOpen = `NOT EXISTS (SELECT 1 FROM v_source_closures o WHERE o.source_id = ?4 AND o.until > ?3)`

	// ofKind hides the parameter from the planner: as it is, SQLite would prepare the statement
	// anew for each value, because there are partial indexes of kinds.
	ofKind = `(?8 || '')`

	claimable = store.Claimable
	// Searches of a state are spread over the sources of a run, and over runs: each source
	// has its own places in a state. One that hangs takes none from the others.
	notFull = `(?8 <> 'search' OR s.value NOT IN (SELECT h.state FROM targets h INDEXED BY targets_held
		WHERE h.status = 'IN_PROGRESS' AND h.source_id = ?4 AND h.kind = 'search' GROUP BY h.state HAVING count(*) >= ?6))`
	best = `t.priority << 48 | t.id FROM targets t WHERE ` + claimable + ` AND t.source_id = ?4 AND t.kind = ` + ofKind + ` AND t.state = s.value AND t.population >= ?7`

	claimAny = claimHead + `(
		SELECT min((SELECT ` + best + ` ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM json_each(?5) AS s WHERE ` + notFull + `)` + claimTail

	claimCategory = claimHead + `(
		SELECT min((SELECT ` + best + ` AND t.category_id = c.value ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM json_each(?5) AS s CROSS JOIN json_each(?10) AS c WHERE ` + notFull + `)` + claimTail

	// Likewise for each city. The details of other categories that come first are passed over
	// in the index.
	claimCity = claimHead + `(
		SELECT min((SELECT t.priority << 48 | t.id FROM targets t INDEXED BY targets_ready_city
			WHERE ` + claimable + ` AND t.source_id = ?4 AND t.kind = ` + ofKind + ` AND t.city_id = s.id AND t.population >= ?7
				AND (?10 = '[]' OR t.category_id IN (SELECT value FROM json_each(?10))) AND t.state IN (SELECT value FROM json_each(?5))
			ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM (SELECT c.id, c.state AS value FROM json_each(?11) AS j CROSS JOIN cities c ON c.id = j.value) AS s
		WHERE ` + notFull + `)` + claimTail
)

// claimWaits is how long a claim that finds the database busy waits before each of
// its three further tries.
var claimWaits = [...]time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}

// Claim takes the best target of the scope for worker w, or returns ErrNothing.
// At most maxPerState searches of a state of a source are in progress at once, over all runs; 0 = any number.
// scope.SourceID and scope.States must be set. The attempt's row is written with it.
func (k *Keeper) Claim(ctx context.Context, w Worker, scope store.Scope, maxPerState int) (*Claim, error) {
	for try := 0; ; try++ {
		c, err := k.claimOnce(ctx, w, scope, maxPerState, try)
		if err == nil || !errors.Is(err, store.ErrBusy) || try == len(claimWaits) {
			return c, err
		}
		if w.Busy != nil {
			w.Busy(try+1, len(claimWaits))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(claimWaits[try]):
		}
	}
}

func (k *Keeper) claimOnce(ctx context.Context, w Worker, scope store.Scope, maxPerState, retries int) (*Claim, error) {
	c := &Claim{Worker: w}
	err := k.write(ctx, "claim target", func(tx *store.Tx) (err error) {
		attempt, p := 0, &c.Place
		for _, part := range scope.Parts() {
			query, args := claimStatement(part, maxPerState)
			err = tx.Get(query, append([]any{w.ID, w.RunID, tx.Now}, args...), &c.TargetID, &c.Token, &c.Kind, &c.SourceID, &c.Priority, &c.MaxPages, &c.PageCurrent,
				&c.NextPageURL, &c.StartedAt, &c.Crawl, &c.Accepted, &c.Seen, &c.Bad, &c.Shrunk, &c.SiteTotal, &p.State, &c.MaxRetries, &attempt, &c.CategoryID,
				&p.City, &p.CitySlug, &p.Category, &p.CategorySlug, &c.listing, &c.ListingID, &c.Committed, &c.Behind)
			if !errors.Is(err, sql.ErrNoRows) {
				break
			}
		}
		if err != nil {
			return err
		}
		c.Attempt = store.Attempt{StartedAt: tx.At}
		if err := store.BeginAttempt(tx, c.key(), w.RunID, w.ID, attempt, c.PageCurrent); err != nil {
			return err
		}
		return tx.Run(countClaim, retries, w.RunID, w.ID)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNothing
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

const fullStates = `
	SELECT t.state FROM targets t INDEXED BY targets_held WHERE t.status = 'IN_PROGRESS' AND t.source_id = ?1 AND t.kind = 'search'
		AND t.state IN (SELECT value FROM json_each(?2)) GROUP BY t.state HAVING count(*) >= ?3 ORDER BY t.state`

// FullStates lists the states of a scope of which so many searches are in progress, over all runs, that none more may be claimed.
func (k *Keeper) FullStates(ctx context.Context, scope store.Scope, maxPerState int) (states []string, err error) {
	rows, err := k.db.Read().QueryContext(ctx, fullStates, scope.SourceID, store.JSONTexts(scope.States), maxPerState)
	if err != nil {
		return nil, fmt.Errorf("look for full states: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var state string
		if err := rows.Scan(&state); err != nil {
			return nil, fmt.Errorf("look for full states: %w", err)
		}
		states = append(states, state)
	}
	return states, rows.Err()
}

// claimStatement returns the statement for a scope of one kind with its arguments from ?4 on.
func claimStatement(s store.Scope, maxPerState int) (query string, args []any) {
	args = []any{s.SourceID, store.JSONTexts(s.States), cmp.Or(maxPerState, math.MaxInt32), s.MinPopulation, string(s.Kinds[0]), int64(s.DetailsEvery / time.Minute)}
	switch {
	case len(s.CityIDs) > 0:
		return claimCity, append(args, store.JSONInts(s.CategoryIDs), store.JSONInts(s.CityIDs))
	case len(s.CategoryIDs) > 0:
		return claimCategory, append(args, store.JSONInts(s.CategoryIDs))
	}
	return claimAny, args
}
