package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// task is one logical page fetch: its retries share it.
type task struct {
	claim  *checkpoint.Claim // nil for a probe
	target *wal.Target       // likewise
	ask    site.Request
	number int
	kind   yp.RequestType

	read    parser
	check   func(context.Context, *task, *answer) error // what a page that was read means for its crawl; nil = it is taken as it is
	results bool                                        // pages of results: one whose layout is not known counts towards the alarm
	keep    bool                                        // its answers are kept, where pages are; else those alone whose layout is not known

	id      string           // correlation id
	made    int              // requests so far
	tried   []*fetch.Session // in vain
	rows    []store.Request  // of a probe
	fresh   bool             // it is asked for on a connection of its own
	doubted bool             // it was odd, and was asked for again
}

// task begins a page fetch that belongs to no claim. Its id is unique in the database: a worker that is
// started again has the name and number of one that ended.
func (w *worker) task(kind yp.RequestType, ask site.Request, number int) *task {
	return &task{kind: kind, ask: ask, number: number, id: fmt.Sprintf("%d.%s.%d", w.cfg.Run.ID, w.name, w.shared.fetches.Add(1))}
}

// targetID is the task's target, 0 = none.
func (t *task) targetID() int64 {
	if t.claim == nil {
		return 0
	}
	return t.claim.TargetID
}

// answer is what one request brought, from the socket to the commit of its page.
type answer struct {
	exchange
	resp *fetch.Response // that was read; its body is there until it was kept
	*site.Page
	bad error // why it could not be read

	unknown string // why the layout is not known; "" = it is
	kept    int64  // its id among the kept pages, 0 = it is not kept

	rest time.Duration // no request was made: see heldError

	// Of a page of results, what it means for its crawl:
	end         verdict
	repeats     int    // the earlier page of the crawl that it repeats, 0 = none
	foreign     bool   // it is not that of the search, and is not stored: see setAside
	alias       string // where it leads, when the search has another name there
	addressGone bool   // the target has no page at its address: what is known comes from the search

	all   []yp.Listing // that it shows, before the filters
	known bool         // that is what the definition says
}

// exchange is what one call of the fetcher did on the wire: a request, and perhaps
// redirects that led on from it.
type exchange struct {
	hops         int
	first, final fetch.Observation
	waited       time.Duration
	waitedFor    string
	bytes        int64
}

func (x *exchange) observe(o fetch.Observation) {
	if x.hops == 0 {
		x.first = o
	}
	x.hops++
	x.final = o
	x.waited += o.Waited
	x.bytes += o.WireBytes
	x.waitedFor = cmp.Or(x.waitedFor, o.WaitReason)
}

// request makes one request for the page, reads the answer and keeps the record of both.
// An answer is returned beside an error, too.
func (w *worker) request(ctx context.Context, t *task) (a *answer, err error) {
	a = &answer{}
	defer func() {
		if err != nil {
			w.inHand(nil)
		}
	}()
	if w.stopCtx.Err() != nil {
		return a, errStopped // nothing new is begun
	}
	if err := t.ask.Err(); err != nil {
		return a, err
	}
	if err := w.keepSession(ctx); err != nil { // another session when its proxy rests
		return a, err
	}
	resp, err := w.get(ctx, t, a)
	if errors.Is(err, errStopped) {
		return a, err
	}
	if fatal := fatalOrNil(err); fatal != nil && !isFetchError(err) { // the turns that processes share are in the database
		return a, fatal
	}
	if err == nil {
		w.cfg.Reached(PointFetched)
		w.tellSecure(a, resp.URL)
		err = w.read(ctx, t, a, resp)
		a.unknown = unknownLayout(t, a, err)
		a.kept = w.keep(t, a)
		resp.Release()
		if err == nil && a.unknown != "" { // its listings are taken all the same
			if err := w.countUnknown(context.WithoutCancel(ctx), t, a); err != nil {
				return a, err
			}
		}
	}
	if a.hops == 0 {
		w.stopUntrusted(err)
	}
	if recorded := w.record(ctx, t, a, err); recorded != nil {
		return a, recorded
	}
	return a, err
}

