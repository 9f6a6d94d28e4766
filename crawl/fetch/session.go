package fetch

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"
)

// How a request left, as in the requests table.
const (
	ViaNone    = "none"    // directly, as ourselves
	ViaProxy   = "proxy"   // through a proxy, whatever the identity
	ViaBrowser = "browser" // directly, with a browser's headers
)

// Session is one identity, direct or through one proxy, with connections of its own: see
// Pool. One with a proxy or a browser's identity keeps its own
// cookies. Safe for concurrent use. Pace, in-flight caps and robots.txt are the
// hosts', whatever the session.
type Session struct {
	client   *Client
	conns    *conns
	identity string
	proxy    string // redacted; "" = direct
	via      string
	gateway  *gateway       // nil = direct
	secure   http.Header    // of every https request; never changed
	plain    http.Header    // of every http request; never changed
	jar      http.CookieJar // nil = keeps none, but for the redirects of one page: see job
	member   *member        // its proxy in the Pool that made it; nil = direct
	closed   atomic.Bool
}

// open makes a session through a pool's proxy, nil = directly. The error is ErrClosed.
func (c *Client) open(m *member, id Identity) (*Session, error) {
	s := c.newSession(m, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		return nil, fmt.Errorf("new session: %w", ErrClosed)
	}
	c.sessions[s] = struct{}{}
	return s, nil
}

// newSession makes one that Close of the client does not know.
func (c *Client) newSession(m *member, id Identity) *Session {
	t, most, idle := newTransport(&c.cfg), maxIdle, maxIdleTime
	s := &Session{client: c, identity: id.Name, secure: id.header, plain: id.inTheClear(), via: ViaNone, member: m}
	if id.browser {
		s.via = ViaBrowser
	}
	if m != nil {
		s.proxy, s.via, s.gateway = m.Name, ViaProxy, &gateway{cfg: &c.cfg, url: m.URL}
		s.gateway.lead(t, id.header.Get("User-Agent"))
	}
	if s.via != ViaNone {
		most, idle = sessionIdle, sessionIdleTime
		s.jar = newJar()
	}
	s.conns = newConns(t, most, idle)
	return s
}

// Proxy names the proxy, its password redacted; "" = direct, as a nil session is.
func (s *Session) Proxy() string {
	if s == nil {
		return ""
	}
	return s.proxy
}

// Identity names the identity.
func (s *Session) Identity() string { return s.identity }

// Via is ViaNone, ViaProxy or ViaBrowser.
func (s *Session) Via() string { return s.via }

// String tells the proxy and the identity, whatever verb prints it.
func (s *Session) String() string {
	if s == nil {
		return "session <nil>"
	}
	if s.proxy == "" {
		return "session direct as " + s.identity
	}
	return "session via " + s.proxy + " as " + s.identity
}

// GoString is String.
func (s *Session) GoString() string { return s.String() }

// Close drops the session's idle connections. Gets under way with it go on, and
// their connections close as they end; later ones fail with ErrClosed. The
// client's own direct session closes with the client only.
func (s *Session) Close() {
	if s != s.client.direct {
		s.close()
	}
}

func (s *Session) close() {
	if s.closed.Swap(true) {
		return
	}
	s.conns.close()
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
}

// header returns what a request for u carries, with more headers, which come before the session's, and these cookies; it must
// not be changed.
func (s *Session) header(u *url.URL, more http.Header, cookies []*http.Cookie) http.Header {
	h := s.plain
	if u.Scheme == "https" {
		h = s.secure
	}
	if len(cookies) == 0 && len(more) == 0 {
		return h
	}
	r := http.Request{Header: maps.Clone(h)}
	maps.Copy(r.Header, more)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r.Header
}

// Connections that are kept while nobody uses them: of the client's own session, and of one
// with a proxy or a browser's identity, of which every worker has one for itself.
const (
	maxIdle         = 256
	maxIdleTime     = 90 * time.Second
	sessionIdle     = 4
	sessionIdleTime = 30 * time.Second
)

// newTransport tunes net/http: compression is ours (bounded, pooled, faster),
// HTTP/2 where offered. Its connections are kept by conns. No proxy is taken from the environment, where the operator may not know of one.
func newTransport(cfg *Config) *http.Transport {
	return &http.Transport{
		DialContext:         cfg.connect,
		TLSClientConfig:     cfg.hostTLS(),
		TLSHandshakeTimeout: cfg.TLSTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second,
			MaxReceiveBufferPerStream: streamBuffer,
		},
		DisableCompression:     true,
		ResponseHeaderTimeout:  cfg.HeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         32 << 10, // a page's worth of compressed bytes in a syscall or two
	}
}

// connect opens a TCP connection to a host ("host:port"). Every address that it
// resolves to is checked just before it is connected to: what was resolved is what is
// dialled, so a name can't be rebound in between.
func (c *Config) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return c.dialTo(ctx, network, addr, func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: can't tell the address %q", ErrRedirectedAway, address)
		}
		return dialGuard{host: host}.check(ap.Addr())
	})
}

// dialTo opens a TCP connection, guarded or, with nil, to an address that the operator chose.
func (c *Config) dialTo(ctx context.Context, network, addr string,
	guard func(ctx context.Context, network, address string, conn syscall.RawConn) error,
) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		d := net.Dialer{Timeout: c.DialTimeout, Resolver: c.resolver, ControlContext: guard}
		dial = d.DialContext
	}
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return count(ctx, conn), nil
}
