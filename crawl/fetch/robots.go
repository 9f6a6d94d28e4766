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
	fetch func(origin *url.URL, s *Session) (*rules, error)
	spawn func(s *Session, fetch func()) // runs it in the background, with the session kept open

	mu      sync.Mutex
	entries map[string]*robotsEntry
}

type robotsEntry struct {
	rules    *rules // nil = none yet
	until    time.Time
	failures int
	fetching *robotsFetch // nil = nobody fetches
}

// robotsFetch is a fetch under way, by the session of who asked first.
type robotsFetch struct {
	by    *Session
	done  chan struct{} // closed when the rest is known
	rules *rules
	err   error
}

func newRobotsCache(fetch func(*url.URL, *Session) (*rules, error), spawn func(*Session, func())) *robotsCache {
	return &robotsCache{fetch: fetch, spawn: spawn, entries: map[string]*robotsEntry{}}
}

// get returns the rules for a URL. The fetch is nobody's own: it goes on when the
// one who asked first gives up. It goes the way of that one's session, and where
// that has failed the others go their own.
func (rc *robotsCache) get(j *job, at hop) (*rules, error) {
	for {
		rules, f, err := rc.lookUp(j, at)
		if rules != nil || err != nil {
			return rules, err
		}
		if err := at.host.await(j.waits, f.done, j.maxHold); err != nil {
			return nil, err
		}
		if f.by == j.session || !isProxyFault(f.err) {
			return f.rules, f.err
		}
	}
}

// isProxyFault: it says nothing about the host, nor to those with another proxy.
func isProxyFault(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Proxy
}

// lookUp returns the rules in force, or the fetch to wait for. None is begun
// while the host is held for longer than the job would wait.
func (rc *robotsCache) lookUp(j *job, at hop) (*rules, *robotsFetch, error) {
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
	if e.fetching == nil {
		if err := at.host.refuses(j.maxHold); err != nil {
			return nil, nil, err
		}
		f := &robotsFetch{by: j.session, done: make(chan struct{})}
		e.fetching = f
		origin := &url.URL{Scheme: at.url.Scheme, Host: at.url.Host, Path: "/robots.txt"}
		rc.spawn(f.by, func() {
			f.rules, f.err = rc.fetch(origin, f.by)
			rc.finish(e)
		})
	}
	return nil, e.fetching, nil
}

func originKey(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// finish publishes the outcome of an entry's fetch. Rules that can't be renewed stay in force.
func (rc *robotsCache) finish(e *robotsEntry) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	f := e.fetching
	switch {
	case f.err == nil:
		e.rules, e.until, e.failures = f.rules, time.Now().Add(robotsTTL), 0
	case e.rules != nil:
		e.until = time.Now().Add(robotsStale)
		f.rules, f.err = e.rules, nil
	case !isProxyFault(f.err):
		e.failures++
	}
	e.fetching = nil
	close(f.done)
}

// backoff is how long to leave the host alone after a failed fetch.
func (rc *robotsCache) backoff(origin *url.URL) time.Duration {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	switch e := rc.entries[originKey(origin)]; {
	case e == nil:
		return robotsFirstTry
	case e.rules != nil:
		return 0
	default:
		return min(robotsFirstTry<<min(e.failures, 10), robotsLastTry)
	}
}

// permitted asks robots.txt. Its error is the context's, a *heldError, or an
// *Error.
func (c *Client) permitted(j *job, at hop) error {
	if c.closing.Err() != nil {
		return &Error{URL: at.url.Redacted(), Class: yp.ClassUnknown, Err: ErrClosed}
	}
	if c.robots == nil {
		return nil
	}
	rules, err := c.robots.get(j, at)
	if err != nil {
		return err
	}
	if !rules.allowed(at.url) {
		return &Error{URL: at.url.Redacted(), Class: yp.ClassUnknown, Err: ErrDisallowed}
	}
	return nil
}

// fetchRobots gets robots.txt, of which the first 500 KiB count, through the same turns as
// pages. No file (4xx)
// allows everything; one that can't be had (5xx, network) allows nothing for
// now (RFC 9309, 2.3.1). A 429 is the latter: it says later, not never.
func (c *Client) fetchRobots(origin *url.URL, s *Session) (*rules, error) {
	j := job{session: s, ctx: c.closing, waits: c.closing, robots: true, lim: limit{max: robotsMax, cut: true}}
	file, err := c.follow(&j, newFence(origin, s.proxy != ""), origin)
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		defer c.pools.putBuffer(file.body)
		text := file.bytes()
		if file.status >= 400 { // a 404 or 410 is a page to Get, but no rules
			text = nil
		}
		r := parseRobots(text, productToken(c.cfg.UserAgent))
		c.pacer.host(hostKey(origin)).setCrawlDelay(r.crawlDelay)
		return r, nil
	case ok && !e.Proxy && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests,
		errors.Is(err, ErrTooManyRedirects):
		return &rules{}, nil
	case c.closing.Err() != nil:
		return nil, &Error{URL: origin.String(), Class: yp.ClassUnknown, Err: ErrClosed}
	case !ok:
		return nil, err
	}
	return nil, c.robotsLater(origin, e)
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
	cause := e.Err
	if cause == nil {
		cause = fmt.Errorf("status %d", e.Status)
	}
	return &Error{
		URL: e.URL, Status: e.Status, Class: e.Class, RetryAfter: wait,
		Err: fmt.Errorf("%w: %w", ErrRobotsUnavailable, cause), Proxy: e.Proxy,
	}
}
