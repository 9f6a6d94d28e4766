package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	robotsMax      = 500 << 10        // RFC 9309, 2.5
	robotsTTL      = 24 * time.Hour   // RFC 9309, 2.4
	robotsStale    = 10 * time.Minute // between tries to renew rules we still have
	robotsFirstTry = 5 * time.Second  // after a failure with no rules to go by; doubles
	robotsLastTry  = time.Minute
	maxCrawlDelay  = time.Hour // as for Retry-After: longer is a mistake or a no
)

// robotsCache has the rules of every scheme and host, fetched once for all
// who wait for them, whatever their sessions.
type robotsCache struct {
	fetch   func(origin *url.URL, s *Session) (*rules, error)
	fetches singleflight.Group

	mu      sync.Mutex
	entries map[string]robotsEntry
}

type robotsEntry struct {
	rules    *rules // nil = none yet
	until    time.Time
	failures int
}

// robotsFetch is the outcome of a fetch, by the session of who asked first.
type robotsFetch struct {
	by    *Session
	rules *rules
	err   error
}

// get returns the rules for a URL. The fetch is nobody's own: it goes on when the
// one who asked first gives up. It goes the way of that one's session, and where
// that has failed the others go their own. None is begun while the host is held for
// longer than the job would wait.
func (rc *robotsCache) get(j *job, at hop) (*rules, error) {
	origin := &url.URL{Scheme: at.url.Scheme, Host: at.url.Host, Path: "/robots.txt"}
	key := originKey(origin)
	for {
		if e := rc.entry(key); e.inForce() {
			return e.rules, nil
		}
		if err := at.host.refuses(j.maxHold); err != nil {
			return nil, err
		}
		done := rc.fetches.DoChan(key, func() (any, error) {
			f := &robotsFetch{by: j.session}
			if e := rc.entry(key); e.inForce() { // by a fetch that ended just now
				f.rules = e.rules
				return f, nil
			}
			f.rules, f.err = rc.fetch(origin, f.by)
			rc.finish(key, f)
			return f, nil
		})
		got, err := at.host.await(j.waits, done, j.maxHold)
		if err != nil {
			return nil, err
		}
		if f := got.Val.(*robotsFetch); f.by == j.session || !isProxyFault(f.err) {
			return f.rules, f.err
		}
	}
}

func originKey(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

func (rc *robotsCache) entry(key string) robotsEntry {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.entries[key]
}

func (e robotsEntry) inForce() bool { return e.rules != nil && time.Now().Before(e.until) }

// isProxyFault: it says nothing about the host, nor to those with another proxy.
func isProxyFault(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Proxy
}

// finish stores the outcome of a fetch. Rules that can't be renewed stay in force.
func (rc *robotsCache) finish(key string, f *robotsFetch) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	e := rc.entries[key]
	switch {
	case f.err == nil:
		e = robotsEntry{rules: f.rules, until: time.Now().Add(robotsTTL)}
	case e.rules != nil:
		e.until = time.Now().Add(robotsStale)
		f.rules, f.err = e.rules, nil
	case !isProxyFault(f.err):
		e.failures++
	}
	rc.entries[key] = e
}

// permitted asks robots.txt. Its error is the context's or an *Error.
func (c *Client) permitted(j *job, at hop) error {
	if c.closing.Err() != nil {
		return unasked(at.url, ErrClosed)
	}
	if c.robots == nil {
		return nil
	}
	rules, err := c.robots.get(j, at)
	if err != nil {
		return err
	}
	if !rules.allowed(at.url) {
		return unasked(at.url, ErrDisallowed)
	}
	return nil
}

// fetchRobots gets robots.txt, of which the first 500 KiB count, through the same turns as
// pages. No file (4xx) allows everything; one that can't be had (5xx, network) allows
// nothing for now (RFC 9309, 2.3.1). A 429 is the latter: it says later, not never.
// Close waits for it, and a session that is closed meanwhile is left when the file is there.
func (c *Client) fetchRobots(origin *url.URL, s *Session) (*rules, error) {
	if !c.begin() {
		return nil, unasked(origin, ErrClosed)
	}
	defer c.pending.Done()
	defer s.leave()
	j := job{session: s, jar: s.jar, ctx: c.closing, waits: c.closing, robots: true, lim: limit{max: robotsMax, cut: true}}
	file, err := c.follow(&j, newFence(origin, s.proxy != ""), origin)
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		defer file.Release()
		text := file.Body
		if file.Status >= 400 { // a 404 or 410 is a page to Get, but no rules
			text = nil
		}
		r := parseRobots(text, productToken(c.cfg.UserAgent))
		c.pacer.host(HostKey(origin)).setCrawlDelay(r.crawlDelay)
		return r, nil
	case ok && !e.Proxy && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests,
		errors.Is(err, ErrTooManyRedirects):
		return &rules{}, nil
	case c.closing.Err() != nil:
		return nil, unasked(origin, ErrClosed)
	case !ok:
		return nil, err
	}
	// The host is held back: nothing may be asked of it anyway. A proxy that failed is no
	// reason to.
	wait := time.Duration(0)
	if !e.Proxy {
		entry := c.robots.entry(originKey(origin))
		if wait = e.RetryAfter; entry.rules == nil {
			wait = max(wait, min(robotsFirstTry<<min(entry.failures, 10), robotsLastTry))
		}
		c.pacer.host(HostKey(origin)).hold(wait, reasonRobots)
	}
	c.log.Warn().Str("url", origin.String()).Err(e).Str("wait", wait.Round(time.Millisecond).String()).Msg("robots.txt is unavailable")
	cause := e.Err
	if cause == nil {
		cause = fmt.Errorf("status %d", e.Status)
	}
	return nil, &Error{
		URL: e.URL, Status: e.Status, Class: e.Class, RetryAfter: wait,
		Err: fmt.Errorf("%w: %w", ErrRobotsUnavailable, cause), Proxy: e.Proxy,
	}
}

