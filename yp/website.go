package yp

import (
	"net/url"
	"slices"
	"strings"
)

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
// other schemes, one-label and malformed hosts, IPv6 addresses, addresses over 4,096 bytes.
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
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(s, "\t\n\r") {
		s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	}
	return s
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
	if colon < 0 {
		return s, "", s != ""
	}
	host, port = s[:colon], strings.TrimLeft(s[colon+1:], "0")
	if len(port) > 5 || len(port) == 5 && port > "65535" {
		return "", "", false
	}
	if strings.Trim(port, "0123456789") != "" {
		return "", "", false
	}
	if port == "80" || port == "443" {
		port = ""
	}
	return host, port, host != ""
}

// appendRest appends the canonical form of what follows the authority: path
// and query, without fragment.
func appendRest(dst []byte, s string) []byte {
	if s == "" || s == "/" {
		return dst
	}
	s, _, _ = strings.Cut(s, "#")
	path, query, _ := strings.Cut(s, "?")
	if path != "" {
		dst = appendPath(dst, path)
	}
	return appendQuery(dst, query)
}

// appendPath appends path, which starts with a slash or backslash, encoded,
// with dot segments resolved and without trailing slashes. Empty segments
// inside are kept: they may mean something to the server.
func appendPath(dst []byte, path string) []byte {
	start := len(dst)
	for i := 0; i < len(path); {
		end := i + 1
		for end < len(path) && !isSlash(path[end]) {
			end++
		}
		switch segment := path[i+1 : end]; segment {
		case ".":
		case "..":
			for len(dst) > start && dst[len(dst)-1] != '/' {
				dst = dst[:len(dst)-1]
			}
			if len(dst) > start {
				dst = dst[:len(dst)-1]
			}
		default:
			dst = append(dst, '/')
			dst = appendEncoded(dst, segment)
		}
		i = end
	}
	for len(dst) > start && dst[len(dst)-1] == '/' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendQuery appends the parameters of query that say what is shown, in their
// order, with their question mark.
func appendQuery(dst []byte, query string) []byte {
	mark := byte('?')
	for query != "" {
		var param string
		param, query, _ = strings.Cut(query, "&")
		key, _, _ := strings.Cut(param, "=")
		if param == "" || trackingParam(key) {
			continue
		}
		dst = append(dst, mark)
		dst = appendEncoded(dst, param)
		mark = '&'
	}
	return dst
}

// appendEncoded appends s with every byte percent-encoded that a path or query
// may not hold (RFC 3986, with the brackets and bars that browsers send left
// alone), and a percent sign that starts no escape. Escapes stay as they are.
func appendEncoded(dst []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if plainByte(c) || c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', digits[c>>4], digits[c&15])
	}
	return dst
}

func plainByte(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte("\"#%<>\\^`{}", c) < 0 }

// trackingPrefixes begin parameters of analytics (utm_, mtm_, pk_, piwik_, matomo_), HubSpot
// (hsa_, _hs), Mailchimp (mc_), Facebook (fb_), Google Ads (gad_) and others.
var trackingPrefixes = [...]string{
	"utm_", "mc_", "mtm_", "matomo_", "pk_", "piwik_", "hsa_", "_hs", "__hs", "fb_",
	"gad_", "trk_", "wt.mc_",
}

var trackingParams = [...]string{
	// click identifiers of ad networks
	"gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "twclid", "ttclid", "li_fat_id", "yclid", "ysclid",
	"igshid", "igsh", "epik", "sccid", "rdt_cid", "srsltid", "irclickid", "rb_clickid", "wickedid",
	// analytics and mail programs; y_source is Yext's, on many directory links
	"_ga", "_gl", "_ke", "_kx", "vero_id", "vero_conv", "oly_anon_id", "oly_enc_id", "mkt_tok",
	"hsctatracking", "_openstat", "s_cid", "dm_i", "elqtrackid", "y_source",
}

// trackingParam reports whether a query parameter says only where the visitor
// came from, so that the page is the same without it.
func trackingParam(key string) bool {
	if len(key) < 3 || len(key) > 40 {
		return false
	}
	key = strings.ToLower(key)
	if slices.Contains(trackingParams[:], key) {
		return true
	}
	return slices.ContainsFunc(trackingPrefixes[:], func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// CanonicalURL resolves a link of a page against the page's address and drops
// query, fragment and user information: the form in which profile URLs are
// kept. Scheme and host are lower case, default ports dropped, and what a path
// may not hold is percent-encoded. ok is false for an empty link or one that
// has no path (only a query or fragment), for what is no http(s) address, and
// beyond 4,096 bytes.
func CanonicalURL(base *url.URL, ref string) (string, bool) {
	ref = tidyAddress(ref)
	if len(ref) > maxURL {
		return "", false
	}
	if end := strings.IndexAny(ref, "?#"); end >= 0 {
		ref = ref[:end]
	}
	if ref == "" {
		return "", false
	}
	if base == nil && plainAddress(ref) {
		return ref, true
	}
	if s, ok := rootRelative(base, ref); ok {
		return s, true
	}
	u, err := parseLenient(ref)
	if err != nil {
		return "", false
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	scheme, host := strings.ToLower(u.Scheme), u.Hostname()
	if scheme != "http" && scheme != "https" || host == "" || u.Opaque != "" {
		return "", false
	}
	clean := url.URL{Scheme: scheme, Host: canonicalHostPort(u, scheme), Path: u.Path, RawPath: u.RawPath}
	if clean.Path == "" {
		clean.Path = "/"
	}
	s := clean.String()
	return s, len(s) <= maxURL
}

// parseLenient parses an address as url.Parse does; one that it refuses for a
// stray percent sign or a control character is parsed with that encoded.
func parseLenient(ref string) (*url.URL, error) {
	if u, err := url.Parse(ref); err == nil {
		return u, nil
	}
	return url.Parse(string(appendEncoded(nil, ref)))
}

// rootRelative is the short way for the links that cards have: a plain path
// from the root of the page's site. ok is false where it needs the long way.
func rootRelative(base *url.URL, path string) (string, bool) {
	if base == nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || !plainPath(path) {
		return "", false
	}
	return base.Scheme + "://" + canonicalHostPort(base, base.Scheme) + path, true
}

// plainAddress reports whether an absolute address is in its canonical form, as far as that is
// seen at once.
func plainAddress(s string) bool {
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "http://")
	}
	slash := strings.IndexByte(rest, '/')
	if !ok || slash <= 0 || !plainPath(rest[slash:]) {
		return false
	}
	for i := range slash {
		if c := rest[i]; c != '.' && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// plainPath reports whether path stays as it is when it is resolved: it begins
// with one slash, needs no encoding and has no dot segments.
func plainPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_':
		case c == '/' && (i == 0 || path[i-1] != '/'):
		case c == '.' && path[i-1] != '/':
		default:
			return false
		}
	}
	return true
}

func canonicalHostPort(u *url.URL, scheme string) string {
	host := strings.ToLower(u.Host)
	port := u.Port()
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return host
}
