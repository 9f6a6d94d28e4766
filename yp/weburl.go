package yp

import (
	"net/url"
	"strings"
)

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
