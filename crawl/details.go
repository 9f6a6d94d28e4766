package crawl

import (
	"context"
	"errors"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/health"
	"ypcrawl/yp"
)

// Details says what a run is to do about the listings' own pages. They come after all
// results pages that can be claimed.
type Details struct {
	Wanted bool          // take those that are due, if the source describes such pages
	Only   bool          // and no results pages
	Every  time.Duration // how long one that was read stays good; default 30 days
}

// planDetails plans the details of the listings that were there before, if they are
// wanted.
func (e *Engine) planDetails(ctx context.Context) error {
	if !e.cfg.Details.Wanted || !e.cfg.Source.HasDetails() {
		return nil
	}
	s := e.cfg.Scope
	added, err := e.cfg.Keeper.WantDetails(ctx, s.SourceID, s.States, e.cfg.Details.Every)
	if err != nil {
		return err
	}
	if added > 0 {
		e.cfg.Logger.Info().Str("component", "crawl").Str("source", e.cfg.Source.Name()).Int("new", added).Msg("details planned")
	}
	e.details = e.cfg.Keeper.Details(s.SourceID, s.States)
	return nil
}

// wantsDetails reports whether this run takes details: not any more once the source's
// pages of listings are no longer what its definition says.
func (e *Engine) wantsDetails() bool {
	return e.details != nil && e.oddDetails.Load() < health.MaxStrikes
}

// oddDetail counts pages running whose layout is not known. They say nothing of the
// results pages, so they raise no alarm; but every page more would be one more that
// nobody can read, and no more are asked for in this run.
func (e *Engine) oddDetail(err error) {
	var attempt *attemptError
	if !errors.As(err, &attempt) || attempt.cause != yp.CauseLayout {
		return
	}
	if e.oddDetails.Add(1) == health.MaxStrikes {
		e.cfg.Logger.Error().Str("component", "crawl").Str("source", e.cfg.Source.Name()).Err(err).
			Msg("the pages of listings are no longer what the definition says: no more details in this run")
	}
}

// offers is what the scope has to offer, targets and details, counted up to the limit.
func (e *Engine) offers(ctx context.Context, limit int, horizon time.Duration) (o checkpoint.Outlook, err error) {
	k, scope := e.cfg.Keeper, e.cfg.Scope
	if e.cfg.Details.Only {
		o.Gate, err = k.Gate(ctx, scope.SourceID)
	} else {
		o, err = k.Look(ctx, scope, limit, horizon)
	}
	if err != nil || o.Ready >= limit || !e.wantsDetails() {
		return o, err
	}
	d, err := e.details.Look(ctx, limit-o.Ready, horizon)
	if o.Ready += d.Ready; o.Next.IsZero() || !d.Next.IsZero() && d.Next.Before(o.Next) {
		o.Next = d.Next
	}
	return o, err
}
