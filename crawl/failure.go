package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// causeOf says what stopped a page, in the words of the policy table (yp.Policy).
func causeOf(err error) yp.Cause {
	if pe, ok := errors.AsType[*pageError](err); ok {
		return pe.cause()
	}
	if fe, ok := errors.AsType[*fetch.Error](err); ok {
		return fe.Cause()
	}
	return yp.CauseBroken // the parser's
}

// failures counts what went wrong with one page, by what bounds its retries:
// time-outs and network errors are of one kind and have their tries together.
type failures struct{ limited, rotated, network, other int }

func (f *failures) add(c yp.Cause) int {
	n := &f.other
	switch {
	case c == yp.CauseRateLimited:
		n = &f.limited
	case c == yp.CauseTimeout, c == yp.CauseNetwork:
		n = &f.network
	case c.Policy().Is(yp.Rotates):
		n = &f.rotated
	}
	*n++
	return *n
}

// pageError is a page that came whole and is not what it should be.
type pageError struct {
	page *site.Page
	url  string // that was asked for
	gone bool   // it was answered with 404 or 410
}

func (e *pageError) Error() string { return e.page.Reason }

// cause is that of the outcome. To be led to a page that is not there is no block, whatever its address.
func (e *pageError) cause() yp.Cause {
	if e.gone && e.page.Outcome == site.Redirected {
		return yp.CauseOther
	}
	return e.page.Outcome.Cause()
}

// missing reports whether the page is just not there.
func (e *pageError) missing() bool { return e.gone && e.cause() == yp.CauseOther }

// attemptError ends an attempt: its target fails, rests or is parked.
type attemptError struct {
	cause yp.Cause
	err   error
}

func (e *attemptError) Error() string { return e.err.Error() }
func (e *attemptError) Unwrap() error { return e.err }

// fatalError ends the run, not only the target.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

// errStopped means that a wait was cut short because the run stops.
var errStopped = errors.New("stopped while waiting")

// errHeld means that the host must be left alone for longer than a worker keeps
// a target in hand.
var errHeld = errors.New("the run does not wait for the host")

// ErrLayout is the cause of a stop because the pages of the source are no longer
// what its definition says: somebody has to look.
var ErrLayout = errors.New("the layout of the source has changed")

// ErrNoProxies is the cause of a stop because no proxy is left and the policy
// lets nothing out without one.
var ErrNoProxies = errors.New("no proxy is left")

// applyEffect does to the source what the policy of a cause says. (The pace and the
// penalties of its hosts are seen to with every request.) The error is the
// database's, or the run's end.
func (w *worker) applyEffect(ctx context.Context, t *task, cause yp.Cause, err error) error {
	keep := context.WithoutCancel(ctx)
	switch cause.Policy().Effect {
	case yp.EffectPause:
		w.logger.Warn().Err(err).Str("source", w.cfg.Source.Name()).Str("pause", health.AuthPause.String()).Str("error_code", string(cause.Policy().Code)).Msg("the source is paused")
		return fatalOrNil(w.cfg.Monitor.Pause(keep, w.cfg.Scope.SourceID, cause.Policy().Code, err.Error()))
	case yp.EffectAlarm:
		return w.countUnknown(keep, t)
	}
	return nil
}

// countUnknown counts the last answer, whose layout is not known, towards the alarm, which the
// third running raises.
func (w *worker) countUnknown(ctx context.Context, t *task) error {
	if t.kept > 0 {
		w.step(t, "kept", "the page was kept with the number %d: %s", t.kept, t.unknown)
		w.logger.Info().Str("source", w.cfg.Source.Name()).Int64("page", t.kept).Str("reason", t.unknown).
			Msg("a page of unknown layout was kept: `ypcrawl sources try FILE.yaml --page` with its number reads it by another definition")
	}
	if t.kind == yp.RequestStateIndex || t.kind == yp.RequestDetail {
		return nil // an index or a detail that nobody can read keeps no results page from being read
	}
	alarm, err := w.layout.Unknown(ctx, t.unknown)
	return w.stopOnAlarm(alarm, err)
}

// watchLayout shows a page that was committed to the layout alarm.
func (w *worker) watchLayout(ctx context.Context, c *checkpoint.Claim, listings []yp.Listing) error {
	return w.stopOnAlarm(w.layout.Page(context.WithoutCancel(ctx), c.TargetID, c.CategoryID, listings))
}

