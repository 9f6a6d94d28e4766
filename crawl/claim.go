package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// next claims a target, waiting while one may still become free; nil when
// there is nothing left for this run.
func (w *worker) next(ctx context.Context) (*checkpoint.Claim, error) {
	for w.drainCtx.Err() == nil {
		var more bool
		w.hands.Add(1)
		c, err := w.claimInBudget(ctx)
		if err != nil {
			w.hands.Add(-1)
		}
		switch {
		case err == nil:
			w.count.wait("")
			w.blockedBy.Store(nil) // whoever went because of a hold: it is over
			w.waitsFor = ""        // the claim has said so
			w.wakeWorker()         // there may be another one
			return c, nil
		case errors.Is(err, errBudgetReserved):
			more = w.rest(ctx, w.look)
		case errors.Is(err, checkpoint.ErrNothing):
			if more, err = w.idle(ctx); err != nil {
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

var errBudgetReserved = errors.New("other workers are crawling the last targets of the budget")

// claimInBudget claims a target within the budget of searches. What was asked for in vain goes back into
// it, so that a full state costs nothing.
func (w *worker) claimInBudget(ctx context.Context) (*checkpoint.Claim, error) {
	scope, budget := w.scope(), &w.shared.targets
	if len(scope.Kinds) == 0 {
		return nil, checkpoint.ErrNothing
	}
	search := scope.Has(yp.KindSearch)
	if search && !budget.reserve() {
		search = false
		scope.Kinds = slices.DeleteFunc(scope.Kinds, func(k yp.Kind) bool { return k == yp.KindSearch })
		if len(scope.Kinds) == 0 {
			return nil, errBudgetReserved
		}
	}
	c, err := w.claimTarget(ctx, scope)
	if err == nil {
		w.count.update(func(s *Stats) { s.Claims++ })
	}
	switch {
	case !search:
	case err != nil || c.Kind != yp.KindSearch:
		budget.giveBack()
	case budget.use():
		w.shared.drain(fmt.Errorf("%w: %s", ErrBudget, yp.Plural(budget.most, budget.of)))
	}
	return c, err
}

// scope is what the run takes now.
func (e *Engine) scope() store.Scope {
	s := e.cfg.Scope
	s.Kinds, s.DetailsEvery = make([]yp.Kind, 0, 3), e.cfg.Details.Every
	if e.cfg.Index != nil {
		s.Kinds = append(s.Kinds, yp.KindIndex)
	}
	if !e.cfg.Details.Only && (e.cfg.Index == nil || !e.cfg.Index.Only) {
		s.Kinds = append(s.Kinds, yp.KindSearch)
	}
	// No details any more once the source's pages of listings are not what its definition says.
	if e.cfg.Details.Wanted && e.cfg.Source.HasDetails() && e.unreadableDetails.Load() < health.MaxStrikes {
		s.Kinds = append(s.Kinds, yp.KindDetail)
	}
	return s
}

// offers is what the scope has to offer, counted up to the limit.
func (e *Engine) offers(ctx context.Context, limit int, horizon time.Duration) (o checkpoint.Outlook, err error) {
	s := e.scope()
	if len(s.Kinds) == 0 {
		o.Availability, err = e.cfg.Keeper.Availability(ctx, s.SourceID)
		return o, err
	}
	return e.cfg.Keeper.Look(ctx, s, limit, horizon)
}

// idle waits until it is worth claiming again; more is false when nothing can
// be claimed and nothing will be soon, or when other workers will look again.
func (w *worker) idle(ctx context.Context) (more bool, err error) {
	o, err := w.outlook(ctx)
	if err != nil {
		return false, err
	}
	if err := w.fullStates(ctx, o.Ready > 0 && o.Availability.Open()); err != nil {
		return false, err
	}
	if o.Ready == 0 && w.hands.Load() > 0 { // they may plan more, and whoever is the last sees the run to its end
		return w.rest(ctx, w.look), nil
	}
	if !o.Availability.Open() {
		return w.waitForSource(ctx, o)
	}
	wait := w.look
	if o.Ready > 0 {
		if w.hands.Load() == 0 {
			w.count.wait("waiting: other runs crawl as many searches of each state as --max-per-state allows")
		}
	} else {
		if o.Next.IsZero() && !w.cfg.Watch {
			return false, nil
		}
		wait = w.until(o.Next)
	}
	return w.rest(ctx, wait), nil
}

// fullStates says, in the log once and to others in the worker's row, that it waits because of --max-per-state: there are
// targets that are ready, and of their states as many are in progress as may be. It takes that back when the cause is gone.
func (w *worker) fullStates(ctx context.Context, ready bool) error {
	most, reason := w.cfg.MaxPerState, ""
	if most > 0 && ready {
		full, err := w.cfg.Keeper.FullStates(ctx, w.cfg.Scope, most)
		if err != nil {
			return err
		}
		if len(full) > 0 {
			reason = fmt.Sprintf("--max-per-state %d", most)
			if _, told := w.told.LoadOrStore(reason, true); !told {
				w.cfg.Logger.Info().Str("source", w.cfg.Source.Name()).Int("max_per_state", most).Int("workers", w.cfg.Workers).Strs("states", full).
					Msg("workers wait: these states have as many searches in progress as --max-per-state allows")
			}
		}
	}
	if reason == w.waitsFor {
		return nil
	}
	err := w.cfg.Run.Wait(ctx, w.me.ID, reason, w.cfg.Scope.SourceID)
	if errors.Is(err, store.ErrBusy) {
		return nil // said when it looks again
	}
	if err == nil {
		w.waitsFor = reason
	}
	return err
}

// until is how long to rest when no target is due before that then, and says so.
func (w *worker) until(next time.Time) time.Duration {
	if next.IsZero() {
		w.count.wait("nothing is due")
		return w.look
	}
	now := w.cfg.Keeper.DB().Now()
	left := max(next.Sub(now), 0)
	w.count.wait(fmt.Sprintf("waiting until %s: nothing is due before that", yp.ClockTime(now, next)))
	return min(max(left, 10*time.Millisecond), w.look)
}

// watchAhead is far enough for a run that stays to tell what it waits for, and near
// enough to find it in the index at once.
const watchAhead = time.Hour

// outlook is what the scope has to offer after a refill, which is left out while others are at
// work, or something is planned, and one was made just now: states that are full wake workers often.
func (w *worker) outlook(ctx context.Context) (checkpoint.Outlook, error) {
	horizon := w.cfg.Linger
	if w.cfg.Watch {
		horizon = max(horizon, watchAhead)
	}
	o, err := w.offers(ctx, 1, horizon)
	if err != nil || (o.Ready > 0 || w.hands.Load() > 0) && !w.woken.due(w.look) {
		return o, err
	}
	// What has become claimable by itself. Of several engines, one that has just looked for
	// dead processes has done so for all.
	if s := w.shared; len(s.engines) == 1 || s.recovered.due(w.look) {
		if err := s.recoverDead(ctx); err != nil {
			return o, err
		}
	}
	if err := w.wake(ctx); err != nil {
		return o, err
	}
	return w.offers(ctx, 1, horizon)
}

// rest waits for d, for a target that may have become free, or for the end; false at the end.
func (w *worker) rest(ctx context.Context, d time.Duration) bool {
	return w.sleep(ctx, w.drainCtx, d, w.wakeup)
}
