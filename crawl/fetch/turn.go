package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"ypcrawl/yp"
)

// trip is what the requests for one page, or for one robots.txt, have in common.
type trip struct {
	session *Session
	ctx     context.Context //nolint:containedctx // of the requests; a trip is the arguments of one call
	waits   context.Context //nolint:containedctx // of the waits before them
	maxHold time.Duration   // 0 = any hold is waited for
	lim     limit
	observe func(Observation) // may be nil
}

// place is one stop of a trip.
type place struct {
	url  *url.URL
	hop  int    // how many redirects led here
	key  string // the host, as turns are taken
	host *turnstile
}

func (c *Client) place(u *url.URL, hop int) place {
	key := hostKey(u)
	return place{url: u, hop: hop, key: key, host: c.pacer.host(key)}
}

// turn waits for the host's turn, makes one HTTP request and judges the answer.
func (c *Client) turn(t *trip, at place) (*reply, time.Duration, error) {
	u := at.url
	waited, err := at.host.enter(t.waits, t.maxHold)
	if err != nil {
		return nil, 0, err
	}
	defer at.host.leave()
	if c.closing.Err() != nil {
		return nil, 0, &Error{URL: u.Redacted(), Class: yp.ClassUnknown, Err: ErrClosed}
	}
	started := time.Now()
	r, err := c.exchange(t, u)
	latency := time.Since(started)
	if err == nil && r.location == "" {
		err = t.session.judge(u, r)
	}
	var failed *Error
	if errors.As(err, &failed) && r != nil {
		c.holdBack(at.host, r, failed)
	}
	c.report(t, Observation{
		URL: u.Redacted(), Host: at.key, Robots: t.lim.cut, Hop: at.hop,
		Started: started, Latency: latency, Waited: waited.long, WaitReason: waited.why,
		Cancelled: err != nil && failed == nil,
	}, r, failed)
	if r != nil && (err != nil || r.location != "") {
		c.pools.putBuffer(r.body)
		r.body = nil
	}
	return r, latency, err
}

// judge turns an answer that is no page into an *Error.
func (s *Session) judge(u *url.URL, r *reply) error {
	if s.isProxys(u, r.status) {
		at := &proxyError{name: s.proxy, err: errPassword}
		return &Error{URL: u.Redacted(), Status: r.status, Class: yp.ClassAuthError, Err: at, Proxy: true}
	}
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

// report tells whoever wants to know of a request that was made.
func (c *Client) report(t *trip, o Observation, r *reply, failed *Error) {
	if c.cfg.Observe == nil && t.observe == nil {
		return
	}
	o.Proxy, o.Identity, o.Via = t.session.proxy, t.session.identity, t.session.via
	if failed != nil {
		o.Status, o.Class, o.ProxyFailed = failed.Status, failed.Class, failed.Proxy
	}
	if r != nil {
		o.Status, o.WireBytes, o.Bytes = r.status, r.wire, r.size
	}
	if c.cfg.Observe != nil {
		c.cfg.Observe(o)
	}
	if t.observe != nil {
		t.observe(o)
	}
}
