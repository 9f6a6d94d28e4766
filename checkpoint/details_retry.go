package checkpoint

import (
	"context"
	"database/sql"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// DetailRetry selects the details that an operator takes back to PLANNED.
type DetailRetry struct {
	SourceID int64       // 0 = all
	States   []string    // none = all
	Statuses []yp.Status // default FAILED (with those that wait after a first failure); only resettable ones
}

const (
	selectRetry = `
	SELECT d.listing FROM details d
	WHERE (d.status IN (SELECT value FROM json_each(?3))
			OR d.status = 'PLANNED' AND d.due_at IS NOT NULL AND d.consecutive_failures > 0 AND 'FAILED' IN (SELECT value FROM json_each(?3)))
		AND (?1 = 0 OR d.source_id = ?1)
		AND (?2 = '[]' OR EXISTS (SELECT 1 FROM listings l WHERE l.id = d.listing AND l.found_state IN (SELECT value FROM json_each(?2))))`
	retryDetails = `
	UPDATE details SET status = 'PLANNED', due_at = NULL, consecutive_failures = 0, backoff_level = 0, recoveries = 0
	WHERE listing IN (SELECT value FROM json_each(?)) AND status IN ('FAILED', 'PARKED', 'STUCK', 'PLANNED')`
)

// DetailsToRetry lists, by the row ids of their listings, the details that r selects.
func (k *Keeper) DetailsToRetry(ctx context.Context, r DetailRetry) (ids []int64, err error) {
	statuses := []string{}
	for _, s := range r.Statuses {
		if !s.Resettable() {
			return nil, fmt.Errorf("status %s can't be reset: want FAILED, STUCK or PARKED", s)
		}
		statuses = append(statuses, string(s))
	}
	if len(statuses) == 0 {
		statuses = append(statuses, string(yp.Failed))
	}
	err = k.db.Each(ctx, selectRetry, []any{r.SourceID, jsonList(r.States), jsonList(statuses)}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select details: %w", err)
	}
	return ids, nil
}

// RetryDetails takes details back to PLANNED, due at once, and returns how many. What
// was read of them stays.
func (k *Keeper) RetryDetails(ctx context.Context, ids []int64) (n int, err error) {
	for start := 0; start < len(ids); start += sweepChunk {
		chunk := ids[start:min(start+sweepChunk, len(ids))]
		err := k.write(ctx, func(tx *store.Tx) error {
			changed, err := tx.Changed(retryDetails, jsonInts(chunk))
			n += int(changed)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("take details back: %w", err)
		}
	}
	return n, nil
}
