package crawl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// load brings one page, asking again where the policy of what went wrong says so.
// It returns a page whose outcome is OK or NoListings, or an *attemptError,
// errHeld or errStopped.
func (w *worker) load(ctx context.Context, c *checkpoint.Claim, url string, number int) (*site.Page, error) {
	return w.persist(ctx, w.task(c, yp.RequestListing, url, number))
}

// persist asks for the page of a task until it comes, or the policy of what went
// wrong says that it is enough.
func (w *worker) persist(ctx context.Context, t *task) (*site.Page, error) {
	var failed failures
	for {
		page, err := w.ask(ctx, t)
		if err == nil {
			return page, nil
		}
		if stopping := w.stopped(ctx, err); stopping != nil {
			return nil, stopping
		}
		var fatal fatalError
		if errors.As(err, &fatal) {
			return nil, err // nothing can be noted any more: nothing more is asked for
		}
		if errors.Is(err, fetch.ErrHeld) {
			return nil, fmt.Errorf("%w: %w", errHeld, err)
		}
		cause := causeOf(err)
		n := failed.add(cause)
		if final := w.again(ctx, t, cause, err, n); final != nil {
			return nil, final
		}
	}
}

// again prepares the next try after the n-th failure of a kind; its error is how
// the attempt ends if there is none.
func (w *worker) again(ctx context.Context, t *task, cause yp.Cause, err error, n int) error {
	if affected := w.affect(ctx, t, cause, err); affected != nil {
		return affected
	}
	p, final := cause.Policy(), &attemptError{cause: cause, err: err}
	allowed := t.retries(p)
	if !mayHelp(err) || n > allowed {
		return final
	}
	if p.Rotate && !w.rotate(t) {
		return final
	}
	w.count.retries.Add(1)
	wait := time.Duration(0)
	if p.Wait == yp.WaitExponential {
		wait = yp.RetryDelay(w.cfg.RetryBase, n, rand.Float64()) //nolint:gosec // no secret hangs on a jitter
	}
	w.step(t, "retry", "%s: again %s (%d of %d)", p.Code.Text(w.proxy() != ""), when(wait, p.Wait), n, allowed)
	w.logger.Debug().Err(err).Int64("target", t.target()).Int("page", t.number).Str("url", t.url).
		Str("error_code", string(p.Code)).Int("failure", n).Str("wait", wait.Round(time.Millisecond).String()).Msg("page will be asked for again")
	if err := w.tellBefore(ctx, t, max(wait, waitOf(err))); err != nil {
		return err
	}
	if wait > 0 && !w.pause(ctx, wait) {
		return errStopped
	}
	return nil
}

// longWait is a wait before which an attempt tells what it did so far: it may be an
// hour, and people look.
const longWait = 10 * time.Second

// tellBefore writes down the requests and steps so far ahead of a long wait.
func (w *worker) tellBefore(ctx context.Context, t *task, wait time.Duration) error {
	if wait < longWait {
		return nil
	}
	if t.claim == nil {
		rows := t.rows
		t.rows = nil
		return fatalOrNil(w.cfg.Keeper.Record(context.WithoutCancel(ctx), rows))
	}
	return fatalOrNil(w.cfg.Keeper.Note(context.WithoutCancel(ctx), t.claim))
}

// waitOf is how long the host is held back for this failure.
func waitOf(err error) time.Duration {
	var fe *fetch.Error
	if errors.As(err, &fe) {
		return fe.RetryAfter
	}
	return 0
}

func when(wait time.Duration, how yp.Wait) string {
	switch {
	case how == yp.WaitTold:
		return "when the host allows it"
	case wait > 0:
		return "in " + wait.Round(time.Millisecond).String()
	}
	return "at once"
}

