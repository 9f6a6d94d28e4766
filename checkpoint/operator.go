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
	Pause   Operation = "pause"   // not claimed any more; a crawl under way is finished
	Resume  Operation = "resume"  // as it was before the pause
	Enable  Operation = "enable"  // crawled again, and all that was set automatically is cleared
	Disable Operation = "disable" // not claimed until it is enabled
)

// Chosen selects the targets that an operation is about. Empty fields select all.
type Chosen struct {
	IDs      []int64 // only these
	Scope    store.Scope
	Statuses []yp.Status
	Error    yp.ErrorCode // of the last failure
}

// operatorChunk bounds how long a crawl waits behind one transaction of an
// operator's: at 20 µs a row, 40 ms.
const operatorChunk = 2000

const chosenOnes = `(?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7))) AND (?8 = '' OR t.last_error_code = ?8)
		AND ` + where

// operation is what an Operation sets, and of which targets: one that is paused already is
// not paused again.
type operation struct{ set, of string }

var operations = map[Operation]operation{
	Pause:  {`paused = 1`, `t.paused = 0`},
	Resume: {`paused = 0`, `t.paused = 1`},
	// The trigger targets_enabled clears what was set automatically.
	Enable:  {`enabled = 1`, `(t.enabled = 0 OR t.consecutive_failures > 0 OR t.backoff_level > 0 OR t.wait_reason IS 'backoff')`},
	Disable: {`enabled = 0`, `t.enabled = 1`},
}

// count counts them all, or of those whose ids are given.
func (o operation) count(given bool) string {
	from := `targets t`
	if given {
		from = `json_each(?9) AS j CROSS JOIN targets t ON t.id = j.value`
	}
	return `SELECT count(*) FROM ` + from + ` WHERE ` + o.of + ` AND ` + chosenOnes
}

func (o operation) next() string {
	return `SELECT t.id FROM targets t WHERE t.id > ?9 AND ` + o.of + ` AND ` + chosenOnes + ` ORDER BY t.id LIMIT ?10`
}

func (o operation) update() string {
	return `UPDATE targets AS t SET ` + o.set + ` WHERE t.id IN (SELECT value FROM json_each(?9)) AND ` + o.of + ` AND ` + chosenOnes
}

// args are those of chosenOnes, then more. Who names a target by its id means it, whatever
// its kind.
func (c Chosen) args(more ...any) []any {
	if len(c.IDs) > 0 && len(c.Scope.Kinds) == 0 {
		c.Scope.Kinds = yp.Kinds()
	}
	return c.Scope.Args(append([]any{store.JSONTexts(c.Statuses), string(c.Error)}, more...)...)
}

// longAgo is the time so long before now; "" = it does not matter how long.
func longAgo(now time.Time, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return yp.FormatTime(now.Add(-d))
}

// CountChosen returns how many targets Operate would change now.
func (k *Keeper) CountChosen(ctx context.Context, o Operation, c Chosen) (n int, err error) {
	do, ok := operations[o]
	if !ok {
		return 0, fmt.Errorf("no such operation: %s", o)
	}
	given, args := len(c.IDs) > 0, c.args()
	if given {
		args = append(args, store.JSONInts(c.IDs))
	}
	if err := k.row(ctx, do.count(given), args, &n); err != nil {
		return 0, fmt.Errorf("count targets to %s: %w", o, err)
	}
	return n, nil
}

// Operate carries out an operation and returns how many targets it changed. It
// goes in small transactions, so that a crawl is not held up; when it is cut
// short, what is done stays done, and doing it again does the rest.
func (k *Keeper) Operate(ctx context.Context, o Operation, c Chosen) (changed int, err error) {
	do, ok := operations[o]
	if !ok {
		return 0, fmt.Errorf("no such operation: %s", o)
	}
	what, given, last := string(o)+" targets", c.IDs, int64(-1)
	for {
		ids := given[:min(len(given), operatorChunk)]
		if given = given[len(ids):]; len(c.IDs) == 0 {
			if ids, err = store.Column[int64](k.db.Reader(ctx), do.next(), c.args(last, operatorChunk)...); err != nil {
				return changed, fmt.Errorf("%s: %w", what, err)
			}
		}
		if len(ids) == 0 {
			return changed, nil
		}
		last = ids[len(ids)-1]
		n, err := k.changed(ctx, what, do.update(), func(*store.Tx) []any { return c.args(store.JSONInts(ids)) })
		if changed += n; err != nil {
			return changed, err
		}
	}
}

// Reset selects the targets that an operator takes back to PLANNED.
type Reset struct {
	IDs         []int64 // only these
	Scope       store.Scope
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
		AND (?9 IS NULL OR t.total_attempts <= ?9) AND (?10 = '' OR t.finished_at < ?10) AND (?11 = '[]' OR t.id IN (SELECT value FROM json_each(?11))) AND ` + where
	countReset = `SELECT count(*) FROM targets t` + resetWhere
	resetKeep  = `UPDATE targets AS t SET ` + resetSet + `recoveries = 0` + resetWhere
	resetAnew  = `UPDATE targets AS t SET ` + resetSet + anew + resetWhere
	// An operator's word ends every wait, the gap between two crawls included.
	resetSet = planSet + `, backoff_level = 0, consecutive_failures = 0, finished_at = NULL, `
)

func (r Reset) args(now time.Time) ([]any, error) {
	statuses := r.Statuses
	if len(statuses) == 0 {
		statuses = []yp.Status{yp.Failed}
	}
	for _, s := range statuses {
		if !s.Resettable() {
			return nil, fmt.Errorf("status %s can't be reset: want FAILED, STUCK or PARKED", s)
		}
	}
	if len(r.IDs) > 0 && len(r.Scope.Kinds) == 0 {
		r.Scope.Kinds = yp.Kinds()
	}
	return r.Scope.Args(store.JSONTexts(statuses), string(r.Error), r.MaxAttempts, longAgo(now, r.OlderThan), store.JSONInts(r.IDs)), nil
}

// CountReset returns how many targets ResetTargets would take back.
func (k *Keeper) CountReset(ctx context.Context, r Reset) (n int, err error) {
	args, err := r.args(k.db.Now())
	if err != nil {
		return 0, err
	}
	if err := k.row(ctx, countReset, args, &n); err != nil {
		return 0, fmt.Errorf("count targets to reset: %w", err)
	}
	return n, nil
}

// ResetTargets takes the selected targets back to PLANNED and returns how many.
func (k *Keeper) ResetTargets(ctx context.Context, r Reset) (int, error) {
	args, err := r.args(k.db.Now())
	if err != nil {
		return 0, fmt.Errorf("reset targets: %w", err)
	}
	query := resetKeep
	if r.FromPage1 {
		query = resetAnew
	}
	return k.changed(ctx, "reset targets", query, func(*store.Tx) []any { return args })
}
