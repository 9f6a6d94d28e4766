package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// hooks are what tests put in the place of the network's own.
type hooks struct {
	resolver *net.Resolver  // nil = the system's
	roots    *x509.CertPool // nil = the system's

	// dial, if set, takes the place of the network.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// connector opens connections: guarded at dial time, with TLS done here so
// that its failures can be told from others.
type connector struct {
	hooks
	tls        *tls.Config
	dialLimit  time.Duration
	tlsTimeout time.Duration
}

// newTransport tunes net/http: compression is ours (bounded, pooled, faster),
// HTTP/2 where offered, connections kept for as many requests as may be in
// flight. No proxy is taken from the environment: the address check would see
// the proxy's, not the host's.
func newTransport(cfg Config, h hooks) *http.Transport {
	c := &connector{
		hooks:      h,
		tls:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: h.roots, NextProtos: []string{"h2", "http/1.1"}},
		dialLimit:  cfg.DialTimeout,
		tlsTimeout: cfg.TLSTimeout,
	}
	return &http.Transport{
		DialContext:            c.connect,
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

func (c *connector) connectTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := c.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := c.tls.Clone()
	cfg.ServerName, _, err = net.SplitHostPort(addr)
	if err != nil {
		return nil, &tlsError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.tlsTimeout)
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
