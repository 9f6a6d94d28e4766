package fetch

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"
)

// How a request left, as in the requests table.
const (
	ViaNone    = "none"    // directly, as ourselves
	ViaProxy   = "proxy"   // through a proxy, whatever the identity
	ViaBrowser = "browser" // directly, with a browser's headers
)

// maxCookies is how many cookies go with a request: browsers keep fewer than
// 200 of a site, and a site that sets a new one with every page would make the
// header grow without end.
const maxCookies = 100

// SessionConfig says who asks, and through which proxy. The zero value is the honest
// identity, directly.
type SessionConfig struct {
	Proxy    *url.URL // as ParseProxy returns it; nil = none
	Identity Identity // zero = Honest(Config.UserAgent)
}

// String tells both, the password redacted, whatever verb prints it.
func (c SessionConfig) String() string {
	name := "direct"
	if c.Proxy != nil {
		name = c.Proxy.Redacted()
	}
	return fmt.Sprintf("{%s %s}", name, c.Identity.Name)
}

// GoString is String.
func (c SessionConfig) GoString() string { return c.String() }

// Session is one identity, direct or through one proxy, with
// connections of its own. One with a proxy or a browser's identity keeps its own
// cookies. Safe for concurrent use. Pace, in-flight caps and robots.txt are the
// hosts', whatever the session.
type Session struct {
	client    *Client
	transport *http.Transport
	identity  string
	proxy     string // redacted; "" = direct
	via       string
	gateway   *gateway       // nil = direct
	forwards  bool           // the proxy sees and forwards http requests; all others go through a tunnel
	secure    http.Header    // of every https request; never changed
	plain     http.Header    // of every http request; never changed
	jar       http.CookieJar // nil = keeps none
	member    *member        // of the Pool that made it
	freed     func()         // called when it is closed, may be nil

	mu     sync.Mutex
	users  int
	closed bool
}

// NewSession returns a session; Close it when done. The error is ErrBadProxy or
// ErrClosed.
func (c *Client) NewSession(cfg SessionConfig) (*Session, error) { return c.open(cfg, nil, nil) }

// open makes a session, a pool's when it has a member.
func (c *Client) open(cfg SessionConfig, m *member, freed func()) (*Session, error) {
	s, err := c.newSession(cfg)
	if err != nil {
		return nil, fmt.Errorf("new session: %w", err)
	}
	s.member, s.freed = m, freed
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		return nil, fmt.Errorf("new session: %w", ErrClosed)
	}
	c.sessions[s] = struct{}{}
	return s, nil
}

func (c *Client) newSession(cfg SessionConfig) (*Session, error) {
	id := cfg.Identity
	if id.header == nil {
		id = Honest(c.cfg.UserAgent)
	}
	s := &Session{client: c, identity: id.Name, secure: id.header, plain: id.inTheClear(), via: ViaNone}
	if id.browser {
		s.via = ViaBrowser
	}
	var g *gateway
	if cfg.Proxy != nil {
		u, name, err := usable(cfg.Proxy)
		if err != nil {
			return nil, err
		}
		g = newGateway(c.cfg, u, name, id.header.Get("User-Agent"))
		s.proxy, s.via, s.gateway, s.forwards = name, ViaProxy, g, g.forwards()
	}
	s.transport = newTransport(c.cfg, g)
	if s.via == ViaNone {
		return s, nil
	}
	s.transport.MaxIdleConns, s.transport.MaxIdleConnsPerHost, s.transport.IdleConnTimeout = sessionIdle, sessionIdlePerHost, sessionIdleTime
	jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	s.jar = jar
	return s, err
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
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return
	}
	s.transport.CloseIdleConnections()
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
	if s.freed != nil {
		s.freed()
	}
}

// enter is called before a session is used, and leave after; false = closed.
func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.users++
	return true
}

// stay enters once more while it is in use.
func (s *Session) stay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

func (s *Session) leave() {
	s.mu.Lock()
	s.users--
	last := s.closed && s.users == 0
	s.mu.Unlock()
	if last {
		s.transport.CloseIdleConnections()
	}
}

// header returns what a request for u carries; it must not be changed.
func (s *Session) header(u *url.URL) http.Header {
	h := s.plain
	if u.Scheme == "https" {
		h = s.secure
	}
	if s.jar == nil {
		return h
	}
	cookies := s.jar.Cookies(u)
	if len(cookies) == 0 {
		return h
	}
	r := http.Request{Header: maps.Clone(h)}
	for _, c := range cookies[:min(len(cookies), maxCookies)] {
		r.AddCookie(c)
	}
	return r.Header
}

// remember keeps the cookies of an answer, unless it is the proxy's own.
func (s *Session) remember(u *url.URL, resp *http.Response) {
	if s.jar == nil || s.isProxys(u, resp.StatusCode) {
		return
	}
	if cookies := resp.Cookies(); len(cookies) > 0 {
		s.jar.SetCookies(u, cookies)
	}
}

// isProxys tells whether an answer must be the proxy's own: no web server wants
// a proxy's password.
func (s *Session) isProxys(u *url.URL, status int) bool {
	return status == http.StatusProxyAuthRequired && s.forwards && strings.EqualFold(u.Scheme, "http")
}