// rules are what robots.txt says to one crawler (RFC 9309). The zero value
// allows everything.
type rules struct {
	list       []rule
	crawlDelay time.Duration
}

type rule struct {
	allow    bool
	parts    []string // the pattern, cut at its stars
	anchored bool     // it ended in $
	length   int      // octets of the pattern: the longest match wins
}

// parseRobots reads robots.txt for the crawler with this product token. Groups that name
// it are one, and so are those that name everybody; all others are read past. It can't
// fail: lines that make no sense are passed over.
func parseRobots(text []byte, token string) *rules {
	var ours, everyone rules
	var groups []*rules // that the lines are for
	named, inRules := false, false
	text = trimBOM(text[:min(len(text), robotsMax)])
	for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		k, v, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		value := string(bytes.TrimSpace(v))
		switch key := strings.ToLower(string(bytes.TrimSpace(k))); key {
		case "user-agent":
			if inRules {
				groups, inRules = nil, false
			}
			switch {
			case value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t"):
				groups = append(groups, &everyone)
			case token != "" && strings.EqualFold(productToken(value), token):
				groups, named = append(groups, &ours), true
			}
		case "allow", "disallow":
			inRules = true
			if value == "" {
				continue // "Disallow:" forbids nothing
			}
			r := compileRule(key == "allow", value)
			for _, g := range groups {
				g.list = append(g.list, r)
			}
		case "crawl-delay": // no rule, so it ends no list of user-agents (RFC 9309, 2.2.4)
			secs, err := strconv.ParseFloat(value, 64) // perhaps with a fraction
			if err != nil || !(secs > 0) {
				continue
			}
			for _, g := range groups {
				g.crawlDelay = max(g.crawlDelay, time.Duration(min(secs, maxCrawlDelay.Seconds())*float64(time.Second)))
			}
		}
	}
	if named {
		return &ours
	}
	return &everyone
}

// productToken is the leading word of a user agent: "ypcrawl" of
// "ypcrawl/1.2 (+https://…)".
func productToken(ua string) string {
	end := strings.IndexFunc(ua, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
	if end >= 0 {
		ua = ua[:end]
	}
	return ua
}

func compileRule(allow bool, pattern string) rule {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	r := rule{allow: allow, anchored: anchored, length: len(parts) - 1}
	if anchored {
		r.length++
	}
	for i, part := range parts {
		part = normalPath(part)
		r.length += len(part)
		if part != "" || i == 0 || i == len(parts)-1 {
			r.parts = append(r.parts, part) // "**" is "*"
		}
	}
	return r
}

// matches reports whether the pattern fits path from its start.
func (r *rule) matches(path string) bool {
	first, last := r.parts[0], r.parts[len(r.parts)-1]
	rest, ok := strings.CutPrefix(path, first)
	if !ok {
		return false
	}
	if len(r.parts) == 1 {
		return !r.anchored || rest == ""
	}
	for _, part := range r.parts[1 : len(r.parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	if r.anchored {
		return strings.HasSuffix(rest, last)
	}
	return strings.Contains(rest, last)
}

// allowed reports whether u may be fetched: the longest matching rule decides,
// Allow at a tie, and no match allows. robots.txt itself always may.
func (rs *rules) allowed(u *url.URL) bool {
	if len(rs.list) == 0 {
		return true
	}
	target := u.EscapedPath()
	if target == "" {
		target = "/"
	}
	if target == "/robots.txt" {
		return true
	}
	if u.ForceQuery || u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	target = normalPath(target)
	longest, allow := -1, true
	for i := range rs.list {
		r := &rs.list[i]
		if r.length < longest || (r.length == longest && allow) || !r.matches(target) {
			continue
		}
		longest, allow = r.length, r.allow
	}
	return allow
}

// normalPath brings rules and URLs into one percent-encoded form (RFC 9309,
// 2.2.2): what need not be encoded is not, all else is, in upper case. An
// encoded reserved character stays different from a plain one.
func normalPath(s string) string {
	if isNormal(s) {
		return s
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, encoded := s[i], false
		if c == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, encoded = byte(v), true
				i += 2
			}
		}
		switch {
		case unreserved(c), !encoded && reservedChar(c):
			b.WriteByte(c)
		case !encoded && c == '%':
			b.WriteString("%25")
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func isNormal(s string) bool {
	for i := range len(s) {
		if !unreserved(s[i]) && !reservedChar(s[i]) {
			return false
		}
	}
	return true
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// reservedChar: the characters that mean something in a URL as they stand. The
// star and the dollar are not among them: they mean something in a rule, so
// where they are meant literally both sides have them encoded.
func reservedChar(c byte) bool { return strings.IndexByte(":/?#[]@!&'()+,;=", c) >= 0 }
