package crawl

import (
	"errors"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// causeOf tells what stopped a page, in the words of the policy table (yp.Policy).
func causeOf(err error) yp.Cause {
	var fe *fetch.Error
	var pe *pageError
	switch {
	case errors.As(err, &pe):
		return pe.page.Outcome.Cause()
	case errors.As(err, &fe):
		return fe.Cause()
	}
	return yp.CauseBroken // the parser's
}

// mayHelp reports whether asking again, in the way that the policy of the cause
// says, may bring another answer.
func mayHelp(err error) bool {
	var fe *fetch.Error
	if errors.As(err, &fe) {
		return fe.Retryable() || fe.Cause().Policy().Rotate
	}
	var pe *site.ParseError
	return !errors.As(err, &pe) || !pe.Permanent()
}

// retries says how often a page may be asked for again. A target may allow fewer
// than the policy; how often a host may say "later" is not its business.
func retries(p yp.Policy, target int) int {
	if p.Wait == yp.WaitTold {
		return p.Retries
	}
	return min(p.Retries, target)
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
	case c.Policy().Rotate:
		n = &f.rotated
	}
	*n++
	return *n
}

// pageError is a page that came whole and is not what it should be.
type pageError struct {
	page *site.Page
	body []byte // of a page to be kept as a sample
	url  string
}

func (e *pageError) Error() string { return e.page.Reason }

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
var errHeld = errors.New("the host is held back")
