package fetch

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"ypcrawl/yp"
)

// gateway opens connections to hosts through one proxy. Nothing of it touches
// the host by itself: not even its name is looked up here.
type gateway struct {
	net       *connector // opens the connection to the proxy
	url       *url.URL   // with the password
	name      string     // without
	userAgent string     // of CONNECT
	tls       *tls.Config
}

func newGateway(cfg Config, u *url.URL, name, userAgent string) *gateway {
	return &gateway{
		net: newConnector(cfg), url: u, name: name, userAgent: userAgent,
		tls: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: cfg.Roots, ServerName: u.Hostname(),
			NextProtos: []string{"http/1.1"}, // CONNECT is spoken in it
		},
	}
}

// forwards: http requests go to the proxy as they are, the whole URL in the
// first line, because many proxies refuse a tunnel to port 80.
func (g *gateway) forwards() bool { return !strings.HasPrefix(g.url.Scheme, "socks5") }

// forward is what net/http is told of the proxy for an http request. TLS to it,
// if any, is ours, so that all errors of the way are told apart in one place.
func (g *gateway) forward(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "http" {
		return nil, nil //nolint:nilnil // net/http's way to say: dial the host, which here is a tunnel
	}
	return &url.URL{Scheme: "http", User: g.url.User, Host: g.url.Host}, nil
}

// dialProxy opens a connection to the proxy itself, for a request that it
// forwards.
func (g *gateway) dialProxy(ctx context.Context, network, _ string) (net.Conn, error) {
	return g.dial(ctx, network)
}

// tunnel opens a connection to addr ("host:port") through the proxy.
func (g *gateway) tunnel(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := g.dial(ctx, network)
	if err != nil {
		return nil, err
	}
	ask := g.connect
	if !g.forwards() {
		ask = g.socks
	}
	if err := within(ctx, conn, g.net.dialLimit, func() error { return ask(conn, addr) }); err != nil {
		_ = conn.Close() // what went wrong before counts
		return nil, g.failed(err)
	}
	passed(ctx)
	return conn, nil
}

// dial connects to the proxy. Its address is the operator's choice, so no guard
// stands in the way.
func (g *gateway) dial(ctx context.Context, network string) (net.Conn, error) {
	conn, err := g.net.dialUnguarded(ctx, network, g.url.Host)
	if err != nil {
		return nil, g.failed(err)
	}
	if g.url.Scheme != "https" {
		return conn, nil
	}
	secure, err := handshake(ctx, conn, g.tls, g.net.tlsTimeout)
	if err != nil {
		return nil, g.failed(err)
	}
	return secure, nil
}

// failed puts the blame on the proxy.
func (g *gateway) failed(err error) error {
	e := &proxyError{name: g.name, err: err}
	var refused *refusal
	if errors.As(err, &refused) {
		e.status, e.class = refused.status, refused.class
	}
	return e
}

// within runs f, which reads and writes conn, for no longer than limit or ctx
// last.
func within(ctx context.Context, conn net.Conn, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		return fmt.Errorf("no way through the proxy: %w", ctx.Err())
	}
	return err
}

// connectHead is how much a proxy may answer to CONNECT.
const connectHead = 64 << 10

// connect asks an HTTP proxy for a tunnel. Of a refusal only the status is told:
// the rest is the proxy's, and might echo what it was sent.
func (g *gateway) connect(conn net.Conn, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{"User-Agent": {g.userAgent}}}
	if u := g.url.User; u != nil {
		req.Header.Set("Proxy-Authorization", "Basic "+basic(u))
	}
	if err := req.Write(conn); err != nil {
		return fmt.Errorf("CONNECT %s: %w", addr, err)
	}
	br := bufio.NewReader(io.LimitReader(conn, connectHead))
	resp, err := http.ReadResponse(br, req) //nolint:bodyclose // never read: after a 200 the connection is the tunnel, else it is closed
	if err != nil {
		return fmt.Errorf("CONNECT %s: %w", addr, brief(err))
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return &refusal{
			what:   fmt.Sprintf("CONNECT %s: status %d %s", addr, resp.StatusCode, http.StatusText(resp.StatusCode)),
			status: resp.StatusCode, class: cmp.Or(classifyCode(resp.StatusCode), yp.ClassUnknown),
		}
	}
	if br.Buffered() > 0 {
		return fmt.Errorf("CONNECT %s: %w", addr, errEarly)
	}
	return nil
}

var (
	errPassword = errors.New("user and password are wanted, or wrong")
	errEarly    = errors.New("the proxy sent data before the tunnel was used")
	errNotHTTP  = errors.New("the answer is no HTTP")
)

// brief leaves out what net/http quotes of an answer that makes no sense.
func brief(err error) error {
	var fromNet net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &fromNet) {
		return err
	}
	return errNotHTTP
}

// refusal is a proxy's plain no.
type refusal struct {
	what   string
	status int           // of HTTP, 0 = none
	class  yp.ErrorClass // "" = none of its own
}

func (r *refusal) Error() string { return r.what }

// proxyError marks a failure of the proxy, not of the host behind it.
type proxyError struct {
	name   string // password redacted
	status int
	class  yp.ErrorClass // "" = as of the cause
	err    error
}

func (e *proxyError) Error() string { return "proxy " + e.name + ": " + e.err.Error() }
func (e *proxyError) Unwrap() error { return e.err }

// passage tells whether a request got past the proxy: into a tunnel, or onto a
// connection on which the proxy forwards. One that was given up before is the
// proxy's fault.
type passage struct{ through atomic.Bool }

type passageKey struct{}

// watched returns a context under which net/http and the gateway report to the
// passage.
func (p *passage) watched(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, passageKey{}, p)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { p.through.Store(true) },
	})
}

func passed(ctx context.Context) {
	if p, ok := ctx.Value(passageKey{}).(*passage); ok {
		p.through.Store(true)
	}
}
