package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Reset selects the targets that an operator takes back to PLANNED.
type Reset struct {
	Scope       Scope
	Statuses    []yp.Status   // default FAILED; only resettable ones
	Error       yp.ErrorCode  // only those whose last error it was; empty = any
	MaxAttempts *int          // only those with at most so many attempts; nil = any
	OlderThan   time.Duration // only those that ended longer ago; 0 = any
	FromPage1   bool          // forget the pages done
}

const (
	// With FAILED go the targets that wait PLANNED after a first failure. The three
	// statuses are named once more for the planner: it finds them in targets_troubled.
	resetWhere = ` WHERE (t.status IN ('FAILED', 'STUCK', 'PARKED') AND t.status IN (SELECT value FROM json_each(?7))
			OR t.wait_reason = 'backoff' AND t.not_before IS NOT NULL AND t.status = 'PLANNED' AND 'FAILED' IN (SELECT value FROM json_each(?7))) AND (?8 = '' OR t.last_error_code = ?8)
		AND (?9 IS NULL OR t.total_attempts <= ?9) AND (?10 = '' OR t.finished_at < ?10) AND ` + where
	countReset = `SELECT count(*) FROM targets t` + resetWhere
	resetKeep  = `UPDATE targets AS t SET ` + resetSet + `recoveries = 0` + resetWhere
	resetAnew  = `UPDATE targets AS t SET ` + resetSet + anew + resetWhere
	// An operator's word ends every wait, the gap between two crawls included.
	resetSet = `status = 'PLANNED', not_before = NULL, wait_reason = NULL, backoff_level = 0, consecutive_failures = 0, finished_at = NULL, `
)

func (r Reset) args(now time.Time) ([]any, error) {
	statuses := make([]string, 0, len(r.Statuses))
	for _, s := range r.Statuses {
		if !s.Resettable() {
			return nil, fmt.Errorf("status %s can't be reset: want FAILED, STUCK or PARKED", s)
		}
		statuses = append(statuses, string(s))
	}
	if len(statuses) == 0 {
		statuses = []string{string(yp.Failed)}
	}
	before := ""
	if r.OlderThan > 0 {
		before = yp.FormatTime(now.Add(-r.OlderThan))
	}
	return r.Scope.Args(jsonList(statuses), string(r.Error), r.MaxAttempts, before), nil
}

// CountReset returns how many targets ResetTargets would take back.
func (k *Keeper) CountReset(ctx context.Context, r Reset) (n int, err error) {
	args, err := r.args(k.db.Now())
	if err != nil {
		return 0, err
	}
	if err := k.db.Read().QueryRowContext(ctx, countReset, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count targets to reset: %w", err)
	}
	return n, nil
}

// ResetTargets takes the selected targets back to PLANNED and returns how many.
func (k *Keeper) ResetTargets(ctx context.Context, r Reset) (n int, err error) {
	query := resetKeep
	if r.FromPage1 {
		query = resetAnew
	}
	err = k.write(ctx, func(tx *store.Tx) error {
		args, err := r.args(tx.At)
		if err != nil {
			return err
		}
		changed, err := tx.Changed(query, args...)
		n = int(changed)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("reset targets: %w", err)
	}
	return n, nil
}
