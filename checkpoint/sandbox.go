package checkpoint

import (
	"context"
	"fmt"

	"ypcrawl/store"
)

const (
	// sandboxShare is the percentage of cards that must be accepted.
	sandboxShare = 70
	// promote makes source ?2 active when ?3 percent of its cards were accepted and no alarm stands.
	promote = `
	UPDATE sources AS s SET stage = 'active', updated_at = ?1
	FROM (SELECT ifnull(sum(t.raw_count), 0) AS cards, ifnull(sum(t.bad_count), 0) AS bad
		FROM targets t WHERE t.kind = 'search' AND t.source_id = ?2 AND t.retired_at IS NULL) AS x,
		(SELECT count(*) AS rejected FROM staged_listings g WHERE g.source_id = ?2) AS y
	WHERE s.id = ?2 AND s.stage = 'sandbox' AND s.paused_code IS NOT 'HTML_CHANGED' AND s.layout_strikes = 0
		AND x.cards > 0 AND 100 * (x.cards - x.bad - y.rejected) >= ?3 * x.cards`
	promoteByHand  = `UPDATE sources SET stage = 'active', updated_at = ? WHERE id = ?`
	restartTargets = `
	UPDATE targets AS t SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, backoff_level = 0,
		consecutive_failures = 0, finished_at = NULL, last_error_code = NULL, last_error = NULL, page_current = 0,
		next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0
	WHERE t.status IN ('DONE', 'FAILED', 'STUCK', 'PARKED', 'PLANNED')
		AND t.id IN (
			SELECT x.id FROM targets x
			WHERE x.kind = 'search' AND x.source_id = ?1 AND x.retired_at IS NULL ORDER BY x.id LIMIT ?2)`
	forgetStaged = `DELETE FROM staged_listings WHERE source_id = ?`
)

// PromoteBySelf makes a source active that has proved itself in the sandbox, and reports whether
// it did.
func (k *Keeper) PromoteBySelf(ctx context.Context, sourceID int64) (promoted bool, err error) {
	err = k.write(ctx, fmt.Sprintf("promote source %d", sourceID), func(tx *store.Tx) error {
		n, err := tx.Changed(promote, tx.Now, sourceID, sandboxShare)
		promoted = n > 0
		return err
	})
	return promoted, err
}
