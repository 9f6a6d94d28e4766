package crawl

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// retries says how often an attempt may ask again after each kind of failure
// (health rules, section 2). What is not named here is asked once.
func retries(code yp.ErrorCode) int {
	switch code {
	case yp.CodeTimeout, yp.CodeNetworkError:
		return 3
	case yp.CodeRateLimited:
		return 5 // the host's own waiting time is kept each time
	case yp.CodeParseError, yp.CodeUnknown:
		return 1
	default:
		return 0
	}
}

// allowed is retries, but for a page that is not recognised at all: it is asked
// for once more before it is taken for a block.
func allowed(err error, code yp.ErrorCode) int {
	var pe *pageError
	if errors.As(err, &pe) && pe.page.Outcome == site.Unrecognised {
		return 1
	}
	return retries(code)
}

// failures counts what went wrong with one page by what allowed bounds: time-outs and
// network errors are of one kind, and have their tries together.
type failures struct{ limited, network, other int }

func (t *failures) add(code yp.ErrorCode) int {
	n := &t.other
	switch code {
	case yp.CodeRateLimited:
		n = &t.limited
	case yp.CodeTimeout, yp.CodeNetworkError:
		n = &t.network
	}
	*n++
	return *n
}

// load brings one page, asking again where that may help. It returns a page
// whose outcome is OK or NoListings, or an *attemptError, or errStopped.
func (w *worker) load(ctx context.Context, c *checkpoint.Claim, url string, number int) (*site.Page, error) {
	var failed failures
	for {
		page, err := w.once(ctx, url)
		if err == nil {
			return page, nil
		}
		if stopping := w.stopped(ctx, err); stopping != nil {
			return nil, stopping
		}
		fail := classify(err)
		n := failed.add(fail.code)
		if fail.permanent || !again(err) || n > allowed(err, fail.code) {
			return nil, fail
		}
		w.count.retries.Add(1)
		w.logger.Debug().Err(err).Int64("target", c.TargetID).Int("page", number).Str("url", url).
			Str("error_code", string(fail.code)).Int("failure", n).Msg("page will be asked for again")
		if fail.code != yp.CodeRateLimited && !w.pause(ctx, w.backoff(n)) {
			return nil, errStopped
		}
	}
}

// once asks for the page one time.
func (w *worker) once(ctx context.Context, url string) (*site.Page, error) {
	if err := w.spend(); err != nil {
		return nil, err
	}
	src := w.cfg.Source
	resp, err := w.cfg.Fetch.Get(ctx, fetch.Request{URL: url, Base: src.BaseURL(), Patience: w.patience})
	if err != nil {
		return nil, err
	}
	defer resp.Release()
	w.cfg.Reached(PointFetched)
	page, err := w.parse(resp)
	if err != nil {
		return nil, err
	}
	w.cfg.Reached(PointParsed)
	switch page.Outcome {
	case site.OK, site.NoListings:
		return page, nil
	}
	return nil, &pageError{page: page}
}

// bigPage is the size in bytes from which pages are parsed one at a time: the
// tree of a hostile page takes twenty times its size, and sixteen workers would
// hold as many of them.
const bigPage = 1 << 20

func (w *worker) parse(resp *fetch.Response) (*site.Page, error) {
	if len(resp.Body) >= bigPage {
		w.big.Lock()
		defer w.big.Unlock()
	}
	return parse(w.cfg.Source, resp)
}

// parse guards the worker against a page that makes the parser panic: one page
// must not take the whole run down.
func parse(src *site.Source, resp *fetch.Response) (page *site.Page, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser panicked on %s: %v", resp.URL.Redacted(), p)
		}
	}()
	return src.ParsePage(resp.Body, resp.URL, resp.Status)
}

// spend takes one request from the budget. Whoever finds it empty stops; the
// requests that others have paid for are still made. After a stop there is none
// to be had: nothing new is begun.
func (w *worker) spend() error {
	if w.patience.Err() != nil {
		return errStopped
	}
	if b := w.cfg.Budget.Requests; b > 0 && w.count.reserved.Add(1) > b {
		w.enough(fmt.Errorf("%w: %d requests", ErrBudget, b))
		return errStopped
	}
	return nil
}

// pageError is a page that came whole and is not what it should be.
type pageError struct{ page *site.Page }

func (e *pageError) Error() string { return e.page.Reason }

// classify turns an error of once into the attempt's.
func classify(err error) *attemptError {
	var fe *fetch.Error
	var pe *pageError
	switch {
	case errors.As(err, &fe):
		return &attemptError{code: fe.Code(), permanent: errors.Is(err, fetch.ErrDisallowed), err: err}
	case errors.As(err, &pe):
		return &attemptError{code: pe.page.Outcome.Code(), err: err}
	}
	return &attemptError{code: yp.CodeParseError, err: err}
}

// again reports whether asking again may help at all.
func again(err error) bool {
	var fe *fetch.Error
	var pe *pageError
	switch {
	case errors.As(err, &fe):
		return fe.Retryable()
	case errors.As(err, &pe):
		return pe.page.Outcome == site.Unrecognised
	}
	return !errors.Is(err, site.ErrTooDeep)
}

// stopped returns errStopped when err only says that the run is ending.
func (w *worker) stopped(ctx context.Context, err error) error {
	if errors.Is(err, errStopped) || ctx.Err() != nil {
		return errStopped
	}
	if w.patience.Err() != nil && errors.Is(err, context.Canceled) {
		return errStopped
	}
	return nil
}

// backoff is the wait after the n-th failure of a kind: doubled each time,
// jittered by half so that workers do not come back together.
func (w *worker) backoff(n int) time.Duration {
	d := w.cfg.RetryBase << (n - 1)
	return d/2 + rand.N(d) //nolint:gosec // no secret hangs on a jitter
}

// pause waits for d; false when the run stops first.
func (w *worker) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.patience.Done():
		return false
	case <-ctx.Done():
		return false
	}
}

// refused reports whether the database refused this page rather than all pages.
func refused(err error) bool {
	return !store.Fatal(err) && !errors.Is(err, store.ErrBusy) && !errors.Is(err, context.Canceled)
}
