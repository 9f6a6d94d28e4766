package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ypcrawl/yp"
)

const (
	robotsTTL      = 24 * time.Hour   // RFC 9309, 2.4
	robotsStale    = 10 * time.Minute // between tries to renew rules we still have
	robotsFirstTry = 5 * time.Second  // after a failure with no rules to go by; doubles
	robotsLastTry  = time.Minute
)

// robotsCache has the rules of every scheme and host, fetched once for all
// who wait for them, whatever their sessions.
type robotsCache struct {
	fetch func(origin *url.URL, s *Session) flight

	mu      sync.Mutex
	entries map[string]*robotsEntry
}

type robotsEntry struct {
	rules    *rules // nil = none yet
	until    time.Time
	failures int
	boarding *boarding // nil = nobody fetches
}

// boarding is a fetch under way, by the session of who asked first.
type boarding struct {
	by     *Session
	flight flight        // not before landed
	landed chan struct{} // closed then
}

// flight is the outcome of one fetch.
type flight struct {
	rules *rules
	err   error
}

// proxyFailed: it says nothing about the host, nor to those with another proxy.
func (f flight) proxyFailed() bool {
	var e *Error
	return errors.As(f.err, &e) && e.Proxy
}

func newRobotsCache(fetch func(*url.URL, *Session) flight) *robotsCache {
	return &robotsCache{fetch: fetch, entries: map[string]*robotsEntry{}}
}

// get returns the rules for u. The fetch is nobody's own: it goes on when the
// one who asked first gives up. It goes the way of that one's session, and where
// that has failed the others go their own.
func (rc *robotsCache) get(t *trip, at place, spawn func(func())) (*rules, error) {
	for {
		rules, b, err := rc.board(t, at, spawn)
		if rules != nil || err != nil {
			return rules, err
		}
		if err := at.host.await(t.waits, b.landed, t.maxHold); err != nil {
			return nil, err
		}
		if b.by == t.session || !b.flight.proxyFailed() {
			return b.flight.rules, b.flight.err
		}
	}
}

// board returns the rules in force, or the fetch to wait for. None is begun
// while the host is held for longer than the trip would wait.
func (rc *robotsCache) board(t *trip, at place, spawn func(func())) (*rules, *boarding, error) {
	key := originKey(at.url)
	rc.mu.Lock()
	defer rc.mu.Unlock()
	e := rc.entries[key]
	if e == nil {
		e = &robotsEntry{}
		rc.entries[key] = e
	}
	if e.rules != nil && time.Now().Before(e.until) {
		return e.rules, nil, nil
	}
	if e.boarding == nil {
		if err := at.host.refuses(t.maxHold); err != nil {
			return nil, nil, err
		}
		b := &boarding{by: t.session, landed: make(chan struct{})}
		e.boarding = b
		origin := &url.URL{Scheme: at.url.Scheme, Host: at.url.Host, Path: "/robots.txt"}
		spawn(func() { rc.land(e, b, rc.fetch(origin, b.by)) })
	}
	return nil, e.boarding, nil
}

func originKey(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// land publishes the outcome. Rules that can't be renewed stay in force.
func (rc *robotsCache) land(e *robotsEntry, b *boarding, f flight) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	switch {
	case f.err == nil:
		e.rules, e.until, e.failures = f.rules, time.Now().Add(robotsTTL), 0
	case e.rules != nil:
		e.until = time.Now().Add(robotsStale)
		f = flight{rules: e.rules}
	case !f.proxyFailed():
		e.failures++
	}
	b.flight = f
	close(b.landed)
	e.boarding = nil
}

// backoff is how long to leave the host alone after a failed fetch.
func (rc *robotsCache) backoff(origin *url.URL) time.Duration {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	e := rc.entries[originKey(origin)]
	if e == nil {
		return robotsFirstTry
	}
	if e.rules != nil {
		return 0
	}
	return min(robotsFirstTry<<min(e.failures, 10), robotsLastTry)
}

