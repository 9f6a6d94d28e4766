package crawl

import (
	"context"
	"errors"
	"fmt"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// conclude makes durable how the walk through a state ended. Only an error that ends
// the tour is returned.
func (w *walker) conclude(ctx context.Context, walk *checkpoint.Walk, leg *Leg, err error) error {
	if err == nil {
		err = w.complete(context.WithoutCancel(ctx), walk, leg)
	}
	var attempt *attemptError
	var blocked *BlockedError
	var fatal fatalError
	switch {
	case err == nil:
		w.cfg.Reached(PointEnded)
		return nil
	case errors.Is(err, checkpoint.ErrClaimLost):
		return w.dropped(ctx, walk, leg)
	case errors.As(err, &fatal):
		return w.handBack(ctx, walk, leg, err)
	case errors.As(err, &attempt):
		return w.failed(ctx, walk, leg, attempt.cause.Policy().Code, err.Error())
	case errors.Is(err, errHeld):
		return w.handBack(ctx, walk, leg, w.held(ctx, err))
	case errors.As(err, &blocked), errors.Is(err, errStopped), ctx.Err() != nil:
		return w.handBack(ctx, walk, leg, err)
	case refused(err):
		return w.failed(ctx, walk, leg, yp.CodeUnknown, fmt.Sprintf("the walk could not be saved: %v", err))
	}
	return w.handBack(ctx, walk, leg, err)
}

// complete plans the targets of the cities found, then ends the walk: a process that
// dies in between plans them again, which changes nothing.
func (w *walker) complete(ctx context.Context, walk *checkpoint.Walk, leg *Leg) error {
	k := w.cfg.Keeper
	cities, err := k.FoundCities(ctx, walk, w.tour.MinPopulation)
	if err != nil {
		return err
	}
	plan := w.tour.Plan
	plan.SourceID, plan.Cities, plan.Listed = walk.SourceID, cities, nil
	planned, err := k.PlanStaged(ctx, plan)
	if err != nil {
		return err
	}
	end, err := k.EndWalk(ctx, walk)
	if err != nil {
		return err
	}
	leg.Status, leg.Planned, leg.Gone, leg.Retired = LegDone, planned.Added, end.Gone, end.Retired
	if end.Suspect != "" {
		leg.Status, leg.Code, leg.Reason = LegFailed, yp.CodeHTMLChanged, end.Suspect
		w.logger.Warn().Str("state", walk.State).Str("reason", end.Suspect).Msg("the walk is not believed: no city is marked as gone")
		w.hear(*leg)
		return nil
	}
	w.logger.Info().Str("state", walk.State).Int("cities", leg.Cities).Int("new", leg.Added).Int("gone", leg.Gone).
		Int("targets_planned", leg.Planned).Int("targets_retired", leg.Retired).Msg("state walked")
	w.hear(*leg)
	return nil
}

// failed ends a walk whose page can't be had; the next state is taken.
func (w *walker) failed(ctx context.Context, walk *checkpoint.Walk, leg *Leg, code yp.ErrorCode, reason string) error {
	leg.Status, leg.Code, leg.Reason = LegFailed, code, reason
	if err := w.cfg.Keeper.FailWalk(context.WithoutCancel(ctx), walk, code, reason); err != nil {
		if errors.Is(err, checkpoint.ErrClaimLost) {
			return w.dropped(ctx, walk, leg)
		}
		return err
	}
	w.count.failed.Add(1)
	log := w.logger.Warn()
	if proxy := w.proxy(); proxy != "" {
		log = log.Str("proxy", proxy)
	}
	log.Str("state", walk.State).Int("page", walk.PagesDone+1).Int("pages", walk.Pages).Str("error_code", string(code)).
		Str("reason", reason).Msg("the walk through a state failed: no city is marked as gone")
	w.hear(*leg)
	return nil
}

// handBack lets the next tour go on with the walk, and ends this one with err.
func (w *walker) handBack(ctx context.Context, walk *checkpoint.Walk, leg *Leg, err error) error {
	if store.Fatal(err) {
		return err
	}
	leg.Status, leg.Reason = LegPaused, err.Error()
	if errors.Is(err, errStopped) {
		leg.Reason = ""
	}
	w.hear(*leg)
	left := w.cfg.Keeper.ReleaseWalk(context.WithoutCancel(ctx), walk)
	if errors.Is(left, checkpoint.ErrClaimLost) {
		left = nil
	}
	return errors.Join(err, left)
}

// dropped forgets a walk that somebody else has taken. What was asked for it was asked
// all the same.
func (w *walker) dropped(ctx context.Context, walk *checkpoint.Walk, leg *Leg) error {
	w.count.lost.Add(1)
	leg.Status, leg.Reason = LegSkipped, "another process took it"
	w.logger.Warn().Str("state", walk.State).Msg("the walk is no longer this process's")
	w.hear(*leg)
	return fatalOrNil(w.cfg.Keeper.Record(context.WithoutCancel(ctx), walk.Requests))
}

// held is the error of a host that must be left alone for longer than the run waits.
func (w *walker) held(ctx context.Context, err error) error {
	gate, look := w.cfg.Keeper.Gate(ctx, w.cfg.Scope.SourceID)
	if look != nil {
		return errors.Join(err, look)
	}
	if gate.Open() {
		gate = checkpoint.Gate{State: checkpoint.GateHeld, Reason: err.Error()}
	}
	return &BlockedError{Source: w.cfg.Source.Name(), Gate: gate}
}
