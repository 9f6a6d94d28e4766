package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// fetchPage brings the page of a task, asking again where the policy of what went wrong
// says so. It returns a page whose outcome is OK or NoListings, or an *attemptError,
// errHeld or errStopped.
func (w *worker) fetchPage(ctx context.Context, t *task) (*loaded, error) {
	var failed failures
	for {
		page, err := w.request(ctx, t)
		if err == nil {
			return page, nil
		}
		switch {
		case errors.Is(err, errStopped), ctx.Err() != nil, w.stopCtx.Err() != nil && errors.Is(err, context.Canceled):
			return nil, errStopped
		case errors.As(err, new(fatalError)):
			return nil, err // nothing can be noted any more: nothing more is asked for
		case errors.Is(err, fetch.ErrHeld):
			return nil, fmt.Errorf("%w: %w", errHeld, err)
		}
		if odd, ok := errors.AsType[*errAgain](err); ok {
			w.count.update(func(s *Stats) { s.Retries++ })
			w.step(t, "again", "page %d is asked for once more: %s", t.number, odd.why)
			continue
		}
		if errors.Is(err, fetch.ErrStale) && !t.fresh { // on another connection, and no retry of its policy is used up
			t.fresh = true
			w.count.update(func(s *Stats) { s.Retries++ })
			w.step(t, "again", "page %d is asked for once more: %v", t.number, fetch.ErrStale)
			continue
		}
		if why := fetch.AskAgain(err); why != nil {
			w.count.update(func(s *Stats) { s.Retries++ })
			w.step(t, "again", "page %d is asked for once more: %v", t.number, why)
			continue
		}
		cause := causeOf(err)
		if final := w.prepareRetry(ctx, t, cause, err, failed.add(cause)); final != nil {
			return nil, final
		}
	}
}

