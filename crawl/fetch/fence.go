package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// MaxRedirects is how many redirects of one request are followed.
const MaxRedirects = 5

// fence is where a request may lead: the registered domain of the source's
// base URL, or exactly its host when that has none (an address, localhost). A
// redirect keeps to the base's port, too: another one is another server, which
// nobody has named as the source.
//
// Through a proxy nobody here sees the address that a name resolves to, so a
// name of a private network must be the base's own, and not only below it. What a
// public name resolves to there is the proxy's affair.
type fence struct {
	domain  string
	host    string // of the base
	port    string // of the base; "" = the scheme's own
	scheme  string // of the base
	proxied bool

	// robots: it is robots.txt that leads on. It may do so to any public host (RFC 9309, 2.3.1.2), by its name;
	// where a name resolves to, the dialler sees to.
	robots bool
}

func newFence(base *url.URL, proxied bool) fence {
	host := hostname(base)
	return fence{domain: registeredDomain(host), host: host, port: yp.OwnPort(base), scheme: base.Scheme, proxied: proxied}
}

// check reports, as ErrRedirectedAway, why u is outside.
func (f fence) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: scheme %q", ErrRedirectedAway, u.Scheme)
	}
	host := hostname(u)
	if a, err := netip.ParseAddr(host); err == nil && host != f.host && !public(a) {
		return fmt.Errorf("%w: %w: %s", ErrRedirectedAway, ErrPrivate, u.Host)
	}
	if registeredDomain(host) != f.domain {
		return fmt.Errorf("%w: %s is not on %s", ErrRedirectedAway, u.Host, f.domain)
	}
	if f.proxied && host != f.host && inside(host) {
		return fmt.Errorf("%w: %w: no proxy is asked for %s", ErrRedirectedAway, ErrPrivate, u.Host)
	}
	return nil
}

// admits is check, with the port.
func (f fence) admits(u *url.URL) error {
	if err := f.check(u); err != nil {
		return err
	}
	if yp.OwnPort(u) != f.port {
		return fmt.Errorf("%w: %s has another port than the source", ErrRedirectedAway, u.Host)
	}
	return nil
}

// isPublicName reports whether the host of a web address is a name, and not one that only a private network has.
func isPublicName(u *url.URL) bool {
	host := hostname(u)
	_, err := netip.ParseAddr(host)
	return err != nil && !privateName(host) && (u.Scheme == "http" || u.Scheme == "https")
}

// inside reports whether host is an address or a name of a private network.
func inside(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return !public(a)
	}
	return privateName(host)
}

// resolveLocation resolves the Location of a redirect as a browser does.
func resolveLocation(from *url.URL, location string) (*url.URL, error) {
	base := weburl.NewBase(from, "")
	a, reason := base.Resolve(escapeBytes(location))
	if reason != "" {
		return nil, fmt.Errorf("%w: bad Location: %s", ErrRedirectedAway, reason)
	}
	return a.URL(), nil
}

// enter returns what is asked when one URL leads to another. A step down from https to http is asked by https in
// its place: many a server that has https before it does not know of it, and writes http into what it sends. down
// reports such a step.
func (f fence) enter(from, to *url.URL) (next *url.URL, down bool, err error) {
	down = from.Scheme == "https" && to.Scheme == "http"
	if err := f.admits(to); err != nil {
		if f.robots && !down && isPublicName(to) {
			return to, false, nil
		}
		return nil, false, err
	}
	if down {
		up := *to
		up.Scheme, up.Host = "https", strings.TrimSuffix(to.Host, ":443")
		to = &up
	}
	return to, down, nil
}

// escapeBytes escapes what a Location holds beyond ASCII, byte by byte: a server that sends such bytes means
// its own address by them, in whichever charset (as Chrome's HttpResponseHeaders::IsRedirect does).
func escapeBytes(location string) string {
	var b []byte
	for i := range len(location) {
		if c := location[i]; c < utf8.RuneSelf {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
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

// HostKey names the host for turn taking: http and https on their own ports
// are one host.
func HostKey(u *url.URL) string {
	h := hostname(u)
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	if port := yp.OwnPort(u); port != "" {
		return h + ":" + port
	}
	return h
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

// reserved are the address blocks beyond what netip itself tells apart that
// are never somebody's public web server (IANA special-purpose registries).
var reserved = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT; also some clouds' metadata
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments; also some clouds' metadata
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarking
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("fec0::/10"),       // site-local, deprecated
}

// The blocks that carry an IPv4 address inside an IPv6 one.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	nat64l = netip.MustParsePrefix("64:ff9b:1::/48")
	sixTo4 = netip.MustParsePrefix("2002::/16")
	teredo = netip.MustParsePrefix("2001::/32")
)

// public reports whether a is an address on the open internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo4.Contains(a):
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	case teredo.Contains(a), nat64l.Contains(a):
		return false
	}
	return true
}

// dialGuard checks the addresses that one host name resolved to, as they are
// dialled. The fence has let only the base's own host (or its domain) come
// this far, so the host says what is permitted.
type dialGuard struct{ host string }

// check refuses an address that a public name must not lead to: but for the very address
// that the base URL names, and for an ordinary private or loopback address of an intranet
// name.
func (g dialGuard) check(a netip.Addr) error {
	literal, err := netip.ParseAddr(g.host)
	if MayDial(a, privateName(g.host)) || err == nil && literal.Unmap() == a.Unmap() {
		return nil
	}
	return fmt.Errorf("%w: %w: %s has %s", ErrRedirectedAway, ErrPrivate, g.host, a.Unmap())
}

// MayDial reports whether a connection to an address may be opened: to a public one, and with
// private to an ordinary private or loopback address too. Link-local addresses, where clouds
// keep their metadata, are not ordinary. It is to be asked with the address that is dialled,
// at that moment: a name could lead elsewhere by then.
func MayDial(a netip.Addr, private bool) bool {
	a = a.Unmap()
	return public(a) || private && (a.IsLoopback() || a.IsPrivate())
}

// privateName reports whether host is a name that only a private network can
// give: localhost, a single word, or one under a top-level domain that does
// not exist publicly (intranet.local, demo.internal).
func privateName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	suffix, icann := publicsuffix.PublicSuffix(host)
	return !icann && !strings.Contains(suffix, ".")
}
