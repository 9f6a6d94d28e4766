package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

// Client fetches pages of any number of hosts for any number of goroutines.
type Client struct {
	cfg       Config
	log       zerolog.Logger
	transport *http.Transport
	header    http.Header // of every request; never changed
	pools     *pools
	pacer     *pacer
	robots    *robotsCache // nil = ignored

	closing context.Context // ends with Close; robots.txt is fetched under it
	close   context.CancelFunc
	spawnMu sync.Mutex     // orders spawn and Close
	pending sync.WaitGroup // goroutines that fetch robots.txt
}

// New returns a client; Close it when done.
func New(cfg Config) *Client { return newClient(cfg, hooks{}) }

func newClient(cfg Config, h hooks) *Client {
	cfg = cfg.withDefaults()
	c := &Client{
		cfg:       cfg,
		log:       cfg.Logger.With().Str("component", "fetch").Logger(),
		transport: newTransport(cfg, h),
		pools:     &pools{},
		pacer:     newPacer(cfg),
		header: http.Header{
			"User-Agent":      {cfg.UserAgent},
			"Accept":          {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
			"Accept-Language": {"en-US,en;q=0.8"},
			"Accept-Encoding": {acceptEncoding},
		},
	}
	c.closing, c.close = context.WithCancel(context.Background())
	if !cfg.IgnoreRobots {
		c.robots = newRobotsCache(c.fetchRobots)
	}
	return c
}

// Close ends what the client does by itself and drops idle connections. Gets
// under way go on; later ones fail with ErrClosed.
func (c *Client) Close() {
	c.spawnMu.Lock()
	c.close()
	c.spawnMu.Unlock()
	c.pending.Wait()
	c.transport.CloseIdleConnections()
}

// spawn runs f, which Close waits for. Once closed, f ends at once by itself.
func (c *Client) spawn(f func()) {
	c.spawnMu.Lock()
	defer c.spawnMu.Unlock()
	if c.closing.Err() != nil {
		go f()
		return
	}
	c.pending.Go(f)
}

// Request is one page to fetch.
type Request struct {
	URL string // absolute, or relative to Base

	// Base is the source's base URL: redirects stay on its registered domain,
	// and private addresses are reached only if it names one. nil = URL itself.
	Base *url.URL

	// Patience, when set, bounds the waits before a request starts (the host's
	// turn, a Retry-After) besides ctx: when it ends they end at once with
	// context.Canceled, while a request that is under way goes on to its end.
	Patience context.Context //nolint:containedctx // a signal of the caller's, not a scope
}

// Response is a page: a 2xx, a 404 or a 410.
type Response struct {
	Status    int
	URL       *url.URL // the final one, after redirects
	Header    http.Header
	Body      []byte        // UTF-8; not to be used after Release
	WireBytes int64         // body bytes received, compressed as they were
	Latency   time.Duration // of the last hop, start to last byte

	buf   *buffer
	pools *pools
}

// Release gives the body's memory back. Calling it again does nothing.
func (r *Response) Release() {
	if r == nil || r.buf == nil {
		return
	}
	r.pools.putBuffer(r.buf)
	r.buf, r.Body = nil, nil
}

// Get fetches one page: it checks robots.txt, waits for the host's turn, and
// follows redirects, each hop checked and in turn like a request of its own.
// 2xx, 404 and 410 are a Response. All else is an *Error, but for the end of
// ctx, which is returned as such, wrapped.
//
// A 429, or a 503 with Retry-After, holds the host back for everybody: call
// Get again and it waits.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	u, f, err := resolve(req)
	if err != nil {
		return nil, &Error{URL: redact(req.URL), Class: yp.ClassUnknown, Err: err}
	}
	waits, done := patient(ctx, req.Patience)
	defer done()
	for hop := 0; ; hop++ {
		if err := c.permitted(waits, u); err != nil {
			return nil, inFetch(u, err)
		}
		r, latency, err := c.turn(ctx, waits, u, hop, limit{max: c.cfg.MaxBody})
		if err != nil {
			return nil, inFetch(u, err)
		}
		if r.location == "" {
			return c.response(u, r, latency), nil
		}
		next, err := redirect(f, u, r.location, hop)
		if err != nil {
			return nil, &Error{URL: u.Redacted(), Status: r.status, Class: yp.ClassUnknown, Err: err}
		}
		u = next
	}
}

// redirect finds the next hop.
func redirect(f fence, u *url.URL, location string, hop int) (*url.URL, error) {
	next, err := f.follow(u, location)
	if err != nil {
		return nil, err
	}
	if hop >= MaxRedirects {
		return nil, fmt.Errorf("%w: more than %d", ErrTooManyRedirects, MaxRedirects)
	}
	if *next == *u {
		return nil, fmt.Errorf("%w: to itself", ErrTooManyRedirects)
	}
	return next, nil
}

