package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// claimHead begins the one statement that takes a target. Its inner SELECT asks, for
// each wanted state that is not full, for the state's best target – one seek in
// a partial index – and takes the best of those: priority and id travel as one
// number, so that min() compares both. A source that is closed has none.
const (
	claimHead = `
	UPDATE targets SET status = 'IN_PROGRESS', claimed_by = ?1, run_id = ?2, claimed_at = ?3, heartbeat_at = ?3, gap_until = ?8,
		claim_token = claim_token + 1, total_attempts = total_attempts + 1, crawls = crawls + (page_current = 0),
		crawl_started_at = iif(page_current = 0 OR crawl_started_at IS NULL, ?3, crawl_started_at), finished_at = NULL
	WHERE status = 'PLANNED' AND ` + sourceOpen + ` AND id = `
	claimTail = `
	RETURNING id, claim_token, source_id, priority, max_pages, page_current, ifnull(next_page_url, ''), ifnull(last_listing_id, ''),
		crawl_started_at, crawls, accepted_count, raw_count + bad_count, ifnull(site_total, 0), state, max_retries, total_attempts, category_id,
		(SELECT name FROM cities WHERE id = city_id),
		ifnull((SELECT sc.slug FROM source_cities sc WHERE sc.source_id = ?4 AND sc.city_id = targets.city_id), (SELECT slug FROM cities WHERE id = city_id)),
		(SELECT name FROM categories WHERE id = category_id), (SELECT slug FROM categories WHERE id = category_id)`
	// Each source has its own places in a state: one that hangs takes none from the others.
	claimFull = `(SELECT state FROM targets INDEXED BY targets_held WHERE status = 'IN_PROGRESS' AND source_id = ?4 GROUP BY state HAVING count(*) >= ?6)`

	// claimable is the condition of the indexes that serve a claim, word for word.
	claimable = `t.status = 'PLANNED' AND t.enabled = 1 AND t.crawl_status <> 'paused' AND t.backoff_until IS NULL AND t.retired_at IS NULL`
	// ripe leaves out targets whose last crawl began less than the gap ago. ?8 is the
	// end of a gap that began now: one that ends later is the mark of a clock set back.
	ripe = ` AND (t.gap_until IS NULL OR t.gap_until <= ?3 OR t.gap_until > ?8)`
	// sourceOpen is v_source_gates' "open", for one source at one time.
	sourceOpen = `EXISTS (
		SELECT 1 FROM sources o WHERE o.id = ?4 AND o.enabled = 1 AND o.auto_disabled = 0 AND (o.paused_until IS NULL OR o.paused_until <= ?3)
			AND NOT EXISTS (SELECT 1 FROM connectivity_profiles p WHERE p.source_id = o.id AND p.status = 'quarantined')
			AND NOT EXISTS (SELECT 1 FROM hosts h WHERE h.source_id = o.id AND h.held_until > ?3))`

	claimAny = claimHead + `(
		SELECT min((SELECT t.priority << 48 | t.id FROM targets t
			WHERE ` + claimable + ` AND t.source_id = ?4 AND t.state = s.value AND t.population >= ?7` + ripe + `
			ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM json_each(?5) AS s WHERE s.value NOT IN ` + claimFull + `)` + claimTail

	claimCategory = claimHead + `(
		SELECT min((SELECT t.priority << 48 | t.id FROM targets t
			WHERE ` + claimable + ` AND t.source_id = ?4 AND t.state = s.value AND t.category_id = c.value AND t.population >= ?7` + ripe + `
			ORDER BY t.priority, t.id LIMIT 1)) & 0xFFFFFFFFFFFF
		FROM json_each(?5) AS s CROSS JOIN json_each(?9) AS c WHERE s.value NOT IN ` + claimFull + `)` + claimTail

	// Named cities are few: their targets are found by the unique key.
	claimCity = claimHead + `(
		SELECT min(t.priority << 48 | t.id) & 0xFFFFFFFFFFFF
		FROM json_each(?10) AS c CROSS JOIN targets t INDEXED BY sqlite_autoindex_targets_1 ON t.source_id = ?4 AND t.city_id = c.value
		WHERE ` + claimable + ` AND t.population >= ?7` + ripe + ` AND (?9 = '[]' OR t.category_id IN (SELECT value FROM json_each(?9)))
			AND t.state IN (SELECT value FROM json_each(?5)) AND t.state NOT IN ` + claimFull + `)` + claimTail
)

// claimWaits is how long a claim that met a busy database waits before each of
// its three further tries.
var claimWaits = [...]time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}

// Claim takes the best target of the scope for worker w, or returns ErrNothing.
// At most maxPerState targets of a state of a source are in progress at once, over all runs.
// scope.SourceID and scope.States must be set. The attempt's row is written with it.
func (k *Keeper) Claim(ctx context.Context, w Worker, scope Scope, maxPerState int) (*Claim, error) {
	for try := 0; ; try++ {
		c, err := k.claimOnce(ctx, w, scope, maxPerState, try)
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

func (k *Keeper) claimOnce(ctx context.Context, w Worker, scope Scope, maxPerState, retries int) (*Claim, error) {
	query, args := claimStatement(scope, maxPerState)
	c := &Claim{Worker: w}
	err := k.write(ctx, func(tx *store.Tx) error {
		all := append([]any{w.ID, w.RunID, tx.Now}, args...)
		all[7] = yp.FormatTime(tx.At.Add(yp.MinCrawlGap))
		attempt, p := 0, &c.Place
		err := tx.Get(query, all, &c.TargetID, &c.Token, &c.SourceID, &c.Priority, &c.MaxPages, &c.PageCurrent, &c.NextPageURL, &c.LastListing,
			&c.StartedAt, &c.Crawl, &c.Accepted, &c.Seen, &c.SiteTotal, &p.State, &c.MaxRetries, &attempt, &c.CategoryID, &p.City, &p.CitySlug, &p.Category, &p.CategorySlug)
		if err != nil {
			return err
		}
		c.Attempt = store.Attempt{StartedAt: tx.At}
		if err := store.BeginAttempt(tx, c.key(), w.RunID, w.ID, attempt, c.PageCurrent); err != nil {
			return err
		}
		_, err = tx.Exec(countClaim, retries, w.RunID, w.ID)
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrNothing
	case err != nil:
		return nil, fmt.Errorf("claim target: %w", err)
	}
	return c, nil
}

// claimStatement returns the statement for a scope with its arguments from ?4 on;
// ?8, the end of the gap, is filled in by the transaction.
func claimStatement(s Scope, maxPerState int) (query string, args []any) {
	args = []any{s.SourceID, jsonList(s.States), maxPerState, s.MinPopulation, nil}
	switch {
	case len(s.CityIDs) > 0:
		return claimCity, append(args, jsonInts(s.CategoryIDs), jsonInts(s.CityIDs))
	case len(s.CategoryIDs) > 0:
		return claimCategory, append(args, jsonInts(s.CategoryIDs))
	}
	return claimAny, args
}
