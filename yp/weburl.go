package yp

import (
	"net/url"
	"strings"
)

// CanonicalURL resolves a link of a page against the page's address and drops
// query, fragment and user information: the form in which profile URLs are
// kept. Scheme and host are lower case, default ports dropped. ok is false for
// an empty link, for what is no http(s) address, and beyond 4,096 bytes.
func CanonicalURL(base *url.URL, ref string) (string, bool) {
	ref = tidyAddress(ref)
	if ref == "" || len(ref) > maxURL {
		return "", false
	}
	u, err := url.Parse(ref)
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

func canonicalHostPort(u *url.URL, scheme string) string {
	host := strings.ToLower(u.Host)
	port := u.Port()
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return host
}