// prepareRetry prepares the next try after the n-th failure of a kind; its error is how
// the attempt ends if there is none.
func (w *worker) prepareRetry(ctx context.Context, t *task, cause yp.Cause, err error, n int) error {
	if stop := w.applyEffect(ctx, t, cause, err); stop != nil {
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
	if hopeless || n > allowed || p.Is(yp.Rotates) && !w.rotate(t) {
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
	w.logger.Debug().Err(err).Int64("target", t.target()).Int("page", t.number).Str("url", t.url).
		Str("error_code", string(p.Code)).Int("failure", n).Str("wait", wait.Round(time.Millisecond).String()).Msg("the page is requested again later")
	if wait > 0 && !w.sleep(ctx, w.stopCtx, wait, nil) {
		return errStopped
	}
	return nil
}

// request makes one request for the page, reads the answer and keeps the record of both.
func (w *worker) request(ctx context.Context, t *task) (page *loaded, err error) {
	defer func() {
		if err != nil {
			w.inHand(nil)
		}
	}()
	if w.stopCtx.Err() != nil {
		return nil, errStopped // nothing new is begun
	}
	if err := w.keepSession(ctx); err != nil { // another session when its proxy rests
		return nil, err
	}
	var x exchange
	resp, err := w.get(ctx, t, &x)
	if errors.Is(err, errStopped) {
		return nil, err
	}
	if fatal := fatalOrNil(err); fatal != nil && !isFetchError(err) { // the turns that processes share stand in the database
		return nil, fatal
	}
	if err == nil {
		w.cfg.Reached(PointFetched)
		w.tellSecure(&x, resp.URL)
		page, err = w.answer(ctx, t, resp)
		t.unknown = unknownLayout(t, page, err)
		t.kept = w.keep(t, resp, t.unknown)
		resp.Release()
		if err == nil && t.unknown != "" { // its listings are taken all the same
			if err := w.countUnknown(context.WithoutCancel(ctx), t); err != nil {
				return nil, err
			}
		}
	}
	if x.hops == 0 {
		w.stopUntrusted(err)
	}
	asRead := err
	if errors.As(err, new(*errAgain)) {
		asRead = nil // it came and was read
	}
	if recorded := w.record(ctx, t, &x, page, asRead); recorded != nil {
		return nil, recorded
	}
	return page, err
}

// get makes a request out of the budget, in which one that was not made stays: its host is
// held, or robots.txt forbids it. While others have the last ones in hand it waits for them.
func (w *worker) get(ctx context.Context, t *task, x *exchange) (resp *fetch.Response, err error) {
	budget := &w.shared.requests
	for !budget.reserve() {
		if !w.sleep(ctx, w.drainCtx, w.look, nil) {
			return nil, errStopped
		}
	}
	defer func() {
		if x.hops == 0 && err != nil {
			budget.giveBack()
		} else if budget.use() {
			w.shared.drain(fmt.Errorf("%w: %s", ErrBudget, yp.Plural(budget.most, budget.of)))
		}
	}()
	observe := func(o fetch.Observation) {
		if w.sharesFetch {
			w.countRequest(o)
		}
		w.hosts.Asked(o.Host, o.Pace, o.PaceReason)
		x.observe(o)
	}
	return w.cfg.Fetch.Get(ctx, fetch.Request{
		URL: t.url, Base: w.cfg.Source.BaseURL(), Stop: w.stopCtx, MaxHold: w.cfg.Patience, Session: w.session, Fresh: t.fresh, Observe: observe,
		Begin: func() { w.inHand(t.claim) }, Leave: w.leaves(t),
	})
}

// answer parses an answer as the task wants it read; a page that says nothing, and does
// not say so itself, is a *pageError.
func (w *worker) answer(ctx context.Context, t *task, resp *fetch.Response) (*loaded, error) {
	page, err := w.parse(t, resp)
	if err != nil {
		return nil, err
	}
	w.cfg.Reached(PointParsed)
	if t.number > 1 && t.shown != nil && page.Outcome == site.Missing {
		page.Outcome, page.NotFound = site.NoListings, true // behind a page of the list, whatever the server says of it
	}
	if page.Outcome != site.OK && page.Outcome != site.NoListings {
		w.countUnread(t, page)
		return nil, &pageError{page: page, url: t.url, gone: resp.Status == http.StatusNotFound || resp.Status == http.StatusGone}
	}
	out := &loaded{Page: page}
	if t.read != nil || t.claim == nil {
		return out, nil
	}
	if err := w.distrustWords(ctx, t.claim, page); err != nil {
		return nil, err
	}
	if out.end, out.alias, err = w.setAside(ctx, t.claim, page, resp.URL); err == nil {
		if out.unstored = out.end.step == end; !out.unstored {
			out.end, out.repeats, err = w.judgePage(ctx, t, page, out.alias)
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// loaded is a page with what it means for the crawl of its target.
type loaded struct {
	*site.Page
	end      verdict // of a results page
	repeats  int     // the earlier page of the crawl that it repeats, 0 = none
	unstored bool    // it is not that of the search: see setAside
	alias    string  // where it leads, when the search has another name there
	ownGone  bool    // the target's own page is not there: what is known comes from the search
}

// unknownLayout says what is wrong with the layout of an answer: "" = nothing.
func unknownLayout(t *task, page *loaded, err error) string {
	if pe, ok := errors.AsType[*pageError](err); ok && pe.page.Outcome == site.HTMLChanged {
		return pe.Error()
	}
	if err == nil && t.read == nil && incomplete(page.Page) {
		return page.Reason
	}
	return ""
}

// record notes what one call of the fetcher did: in the requests (redirects are part of
// the one that led to them), in the pace of the host, in the scores of the proxies. Its
// error is the database's.
func (w *worker) record(ctx context.Context, t *task, x *exchange, page *loaded, err error) error {
	if x.hops == 0 {
		return w.notRequested(ctx, t, err)
	}
	if x.last.Cancelled {
		return nil // nobody knows what would have come back
	}
	r := w.row(t, x.first.URL)
	r.Started, r.Latency = x.first.Started, x.last.Started.Add(x.last.Latency).Sub(x.first.Started)
	r.Waited, r.WaitReason, r.Bytes = x.waited, x.reason, x.bytes
	r.Status, r.Proxy, r.ProxyFailed, r.Identity, r.Via = x.last.Status, x.last.Proxy, x.last.ProxyFailed, x.last.Identity, x.last.Via
	r.Class = x.last.Class
	switch {
	case r.Class != "" || err == nil:
	case isFetchError(err), isMissing(err):
		r.Class = yp.ClassUnknown // led astray by a redirect, or to nothing
	default:
		r.Class = yp.ClassParseError // it came, and could not be read
	}
	if page != nil && !page.unstored {
		r.Results = len(page.Listings) + len(page.Cities)
	}
	t.note(r)
	if t.claim != nil {
		t.claim.Attempt.UserAgent = x.last.UserAgent
	}
	w.reportProxy(err)
	if x.last.ProxyFailed || errors.Is(err, fetch.ErrStale) || fetch.AskAgain(err) != nil {
		return nil // of the host it says nothing
	}
	return fatalOrNil(w.hosts.Observed(ctx, w.observation(x, r.Class, err)))
}

func isMissing(err error) bool {
	pe, ok := errors.AsType[*pageError](err)
	return ok && pe.missing()
}

func isFetchError(err error) bool { return errors.As(err, new(*fetch.Error)) }

// parser reads a page of a source: see site.Source.ParsePage.
type parser func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error)

// parse guards the worker against a page that makes the parser panic: one page
// must not take the whole run down.
func parse(src *site.Source, read parser, resp *fetch.Response) (page *site.Page, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser panicked on %s: %v", resp.URL.Redacted(), p)
		}
	}()
	return read(src.WithCharset(resp.Charset), resp.Body, resp.URL, resp.Status)
}

// sleep waits for d, or until somebody sends on wake; false when end or ctx ends first.
func (w *worker) sleep(ctx, end context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-wake:
		return true
	case <-end.Done():
		return false
	case <-ctx.Done():
		return false
	}
}

// task is one logical page fetch: its retries share it.
type task struct {
	claim  *checkpoint.Claim // nil for a probe
	url    string
	number int
	kind   yp.RequestType
	id     string           // correlation id
	made   int              // requests so far
	tried  []*fetch.Session // in vain
	rows   []store.Request

	read  parser // nil = that of results pages
	shown *seen  // of a results page: what its crawl has shown so far

	parsed  parsed // of the last answer
	fresh   bool   // it is asked for on a connection of its own
	doubted bool   // it was odd, and was asked for again
	unknown string // why the layout of the last answer is not known; "" = it is
	kept    int64  // id of that answer among the kept pages, 0 = it is not kept
}

// target is the task's target, 0 = none.
func (t *task) target() int64 {
	if t.claim == nil {
		return 0
	}
	return t.claim.TargetID
}

// task begins a page fetch. Its id is unique in the database: a worker that is
// started again has the name and number of one that ended.
func (w *worker) task(c *checkpoint.Claim, kind yp.RequestType, url string, number int) *task {
	return &task{claim: c, kind: kind, url: url, number: number, id: fmt.Sprintf("%d.%s.%d", w.cfg.Run.ID, w.name, w.shared.fetches.Add(1))}
}

// resultsTask is the fetch of a results page.
func (w *worker) resultsTask(c *checkpoint.Claim, url string, number int, shown *seen) *task {
	t := w.task(c, yp.RequestListing, url, number)
	t.shown = shown
	return t
}

// exchange is what one call of the fetcher did on the wire: a request, and perhaps
// redirects that led on from it.
type exchange struct {
	hops        int
	first, last fetch.Observation
	waited      time.Duration
	reason      string
	bytes       int64
}

func (x *exchange) observe(o fetch.Observation) {
	if x.hops == 0 {
		x.first = o
	}
	x.hops++
	x.last = o
	x.waited += o.Waited
	x.bytes += o.WireBytes
	x.reason = cmp.Or(x.reason, o.WaitReason)
}

// row begins the row of a request.
func (w *worker) row(t *task, url string) store.Request {
	r := store.Request{SourceID: w.cfg.Scope.SourceID, Page: t.number, Correlation: t.id, Retry: t.made, Type: t.kind, URL: url}
	if t.claim != nil {
		r.TargetID, r.ClaimToken = t.claim.TargetID, t.claim.Token
	}
	return r
}

// note keeps a row until the claim's next write takes it along.
func (t *task) note(r store.Request) {
	t.made++
	c := t.claim
	if c == nil {
		t.rows = append(t.rows, r)
		return
	}
	c.Requests = append(c.Requests, r)
	if r.Class == yp.ClassRateLimited {
		return // nobody was asked: what was answered last stands
	}
	c.Attempt.HTTPStatus, c.Attempt.Proxy, c.Attempt.Identity = r.Status, r.Proxy, r.Identity
	c.Attempt.Bytes += r.Bytes
}

// step notes in the attempt's trace what was done and why.
func (w *worker) step(t *task, event, format string, args ...any) {
	if t.claim != nil {
		t.claim.Attempt.Trace.Add(w.cfg.Keeper.DB().Now(), event, t.number, fmt.Sprintf(format, args...))
	}
}
