package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"ypcrawl/yp"
)

// Request is one page to fetch.
type Request struct {
	URL string // absolute, or relative to Base

	// Base is the source's base URL: redirects stay on its registered domain,
	// and private addresses are reached only if it names one. nil = URL itself.
	Base *url.URL

	// Stop, when set, bounds the waits before a request starts (the host's
	// turn, a Retry-After) besides ctx: when it ends they end at once with
	// context.Canceled, while a request that is under way goes on to its end.
	Stop context.Context //nolint:containedctx // a signal of the caller's, not a scope

	// Session says who asks and through which proxy, for robots.txt too: with a proxy,
	// nothing is asked directly, not even for a host's address. nil = the
	// client's own: honest, direct, without cookies.
	Session *Session

	// MaxHold, when set, is how long a hold of the host may last to be waited
	// for: while it is held back for longer (Retry-After, a penalty, a robots.txt
	// that can't be had) Get returns ErrHeld at once, also out of a wait in which
	// it finds itself. The pace and the in-flight cap are no holds.
	MaxHold time.Duration

	// Observe, when set, is called beside Config.Observe for each HTTP request
	// made for this page, redirect hops included and robots.txt not.
	Observe func(Observation)
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
// Get again and it waits, unless the hold is over Request.MaxHold.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	s := cmp.Or(req.Session, c.direct)
	u, f, err := resolve(req, s.proxy != "")
	if err != nil {
		return nil, &Error{URL: redact(req.URL), Class: yp.ClassUnknown, Err: err}
	}
	if !s.enter() {
		return nil, &Error{URL: u.Redacted(), Class: yp.ClassUnknown, Err: ErrClosed}
	}
	defer s.leave()
	waits := ctx
	if req.Stop != nil {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(req.Stop, cancel)()
		waits = both
	}
	j := job{session: s, ctx: ctx, waits: waits, maxHold: req.MaxHold, lim: limit{max: c.cfg.MaxBody}, observe: req.Observe}
	r, err := c.follow(&j, f, u)
	if err != nil {
		return nil, err
	}
	return &Response{
		Status: r.status, URL: r.url, Header: r.header, Body: r.bytes(), WireBytes: r.wire,
		Latency: r.latency, buf: r.body, pools: c.pools,
	}, nil
}

// follow makes the requests of a job, from u on to where redirects lead.
func (c *Client) follow(j *job, f fence, u *url.URL) (*reply, error) {
	for number := 0; ; number++ {
		at := c.hop(u, number)
		if !j.robots {
			if err := c.permitted(j, at); err != nil {
				return nil, inFetch(u, err)
			}
		}
		r, err := c.turn(j, at)
		if err != nil {
			return nil, inFetch(u, err)
		}
		if r.location == "" {
			return r, nil
		}
		next, err := f.follow(u, r.location)
		switch {
		case err != nil:
		case number >= MaxRedirects:
			err = fmt.Errorf("%w: more than %d", ErrTooManyRedirects, MaxRedirects)
		case *next == *u:
			err = fmt.Errorf("%w: to itself", ErrTooManyRedirects)
		}
		if err != nil {
			return nil, &Error{URL: u.Redacted(), Status: r.status, Class: yp.ClassUnknown, Err: err}
		}
		u = next
	}
}

// resolve forms the request's URL (dot segments removed, so that robots.txt
// judges what the server will see) and its fence.
func resolve(req Request, proxied bool) (*url.URL, fence, error) {
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
	f := newFence(base, proxied)
	return u, f, f.check(u)
}

// redact hides a password in a URL that may not even be one.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return "(not a URL)"
}

// inFetch gives an error its place. An *Error has it already; a hold that is too
// long becomes one.
func inFetch(u *url.URL, err error) error {
	if errors.As(err, new(*Error)) {
		return err
	}
	if held, ok := errors.AsType[*heldError](err); ok {
		return &Error{URL: u.Redacted(), Class: yp.ClassRateLimited, RetryAfter: held.left, Err: held}
	}
	return fmt.Errorf("fetch %s: %w", u.Redacted(), err)
}
