package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// Trouble counts targets that are not as they should be.
type Trouble struct {
	Waiting int64 // PLANNED, until their first short backoff is over
	Since   int64 // waiting, FAILED, PARKED or STUCK, and so since the time asked for
}

const (
	countWaiting = `SELECT count(*) FROM targets t WHERE t.backoff_until IS NOT NULL AND t.status = 'PLANNED' AND ` + where
	countSince   = `
	SELECT count(*) FROM targets t
	WHERE (t.status IN ('FAILED', 'STUCK', 'PARKED') OR t.backoff_until IS NOT NULL) AND t.finished_at >= ?6 AND ` + where
)

// Trouble counts the targets of a scope that wait or went wrong since a time.
func (k *Keeper) Trouble(ctx context.Context, scope Scope, since time.Time) (t Trouble, err error) {
	if err := k.db.Read().QueryRowContext(ctx, countWaiting, scope.args()...).Scan(&t.Waiting); err != nil {
		return t, fmt.Errorf("count waiting targets: %w", err)
	}
	if err := k.db.Read().QueryRowContext(ctx, countSince, scope.args(yp.FormatTime(since))...).Scan(&t.Since); err != nil {
		return t, fmt.Errorf("count failed targets: %w", err)
	}
	return t, nil
}
