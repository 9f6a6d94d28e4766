package yp

import "strings"

// maxURL is the longest web address that is kept; browsers and servers agree
// on little beyond it, and no business prints a longer one.
const maxURL = 4096

// Website is the web address of a business in its canonical form.
type Website struct {
	URL    string // "https://acme.com/menu"; with "https://" cut off, the key of a company
	Host   string // "acme.com", "shop.acme.com": lower case, ASCII, without "www." and port
	Domain string // registered domain by the public suffix list: "acme.com"; the host itself for an IP address
	Shared bool   // many businesses share the host (facebook.com, linktr.ee): the address is no key
}

// CanonicalWebsite returns the canonical form of a business's web address, so
// that two links to one site compare equal: the scheme is folded to https; the
// host is lower case, in ASCII (IDNA), without "www." and a final dot; user
// information, default ports, the fragment, tracking parameters (see
// trackingParam) and trailing slashes are dropped; dot segments are resolved.
// Everything else stays as written and in order, "%2f" too; what a URL may not
// hold is percent-encoded. Redirectors are not unwrapped.
//
// raw may be absolute ("http://acme.com"), scheme-relative ("//acme.com") or
// start with a host ("acme.com/menu"); a bare host must end in a suffix of the
// public list. ok is false for anything else: relative links, mail addresses,
// other schemes, one-label and malformed hosts, addresses over 4,096 bytes.
func CanonicalWebsite(raw string) (w Website, ok bool) {
	if len(raw) > maxURL {
		return Website{}, false
	}
	authority, rest, bare, ok := splitAddress(tidyAddress(raw))
	if !ok {
		return Website{}, false
	}
	name, port, ok := splitAuthority(authority)
	if !ok {
		return Website{}, false
	}
	host, ok := parseHost(name, bare)
	if !ok {
		return Website{}, false
	}
	return host.website(raw, port, rest)
}

// website puts the parts together. Host and Domain share the memory of URL,
// and URL that of raw when raw is canonical already.
func (h *webHost) website(raw, port, rest string) (Website, bool) {
	var buf [256]byte
	b := append(buf[:0], "https://"...)
	b = append(b, h.name...)
	if port != "" {
		b = append(append(b, ':'), port...)
	}
	b = appendRest(b, rest)
	if len(b) > maxURL {
		return Website{}, false
	}
	w := Website{URL: keep(b, raw), Shared: h.shared()}
	w.Host = w.URL[len("https://") : len("https://")+len(h.name)]
	w.Domain = w.Host[len(w.Host)-len(h.domain()):]
	return w, true
}

// tidyAddress does to an address what browsers do before they read it: trims
// white space and controls at the ends, drops tabs and line breaks inside.
func tidyAddress(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	if strings.ContainsAny(s, "\t\n\r") {
		s = tidyAddress(strings.Map(dropBreak, s))
	}
	return s
}

func dropBreak(r rune) rune {
	if r == '\t' || r == '\n' || r == '\r' {
		return -1
	}
	return r
}

// splitAddress cuts an address into its authority and all that follows. bare
// tells that it had neither scheme nor slashes.
func splitAddress(s string) (authority, rest string, bare, ok bool) {
	switch after, web := cutScheme(s); {
	case web:
		s = strings.TrimLeft(after, `/\`) // as browsers do: "http:/acme.com", "http:\\acme.com"
	case len(s) > 2 && isSlash(s[0]) && isSlash(s[1]):
		s = s[2:]
	default:
		bare = true
	}
	end := strings.IndexAny(s, `/\?#`)
	if end < 0 {
		end = len(s)
	}
	authority, rest = s[:end], s[end:]
	if bare && strings.IndexByte(authority, '@') >= 0 {
		return "", "", true, false // a mail address
	}
	return authority, rest, bare, authority != ""
}

// cutScheme removes "http:" or "https:" from the front of s, in any case.
func cutScheme(s string) (after string, ok bool) {
	if len(s) < 5 || !strings.EqualFold(s[:4], "http") {
		return s, false
	}
	if s[4] == ':' {
		return s[5:], true
	}
	if len(s) > 5 && s[4]|0x20 == 's' && s[5] == ':' {
		return s[6:], true
	}
	return s, false
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// splitAuthority cuts "user@host:port" into host and port. The user
// information and the default ports are dropped: 80 and 443 both, since the
// scheme is folded.
func splitAuthority(s string) (host, port string, ok bool) {
	s = s[strings.LastIndexByte(s, '@')+1:]
	colon := strings.LastIndexByte(s, ':')
	if colon < strings.LastIndexByte(s, ']') {
		colon = -1 // the colon is part of an IPv6 address
	}
	if colon < 0 {
		return s, "", s != ""
	}
	host, port = s[:colon], strings.TrimLeft(s[colon+1:], "0")
	if len(port) > 5 || len(port) == 5 && port > "65535" {
		return "", "", false
	}
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return "", "", false
		}
	}
	if port == "80" || port == "443" {
		port = ""
	}
	return host, port, host != ""
}
