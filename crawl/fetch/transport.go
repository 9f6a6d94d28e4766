package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
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
			plain, forward = g.dialProxy, g.forward
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
