package fetch

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	robotsMax     = 500 << 10 // RFC 9309, 2.5
	maxCrawlDelay = time.Hour // as for Retry-After: longer is a mistake or a no
)

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

// group gathers the rules of one kind of user-agent line.
type group struct {
	rules
	named bool // some line named it, if only with no rule below
}

// robotsParser walks the lines. Groups that name our token are one group, and
// so are those that name everybody; all others are read past.
type robotsParser struct {
	token    string
	ours     group
	everyone group
	// what the current group's user-agent lines named
	isOurs, isEveryone bool
	inRules            bool // a rule was seen: the next user-agent starts a new group
}

// parseRobots reads robots.txt for the crawler with this product token. It
// can't fail: lines that make no sense are passed over.
func parseRobots(text []byte, token string) *rules {
	text = text[:min(len(text), robotsMax)]
	p := robotsParser{token: token}
	for line := range bytes.FieldsFuncSeq(trimBOM(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		p.line(line)
	}
	if p.ours.named {
		return &p.ours.rules
	}
	return &p.everyone.rules
}

func (p *robotsParser) line(line []byte) {
	line, _, _ = bytes.Cut(line, []byte("#"))
	k, v, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return
	}
	value := string(bytes.TrimSpace(v))
	switch strings.ToLower(string(bytes.TrimSpace(k))) {
	case "user-agent":
		p.userAgent(value)
	case "allow":
		p.add(true, value)
	case "disallow":
		p.add(false, value)
	case "crawl-delay":
		p.delay(value)
	}
}

func (p *robotsParser) userAgent(value string) {
	if p.inRules {
		p.isOurs, p.isEveryone, p.inRules = false, false, false
	}
	switch {
	case value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t"):
		p.isEveryone, p.everyone.named = true, true
	case p.token != "" && strings.EqualFold(productToken(value), p.token):
		p.isOurs, p.ours.named = true, true
	}
}

// each calls f for the groups that the current lines belong to.
func (p *robotsParser) each(f func(*group)) {
	if p.isOurs {
		f(&p.ours)
	}
	if p.isEveryone {
		f(&p.everyone)
	}
}

func (p *robotsParser) add(allow bool, pattern string) {
	p.inRules = true
	if pattern == "" {
		return // "Disallow:" forbids nothing
	}
	r := compileRule(allow, pattern)
	p.each(func(g *group) { g.list = append(g.list, r) })
}

// delay reads the Crawl-delay extension: seconds, perhaps with a fraction. It
// is no rule, so it ends no list of user-agents (RFC 9309, 2.2.4).
func (p *robotsParser) delay(value string) {
	secs, err := strconv.ParseFloat(value, 64)
	if err != nil || !(secs > 0) {
		return
	}
	d := time.Duration(min(secs, maxCrawlDelay.Seconds()) * float64(time.Second))
	p.each(func(g *group) { g.crawlDelay = max(g.crawlDelay, d) })
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
