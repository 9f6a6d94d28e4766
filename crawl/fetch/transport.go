package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Idle connections of a session with a proxy or a browser's identity: there is
// one for every worker, which asks for one page at a time.
const (
	sessionIdle        = 4
	sessionIdlePerHost = 2
	sessionIdleTime    = 30 * time.Second
)

// connector opens connections: guarded at dial time, with TLS done here so
// that its failures can be told from others.
type connector struct {
	dial       dialFunc // the tests' own; nil = the network
	resolver   *net.Resolver
	open       dialFunc // the way to a host: connect, or a proxy's tunnel
	tls        *tls.Config
	dialLimit  time.Duration
	tlsTimeout time.Duration
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func newConnector(cfg Config) *connector {
	c := &connector{
		dial:       cfg.Dial,
		resolver:   cfg.resolver,
		tls:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.Roots, NextProtos: []string{"h2", "http/1.1"}},
		dialLimit:  cfg.DialTimeout,
		tlsTimeout: cfg.TLSTimeout,
	}
	c.open = c.connect
	return c
}

// newTransport tunes net/http: compression is ours (bounded, pooled, faster),
// HTTP/2 where offered, connections kept for as many requests as may be in
// flight. With a gateway (nil = none) every connection is made by that; none is
// taken from the environment, where the operator may not know of one.
func newTransport(cfg Config, g *gateway) *http.Transport {
	c := newConnector(cfg)
	plain, forward := c.connect, (func(*http.Request) (*url.URL, error))(nil)
	if g != nil {
		c.open, plain = g.tunnel, g.tunnel
		if g.forwards() {
			plain, forward = g.dial, g.forward
		}
	}
	return &http.Transport{
		Proxy:                  forward,
		DialContext:            plain,
		DialTLSContext:         c.connectTLS,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		DisableCompression:     true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    cfg.ConcurrencyPerHost,
		IdleConnTimeout:        90 * time.Second,
		ResponseHeaderTimeout:  cfg.HeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         32 << 10, // a page's worth of compressed bytes in a syscall or two
	}
}

// connect opens a TCP connection to addr ("host:port"). Every address that the
// host resolves to is checked just before it is connected to: what was
// resolved is what is dialled, so a name can't be rebound in between.
func (c *connector) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if c.dial != nil {
		return c.dial(ctx, network, addr)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	guard := dialGuard{host: host}
	d := net.Dialer{
		Timeout:  c.dialLimit,
		Resolver: c.resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: can't tell the address %q", ErrRedirectedAway, address)
			}
			return guard.check(ap.Addr())
		},
	}
	return d.DialContext(ctx, network, addr)
}

// dialUnguarded opens a TCP connection to an address that the operator chose.
func (c *connector) dialUnguarded(ctx context.Context, network, addr string) (net.Conn, error) {
	if c.dial != nil {
		return c.dial(ctx, network, addr)
	}
	d := net.Dialer{Timeout: c.dialLimit, Resolver: c.resolver}
	return d.DialContext(ctx, network, addr)
}

func (c *connector) connectTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := c.open(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	cfg := c.tls.Clone()
	cfg.ServerName, _, err = net.SplitHostPort(addr)
	if err != nil {
		return nil, &tlsError{err}
	}
	return handshake(ctx, raw, cfg, c.tlsTimeout)
}

// handshake makes a connection secure, or closes it.
func handshake(ctx context.Context, raw net.Conn, cfg *tls.Config, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error is the one that counts
		return nil, &tlsError{err}
	}
	return conn, nil
}

// tlsError marks a failed handshake.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return "tls handshake: " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

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
