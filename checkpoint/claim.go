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

// The one statement that takes a target of a kind, by three ways through the indexes. Its inner SELECT asks,
// for each wanted state that is not full, for the best target there – one seek in a
// partial index – and takes the best of those: priority and id travel as one number, so
// that min() compares both. A source that is closed, or has none that is ready, is asked
// no further.
//
// (?8 || ”) hides the kind from the planner: as it is, SQLite would prepare the statement
// anew for each value, because there are partial indexes of kinds.
//
// Searches of a state are spread over the sources of a run, and over runs: each source
// has its own ?6 places in a state. One that hangs takes none from the others.
const (
	claimAny = `
	UPDATE targets SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, claimed_at = ?3, heartbeat_at = ?3,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1, crawls = crawls + (page_current = 0),
		crawl_frequency_minutes = iif(kind = 'detail' AND ?9 > 0, ?9, crawl_frequency_minutes),
		crawl_started_at = iif(page_current = 0 OR crawl_started_at IS NULL, ?3, crawl_started_at), finished_at = NULL
	WHERE status = 'PLANNED'
		AND NOT EXISTS (SELECT 1 FROM v_source_closures o WHERE o.source_id = ?4 AND o.until > ?3)
		AND EXISTS (
			SELECT 1 FROM targets t
			WHERE t.status = 'PLANNED'
				AND t.enabled = 1
				AND t.paused = 0
				AND t.not_before IS NULL
				AND t.retired_at IS NULL
				AND t.source_id = ?4
				AND t.kind = (?8 || ''))
		AND id = (
			SELECT min((
				SELECT t.priority << 48 | t.id FROM targets t
				WHERE t.status = 'PLANNED'
					AND t.enabled = 1
					AND t.paused = 0
					AND t.not_before IS NULL
					AND t.retired_at IS NULL
					AND t.source_id = ?4
					AND t.kind = (?8 || '')
					AND t.state = s.value
					AND t.population >= ?7
				ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
			FROM json_each(?5) AS s
			WHERE (?8 <> 'search'
				OR s.value NOT IN (
					SELECT h.state FROM targets h INDEXED BY targets_held
					WHERE h.status = 'IN_PROGRESS' AND h.source_id = ?4 AND h.kind = 'search' GROUP BY h.state
					HAVING count(*) >= ?6)))
	RETURNING id, claim_token, kind, source_id, priority, max_pages, page_current,
		coalesce(next_page_url, (SELECT l.profile_url FROM listings l WHERE l.id = listing), '') AS next_page_url,
		crawl_started_at, crawls, accepted_count, raw_count + bad_count AS seen_count, bad_count, shrunk,
		ifnull(site_total, 0) AS site_total, state, max_retries, total_attempts, ifnull(category_id, 0) AS category_id,
		ifnull((SELECT name FROM cities WHERE id = city_id), '') AS city,
		coalesce((SELECT sc.slug FROM source_cities sc WHERE sc.source_id = ?4 AND sc.city_id = targets.city_id),
			(SELECT slug FROM cities WHERE id = city_id), '') AS city_slug,
		ifnull((SELECT name FROM categories WHERE id = category_id), '') AS category,
		ifnull((SELECT slug FROM categories WHERE id = category_id), '') AS category_slug,
		ifnull(listing, 0) AS listing, ifnull((SELECT l.listing_id FROM listings l WHERE l.id = listing), '') AS listing_id, committed,
		ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'committed'), 0) AS behind`

	claimCategory = `
	UPDATE targets SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, claimed_at = ?3, heartbeat_at = ?3,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1, crawls = crawls + (page_current = 0),
		crawl_frequency_minutes = iif(kind = 'detail' AND ?9 > 0, ?9, crawl_frequency_minutes),
		crawl_started_at = iif(page_current = 0 OR crawl_started_at IS NULL, ?3, crawl_started_at), finished_at = NULL
	WHERE status = 'PLANNED'
		AND NOT EXISTS (SELECT 1 FROM v_source_closures o WHERE o.source_id = ?4 AND o.until > ?3)
		AND EXISTS (
			SELECT 1 FROM targets t
			WHERE t.status = 'PLANNED'
				AND t.enabled = 1
				AND t.paused = 0
				AND t.not_before IS NULL
				AND t.retired_at IS NULL
				AND t.source_id = ?4
				AND t.kind = (?8 || ''))
		AND id = (
			SELECT min((
				SELECT t.priority << 48 | t.id FROM targets t
				WHERE t.status = 'PLANNED'
					AND t.enabled = 1
					AND t.paused = 0
					AND t.not_before IS NULL
					AND t.retired_at IS NULL
					AND t.source_id = ?4
					AND t.kind = (?8 || '')
					AND t.state = s.value
					AND t.population >= ?7
					AND t.category_id = c.value
				ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
			FROM json_each(?5) AS s CROSS JOIN json_each(?10) AS c
			WHERE (?8 <> 'search'
				OR s.value NOT IN (
					SELECT h.state FROM targets h INDEXED BY targets_held
					WHERE h.status = 'IN_PROGRESS' AND h.source_id = ?4 AND h.kind = 'search' GROUP BY h.state
					HAVING count(*) >= ?6)))
	RETURNING id, claim_token, kind, source_id, priority, max_pages, page_current,
		coalesce(next_page_url, (SELECT l.profile_url FROM listings l WHERE l.id = listing), '') AS next_page_url,
		crawl_started_at, crawls, accepted_count, raw_count + bad_count AS seen_count, bad_count, shrunk,
		ifnull(site_total, 0) AS site_total, state, max_retries, total_attempts, ifnull(category_id, 0) AS category_id,
		ifnull((SELECT name FROM cities WHERE id = city_id), '') AS city,
		coalesce((SELECT sc.slug FROM source_cities sc WHERE sc.source_id = ?4 AND sc.city_id = targets.city_id),
			(SELECT slug FROM cities WHERE id = city_id), '') AS city_slug,
		ifnull((SELECT name FROM categories WHERE id = category_id), '') AS category,
		ifnull((SELECT slug FROM categories WHERE id = category_id), '') AS category_slug,
		ifnull(listing, 0) AS listing, ifnull((SELECT l.listing_id FROM listings l WHERE l.id = listing), '') AS listing_id, committed,
		ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'committed'), 0) AS behind`

	// Likewise for each city. The details of other categories that come first are passed over
	// in the index.
	claimCity = `
	UPDATE targets SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, claimed_at = ?3, heartbeat_at = ?3,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1, crawls = crawls + (page_current = 0),
		crawl_frequency_minutes = iif(kind = 'detail' AND ?9 > 0, ?9, crawl_frequency_minutes),
		crawl_started_at = iif(page_current = 0 OR crawl_started_at IS NULL, ?3, crawl_started_at), finished_at = NULL
	WHERE status = 'PLANNED'
		AND NOT EXISTS (SELECT 1 FROM v_source_closures o WHERE o.source_id = ?4 AND o.until > ?3)
		AND EXISTS (
			SELECT 1 FROM targets t
			WHERE t.status = 'PLANNED'
				AND t.enabled = 1
				AND t.paused = 0
				AND t.not_before IS NULL
				AND t.retired_at IS NULL
				AND t.source_id = ?4
				AND t.kind = (?8 || ''))
		AND id = (
			SELECT min((
				SELECT t.priority << 48 | t.id
				FROM targets t INDEXED BY targets_ready_city
				WHERE t.status = 'PLANNED'
					AND t.enabled = 1
					AND t.paused = 0
					AND t.not_before IS NULL
					AND t.retired_at IS NULL
					AND t.source_id = ?4
					AND t.kind = (?8 || '')
					AND t.city_id = s.id
					AND t.population >= ?7
					AND (?10 = '[]' OR t.category_id IN (SELECT value FROM json_each(?10)))
					AND t.state IN (SELECT value FROM json_each(?5))
				ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
			FROM (SELECT c.id, c.state AS value FROM json_each(?11) AS j CROSS JOIN cities c ON c.id = j.value) AS s
			WHERE (?8 <> 'search'
				OR s.value NOT IN (
					SELECT h.state FROM targets h INDEXED BY targets_held
					WHERE h.status = 'IN_PROGRESS' AND h.source_id = ?4 AND h.kind = 'search' GROUP BY h.state
					HAVING count(*) >= ?6)))
	RETURNING id, claim_token, kind, source_id, priority, max_pages, page_current,
		coalesce(next_page_url, (SELECT l.profile_url FROM listings l WHERE l.id = listing), '') AS next_page_url,
		crawl_started_at, crawls, accepted_count, raw_count + bad_count AS seen_count, bad_count, shrunk,
		ifnull(site_total, 0) AS site_total, state, max_retries, total_attempts, ifnull(category_id, 0) AS category_id,
		ifnull((SELECT name FROM cities WHERE id = city_id), '') AS city,
		coalesce((SELECT sc.slug FROM source_cities sc WHERE sc.source_id = ?4 AND sc.city_id = targets.city_id),
			(SELECT slug FROM cities WHERE id = city_id), '') AS city_slug,
		ifnull((SELECT name FROM categories WHERE id = category_id), '') AS category,
		ifnull((SELECT slug FROM categories WHERE id = category_id), '') AS category_slug,
		ifnull(listing, 0) AS listing, ifnull((SELECT l.listing_id FROM listings l WHERE l.id = listing), '') AS listing_id, committed,
		ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'committed'), 0) AS behind`
)