// get makes a request out of the budget, in which one that was not made stays: its host is
// held, or robots.txt forbids it. While others have the last ones in hand it waits for them.
func (w *worker) get(ctx context.Context, t *task, a *answer) (resp *fetch.Response, err error) {
	budget := &w.shared.requests
	for !budget.reserve() {
		if !w.sleep(ctx, w.drainCtx, w.look, nil) {
			return nil, errStopped
		}
	}
	defer func() {
		if a.hops == 0 && err != nil {
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
		a.observe(o)
	}
	return w.cfg.Fetch.Get(ctx, fetch.Request{
		Method: t.ask.Method, URL: t.ask.URL, Header: t.ask.Header, Body: t.ask.Body, Secrets: w.cfg.Secrets,
		Base: w.cfg.Source.BaseURL(), Stop: w.stopCtx, MaxHold: w.cfg.Patience, Session: w.session, Fresh: t.fresh, Observe: observe,
		Begin: func() { w.inHand(t.claim) },
		Leave: func(r *fetch.Response, to fetch.Refresh) bool { return w.leaves(t, a, r, to) },
	})
}

// read reads an answer that has come as the task wants it read; a page that says nothing, and does
// not say so itself, is a *pageError.
func (w *worker) read(ctx context.Context, t *task, a *answer, resp *fetch.Response) error {
	if w.parse(t, a, resp); a.bad != nil {
		return a.bad
	}
	w.cfg.Reached(PointParsed)
	if a.Outcome == site.Missing {
		w.tellNoChrome(t)
	}
	if t.check != nil {
		if err := t.check(ctx, t, a); err != nil {
			return err
		}
	}
	if a.Outcome != site.OK && a.Outcome != site.NoListings {
		e := &pageError{page: a.Page, url: t.ask.Label(), gone: a.resp.Status == http.StatusNotFound || a.resp.Status == http.StatusGone}
		e.wait, _ = fetch.RetryAfter(a.resp.Header, w.cfg.Keeper.DB().Now())
		return e
	}
	return nil
}

// unknownLayout says what is wrong with the layout of an answer: "" = nothing.
func unknownLayout(t *task, a *answer, err error) string {
	if pe, ok := errors.AsType[*pageError](err); ok && pe.page.Outcome == site.HTMLChanged {
		return pe.Error()
	}
	if err == nil && t.results && incomplete(a.Page) {
		return a.Reason
	}
	return ""
}

// keep keeps an answer, if that is wanted and it is a page of results or of a listing, or one
// whose layout is not known, and returns its id. That comes before the page is logged, so that
// whatever is committed was kept.
func (w *worker) keep(t *task, a *answer) (id int64) {
	if w.cfg.Pages == nil || t.target == nil || !t.keep && a.unknown == "" {
		return 0
	}
	return w.cfg.Pages.Keep(kept.Page{
		Target: *t.target, Number: t.number, URL: a.resp.URL.String(), FetchedAt: w.cfg.Keeper.DB().Now(), Status: a.resp.Status,
		ContentType: a.resp.Header.Get("Content-Type"), BaseURL: w.cfg.Source.BaseURL().String(), Filter: w.filterText,
		Unknown: a.unknown, Method: t.ask.Method, Asked: t.ask.Body,
		Header: w.cfg.Source.Headers(a.resp.Header),
	}, a.resp.Body)
}

// readable is the time after which a page may lead elsewhere, or load itself anew, and still is there to be read:
// sites do so on every page, after minutes, and interstitials after seconds.
const readable = 30 * time.Second

// Leaves reports whether a page is to be left for where it leads by itself: nothing of what was asked for is on it,
// and it is no block page. One of the site's own, which says that there is nothing or whose layout is not known, is
// left only if nobody could read it before.
func Leaves(page *site.Page, resp *fetch.Response, to fetch.Refresh) bool {
	switch {
	case page.Outcome == site.OK, len(page.Listings)+len(page.Cities)+page.Raw+page.Cards > 0:
		return false
	case page.Outcome == site.NoListings, page.Outcome == site.HTMLChanged:
		return to.After < readable
	}
	return !site.SaysBlocked(resp.Body)
}

// leaves reports whether a page of the task is to be left for where it leads.
func (w *worker) leaves(t *task, a *answer, resp *fetch.Response, to fetch.Refresh) bool {
	w.parse(t, a, resp)
	if a.bad != nil || !Leaves(a.Page, resp, to) {
		return false
	}
	w.step(t, "refresh", "page %d redirects itself to %s after %s", t.number, to.To.Redacted(), to.After)
	return true
}

// parser reads a page of a source: see site.Source.ParsePage.
type parser func(src *site.Source, body []byte, final *url.URL, status int) (*site.Page, error)

// parse parses an answer as the task wants it read, once.
func (w *worker) parse(t *task, a *answer, resp *fetch.Response) {
	if a.resp == resp {
		return
	}
	leave := w.shared.parsing.enter(len(resp.Body))
	defer leave()
	a.resp = resp
	a.Page, a.bad = parse(w.cfg.Source.On(w.cfg.Keeper.DB().Now()), t.read, resp)
}

// parse guards the worker against a page that makes the parser panic: one page
// must not take the whole run down.
func parse(src *site.Source, read parser, resp *fetch.Response) (page *site.Page, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser panicked on %s: %v", resp.URL.Redacted(), p)
		}
	}()
	return read(src.WithCharset(resp.Charset).WithHeader(resp.Header), resp.Body, resp.URL, resp.Status)
}

