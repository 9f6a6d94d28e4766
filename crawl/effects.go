package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// ErrLayout is the cause of a stop because the pages of the source are no longer
// what its definition says: somebody has to look.
var ErrLayout = errors.New("the layout of the source has changed")

// ErrNoProxies is the cause of a stop because every proxy is gone and the policy
// lets nothing out without one.
var ErrNoProxies = errors.New("no proxy is left")

// affect does to the source what the policy of a cause says. (The pace and the
// penalties of its hosts are seen to with every request.) The error is the
// database's, or the run's end.
func (w *worker) affect(ctx context.Context, t *task, cause yp.Cause, err error) error {
	keep := context.WithoutCancel(ctx)
	switch cause.Policy().Effect {
	case yp.EffectPause:
		until := w.cfg.Keeper.DB().Now().Add(health.AuthPause)
		w.logger.Warn().Err(err).Str("source", w.cfg.Source.Name()).Str("pause", health.AuthPause.String()).Msg("the source refuses our credentials and is left alone")
		return fatalOrNil(w.cfg.Monitor.Pause(keep, w.cfg.Scope.SourceID, yp.CodeAuthFailed, err.Error(), until))
	case yp.EffectAlarm:
		return w.unknownLayout(keep, t, err)
	}
	return nil
}

// unknownLayout keeps the page for whoever mends the source, and raises the alarm
// when it is the third running.
func (w *worker) unknownLayout(ctx context.Context, t *task, err error) error {
	var pe *pageError
	if !errors.As(err, &pe) {
		return nil
	}
	sample := health.Sample{SourceID: w.cfg.Scope.SourceID, URL: pe.url, Reason: pe.Error(), Body: pe.body}
	if t.claim != nil {
		sample.TargetID = t.claim.TargetID
	}
	if err := w.cfg.Monitor.KeepSample(ctx, sample); err != nil {
		return fatalOrNil(err)
	}
	w.step(t, "sample", "the page was kept: %s", pe.Error())
	if t.kind == yp.RequestStateIndex || t.kind == yp.RequestDetail {
		return nil // an index or a detail that nobody can read keeps no results page from being read
	}
	alarm, err := w.layout.Unknown(ctx, pe.Error())
	return w.heed(alarm, err)
}

// watchLayout shows a page that was committed to the layout alarm.
func (w *worker) watchLayout(ctx context.Context, target, category int64, listings []yp.Listing) error {
	return w.heed(w.layout.Page(ctx, target, category, listings))
}

// heed ends the run on a layout alarm, which has paused the source: every page more
// would be one more that nobody can read.
func (w *worker) heed(alarm string, err error) error {
	if err != nil {
		return fatalOrNil(err)
	}
	if alarm != "" {
		w.logger.Error().Str("source", w.cfg.Source.Name()).Str("reason", alarm).Msg("layout alarm: the source is paused")
		w.stop(fmt.Errorf("%w: %s", ErrLayout, alarm))
	}
	return nil
}

// equip sees to the worker's way out before a request: another one when its proxy
// rests.
func (w *worker) equip() error {
	if w.cfg.Pool == nil {
		return nil
	}
	s, err := w.cfg.Pool.Keep(w.session)
	if errors.Is(err, fetch.ErrNoProxies) {
		w.stop(fmt.Errorf("%w: %w", ErrNoProxies, err))
		return errStopped
	}
	if err != nil {
		return fatalError{err}
	}
	w.session = s
	return nil
}

// rotate changes proxy and identity together; false when there is no other one to
// change to.
func (w *worker) rotate(t *task) bool {
	if w.cfg.Pool == nil {
		return false
	}
	t.tried = append(t.tried, w.session)
	s, err := w.cfg.Pool.Rotate(w.session, t.tried...)
	if err != nil {
		w.step(t, "rotated", "not: %v", err)
		return false
	}
	w.session = s
	w.step(t, "rotated", "to proxy %s as %s", s.Proxy(), s.Identity())
	return true
}

// proxy names the proxy that the worker uses, "" = none.
func (w *worker) proxy() string {
	if w.session == nil {
		return ""
	}
	return w.session.Proxy()
}

// leaveSession gives the worker's way out back.
func (w *worker) leaveSession() {
	if w.session != nil {
		w.session.Close()
		w.session = nil
	}
}

// grade tells the pool how the proxy in use did: what the source itself answers, a
// time-out or an error of its own, says nothing against the proxy; that it is turned
// away does.
func (w *worker) grade(err error) {
	if w.cfg.Pool == nil || w.session == nil {
		return
	}
	if err != nil {
		if c := causeOf(err); c != yp.CauseProxy && c != yp.CauseBlocked {
			err = nil
		}
	}
	w.cfg.Pool.Report(w.session, err)
}

// seen is what a request tells about its host.
func (w *worker) seen(on *asked, class yp.ErrorClass, err error) health.Seen {
	started := w.cfg.Keeper.DB().Now().Add(-time.Since(on.first.Started)) // by the clock of the database
	s := health.Seen{Host: on.last.Host, Class: class, Started: started}
	if err == nil {
		w.strangers.Store(0)
		return s
	}
	cause := causeOf(err)
	s.Block = cause == yp.CauseBlocked || cause == yp.CauseUnrecognised && w.stranger()
	s.HostFault = s.Block || cause == yp.CauseRateLimited || cause == yp.CauseTimeout || cause == yp.CauseNetwork
	var fe *fetch.Error
	if errors.As(err, &fe) && fe.RetryAfter > 0 {
		s.RetryAfter = fe.RetryAfter
		_, s.HoldReason = w.cfg.Fetch.HeldUntil(on.last.Host)
	}
	return s
}

// stranger counts a page that is none of the site's and reports whether it is a block:
// the first may be an accident.
func (w *worker) stranger() bool { return w.strangers.Add(1) > 1 }

// fatalOrNil is an error of the health room's writes: one that says that nothing
// can be written any more ends the run, others are lost with what they would have
// noted.
func fatalOrNil(err error) error {
	if err != nil && store.Fatal(err) {
		return fatalError{err}
	}
	return nil
}