// watchEnd shows the end of a target's list to the layout alarm, or a page that leads on.
func (w *worker) watchEnd(ctx context.Context, c *checkpoint.Claim, page *loaded) error {
	keep := context.WithoutCancel(ctx)
	if v := page.end; v.step != end || v.how != yp.EndUnfollowed || !page.Whole {
		return fatalOrNil(w.layout.Ended(keep, v.step == goOn && page.NextURL != ""))
	}
	return w.stopOnAlarm(w.layout.Unfollowed(keep, c.TargetID, page.end.text))
}

// stopOnAlarm ends the run on a layout alarm, which has paused the source: every page more
// would be one more that nobody can read.
func (w *worker) stopOnAlarm(alarm string, err error) error {
	if err != nil {
		return fatalOrNil(err)
	}
	if alarm != "" {
		w.logger.Error().Str("source", w.cfg.Source.Name()).Str("reason", alarm).Msg("layout alarm: the source is paused")
		w.stop(fmt.Errorf("%w: %s", ErrLayout, alarm))
	}
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

// keepSession sees to a session whose proxy does not rest. Where all of them do it waits for the
// first that is back, no longer than for a host that says when to come back, or than a proxy pauses.
func (w *worker) keepSession(ctx context.Context) error {
	for w.cfg.Pool != nil {
		s, err := w.cfg.Pool.Keep(w.session)
		if err == nil {
			w.session = s
			return nil
		}
		if !errors.Is(err, fetch.ErrNoProxies) {
			return fatalError{err}
		}
		resting, some := errors.AsType[*fetch.RestingError](err)
		if !some || resting.Back > max(w.cfg.Patience, fetch.ProxyPause) {
			w.stop(fmt.Errorf("%w: %w", ErrNoProxies, err))
			return errStopped
		}
		w.logger.Debug().Str("wait", resting.Back.Round(time.Millisecond).String()).Msg("all proxies rest")
		if !w.sleep(ctx, w.stopCtx, resting.Back, nil) {
			return errStopped
		}
	}
	return nil
}

// reportProxy tells the pool how the proxy in use did: whatever the source itself answers, the
// proxy brought it; that it is turned away counts against the proxy (unless whoever asks is), and one that is told to come back
// later rests so long. Where nothing came back and the proxy has not failed, or other ways fail alike,
// nothing is known of it.
func (w *worker) reportProxy(err error) {
	if w.cfg.Pool == nil || w.session == nil {
		return
	}
	if err != nil {
		fe, ofFetch := errors.AsType[*fetch.Error](err)
		blames := causeOf(err).Policy().Is(yp.BlamesProxy) && !(ofFetch && fe.ForAll())
		switch {
		case blames: // and rests it, where it says for how long
		case ofFetch && fe.Way != "":
			w.cfg.Pool.Rest(w.session, fe)
			return
		case ofFetch && (fe.Status == 0 || fe.Unreached):
			return
		default:
			err = nil
		}
	}
	w.cfg.Pool.Report(w.session, err)
}

// observation is what a request tells about its host.
func (w *worker) observation(x *exchange, class yp.ErrorClass, err error) health.Seen {
	// By the clock of the database, which is cut to milliseconds: never earlier than it was, or a
	// block that follows at once on another would count as on its way already.
	started := w.cfg.Keeper.DB().Now().Add(time.Millisecond - time.Since(x.last.Started))
	if class == yp.ClassHTTP429 {
		started = started.Add(-2 * time.Millisecond) // never later than it was: one that was on its way when the host was slowed down says nothing
	}
	s := health.Seen{Host: x.last.Host, Class: class, Started: started, Gap: x.last.Gap, Way: x.last.Proxy}
	if err == nil {
		w.unrecognized.Store(0)
		return s
	}
	cause := causeOf(err)
	s.Block = cause == yp.CauseBlocked || cause == yp.CauseUnrecognised && w.unrecognized.Add(1) > 1 // the first may be an accident
	s.HostFault = s.Block || cause == yp.CauseRateLimited || cause == yp.CauseTimeout || cause == yp.CauseNetwork
	fe, ok := errors.AsType[*fetch.Error](err)
	if ok && fe.RetryAfter > 0 {
		s.RetryAfter, s.HoldReason = fe.RetryAfter, fe.Instead
	}
	return s
}

// fatalOrNil is an error of what is noted about health: one that says that nothing
// can be written any more ends the run, others are lost with what they would have
// noted.
func fatalOrNil(err error) error {
	if err != nil && store.Fatal(err) {
		return fatalError{err}
	}
	return nil
}
