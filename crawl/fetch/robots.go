package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"ypcrawl/yp"
)

const (
	robotsMax      = 500 << 10        // RFC 9309, 2.5
	robotsTTL      = 24 * time.Hour   // RFC 9309, 2.4
	robotsStale    = 10 * time.Minute // between tries to renew rules we still have
	robotsFirstTry = 5 * time.Second  // after a failure with no rules to go by; doubles
	robotsLastTry  = time.Minute
	robotsMaxHold  = time.Minute // of another host that robots.txt is on: whoever waits for the rules does not see it
	maxCrawlDelay  = time.Hour   // as for Retry-After: longer is a mistake or a no
)

// robotsCache has the rules of every scheme and host, fetched once for all
// who wait for them, whatever their sessions.
type robotsCache struct {
	fetch   func(origin *url.URL, s *Session, hide *Secrets) (*rules, error)
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
			f.rules, f.err = rc.fetch(origin, f.by, j.ask.secrets)
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
	if at.number > 0 && errors.Is(err, ErrPrivate) {
		// What a redirect leads to is refused, with its robots.txt. (Of the source's own host it may be
		// a name server that says so for now.)
		return unasked(at.url, fmt.Errorf("%w: %w: %s", ErrRedirectedAway, ErrPrivate, at.url.Host))
	}
	if err != nil {
		return err
	}
	if r := rules.forbids(at.url); r != nil {
		return unasked(at.url, fmt.Errorf("%w %s", ErrDisallowed, r))
	}
	return nil
}

// fetchRobots gets robots.txt, of which the first 500 KiB count, through the same turns as
// pages. It may be on another host, for this one (RFC 9309, 2.3.1.2). No file (4xx) allows everything; one that can't be
// had (5xx, network) allows nothing for now (RFC 9309, 2.3.1). A 429 is the latter: it says later, not never. Close waits
// for it. A file that repeats the secrets of who asks has their names.
func (c *Client) fetchRobots(origin *url.URL, s *Session, hide *Secrets) (*rules, error) {
	if !c.begin() {
		return nil, unasked(origin, ErrClosed)
	}
	defer c.pending.Done()
	j := job{
		session: s, jar: s.jar, ctx: c.closing, waits: c.closing, robots: true, lim: limit{max: robotsMax + 1, cut: true},
		ask: ask{secrets: hide},
	}
	f := newFence(origin, s.proxy != "")
	f.robots = true
	file, err := c.follow(&j, f, origin)
	for range maxAskAgain {
		if j.fresh = errors.Is(err, ErrStale); !j.fresh && AskAgain(err) == nil {
			break
		}
		file, err = c.follow(&j, f, origin)
	}
	err = j.ask.withoutSecrets(err)
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		defer file.Release()
		text := file.Body
		switch {
		case file.Status >= 400, // a 404 or 410 is a page to Get, but no rules
			HostKey(file.URL) != HostKey(origin) && isMarkup(text):
			text = nil
		case file.size > robotsMax: // the byte behind the limit tells whether it cuts a line
			text = wholeLines(text)
		}
		r := parseRobots(text, productToken(c.cfg.UserAgent))
		c.pacer.host(HostKey(origin)).setCrawlDelay(r.crawlDelay)
		return r, nil
	case ok && !e.Proxy && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests,
		errors.Is(err, ErrTooManyRedirects), errors.Is(err, ErrNoHTTPS):
		return &rules{}, nil
	case c.closing.Err() != nil:
		return nil, unasked(origin, ErrClosed)
	case !ok, errors.Is(err, ErrNoTLS): // the page would fail alike
		return nil, err
	}
	// The host is held back: nothing may be asked of it anyway. A proxy that failed is no
	// reason to, nor is one that was told to come back later.
	wait := e.RetryAfter
	if !e.Proxy && e.Way == "" {
		entry := c.robots.entry(originKey(origin))
		if entry.rules == nil {
			wait = max(wait, min(robotsFirstTry<<min(entry.failures, 10), robotsLastTry))
		}
		c.pacer.host(HostKey(origin)).hold(wait, reasonRobots)
	}
	level := zerolog.WarnLevel
	if e.Proxy {
		level = zerolog.DebugLevel // the pool tells of proxies
	}
	c.log.WithLevel(level).Str("url", origin.String()).Err(e).Str("wait", wait.Round(time.Millisecond).String()).
		Msg("robots.txt is unavailable")
	cause := e.Err
	if cause == nil {
		cause = fmt.Errorf("status %d", e.Status)
	}
	return nil, &Error{
		URL: e.URL, Status: e.Status, Class: e.Class, RetryAfter: wait,
		Err: fmt.Errorf("%w: %w", ErrRobotsUnavailable, cause), Proxy: e.Proxy, Unreached: e.Unreached, Says: e.Says, Way: e.Way,
	}
}

