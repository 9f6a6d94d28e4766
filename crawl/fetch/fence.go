package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// MaxRedirects is how many redirects of one request are followed.
const MaxRedirects = 5

// fence is where a request may lead: the registered domain of the source's
// base URL, or exactly its host when that has none (an address, localhost).
type fence struct{ domain string }

func newFence(base *url.URL) fence { return fence{domain: registeredDomain(hostname(base))} }

// check reports, as ErrRedirectedAway, why u is outside.
func (f fence) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: scheme %q", ErrRedirectedAway, u.Scheme)
	}
	if registeredDomain(hostname(u)) != f.domain {
		return fmt.Errorf("%w: %s is not on %s", ErrRedirectedAway, u.Host, f.domain)
	}
	return nil
}

// follow resolves the Location of a redirect from one URL to the next.
func (f fence) follow(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("%w: bad Location: %w", ErrRedirectedAway, err)
	}
	if err := f.check(to); err != nil {
		return nil, err
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return nil, fmt.Errorf("%w: from https down to %s", ErrRedirectedAway, to.Redacted())
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	return to, nil
}

// hostname is the host of u in the one form that is compared: ASCII, lower
// case, without a final dot.
func hostname(u *url.URL) string {
	h := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ascii, err := idna.Lookup.ToASCII(h); err == nil {
		h = ascii
	}
	return h
}

// hostKey names the host for turn taking: http and https on their own ports
// are one host.
func hostKey(u *url.URL) string {
	h := hostname(u)
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	switch port := u.Port(); port {
	case "", "80", "443":
		return h
	default:
		return h + ":" + port
	}
}

// registeredDomain is the domain that one owner holds, "yellowpages.com"; a
// host without one stands for itself.
func registeredDomain(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}
