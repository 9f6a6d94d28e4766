package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ypcrawl/yp"
)

// job is what the requests for one page, or for one robots.txt, have in common.
type job struct {
	session *Session
	ctx     context.Context //nolint:containedctx // of the requests; a job is the arguments of one call
	waits   context.Context //nolint:containedctx // of the waits before them
	maxHold time.Duration   // 0 = any hold is waited for
	fresh   bool            // see Request.Fresh
	robots  bool            // it is for robots.txt itself
	ask     ask             // beside the address
	lim     limit
	observe func(Observation)             // may be nil
	begin   func()                        // likewise
	leave   func(*Response, Refresh) bool // likewise, and nil = no page is left

	jar http.CookieJar // the session's, or one of the job's own; nil = no cookie yet
	led []string       // names of the cookies for which an address that redirects to itself was asked again
}

// hop is one request of a job, with its turn.
type hop struct {
	url    *url.URL
	number int    // how many redirects led here
	key    string // the host, as turns are taken
	host   *hostLimiter
}

func (c *Client) hop(u *url.URL, number int) hop {
	key := HostKey(u)
	return hop{url: u, number: number, key: key, host: c.pacer.host(key)}
}

// turn waits for the host's turn, makes one HTTP request and judges the answer.
func (c *Client) turn(j *job, at hop) (*Response, error) {
	u := at.url
	waited, err := at.host.enter(j.waits, j.maxHold)
	if err != nil {
		return nil, err
	}
	defer at.host.leave()
	if c.closing.Err() != nil {
		return nil, unasked(u, ErrClosed)
	}
	if j.begin != nil && at.number == 0 {
		j.begin()
	}
	pace, why := at.host.wanted()
	started := time.Now()
	r, err := c.exchange(j, u)
	latency := time.Since(started)
	if err == nil {
		err = j.session.judge(u, r)
	}
	var failed *Error
	if isError := errors.As(err, &failed); isError || err == nil {
		c.ways.note(at.key, cmp.Or(j.session.proxy, direct), failed)
	}
	if failed != nil && r != nil {
		c.holdBack(j, at.host, r, failed)
	}
	c.report(j, Observation{
		URL: u.Redacted(), Host: at.key, Robots: j.robots, Hop: at.number,
		Started: started, Latency: latency, Waited: waited.long, WaitReason: waited.why,
		Cancelled: err != nil && failed == nil, Pace: pace, PaceReason: why, Gap: paceOf(at.host, failed),
	}, r, failed)
	if err != nil || r.location != "" {
		r.Release()
	}
	return r, err
}

// holdBack keeps the host's queue waiting when the answer asks for it (see askedWait), and for 30 s after a 429 that does
// not say how long. (A challenge that says when to come back is believed too.) What came by a proxy may be about that
// proxy alone, and holds nobody else.
func (c *Client) holdBack(j *job, host *hostLimiter, r *Response, e *Error) {
	d, instead := askedWait(r.Status, r.Header, time.Now())
	if d == 0 && e.Class == yp.ClassHTTP429 && !e.Proxy {
		d, instead = yp.DefaultRetryAfter, reasonTooMany
	}
	if d == 0 {
		return
	}
	e.RetryAfter, e.Instead = d, instead
	if j.session.proxy != "" {
		e.Way = j.session.proxy
		return
	}
	reason := cmp.Or(instead, reasonRetryAfter)
	host.hold(d, reason)
	c.log.Debug().Str("url", e.URL).Dur("wait", d).Str("reason", reason).Msg("a request waits for its host")
}

// paceOf is the pace at which a 429 came, and 0 of anything else.
func paceOf(host *hostLimiter, e *Error) time.Duration {
	if e == nil || e.Class != yp.ClassHTTP429 {
		return 0
	}
	return host.pace()
}

// report tells whoever wants to know of a request that was made.
func (c *Client) report(j *job, o Observation, r *Response, failed *Error) {
	if c.cfg.Observe == nil && j.observe == nil {
		return
	}
	o.Proxy, o.Identity, o.Via = j.session.proxy, j.session.identity, j.session.via
	o.UserAgent = j.session.secure.Get("User-Agent")
	if failed != nil {
		o.Status, o.Class, o.ProxyFailed = failed.Status, failed.Class, failed.Proxy
	}
	if r != nil {
		o.Status, o.WireBytes, o.Bytes = r.Status, r.WireBytes, r.size
	}
	if c.cfg.Observe != nil {
		c.cfg.Observe(o)
	}
	if j.observe != nil {
		j.observe(o)
	}
}

const (
	errorPageMax = 64 << 10 // of an error page: enough for any marker
	drainMax     = 64 << 10 // read on so that the connection can be used again
)