// isMarkup reports whether a file is HTML or XML, whatever its Content-Type says: many a server calls every file HTML.
// Where another host answers so, such as a firm's home page, there is no robots.txt (RFC 9309, 2.3.1.3).
func isMarkup(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(trimBOM(text), " \t\r\n\f"), []byte("<"))
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

	text   string // "Disallow: /", as written in the file, without a comment
	line   int    // of text, from 1
	agents agents // whose group it is in
}

// agents is where a group says whom it is for.
type agents struct {
	name string // "*", or our own as it is written there
	line int
}

// String says where the rule is, on one line: `line 5: Disallow: / (User-agent: * on line 1)`.
func (r *rule) String() string {
	const most = 80 // bytes of each: what a site writes may be long
	return fmt.Sprintf("line %d: %s (User-agent: %s on line %d)",
		r.line, yp.Printable(yp.Clip(r.text, most)), yp.Printable(yp.Clip(r.agents.name, most)), r.agents.line)
}

// group is what robots.txt says to those whom one name means, with the line that names them
// last: groups that name them are one.
type group struct {
	rules
	agents agents
}

// parseRobots reads robots.txt for the crawler with this product token. Groups that name
// it are one, and so are those that name everybody; all others are read past. It can't
// fail: lines that make no sense are passed over. What is behind 500 KiB does not count,
// and a line that the limit cuts does not either: the rest may say something else.
func parseRobots(text []byte, token string) *rules {
	var ours, everyone group
	var groups []*group // that the lines are for
	named, inRules := false, false
	if len(text) > robotsMax {
		text = wholeLines(text[:robotsMax+1])
	}
	for number, line := range lines(trimBOM(text)) {
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
				groups = everyone.named(groups, value, number)
			case token != "" && strings.EqualFold(productToken(value), token):
				groups, named = ours.named(groups, value, number), true
			}
		case "allow", "disallow":
			inRules = true
			if value == "" || len(groups) == 0 {
				continue // "Disallow:" forbids nothing
			}
			r := compileRule(key == "allow", value)
			r.text, r.line = string(bytes.TrimSpace(line)), number
			for _, g := range groups {
				r.agents = g.agents
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
		return &ours.rules
	}
	return &everyone.rules
}

// named adds the group to those that the next lines are for, once.
func (g *group) named(groups []*group, name string, line int) []*group {
	g.agents = agents{name, line}
	if slices.Contains(groups, g) {
		return groups
	}
	return append(groups, g)
}

// wholeLines leaves out a last line that has no end.
func wholeLines(text []byte) []byte { return text[:bytes.LastIndexAny(text, "\r\n")+1] }

// lines yields the lines of a text that are not empty, with their numbers as editors
// count them: one ends in a line feed, a carriage return, or both (RFC 9309, 2.2).
func lines(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for number := 1; len(text) > 0; number++ {
			line, rest := text, []byte(nil)
			if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
				line, rest = text[:end], text[end+1:]
				if text[end] == '\r' {
					rest = bytes.TrimPrefix(rest, []byte("\n"))
				}
			}
			if text = rest; len(line) > 0 && !yield(number, line) {
				return
			}
		}
	}
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

// forbids returns the rule that forbids u, nil = it may be fetched: the longest matching
// rule decides, Allow at a tie, and no match allows. robots.txt itself always may.
func (rs *rules) forbids(u *url.URL) *rule {
	if len(rs.list) == 0 {
		return nil
	}
	target := u.EscapedPath()
	if target == "" {
		target = "/"
	}
	if target == "/robots.txt" {
		return nil
	}
	if u.ForceQuery || u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	target = normalPath(target)
	var decides *rule
	for i := range rs.list {
		r := &rs.list[i]
		beaten := decides != nil && (r.length < decides.length || r.length == decides.length && !r.allow)
		if !beaten && r.matches(target) {
			decides = r
		}
	}
	if decides == nil || decides.allow {
		return nil
	}
	return decides
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
