package crawl

import (
	"context"
	"errors"
	"time"

	"ypcrawl/store"
)

// hearEvery is how soon a host that told another process to stop, or that an
// operator has reset, is known here: between two requests at the usual pace.
const hearEvery = 2 * time.Second

// beat keeps the claims of this process alive, takes back what processes that
// died meanwhile held, and wakes what falls due.
func (h *house) beat(ctx context.Context) {
	tick := time.NewTicker(h.cfg.Heartbeat)
	defer tick.Stop()
	roll := time.NewTicker(h.cfg.RollUp)
	defer roll.Stop()
	news := time.NewTicker(h.hear)
	defer news.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := h.beatOnce(ctx); err != nil && ctx.Err() == nil {
				h.warn(err, "heartbeat failed")
				if store.Fatal(err) {
					h.stop(err)
				}
			}
		case <-news.C:
			if err := h.listen(ctx); err != nil && ctx.Err() == nil {
				h.warn(err, "holds of other processes could not be read")
			}
		case <-roll.C:
			if err := h.takeStock(ctx); err != nil && ctx.Err() == nil {
				h.warn(err, "roll-up failed")
			}
		}
	}
}

func (h *house) warn(err error, what string) {
	h.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg(what)
}

func (h *house) beatOnce(ctx context.Context) error {
	if _, err := h.cfg.Run.Heartbeat(ctx, h.requests(), residentBytes()); err != nil {
		return err
	}
	errs := []error{h.recoverDead(ctx)}
	for _, e := range h.atWork() {
		errs = append(errs, e.staff.beat(), e.hosts.Refresh(ctx), e.wake(ctx))
	}
	return errors.Join(append(errs, h.cfg.Beat(ctx))...)
}

// listen takes over what other processes have been told by the hosts.
func (h *house) listen(ctx context.Context) error {
	errs := []error{h.cfg.Monitor.MendClock(ctx)}
	for _, e := range h.atWork() {
		errs = append(errs, e.hosts.Refresh(ctx))
	}
	return errors.Join(errs...)
}

// recoverDead takes back what dead processes held, and lets idle workers look again.
func (h *house) recoverDead(ctx context.Context) error {
	h.recovered.mark()
	rec, err := h.cfg.Keeper.RecoverDead(ctx, h.cfg.Scope)
	if err != nil || rec.Total()+rec.Details == 0 {
		return err
	}
	h.cfg.Logger.Info().Str("component", "crawl").Int("planned", rec.Planned).Int("stuck", rec.Stuck).Int("details", rec.Details).
		Msg("recovered targets of a dead process")
	for _, e := range h.atWork() {
		e.free()
	}
	return nil
}

// refill makes claimable what has become so by itself. Of several engines, one that
// has just looked for dead processes has done so for all.
func (e *Engine) refill(ctx context.Context) error {
	if len(e.house.engines) == 1 || e.house.recovered.due(e.look) {
		if err := e.house.recoverDead(ctx); err != nil {
			return err
		}
	}
	return e.wake(ctx)
}

// wake plans what fell due, and brings the staff up to it.
func (e *Engine) wake(ctx context.Context) error {
	e.looks.mark()
	woken, err := e.cfg.Keeper.Wake(ctx, e.scope())
	if err != nil {
		return err
	}
	if woken > 0 {
		e.free()
	}
	due, err := e.due(ctx)
	if err != nil {
		return err
	}
	return e.staff.hire(ctx, due)
}

// due counts the targets that can be claimed now, as far as it decides how many
// workers there are.
func (e *Engine) due(ctx context.Context) (int, error) {
	o, err := e.offers(ctx, e.cfg.Workers*e.perWorker, 0)
	return o.Ready, err
}

// free lets one waiting worker look again.
func (e *Engine) free() {
	select {
	case e.freed <- struct{}{}:
	default:
	}
}
