package crawl

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// fetchPage brings the page of a task, asking again where the policy of what went wrong
// says so. It returns a page whose outcome is OK or NoListings, or an *attemptError,
// a *heldError or errStopped.
func (w *worker) fetchPage(ctx context.Context, t *task) (*answer, error) {
	var failed failures
	for {
		a, err := w.request(ctx, t)
		if err == nil {
			return a, nil
		}
		switch {
		case errors.Is(err, errStopped), ctx.Err() != nil, w.stopCtx.Err() != nil && errors.Is(err, context.Canceled):
			return nil, errStopped
		case errors.As(err, new(fatalError)):
			return nil, err // nothing can be noted any more: nothing more is asked for
		case errors.Is(err, fetch.ErrHeld):
			return nil, &heldError{rest: a.rest, err: err}
		}
		if odd, ok := errors.AsType[*errAskAgain](err); ok {
			w.count.update(func(s *Stats) { s.Retries++ })
			w.step(t, "again", "page %d is requested again: %s", t.number, odd.why)
			continue
		}
		if errors.Is(err, fetch.ErrStale) && !t.fresh { // on another connection, and no retry of its policy is used up
			t.fresh = true
			w.count.update(func(s *Stats) { s.Retries++ })
			w.step(t, "again", "page %d is requested again: %v", t.number, fetch.ErrStale)
			continue
		}
		if why := fetch.AskAgain(err); why != nil {
			w.count.update(func(s *Stats) { s.Retries++ })
			w.step(t, "again", "page %d is requested again: %v", t.number, why)
			continue
		}
		cause := causeOf(err)
		if final := w.prepareRetry(ctx, t, a, cause, err, failed.add(cause)); final != nil {
			return nil, final
		}
	}
}

// prepareRetry prepares the next try after the n-th failure of a kind; its error is how
// the attempt ends if there is none.
func (w *worker) prepareRetry(ctx context.Context, t *task, a *answer, cause yp.Cause, err error, n int) error {
	if stop := w.applyEffect(ctx, t, a, cause, err); stop != nil {
		return stop
	}
	p, final := cause.Policy(), &attemptError{cause: cause, err: err}
	allowed := p.Retries
	if p.Wait != yp.WaitTold { // how often a host may say "later" is not the target's business
		allowed = min(allowed, t.claim.MaxRetries)
	}
	fe, ofFetch := errors.AsType[*fetch.Error](err)
	pe, ofParser := errors.AsType[*site.ParseError](err)
	hopeless := ofFetch && !fe.Retryable() && (!p.Is(yp.Rotates) || fe.ForAll()) || !ofFetch && ofParser && pe.Permanent()
	if hopeless || t.ask.Err() != nil || n > allowed || p.Is(yp.Rotates) && !w.rotate(t) {
		return final
	}
	if ofFetch && fe.Unreached && !p.Is(yp.Rotates) {
		w.rotate(t) // perhaps there is a way that does not fail
	}
	w.count.update(func(s *Stats) { s.Retries++ })
	wait := time.Duration(0)
	if p.Wait == yp.WaitExponential {
		wait = yp.RetryDelay(w.cfg.RetryBase, n, rand.Float64()) //nolint:gosec // no secret hangs on a jitter
	}
	when := "at once"
	if p.Wait == yp.WaitTold {
		when = "when the host allows it"
	} else if wait > 0 {
		when = "in " + wait.Round(time.Millisecond).String()
	}
	w.step(t, "retry", "%s: again %s (%d of %d)", p.Code, when, n, allowed)
	w.logger.Debug().Err(err).Int64("target", t.targetID()).Int("page", t.number).Str("url", t.ask.Label()).
		Str("error_code", string(p.Code)).Int("failure", n).Str("wait", wait.Round(time.Millisecond).String()).
		Msg("the page is requested again later")
	if wait > 0 && !w.sleep(ctx, w.stopCtx, wait, nil) {
		return errStopped
	}
	return nil
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

// applyEffect does to the source what the policy of a cause says. (The pace and the
// penalties of its hosts are seen to with every request.) The error is the
// database's, or the run's end.
func (w *worker) applyEffect(ctx context.Context, t *task, a *answer, cause yp.Cause, err error) error {
	detached := context.WithoutCancel(ctx)
	switch cause.Policy().Effect {
	case yp.EffectPause:
		w.logger.Warn().Err(err).Str("source", w.cfg.Source.Name()).Str("pause", health.AuthPause.String()).
			Str("error_code", string(cause.Policy().Code)).Msg("the source is paused")
		return fatalOrNil(w.cfg.Monitor.Pause(detached, w.cfg.Scope.SourceID, cause.Policy().Code, err.Error()))
	case yp.EffectAlarm:
		return w.countUnknown(detached, t, a)
	}
	return nil
}

// countUnknown counts an answer, whose layout is not known, towards the alarm, which the
// third running raises.
func (w *worker) countUnknown(ctx context.Context, t *task, a *answer) error {
	if a.kept > 0 {
		w.step(t, "kept", "the page was kept with the number %d: %s", a.kept, a.unknown)
		w.logger.Info().Str("source", w.cfg.Source.Name()).Int64("page", a.kept).Str("reason", a.unknown).
			Msg("a page of unknown layout was kept: `ypcrawl sources try FILE.yaml --page` with its number reads it with another definition")
	}
	if !t.results {
		return nil // an index or a detail that nobody can read keeps no results page from being read
	}
	alarm, err := w.layout.Unknown(ctx, a.unknown)
	return w.stopOnAlarm(alarm, err)
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
		if !some || resting.Back > max(w.cfg.Patience, yp.ProxyPause) {
			w.stop(fmt.Errorf("%w: %w", ErrNoProxies, err))
			return errStopped
		}
		w.logger.Debug().Str("wait", resting.Back.Round(time.Millisecond).String()).Msg("all proxies are cooling down")
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