// permitted asks robots.txt. Its error is the context's, a *heldError, or an
// *Error.
func (c *Client) permitted(t *trip, at place) error {
	if c.closing.Err() != nil {
		return &Error{URL: at.url.Redacted(), Class: yp.ClassUnknown, Err: ErrClosed}
	}
	if c.robots == nil {
		return nil
	}
	s := t.session
	rules, err := c.robots.get(t, at, func(fetch func()) {
		s.stay() // a session closed by then is left when the file is there
		c.spawn(func() {
			defer s.leave()
			fetch()
		})
	})
	if err != nil {
		return err
	}
	if !rules.allowed(at.url) {
		return &Error{URL: at.url.Redacted(), Class: yp.ClassUnknown, Err: ErrDisallowed}
	}
	return nil
}

// fetchRobots gets robots.txt through the same turns as pages. No file (4xx)
// allows everything; one that can't be had (5xx, network) allows nothing for
// now (RFC 9309, 2.3.1). A 429 is the latter: it says later, not never.
func (c *Client) fetchRobots(origin *url.URL, s *Session) flight {
	body, err := c.readRobots(origin, s)
	var e *Error
	switch {
	case err == nil:
		defer c.pools.putBuffer(body)
		r := parseRobots(body.b, productToken(c.cfg.UserAgent))
		c.pacer.host(hostKey(origin)).setCrawlDelay(r.crawlDelay)
		return flight{rules: r}
	case errors.As(err, &e) && !e.Proxy && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests,
		errors.Is(err, ErrTooManyRedirects):
		return flight{rules: &rules{}}
	case c.closing.Err() != nil:
		return flight{err: &Error{URL: origin.String(), Class: yp.ClassUnknown, Err: ErrClosed}}
	case e == nil:
		return flight{err: err}
	}
	return flight{err: c.robotsLater(origin, e)}
}

// robotsLater holds the host (nothing may be asked of it anyway) and says so. A
// proxy that failed is no reason to.
func (c *Client) robotsLater(origin *url.URL, e *Error) *Error {
	wait := max(c.robots.backoff(origin), e.RetryAfter)
	if e.Proxy {
		wait = 0
	}
	if wait > 0 {
		c.pacer.host(hostKey(origin)).hold(wait, reasonRobots)
	}
	c.log.Warn().Str("url", origin.String()).Err(e).Str("wait", wait.Round(time.Millisecond).String()).Msg("robots.txt is unavailable")
	return &Error{
		URL: e.URL, Status: e.Status, Class: e.Class, RetryAfter: wait,
		Err: fmt.Errorf("%w: %w", ErrRobotsUnavailable, causeOf(e)), Proxy: e.Proxy,
	}
}

func causeOf(e *Error) error {
	if e.Err != nil {
		return e.Err
	}
	return fmt.Errorf("status %d", e.Status)
}

// readRobots follows redirects within the domain; the first 500 KiB count.
func (c *Client) readRobots(origin *url.URL, s *Session) (*buffer, error) {
	u, f := origin, newFence(origin, s.proxy != "")
	t := trip{session: s, ctx: c.closing, waits: c.closing, lim: limit{max: robotsMax, cut: true}}
	for hop := 0; ; hop++ {
		r, _, err := c.turn(&t, c.place(u, hop))
		if err != nil {
			return nil, err
		}
		if r.location == "" {
			return robotsBody(r)
		}
		if u, err = redirect(f, u, r.location, hop); err != nil {
			return nil, &Error{URL: origin.String(), Status: r.status, Class: yp.ClassUnknown, Err: err}
		}
	}
}

// robotsBody: a 404 or 410 is a page to Get, but no rules.
func robotsBody(r *reply) (*buffer, error) {
	if r.body == nil {
		r.body = &buffer{}
	}
	if r.status >= 400 {
		r.body.b = r.body.b[:0]
	}
	return r.body, nil
}