// ask makes one request for the page, reads the answer and keeps the record of both.
func (w *worker) ask(ctx context.Context, t *task) (*site.Page, error) {
	if err := w.spend(); err != nil {
		return nil, err
	}
	if err := w.equip(); err != nil {
		return nil, err
	}
	var on asked
	resp, err := w.cfg.Fetch.Get(ctx, fetch.Request{
		URL: t.url, Base: w.cfg.Source.BaseURL(), Patience: w.patience, MaxHold: w.cfg.Patience, Session: w.session, Observe: w.observer(&on),
	})
	var page *site.Page
	if err != nil && !isFetch(err) { // the turns that processes share stand in the database
		if fatal := fatalOrNil(err); fatal != nil {
			return nil, fatal
		}
	}
	if err == nil {
		w.cfg.Reached(PointFetched)
		page, err = w.answer(ctx, t, resp)
		resp.Release()
	}
	if recorded := w.record(ctx, t, &on, page, err); recorded != nil {
		return nil, recorded
	}
	return page, err
}

// answer reads an answer as the task wants it read. A page of which much could not be
// read is kept and counted against its layout, and its listings are taken all the same.
func (w *worker) answer(ctx context.Context, t *task, resp *fetch.Response) (*site.Page, error) {
	if t.read != nil {
		return w.understand(resp, t.read)
	}
	page, err := w.understand(resp, w.cfg.Source.ParsePage)
	if err == nil {
		err = w.endsEarly(t, page)
	}
	if err == nil && incomplete(page) {
		err = w.unknownLayout(context.WithoutCancel(ctx), t, &pageError{page: page, body: resp.Body, url: resp.URL.Redacted()})
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// understand parses an answer; a page that says nothing, and does not say so
// itself, is a *pageError.
func (w *worker) understand(resp *fetch.Response, read parser) (*site.Page, error) {
	page, err := w.parse(resp, read)
	if err != nil {
		return nil, err
	}
	w.cfg.Reached(PointParsed)
	switch page.Outcome {
	case site.OK, site.NoListings:
		return page, nil
	}
	pe := &pageError{page: page, url: resp.URL.Redacted()}
	if page.Outcome == site.HTMLChanged {
		pe.body = bytes.Clone(resp.Body)
	}
	return nil, pe
}

// record notes what one call of the fetcher did: in the requests, in the pace of
// the host, in the scores of the proxies. Its error is the database's.
func (w *worker) record(ctx context.Context, t *task, on *asked, page *site.Page, err error) error {
	if on.hops == 0 {
		return w.unasked(ctx, t, err)
	}
	if on.last.Cancelled {
		return nil // nobody knows what would have come back
	}
	r := on.request(w, t)
	r.Class = classOf(on.last.Class, err)
	if page != nil {
		r.Results = len(page.Listings) + len(page.Cities)
		if page.Detail != nil {
			r.Results++
		}
	}
	t.note(r)
	w.grade(err)
	if on.last.ProxyFailed {
		return nil
	}
	if err := w.hosts.Observed(ctx, w.seen(on, r.Class, err)); err != nil {
		return fatalOrNil(err)
	}
	return nil
}

// classOf is the class of the request: the fetcher's, or that of a page which came
// but could not be read.
func classOf(fetched yp.ErrorClass, err error) yp.ErrorClass {
	switch {
	case fetched != "" || err == nil:
		return fetched
	case isFetch(err):
		return yp.ClassUnknown // led astray by a redirect
	}
	return yp.ClassParseError
}

func isFetch(err error) bool {
	var fe *fetch.Error
	return errors.As(err, &fe)
}

// parser reads a page: see site.Source.ParsePage.
type parser func(body []byte, final *url.URL, status int) (*site.Page, error)

func (w *worker) parse(resp *fetch.Response, read parser) (*site.Page, error) {
	defer w.house.parsing.enter(len(resp.Body))()
	return parse(read, resp)
}

// parse guards the worker against a page that makes the parser panic: one page
// must not take the whole run down.
func parse(read parser, resp *fetch.Response) (page *site.Page, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser panicked on %s: %v", resp.URL.Redacted(), p)
		}
	}()
	return read(resp.Body, resp.URL, resp.Status)
}

// spend takes one request from the budget. Whoever finds it empty stops; the
// requests that others have paid for are still made. After a stop there is none
// to be had: nothing new is begun.
func (w *worker) spend() error {
	if w.patience.Err() != nil {
		return errStopped
	}
	if b := w.cfg.Budget.Requests; b > 0 && w.house.reserved.Add(1) > b {
		w.house.enough(fmt.Errorf("%w: %d requests", ErrBudget, b))
		return errStopped
	}
	return nil
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
