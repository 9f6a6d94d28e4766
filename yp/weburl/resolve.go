package weburl

import (
	"fmt"
	"net/url"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Why a reference is refused; others name what they refuse.
const (
	isEmpty    = "no address"
	isScript   = "a script"
	isNone     = "not an address"
	isRelative = "a relative address on a page whose own is not known"
)

// parser is that of the URL Standard. What net/url would write in another way than it was
// read is encoded: then it can write it back.
var parser = whatwg.NewParser(
	whatwg.WithPercentEncodeSinglePercentSign(),
	whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^', '|')),
)

// Resolve returns the address to which a reference leads, as it is written in an attribute.
// reason says for people why it leads to none: "a script", "not http: mailto". It is "" when
// there is an address.
func (b *Base) Resolve(ref string) (a Address, reason string) {
	if a, ok := b.short(ref); ok {
		return a, ""
	}
	ref = Tidy(ref)
	scheme := schemeOf(ref)
	switch {
	case ref == "":
		return Address{}, isEmpty
	case scheme == "javascript":
		return Address{}, isScript
	case scheme != "" && scheme != "http" && scheme != "https":
		return Address{}, "not http: " + scheme
	case scheme == "" && b.address.Text == "":
		return Address{}, isRelative
	case len(ref) > MaxLen:
		return Address{}, tooLong()
	}
	ref, user, ok := b.cutUser(ref, scheme)
	if !ok {
		return Address{}, isNone
	}
	ref = inCharset(ref, b.charset)
	if a, ok = b.short(encoded(ref)); !ok {
		a, reason = b.parse(ref)
	}
	a.User = user && reason == ""
	return a, reason
}

func tooLong() string { return fmt.Sprintf("longer than %d bytes", MaxLen) }

// maxSlashes bounds the folders that the parser is given, of a reference and its base together: it takes a
// time that grows with the square of their number.
const maxSlashes = 300

func slashes(s string) int { return strings.Count(s, "/") + strings.Count(s, `\\`) }

// parse has the parser resolve a reference without user information.
func (b *Base) parse(ref string) (Address, string) {
	if slashes(ref)+slashes(b.address.Text) > maxSlashes {
		return Address{}, fmt.Sprintf("more than %d slashes", maxSlashes)
	}
	if b.here(ref) {
		ref = b.address.Text + ref[strings.IndexByte(ref+"#", '#'):]
	}
	u, err := parser.BasicParser(ref, b.standard(), nil, whatwg.NoState)
	if err != nil || u.Hostname() == "" {
		return Address{}, isNone
	}
	host := len(u.Scheme()) + len("://")
	a := Address{Text: u.Href(false), host: host, path: host + len(u.Host())}
	if len(a.Text) > MaxLen {
		return Address{}, tooLong()
	}
	text, _, _ := strings.Cut(a.Text, "#")
	if _, err := url.Parse(text); err != nil { // a host that net/url does not take: "http://a|b"
		return Address{}, isNone
	}
	return a, ""
}

// here reports whether a reference leads to the base itself, as "#top" and "https:" do.
func (b *Base) here(ref string) bool {
	if ref[0] == '#' {
		return b.address.Text != ""
	}
	rest, own := strings.CutPrefix(strings.ToLower(ref[:min(len(ref), len("https:#"))]), b.scheme()+":")
	return own && (rest == "" || rest[0] == '#')
}

// scheme returns that of the base, "" when it is not known.
func (b *Base) scheme() string { return b.address.Text[:max(0, b.address.host-len("://"))] }

// standard returns the base as the parser knows it, nil = there is none. It is without its query, which counts
// only for what leads here, and of which the parser makes a copy for each reference.
func (b *Base) standard() *whatwg.Url {
	if b.parsed == nil && b.address.Text != "" {
		b.parsed, _ = parser.Parse(b.address.Text[:b.file]) // it is an address
	}
	return b.parsed
}

// Tidy does to a reference what browsers do before they read it: it trims blanks and
// controls at the ends, and drops tabs and line breaks everywhere.
func Tidy(ref string) string {
	ref = strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(ref, "\t\n\r") {
		ref = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(ref)
	}
	return ref
}

// maxScheme bounds a scheme, in bytes.
const maxScheme = 40

// schemeOf returns the scheme that a tidy reference names, in lower case, or "".
func schemeOf(ref string) string {
	end := strings.IndexByte(ref, ':')
	if end <= 0 {
		return ""
	}
	for i := range end {
		c := ref[i]
		if lower := c | 0x20; 'a' <= lower && lower <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.') {
			continue
		}
		return ""
	}
	return strings.ToLower(ref[:min(end, maxScheme)])
}

// cutUser removes "user:password@" from a reference. It is done here since the parser takes a
// time that grows with the square of the number of such signs. ok is false when there is no host behind it.
func (b *Base) cutUser(ref, scheme string) (rest string, user, ok bool) {
	start := 0
	if scheme != "" {
		start = len(scheme) + 1
	}
	host := start
	for host < len(ref) && slash(ref[host]) {
		host++
	}
	if host-start < 2 && (scheme == "" || scheme == b.scheme()) {
		return ref, false, true // "https:page" is a relative path on a page with https
	}
	start = host
	end := strings.IndexAny(ref[start:], `/\?#`)
	if end < 0 {
		end = len(ref) - start
	}
	at := strings.LastIndexByte(ref[start:start+end], '@')
	if at < 0 {
		return ref, false, true
	}
	user = strings.Trim(ref[start:start+at], ":") != ""
	return ref[:start] + ref[start+at+1:], user, at+1 < end
}

func slash(c byte) bool { return c == '/' || c == '\\' }