// exchange makes one HTTP request and reads its answer. The error is the
// caller's own context's, or an *Error.
func (c *Client) exchange(j *job, u *url.URL) (*Response, error) {
	watched, w := newWatch(j.ctx, c.cfg.Timeout, c.cfg.StallTimeout)
	defer w.stop()
	p := &connTrace{}
	defer func() { j.session.conns.leave(p) }()
	r, err := c.roundTrip(p.traced(watched), w, j, u, p)
	if ended := over(j.ctx); err != nil && ended != nil {
		return r, ended
	}
	if err == nil || r != nil && !carriesPage(r.Status) {
		return r, nil // of an error page, the status says enough
	}
	e := j.session.fault(u, err, c.whyEnded(watched, p), p)
	e.Err = j.ask.withoutSecrets(e.Err)
	c.wantsHTTP1(u, p, e, err)
	c.unread(u, p, r, e, err)
	if r != nil {
		e.Status = r.Status
		return r, e
	}
	if e.Class == yp.ClassTimeout && !e.Proxy && j.session.isMute(j.ctx, u) {
		j.session.blame(e, errMute)
	}
	if ended := over(j.ctx); ended != nil {
		return nil, ended
	}
	return nil, e
}

// over is why the caller's context has ended; nil = it has not. A connection that is being made knows of the
// deadline a moment before the context's own timer.
func over(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}

// whyEnded is why we have ended a request ourselves; nil = we have not.
func (c *Client) whyEnded(watched context.Context, p *connTrace) error {
	why := context.Cause(watched)
	switch {
	case p.conn != nil && p.conn.work.tooMuch.Load():
		return ErrFlood
	case errors.Is(why, errTotal):
		return fmt.Errorf("%w: more than request_timeout, %s", errTotal, c.cfg.Timeout)
	}
	return why
}

// roundTrip returns a Response without a body beside an error that came after the
// headers.
func (c *Client) roundTrip(ctx context.Context, w *watch, j *job, u *url.URL, p *connTrace) (*Response, error) {
	err := j.session.connect(ctx, u, j.fresh, p)
	if err != nil {
		return nil, err
	}
	resp, err := p.conn.RoundTrip(j.httpRequest(ctx, u, p))
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read as far as it counts
	j.ask.secrets.cleanAnswer(resp)
	lim, r := j.lim, &Response{Status: resp.StatusCode, phrase: resp.Status, URL: u, Header: resp.Header, pools: c.pools}
	if !carriesPage(r.Status) {
		lim = limit{max: min(lim.max, errorPageMax), cut: true, part: true} // its beginning is all we look at
	}
	switch r.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		r.location = resp.Header.Get("Location")
	}
	j.remember(u, resp, r.location != "")
	if !lim.cut && resp.ContentLength > c.cfg.MaxBody {
		return r, tooLarge("announced", c.cfg.MaxBody)
	}
	p.chunked = len(resp.TransferEncoding) > 0
	wire := &wireReader{r: resp.Body, max: c.cfg.MaxBody, framing: framingOf(resp, p.conn), length: resp.ContentLength, progress: func(n int) {
		p.conn.work.pays(n)
		w.progress()
	}}
	w.progress() // from here on silence counts
	r.buf, err = c.pools.readBody(wire, strings.Join(resp.Header.Values("Content-Encoding"), ","), resp.ContentLength, lim)
	if err == nil {
		err = drain(wire, lim.part || lim.reached(r.buf))
	}
	if err == nil {
		r.size = len(r.buf.b)
		r.buf, err = c.pools.toUTF8(r.buf, resp.Header.Get("Content-Type"), lim)
	}
	if r.WireBytes = wire.n; r.buf != nil {
		if j.ask.secrets != nil {
			r.buf.b = j.ask.secrets.clean(r.buf.b)
		}
		r.Body, r.Charset = r.buf.b, r.buf.charset
	}
	if j.ctx.Err() != nil && wire.err != nil {
		err = wire.err // of an error page, too: it was not the host who ended it
	}
	return r, err
}

// drain reads on to the end of the body, so that the connection can be used again, and,
// unless there is enough of it, because what decodes may not be whole: of two gzip
// members the second may be missing.
func drain(wire *wireReader, enough bool) error {
	_, _ = io.CopyN(io.Discard, wire, drainMax) // its error is the wire's own
	if wire.err == nil || wire.ended || enough || errors.Is(wire.err, ErrTooLarge) {
		return nil
	}
	return wire.err
}

// watch ends a request that takes too long in all, or whose body falls silent.
// (Dial, TLS and first header have time-outs of their own.)
type watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	ends   time.Time
	stall  time.Duration
}

func newWatch(parent context.Context, total, stall time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{cancel: cancel, ends: time.Now().Add(total), stall: stall}
	w.timer = time.AfterFunc(total, w.fire)
	return ctx, w
}

func (w *watch) fire() {
	if time.Now().Before(w.ends) {
		w.cancel(errStalled)
	} else {
		w.cancel(errTotal)
	}
}

// progress starts the silence anew; the total goes on.
func (w *watch) progress() { w.timer.Reset(min(w.stall, time.Until(w.ends))) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