func (c *Client) response(u *url.URL, r *reply, latency time.Duration) *Response {
	return &Response{
		Status: r.status, URL: u, Header: r.header, Body: r.bytes(), WireBytes: r.wire,
		Latency: latency, buf: r.body, pools: c.pools,
	}
}

// resolve forms the request's URL (dot segments removed, so that robots.txt
// judges what the server will see) and its fence.
func resolve(req Request) (*url.URL, fence, error) {
	ref, err := url.Parse(req.URL)
	if err != nil {
		return nil, fence{}, fmt.Errorf("%w: %w", ErrBadURL, err)
	}
	base := req.Base
	if base == nil {
		base = ref
	}
	u := base.ResolveReference(ref)
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, fence{}, fmt.Errorf("%w: %q", ErrBadURL, u.Redacted())
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	f := newFence(base)
	return u, f, f.check(u)
}

// redact hides a password in a URL that may not even be one.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return "(not a URL)"
}

// inFetch gives an error its place. An *Error has it already.
func inFetch(u *url.URL, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("fetch %s: %w", u.Redacted(), err)
}

// turn waits for the host's turn (as long as waits lasts), makes one HTTP
// request (under ctx) and judges the answer.
func (c *Client) turn(ctx, waits context.Context, u *url.URL, hop int, lim limit) (*reply, time.Duration, error) {
	host := c.pacer.host(hostKey(u))
	waited, err := host.enter(waits)
	if err != nil {
		return nil, 0, err
	}
	defer host.leave()
	if c.closing.Err() != nil {
		return nil, 0, &Error{URL: u.Redacted(), Class: yp.ClassUnknown, Err: ErrClosed}
	}
	started := time.Now()
	r, err := c.exchange(ctx, u, lim)
	latency := time.Since(started)
	if err == nil && r.location == "" {
		err = c.judge(u, r)
	}
	var failed *Error
	if errors.As(err, &failed) && r != nil {
		c.holdBack(host, r, failed)
	}
	c.observe(Observation{
		URL: u.Redacted(), Host: hostKey(u), Robots: lim.cut, Hop: hop,
		Started: started, Latency: latency, Waited: waited, Cancelled: err != nil && failed == nil,
	}, r, failed)
	if r != nil && (err != nil || r.location != "") {
		c.pools.putBuffer(r.body)
		r.body = nil
	}
	return r, latency, err
}

// patient returns a context that ends with ctx or with patience.
func patient(ctx, patience context.Context) (context.Context, context.CancelFunc) {
	if patience == nil {
		return ctx, func() {}
	}
	both, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(patience, cancel)
	return both, func() { stop(); cancel() }
}

// judge turns an answer that is no page into an *Error.
func (c *Client) judge(u *url.URL, r *reply) error {
	class, cause := classifyStatus(r)
	if class == "" {
		return nil
	}
	return &Error{URL: u.Redacted(), Status: r.status, Class: class, Err: cause}
}

// holdBack keeps the host's queue waiting when the answer asks for it: by
// Retry-After on a 429 or 503, and for 30 s after a 429 without one. (A
// challenge that says when to come back is believed too.)
func (c *Client) holdBack(host *turnstile, r *reply, e *Error) {
	if r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return
	}
	d, told := retryAfter(r.header, time.Now())
	reason := reasonRetryAfter
	if !told {
		if e.Class != yp.ClassHTTP429 {
			return
		}
		d, reason = defaultRetryAfter, reasonTooMany
	}
	e.RetryAfter = d
	host.hold(d, reason)
	c.log.Debug().Str("url", e.URL).Dur("wait", d).Str("reason", reason).Msg("host held back")
}

func (c *Client) observe(o Observation, r *reply, failed *Error) {
	if c.cfg.Observe == nil {
		return
	}
	if failed != nil {
		o.Status, o.Class = failed.Status, failed.Class
	}
	if r != nil {
		o.Status, o.WireBytes, o.Bytes = r.status, r.wire, r.size
	}
	c.cfg.Observe(o)
}

// Waiting tells how long a request to host ("example.com", with the port if it
// is not the scheme's own) would wait now, and why: "Retry-After", say. With a
// reason and no time, it waits for another request to end. No reason = no
// wait.
func (c *Client) Waiting(host string) (time.Duration, string) {
	return c.pacer.host(keyOf(host)).waiting()
}

// SetDelay slows a host down to at least d between request starts, jitter on
// top; it never goes below DelayMin, Crawl-delay or a Retry-After in force. 0
// restores the configured delay. It is the seam for adaptive pacing.
func (c *Client) SetDelay(host string, d time.Duration) {
	c.pacer.host(keyOf(host)).setDelay(d)
}

func keyOf(host string) string { return hostKey(&url.URL{Host: host}) }
