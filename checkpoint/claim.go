package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
)

// claimHead begins the one statement that takes a target. Its inner SELECT asks, for
// each wanted state that is not full, for the state's best target – one seek in
// a partial index – and takes the best of those: priority and id travel as one
// number, so that min() compares both.
const (
	claimHead = `
	UPDATE targets SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, claimed_at = ?3, heartbeat_at = ?3,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1,
		crawl_started_at = iif(page_current = 0 OR crawl_started_at IS NULL, ?3, crawl_started_at), finished_at = NULL
	WHERE status = 'PLANNED' AND id = `
	claimTail = `
	RETURNING id, claim_token, source_id, priority, max_pages, page_current, ifnull(next_page_url, ''), ifnull(last_listing_id, ''),
		crawl_started_at, accepted_count, state,
		(SELECT name FROM cities WHERE id = city_id), (SELECT slug FROM cities WHERE id = city_id),
		(SELECT name FROM categories WHERE id = category_id), (SELECT slug FROM categories WHERE id = category_id)`
	claimFull = `(SELECT state FROM targets WHERE status = 'IN_PROGRESS' GROUP BY state HAVING count(*) >= ?6)`

	claimAny = claimHead + `(
		SELECT min((SELECT t.priority << 48 | t.id FROM targets t
			WHERE t.status = 'PLANNED' AND t.source_id = ?4 AND t.state = s.value AND t.population >= ?7
			ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM json_each(?5) AS s WHERE s.value NOT IN ` + claimFull + `)` + claimTail

	claimCategory = claimHead + `(
		SELECT min((SELECT t.priority << 48 | t.id FROM targets t
			WHERE t.status = 'PLANNED' AND t.source_id = ?4 AND t.state = s.value AND t.category_id = c.value AND t.population >= ?7
			ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM json_each(?5) AS s CROSS JOIN json_each(?8) AS c WHERE s.value NOT IN ` + claimFull + `)` + claimTail

	// Named cities are few: their targets are found by the unique key.
	claimCity = claimHead + `(
		SELECT min(t.priority << 48 | t.id) & 0xFFFFFFFFFFFF
		FROM json_each(?9) AS c CROSS JOIN targets t INDEXED BY sqlite_autoindex_targets_1 ON t.source_id = ?4 AND t.city_id = c.value
		WHERE t.status = 'PLANNED' AND t.population >= ?7 AND (?8 = '[]' OR t.category_id IN (SELECT value FROM json_each(?8)))
			AND t.state IN (SELECT value FROM json_each(?5)) AND t.state NOT IN ` + claimFull + `)` + claimTail
)

// claimWaits is how long a claim that met a busy database waits before each of
// its three further tries.
var claimWaits = [...]time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}

// Claim takes the best target of the scope for worker w, or returns ErrNothing.
// At most maxPerState targets of a state are in progress at once, over all runs.
// scope.SourceID and scope.States must be set.
func (k *Keeper) Claim(ctx context.Context, w Worker, scope Scope, maxPerState int) (*Claim, error) {
	for try := 0; ; try++ {
		c, err := k.claimOnce(ctx, w, scope, maxPerState)
		if err == nil || !errors.Is(err, store.ErrBusy) || try == len(claimWaits) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(claimWaits[try]):
		}
	}
}

func (k *Keeper) claimOnce(ctx context.Context, w Worker, scope Scope, maxPerState int) (*Claim, error) {
	query, args := claimStatement(scope, maxPerState)
	c := &Claim{Worker: w}
	err := k.write(ctx, func(tx *store.Tx) error {
		p := &c.Place
		return tx.Get(query, append([]any{w.ID, w.RunID, tx.Now}, args...),
			&c.TargetID, &c.Token, &c.SourceID, &c.Priority, &c.MaxPages, &c.PageCurrent, &c.NextPageURL, &c.LastListing,
			&c.StartedAt, &c.Accepted, &p.State, &p.City, &p.CitySlug, &p.Category, &p.CategorySlug)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrNothing
	case err != nil:
		return nil, fmt.Errorf("claim target: %w", err)
	}
	return c, nil
}

func claimStatement(s Scope, maxPerState int) (query string, args []any) {
	args = []any{s.SourceID, jsonList(s.States), maxPerState, s.MinPopulation}
	switch {
	case len(s.CityIDs) > 0:
		return claimCity, append(args, jsonInts(s.CategoryIDs), jsonInts(s.CityIDs))
	case len(s.CategoryIDs) > 0:
		return claimCategory, append(args, jsonInts(s.CategoryIDs))
	}
	return claimAny, args
}
