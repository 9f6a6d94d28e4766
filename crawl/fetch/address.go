package fetch

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

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

// local reports whether a is an ordinary private or loopback address: what an
// intranet name may resolve to. Link-local addresses, where clouds keep their
// metadata, are not.
func local(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate()
}

// dialGuard checks the addresses that one host name resolved to, as they are
// dialled. The fence has let only the base's own host (or its domain) come
// this far, so the host tells what is permitted.
type dialGuard struct{ host string }

// check refuses an address that a public name must not lead to.
func (g dialGuard) check(a netip.Addr) error {
	if public(a) || g.isLiteral(a) || (privateName(g.host) && local(a)) {
		return nil
	}
	return fmt.Errorf("%w: %s is at %s, which is no public address", ErrRedirectedAway, g.host, a)
}

// isLiteral: the base URL itself names this very address.
func (g dialGuard) isLiteral(a netip.Addr) bool {
	lit, err := netip.ParseAddr(g.host)
	return err == nil && lit.Unmap() == a.Unmap()
}

// privateName reports whether host is a name that only a private network can
// give: localhost, a single word, or one under a top-level domain that does
// not exist publicly (intranet.local, demo.internal).
func privateName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	suffix, icann := publicsuffix.PublicSuffix(host)
	return !icann && !strings.Contains(suffix, ".")
}
