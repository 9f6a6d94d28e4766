package checkpoint

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Operation is what an operator does to targets.
type Operation string

// The operations.
const (
	Pause       Operation = "pause"        // not claimed any more; a crawl under way is finished
	Resume      Operation = "resume"       // as it was before the pause
	Enable      Operation = "enable"       // crawled again, and all that was set automatically is cleared
	Disable     Operation = "disable"      // not claimed until it is enabled
	Requeue     Operation = "requeue"      // a dead letter is planned again, pages kept
	RequeueAnew Operation = "requeue_anew" // the same from page 1
)

// Chosen selects the targets that an operation is about. Empty fields select all.
type Chosen struct {
	IDs       []int64 // only these
	Scope     Scope
	Statuses  []yp.Status
	Error     yp.ErrorCode  // of the last failure
	OlderThan time.Duration // since its last end
}

// operatorChunk bounds how long a crawl waits behind one transaction of an
// operator's: at 20 µs a row, 40 ms.
const operatorChunk = 2000

const (
	chosenOnes = `(?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7))) AND (?8 = '' OR t.last_error_code = ?8)
		AND (?9 = '' OR t.finished_at < ?9) AND ` + where

	// What an operation would change: one that is paused already is not paused again.
	canPause   = `t.paused = 0 AND `
	canResume  = `t.paused = 1 AND `
	canEnable  = `(t.enabled = 0 OR t.consecutive_failures > 0 OR t.backoff_level > 0 OR t.wait_reason IS 'backoff') AND `
	canDisable = `t.enabled = 1 AND `
	canRequeue = `t.status = 'PARKED' AND `

	countChosen = `SELECT count(*) FROM targets t WHERE `
	countGiven  = `SELECT count(*) FROM json_each(?10) AS j CROSS JOIN targets t ON t.id = j.value WHERE `
	nextChosen  = `SELECT t.id FROM targets t WHERE t.id > ?10 AND `
	inOrder     = ` ORDER BY t.id LIMIT ?11`

	change        = `UPDATE targets AS t SET `
	given         = ` WHERE t.id IN (SELECT value FROM json_each(?10)) AND `
	pauseTargets  = change + `paused = 1` + given + canPause + chosenOnes
	resumeTargets = change + `paused = 0` + given + canResume + chosenOnes
	// The trigger targets_enabled clears what was set automatically.
	enableTargets  = change + `enabled = 1` + given + canEnable + chosenOnes
	disableTargets = change + `enabled = 0` + given + canDisable + chosenOnes
	requeueKeep    = change + resetSet + `recoveries = 0` + given + canRequeue + chosenOnes
	requeueAnew    = change + resetSet + anew + given + canRequeue + chosenOnes
)

// statements are an operation's queries: how many targets it would change of all
// and of given ones, the next of them, and the change itself.
type statements struct{ count, countGiven, next, update string }

func (o Operation) statements() (statements, error) {
	switch o {
	case Pause:
		return statements{countChosen + canPause + chosenOnes, countGiven + canPause + chosenOnes, nextChosen + canPause + chosenOnes + inOrder, pauseTargets}, nil
	case Resume:
		return statements{countChosen + canResume + chosenOnes, countGiven + canResume + chosenOnes, nextChosen + canResume + chosenOnes + inOrder, resumeTargets}, nil
	case Enable:
		return statements{countChosen + canEnable + chosenOnes, countGiven + canEnable + chosenOnes, nextChosen + canEnable + chosenOnes + inOrder, enableTargets}, nil
	case Disable:
		return statements{countChosen + canDisable + chosenOnes, countGiven + canDisable + chosenOnes, nextChosen + canDisable + chosenOnes + inOrder, disableTargets}, nil
	case Requeue, RequeueAnew:
		s := statements{countChosen + canRequeue + chosenOnes, countGiven + canRequeue + chosenOnes, nextChosen + canRequeue + chosenOnes + inOrder, requeueKeep}
		if o == RequeueAnew {
			s.update = requeueAnew
		}
		return s, nil
	}
	return statements{}, fmt.Errorf("no such operation: %s", o)
}

// args are those of chosenOnes, then more. Who names a target by its id means it, whatever
// its kind.
func (c Chosen) args(now time.Time, more ...any) []any {
	if len(c.IDs) > 0 && len(c.Scope.Kinds) == 0 {
		c.Scope.Kinds = yp.Kinds()
	}
	before := ""
	if c.OlderThan > 0 {
		before = yp.FormatTime(now.Add(-c.OlderThan))
	}
	return c.Scope.Args(append([]any{jsonList(c.Statuses), string(c.Error), before}, more...)...)
}

// CountChosen returns how many targets Operate would change now.
func (k *Keeper) CountChosen(ctx context.Context, o Operation, c Chosen) (n int, err error) {
	s, err := o.statements()
	if err != nil {
		return 0, err
	}
	query, args := s.count, c.args(k.db.Now())
	if len(c.IDs) > 0 {
		query, args = s.countGiven, append(args, jsonInts(c.IDs))
	}
	if err := k.db.Read().QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count targets to %s: %w", o, err)
	}
	return n, nil
}

// Operate carries out an operation and returns how many targets it changed. It
// goes in small transactions, so that a crawl is not held up; when it is cut
// short, what is done stays done, and doing it again does the rest.
func (k *Keeper) Operate(ctx context.Context, o Operation, c Chosen) (changed int, err error) {
	s, err := o.statements()
	if err != nil {
		return 0, err
	}
	now := k.db.Now() // one time for all: what fails meanwhile is not older than it was
	next := k.chunks(c, s.next, now)
	for {
		ids, err := next(ctx)
		if err != nil {
			return changed, fmt.Errorf("%s targets: %w", o, err)
		}
		if len(ids) == 0 {
			return changed, nil
		}
		var n int64
		err = k.write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Changed(s.update, c.args(now, jsonInts(ids))...)
			return err
		})
		if err != nil {
			return changed, fmt.Errorf("%s targets: %w", o, err)
		}
		changed += int(n)
	}
}

// chunks returns a function that returns the ids of the next chunk, none at the end.
func (k *Keeper) chunks(c Chosen, query string, now time.Time) func(context.Context) ([]int64, error) {
	if len(c.IDs) > 0 {
		given := slices.Clone(c.IDs)
		return func(context.Context) (ids []int64, err error) {
			n := min(len(given), operatorChunk)
			ids, given = given[:n], given[n:]
			return ids, nil
		}
	}
	last := int64(-1)
	return func(ctx context.Context) (ids []int64, err error) {
		err = k.db.Each(ctx, query, c.args(now, last, operatorChunk), func(rows *sql.Rows) error {
			err := rows.Scan(&last)
			ids = append(ids, last)
			return err
		})
		return ids, err
	}
}
