package crawl

import (
	"errors"
	"time"

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

// pageError is a page that came whole and is not what it should be.
type pageError struct {
	page *site.Page
	url  string        // that was asked for
	gone bool          // it was answered with 404 or 410
	wait time.Duration // that the answer asks for, 0 = it doesn't
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

// heldError means that the host must be left alone for longer than a worker keeps
// a target in hand.
type heldError struct {
	rest time.Duration // of the worker, where the availability of the source does not say so: a hold of a few seconds is not written down
	err  error
}

func (e *heldError) Error() string {
	return "the run does not wait that long for the host: " + e.err.Error()
}
func (e *heldError) Unwrap() error { return e.err }

// ErrLayout is the cause of a stop because the pages of the source are no longer
// what its definition says: somebody has to look.
var ErrLayout = errors.New("the site's layout has changed")

// ErrNoProxies is the cause of a stop because no proxy is left and the policy
// lets nothing out without one.
var ErrNoProxies = errors.New("no proxy is left")

// observation is what a request tells about its host.
func (w *worker) observation(a *answer, class yp.ErrorClass, err error) health.Seen {
	// By the clock of the database, which is cut to milliseconds: never earlier than it was, or a
	// block that follows at once on another would count as on its way already.
	started := w.cfg.Keeper.DB().Now().Add(time.Millisecond - time.Since(a.final.Started))
	if class == yp.ClassHTTP429 {
		started = started.Add(-2 * time.Millisecond) // never later than it was: one that was on its way when the host was slowed down says nothing
	}
	s := health.Seen{Host: a.final.Host, Class: class, Started: started, Gap: a.final.Gap, Way: a.final.Proxy}
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
	if pe, ok := errors.AsType[*pageError](err); ok && cause == yp.CauseRateLimited {
		if s.RetryAfter = pe.wait; pe.wait == 0 {
			s.RetryAfter, s.HoldReason = yp.DefaultRetryAfter, yp.ThrottledReason
		}
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
