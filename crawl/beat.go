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
func (e *Engine) beat(ctx context.Context) {
	tick := time.NewTicker(e.cfg.Heartbeat)
	defer tick.Stop()
	roll := time.NewTicker(e.cfg.RollUp)
	defer roll.Stop()
	news := time.NewTicker(e.hear)
	defer news.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := e.beatOnce(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg("heartbeat failed")
				if store.Fatal(err) {
					e.stop(err)
				}
			}
		case <-news.C:
			if err := e.hosts.Refresh(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg("holds of other processes could not be read")
			}
		case <-roll.C:
			if err := e.takeStock(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg("roll-up failed")
			}
		}
	}
}

func (e *Engine) beatOnce(ctx context.Context) error {
	if _, err := e.cfg.Run.Heartbeat(ctx, e.count.requests.Load(), residentBytes()); err != nil {
		return err
	}
	return errors.Join(e.staff.beat(), e.hosts.Refresh(ctx), e.refill(ctx), e.cfg.Beat(ctx))
}

// refill makes claimable what has become so by itself.
func (e *Engine) refill(ctx context.Context) error {
	e.looks.mark()
	rec, err := e.cfg.Keeper.RecoverDead(ctx, e.cfg.Scope)
	if err != nil {
		return err
	}
	if rec.Total() > 0 {
		e.cfg.Logger.Info().Str("component", "crawl").Int("planned", rec.Planned).Int("stuck", rec.Stuck).
			Msg("recovered targets of a dead process")
	}
	woken, err := e.cfg.Keeper.Wake(ctx, e.cfg.Scope)
	if err != nil {
		return err
	}
	if rec.Planned+woken > 0 {
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
	o, err := e.cfg.Keeper.Look(ctx, e.cfg.Scope, e.cfg.Workers*e.perWorker, 0)
	return o.Ready, err
}

// free lets one waiting worker look again.
func (e *Engine) free() {
	select {
	case e.freed <- struct{}{}:
	default:
	}
}
