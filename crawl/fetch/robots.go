package fetch

import (
	"context"
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
// who wait for them.
type robotsCache struct {
	fetch func(origin *url.URL) flight

	mu      sync.Mutex
	entries map[string]*robotsEntry
}

type robotsEntry struct {
	rules    *rules // nil = none yet
	until    time.Time
	failures int
	flying   chan struct{} // closed at landing; nil = nobody fetches
	landed   flight
}

// flight is the outcome of one fetch.
type flight struct {
	rules *rules
	err   error
}

func newRobotsCache(fetch func(*url.URL) flight) *robotsCache {
	return &robotsCache{fetch: fetch, entries: map[string]*robotsEntry{}}
}

// get returns the rules for u. The fetch is nobody's own: it goes on when the
// one who asked first gives up.
func (rc *robotsCache) get(ctx context.Context, u *url.URL, spawn func(func())) (*rules, error) {
	key := originKey(u)
	rc.mu.Lock()
	e := rc.entries[key]
	if e == nil {
		e = &robotsEntry{}
		rc.entries[key] = e
	}
	if e.rules != nil && time.Now().Before(e.until) {
		defer rc.mu.Unlock()
		return e.rules, nil
	}
	if e.flying == nil {
		e.flying = make(chan struct{})
		origin := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
		spawn(func() { rc.land(e, rc.fetch(origin)) })
	}
	flying := e.flying
	rc.mu.Unlock()
	select {
	case <-flying:
		rc.mu.Lock()
		defer rc.mu.Unlock()
		return e.landed.rules, e.landed.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func originKey(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// land publishes the outcome. Rules that can't be renewed stay in force.
func (rc *robotsCache) land(e *robotsEntry, f flight) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	switch {
	case f.err == nil:
		e.rules, e.until, e.failures = f.rules, time.Now().Add(robotsTTL), 0
	case e.rules != nil:
		e.until = time.Now().Add(robotsStale)
		f = flight{rules: e.rules}
	default:
		e.failures++
	}
	e.landed = f
	close(e.flying)
	e.flying = nil
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

// permitted asks robots.txt. Its error is the context's or an *Error.
func (c *Client) permitted(ctx context.Context, u *url.URL) error {
	if c.closing.Err() != nil {
		return &Error{URL: u.Redacted(), Class: yp.ClassUnknown, Err: ErrClosed}
	}
	if c.robots == nil {
		return nil
	}
	rules, err := c.robots.get(ctx, u, c.spawn)
	if err != nil {
		return err
	}
	if !rules.allowed(u) {
		return &Error{URL: u.Redacted(), Class: yp.ClassUnknown, Err: ErrDisallowed}
	}
	return nil
}

// fetchRobots gets robots.txt through the same turns as pages. No file (4xx)
// allows everything; one that can't be had (5xx, network) allows nothing for
// now (RFC 9309, 2.3.1). A 429 is the latter: it says later, not never.
func (c *Client) fetchRobots(origin *url.URL) flight {
	body, err := c.readRobots(origin)
	var e *Error
	switch {
	case err == nil:
		defer c.pools.putBuffer(body)
		r := parseRobots(body.b, productToken(c.cfg.UserAgent))
		c.pacer.host(hostKey(origin)).setCrawlDelay(r.crawlDelay)
		return flight{rules: r}
	case errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests,
		errors.Is(err, ErrTooManyRedirects):
		return flight{rules: &rules{}}
	case c.closing.Err() != nil:
		return flight{err: &Error{URL: origin.String(), Class: yp.ClassUnknown, Err: ErrClosed}}
	case e == nil:
		return flight{err: err}
	}
	return flight{err: c.robotsLater(origin, e)}
}

// robotsLater holds the host (nothing may be asked of it anyway) and says so.
func (c *Client) robotsLater(origin *url.URL, e *Error) *Error {
	wait := max(c.robots.backoff(origin), e.RetryAfter)
	if wait > 0 {
		c.pacer.host(hostKey(origin)).hold(wait, reasonRobots)
	}
	c.log.Warn().Str("url", origin.String()).Err(e).Dur("wait", wait).Msg("robots.txt is unavailable")
	return &Error{
		URL: e.URL, Status: e.Status, Class: e.Class, RetryAfter: wait,
		Err: fmt.Errorf("%w: %w", ErrRobotsUnavailable, causeOf(e)),
	}
}

func causeOf(e *Error) error {
	if e.Err != nil {
		return e.Err
	}
	return fmt.Errorf("status %d", e.Status)
}

// readRobots follows redirects within the domain; the first 500 KiB count.
func (c *Client) readRobots(origin *url.URL) (*buffer, error) {
	u, f := origin, newFence(origin)
	for hop := 0; ; hop++ {
		r, _, err := c.turn(c.closing, c.closing, u, hop, limit{max: robotsMax, cut: true})
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