// column is where a column goes of a statement that reads a claim; nil = a claim has none of that name.
func (c *Claim) column(name string) any {
	switch name {
	case "id":
		return &c.TargetID
	case "claim_token":
		return &c.Token
	case "kind":
		return &c.Kind
	case "source_id":
		return &c.SourceID
	case "priority":
		return &c.Priority
	case "max_pages":
		return &c.MaxPages
	case "page_current":
		return &c.PageCurrent
	case "next_page_url":
		return &c.NextPageURL
	case "crawl_started_at":
		return &c.StartedAt
	case "crawls":
		return &c.Crawl
	case "accepted_count":
		return &c.Accepted
	case "seen_count":
		return &c.Seen
	case "bad_count":
		return &c.Bad
	case "shrunk":
		return &c.Shrunk
	case "site_total":
		return &c.SiteTotal
	case "max_retries":
		return &c.MaxRetries
	case "total_attempts":
		return &c.attempts
	case "listing":
		return &c.listing
	case "listing_id":
		return &c.ListingID
	case "committed":
		return &c.Committed
	case "behind":
		return &c.Behind
	case "logged":
		return &c.logged
	}
	return c.place(name)
}

// place is where a column goes that tells what a claim's page is of.
func (c *Claim) place(name string) any {
	switch name {
	case "state":
		return &c.Place.State
	case "city":
		return &c.Place.City
	case "city_slug":
		return &c.Place.CitySlug
	case "category_id":
		return &c.CategoryID
	case "category":
		return &c.Place.Category
	case "category_slug":
		return &c.Place.CategorySlug
	}
	return nil
}

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
		for _, part := range scope.Parts() {
			query, args := claimStatement(part, maxPerState)
			err = tx.GetNamed(query, append([]any{w.ID, w.RunID, tx.Now}, args...), c.column)
			if !errors.Is(err, sql.ErrNoRows) {
				break
			}
		}
		if err != nil {
			return err
		}
		c.Attempt = store.Attempt{StartedAt: tx.At}
		if err := store.BeginAttempt(tx, c.key(), w.RunID, w.ID, c.attempts, c.PageCurrent); err != nil {
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
	args = []any{
		s.SourceID, store.JSONTexts(s.States), cmp.Or(maxPerState, math.MaxInt32), s.MinPopulation, string(s.Kinds[0]),
		int64(s.DetailsEvery / time.Minute),
	}
	switch {
	case len(s.CityIDs) > 0:
		return claimCity, append(args, store.JSONInts(s.CategoryIDs), store.JSONInts(s.CityIDs))
	case len(s.CategoryIDs) > 0:
		return claimCategory, append(args, store.JSONInts(s.CategoryIDs))
	}
	return claimAny, args
}