// record notes what one call of the fetcher did: in the requests (redirects are part of
// the one that led to them), in the pace of the host, in the scores of the proxies. Its
// error is the database's.
func (w *worker) record(ctx context.Context, t *task, a *answer, err error) error {
	if a.hops == 0 {
		return w.notRequested(ctx, t, a, err)
	}
	last := &a.final
	if last.Cancelled {
		return nil // nobody knows what would have come back
	}
	r := w.row(t, a.first.URL)
	r.Started, r.Latency = a.first.Started, last.Started.Add(last.Latency).Sub(a.first.Started)
	r.Waited, r.WaitReason, r.Bytes = a.waited, a.waitedFor, a.bytes
	r.Status, r.Proxy, r.ProxyFailed, r.Identity, r.Via = last.Status, last.Proxy, last.ProxyFailed, last.Identity, last.Via
	if err == nil && !a.foreign {
		r.Results = len(a.Listings) + len(a.Cities)
	}
	if errors.As(err, new(*errAskAgain)) {
		err = nil // it came and was read
	}
	r.Class = cmp.Or(last.Class, classOf(err))
	t.note(r)
	if t.claim != nil {
		t.claim.Attempt.UserAgent = last.UserAgent
	}
	w.reportProxy(err)
	if last.ProxyFailed || errors.Is(err, fetch.ErrStale) || fetch.AskAgain(err) != nil {
		return nil // of the host it says nothing
	}
	return fatalOrNil(w.hosts.Observed(ctx, w.observation(a, r.Class, err)))
}

// classOf is the class of a request that was answered, and ended with an error all the same.
func classOf(err error) yp.ErrorClass {
	switch {
	case err == nil:
		return ""
	case isFetchError(err), isMissing(err):
		return yp.ClassUnknown // led astray by a redirect, or to nothing
	}
	switch causeOf(err) {
	case yp.CauseRateLimited: // it says so itself, whatever its status
		return yp.ClassHTTP429
	case yp.CauseNetwork:
		return yp.ClassHTTP5xx
	}
	return yp.ClassParseError // it came, and could not be read
}

func isMissing(err error) bool {
	pe, ok := errors.AsType[*pageError](err)
	return ok && pe.missing()
}

func isFetchError(err error) bool { return errors.As(err, new(*fetch.Error)) }

// row begins the row of a request.
func (w *worker) row(t *task, url string) store.Request {
	r := store.Request{SourceID: w.cfg.Scope.SourceID, Page: t.number, Correlation: t.id, Retry: t.made, Type: t.kind, URL: t.ask.LabelAt(url)}
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
		return // nobody was asked: what was answered last holds
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
