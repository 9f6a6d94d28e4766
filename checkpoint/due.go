package checkpoint

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const (
	// A failed crawl goes on behind its last page: nothing done is forgotten.
	wakeFailed = `UPDATE targets AS t SET status = 'PLANNED', backoff_until = NULL, recoveries = 0
		WHERE t.status = 'FAILED' AND t.backoff_until <= ?6 AND ` + where
	// A target that is due again is crawled anew, from page 1.
	wakeDone = `UPDATE targets AS t SET status = 'PLANNED', next_crawl_at = NULL, finished_at = NULL, ` + anew + `
		WHERE t.status = 'DONE' AND t.next_crawl_at <= ?6 AND ` + where

	anew = `page_current = 0, next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0,
		site_total = NULL, crawl_started_at = NULL, recoveries = 0`

	countReady = `SELECT count(*) FROM (SELECT 1 FROM targets t WHERE t.status = 'PLANNED' AND ` + where + ` LIMIT 1)`
	nextDue    = `SELECT min(t.backoff_until) FROM targets t WHERE t.status = 'FAILED' AND ` + where
)

// Wake plans again what fell due in the scope: FAILED targets whose backoff is
// over, and DONE ones whose next crawl has come.
func (k *Keeper) Wake(ctx context.Context, scope Scope) (n int, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		failed, err := tx.Changed(wakeFailed, scope.args(tx.Now)...)
		if err != nil {
			return err
		}
		done, err := tx.Changed(wakeDone, scope.args(tx.Now)...)
		n = int(failed + done)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("wake due targets: %w", err)
	}
	return n, nil
}

// Ready reports whether some target of the scope is PLANNED, even if its state
// is full now; if none is, next is when the first one falls due (zero: none will).
func (k *Keeper) Ready(ctx context.Context, scope Scope) (ready bool, next time.Time, err error) {
	var n int
	if err := k.db.Read().QueryRowContext(ctx, countReady, scope.args()...).Scan(&n); err != nil {
		return false, time.Time{}, fmt.Errorf("look for planned targets: %w", err)
	}
	if n > 0 {
		return true, time.Time{}, nil
	}
	var at sql.NullString
	if err := k.db.Read().QueryRowContext(ctx, nextDue, scope.args()...).Scan(&at); err != nil {
		return false, time.Time{}, fmt.Errorf("look for due targets: %w", err)
	}
	if !at.Valid {
		return false, time.Time{}, nil
	}
	next, err = yp.ParseTime(at.String)
	return false, next, err
}
