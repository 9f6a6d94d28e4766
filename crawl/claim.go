package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ypcrawl/checkpoint"
)

// next claims a target, waiting while one may still become free; nil when
// there is nothing left for this run.
func (w *worker) next(ctx context.Context) (*checkpoint.Claim, error) {
	for w.appetite.Err() == nil {
		var more bool
		c, err := w.claim(ctx)
		switch {
		case err == nil:
			w.count.wait("")
			w.free() // there may be another one
			return c, nil
		case errors.Is(err, errSpoken):
			more = w.rest(ctx, w.look)
		case errors.Is(err, checkpoint.ErrNothing):
			more, err = w.idle(ctx)
			if err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
		if !more {
			break
		}
	}
	return nil, ctx.Err()
}

// errSpoken means that the others are claiming the last targets of the budget.
var errSpoken = errors.New("the targets of the budget are spoken for")

// claim claims a target within the budget. What was asked for in vain goes back
// into it, so that a full state costs nothing.
func (w *worker) claim(ctx context.Context) (*checkpoint.Claim, error) {
	b := w.cfg.Budget.Targets
	if b > 0 && w.count.tickets.Add(1) > b {
		w.count.tickets.Add(-1)
		return nil, errSpoken
	}
	c, err := w.cfg.Keeper.Claim(ctx, w.me, w.cfg.Scope, w.cfg.MaxPerState)
	switch {
	case b == 0:
	case err != nil:
		w.count.tickets.Add(-1)
	case w.count.claimed.Add(1) == b:
		w.enough(fmt.Errorf("%w: %d targets", ErrBudget, b))
	}
	return c, err
}

// idle waits until it is worth claiming again; more is false when nothing can
// be claimed and nothing will be soon.
func (w *worker) idle(ctx context.Context) (more bool, err error) {
	ready, next, err := w.ready(ctx)
	if err != nil {
		return false, err
	}
	wait := w.look
	if !ready {
		if next.IsZero() {
			return false, nil
		}
		left := next.Sub(w.cfg.Keeper.DB().Now())
		if left > w.cfg.Linger {
			return false, nil
		}
		w.count.wait(fmt.Sprintf("waiting %s: the next target falls due", max(left, 0).Round(time.Second)))
		wait = min(max(left, 10*time.Millisecond), w.look)
	}
	return w.rest(ctx, wait), nil
}

// ready is checkpoint's Ready after a refill, which is left out while there is
// something planned and one was made just now: states that are full wake
// workers often.
func (w *worker) ready(ctx context.Context) (ready bool, next time.Time, err error) {
	ready, next, err = w.cfg.Keeper.Ready(ctx, w.cfg.Scope)
	if err != nil || ready && !w.looks.due(w.look) {
		return ready, next, err
	}
	if err := w.refill(ctx); err != nil {
		return false, time.Time{}, err
	}
	return w.cfg.Keeper.Ready(ctx, w.cfg.Scope)
}

// rest waits for d, for a freed target, or for the end; false at the end.
func (w *worker) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.freed:
		return true
	case <-w.appetite.Done():
		return false
	case <-ctx.Done():
		return false
	}
}
