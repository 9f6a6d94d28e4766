package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Operation is what an operator does to targets.
type Operation string

// The operations.
const (
	Pause          Operation = "pause"   // not claimed any more; a crawl under way is finished
	Resume         Operation = "resume"  // as it was before the pause
	Enable         Operation = "enable"  // crawled again, and all that was set automatically is cleared
	Disable        Operation = "disable" // not claimed until it is enabled
	Reset          Operation = "reset"   // what is in trouble is planned again
	ResetFromPage1 Operation = "reset from page 1"
)

// Chosen selects the targets that an operation is about. Empty fields select all.
type Chosen struct {
	IDs         []int64 // only these
	Scope       store.Scope
	Statuses    []yp.Status   // of a reset: default FAILED; only resettable ones
	Error       yp.ErrorCode  // of the last failure
	MaxAttempts *int          // only those with at most so many attempts; nil = any
	OlderThan   time.Duration // only those that ended longer ago; 0 = any
}

// operation is what an Operation sets, and of which targets: one that is paused already is
// not paused again.
type operation struct{ set, of string }

// With FAILED go the targets that wait PLANNED after a first failure. The three
// statuses are named once more for the planner: it finds them in targets_troubled.
const inTrouble = `(t.status IN ('FAILED', 'STUCK', 'PARKED') AND t.status IN (SELECT value FROM json_each(?7))
		OR t.wait_reason = 'backoff' AND t.not_before IS NOT NULL AND t.status = 'PLANNED' AND 'FAILED' IN (SELECT value FROM json_each(?7)))`

// An operator's word ends every wait, the gap between two crawls included.
var operations = map[Operation]operation{
	Pause:  {`paused = 1`, `t.paused = 0 AND (?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7)))`},
	Resume: {`paused = 0`, `t.paused = 1 AND (?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7)))`},
	// The trigger targets_enabled clears what was set automatically.
	Enable: {`enabled = 1`, `
		(t.enabled = 0 OR t.consecutive_failures > 0 OR t.backoff_level > 0 OR t.wait_reason IS 'backoff')
		AND (?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7)))`},
	Disable: {`enabled = 0`, `t.enabled = 1 AND (?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7)))`},
	Reset: {`
		status = 'PLANNED', not_before = NULL, wait_reason = NULL, backoff_level = 0, consecutive_failures = 0, finished_at = NULL,
		recoveries = 0`, inTrouble},
	ResetFromPage1: {`
		status = 'PLANNED', not_before = NULL, wait_reason = NULL, backoff_level = 0, consecutive_failures = 0, finished_at = NULL,
		page_current = 0, next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0, bad_count = 0, seen_ids = NULL,
		ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = NULL, recoveries = 0`, inTrouble},
}

// where returns the condition on the targets t that the operation changes, and its arguments.
// Who names a target by its id means it, whatever its kind. With it the statement of an operation looks like
//
//	UPDATE targets AS t SET paused = 1
//	WHERE t.paused = 0 AND (?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7)))
//		AND (?8 = '' OR t.last_error_code = ?8) AND (?9 IS NULL OR t.total_attempts <= ?9) AND (?10 = '' OR t.finished_at < ?10)
//		AND <store.InScope> AND t.id IN (SELECT value FROM json_each(?11))
func (o operation) where(c Chosen, now time.Time) (condition string, args []any) {
	older := ""
	if c.OlderThan > 0 {
		older = yp.FormatTime(now.Add(-c.OlderThan))
	}
	more := []any{store.JSONTexts(c.Statuses), string(c.Error), c.MaxAttempts, older}
	condition = ` WHERE ` + o.of + ` AND (?8 = '' OR t.last_error_code = ?8) AND (?9 IS NULL OR t.total_attempts <= ?9)
		AND (?10 = '' OR t.finished_at < ?10) AND ` + store.InScope
	if len(c.IDs) > 0 {
		condition, more = condition+` AND t.id IN (SELECT value FROM json_each(?11))`, append(more, store.JSONInts(c.IDs))
		if len(c.Scope.Kinds) == 0 {
			c.Scope.Kinds = yp.Kinds()
		}
	}
	return condition, c.Scope.Args(more...)
}

// find returns an operation by its name, and what is chosen with the default of its statuses.
func (o Operation) find(c Chosen) (operation, Chosen, error) {
	do, ok := operations[o]
	if !ok {
		return do, c, fmt.Errorf("no such operation: %s", o)
	}
	if do.of != inTrouble {
		return do, c, nil
	}
	if len(c.Statuses) == 0 {
		c.Statuses = []yp.Status{yp.Failed}
	}
	for _, s := range c.Statuses {
		if !s.Resettable() {
			return do, c, fmt.Errorf("status %s can't be reset: want FAILED, STUCK or PARKED", s)
		}
	}
	return do, c, nil
}

// CountChosen returns how many targets Operate would change now.
func (k *Keeper) CountChosen(ctx context.Context, o Operation, c Chosen) (n int, err error) {
	do, c, err := o.find(c)
	if err != nil {
		return 0, err
	}
	condition, args := do.where(c, k.db.Now())
	if err := k.row(ctx, `SELECT count(*) FROM targets t`+condition, args, &n); err != nil {
		return 0, fmt.Errorf("count targets to %s: %w", o, err)
	}
	return n, nil
}

// Operate carries out an operation and returns how many targets it changed. A crawl waits
// meanwhile: 20 µs a target.
func (k *Keeper) Operate(ctx context.Context, o Operation, c Chosen) (changed int, err error) {
	do, c, err := o.find(c)
	if err != nil {
		return 0, err
	}
	condition, args := do.where(c, k.db.Now())
	return k.changed(ctx, string(o)+" targets", `UPDATE targets AS t SET `+do.set+condition, func(*store.Tx) []any { return args })
}
