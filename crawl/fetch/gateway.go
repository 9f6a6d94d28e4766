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
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ypcrawl/yp"
)

// gateway opens connections to hosts through one proxy. Nothing of it touches
// the host by itself: not even its name is looked up here. (Why net/http does not do
// it: docs/decisions/0039.)
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
func (d *gateway) forwards() bool { return !strings.HasPrefix(d.url.Scheme, "socks5") }

// forward is what net/http is told of the proxy for an http request. TLS to it,
// if any, is ours, so that a failure of the proxy is known as one.
func (d *gateway) forward(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "http" {
		return nil, nil //nolint:nilnil // net/http's way to say: dial the host, which here is a tunnel
	}
	return &url.URL{Scheme: "http", User: d.url.User, Host: d.url.Host}, nil
}

// tunnel opens a connection to addr ("host:port") through the proxy.
func (d *gateway) tunnel(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, "")
	if err != nil {
		return nil, err
	}
	ask := d.connect
	if !d.forwards() {
		ask = d.socks
	}
	ctx, cancel := context.WithTimeout(ctx, d.net.dialLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = ask(conn, addr)
	if !stop() {
		err = fmt.Errorf("connect through the proxy: %w", ctx.Err())
	}
	if err != nil {
		_ = conn.Close() // what went wrong before counts
		return nil, d.failed(err)
	}
	return conn, nil
}

// dial connects to the proxy itself, whatever the address asked for: for a tunnel, or for a
// request that it forwards. Its address is the operator's choice, so no guard stands in
// the way.
func (d *gateway) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := d.net.dialTo(ctx, network, d.url.Host, nil)
	if err == nil && d.url.Scheme == "https" {
		conn, err = handshake(ctx, conn, d.tls, d.net.tlsTimeout)
	}
	if err != nil {
		return nil, d.failed(err)
	}
	return conn, nil
}

// failed puts the blame on the proxy.
func (d *gateway) failed(err error) error {
	if errors.As(err, new(*proxyError)) {
		return err
	}
	return &proxyError{name: d.name, err: err}
}

// refused is a proxy's plain no; class "" = of no kind of its own.
func (d *gateway) refused(status int, class yp.ErrorClass, format string, args ...any) error {
	return &proxyError{name: d.name, status: status, class: class, err: fmt.Errorf(format, args...)}
}

// connectHead is how much a proxy may answer to CONNECT.
const connectHead = 64 << 10

// connect asks an HTTP proxy for a tunnel. Of a refusal only the status is reported:
// the rest is the proxy's, and might repeat what it was sent.
func (d *gateway) connect(conn net.Conn, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{"User-Agent": {d.userAgent}}}
	if u := d.url.User; u != nil {
		req.Header.Set("Proxy-Authorization", "Basic "+basic(u))
	}
	if err := req.Write(conn); err != nil {
		return fmt.Errorf("CONNECT %s: %w", addr, err)
	}
	br := bufio.NewReader(io.LimitReader(conn, connectHead))
	resp, err := http.ReadResponse(br, req) //nolint:bodyclose // never read: after a 200 the connection is the tunnel, else it is closed
	switch {
	case err != nil:
		var fromNet net.Error
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &fromNet) {
			err = errNotHTTP // net/http quotes an answer that makes no sense
		}
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		return d.refused(resp.StatusCode, cmp.Or(classifyCode(resp.StatusCode), yp.ClassUnknown),
			"CONNECT %s: status %d %s", addr, resp.StatusCode, http.StatusText(resp.StatusCode))
	case br.Buffered() > 0:
		err = errEarly
	}
	if err != nil {
		return fmt.Errorf("CONNECT %s: %w", addr, err)
	}
	return nil
}

var (
	errPassword = errors.New("the proxy wants a user and password, or refuses them")
	errEarly    = errors.New("the proxy sent data before the tunnel was used")
	errNotHTTP  = errors.New("the answer is not HTTP")
	errNotSocks = errors.New("the answer is not SOCKS5")
)

// Of SOCKS5 (RFC 1928) and its passwords (RFC 1929).
const (
	socksVersion  = 5
	socksNoAuth   = 0
	socksPassword = 2
	socksNoneFits = 0xff
	socksIPv4     = 1
	socksName     = 3
	socksIPv6     = 4
	socksRefused  = 5 // the host refused the connection
)

var socksReasons = [...]string{
	1: "general failure", 2: "not allowed", 3: "network unreachable", 4: "host unreachable",
	5: "connection refused", 6: "time to live expired", 7: "command not supported", 8: "address type not supported",
}

// socks asks a SOCKS5 proxy for a tunnel. A name is sent as it is: the proxy
// looks it up.
func (d *gateway) socks(conn net.Conn, addr string) error {
	request, err := socksRequest(addr)
	if err != nil {
		return fmt.Errorf("socks connect: %w", err)
	}
	if err := d.socksSignIn(conn); err != nil {
		return err
	}
	head, err := socksAsk(conn, request, 4, socksVersion)
	if err == nil && head[1] != 0 {
		reason, class := "unknown code", yp.ErrorClass("")
		if code := int(head[1]); code < len(socksReasons) {
			reason = socksReasons[code]
		}
		if head[1] == socksRefused {
			class = yp.ClassConnectionRefused
		}
		return d.refused(0, class, "socks connect %s: %s (%d)", addr, reason, head[1])
	}
	if err == nil { // read on past the proxy's own address and port, and not beyond: what follows is the host's
		length := map[byte]int{socksIPv4: 4, socksIPv6: 16}[head[3]]
		if head[3] == socksName {
			var n [1]byte
			_, err = io.ReadFull(conn, n[:])
			length = int(n[0])
		} else if length == 0 {
			err = errNotSocks
		}
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, length+2))
		}
	}
	if err != nil {
		return fmt.Errorf("socks connect %s: %w", addr, err)
	}
	return nil
}

// socksSignIn agrees on how to sign in, and does.
func (d *gateway) socksSignIn(conn net.Conn) error {
	u := d.url.User
	methods := []byte{socksVersion, 1, socksNoAuth}
	if u != nil {
		methods = []byte{socksVersion, 2, socksNoAuth, socksPassword}
	}
	answer, err := socksAsk(conn, methods, 2, socksVersion)
	switch {
	case err != nil:
		return fmt.Errorf("socks greeting: %w", err)
	case answer[1] == socksNoAuth:
		return nil
	case answer[1] == socksPassword && u != nil:
	case answer[1] == socksNoneFits || answer[1] == socksPassword:
		return d.refused(0, yp.ClassAuthError, "socks greeting: the proxy wants another sign-in method")
	default:
		return fmt.Errorf("socks greeting: %w", errNotSocks)
	}
	user := u.Username()
	password, _ := u.Password()
	msg := append([]byte{1, byte(len(user))}, user...)
	msg = append(append(msg, byte(len(password))), password...)
	answer, err = socksAsk(conn, msg, 2, 1)
	if err != nil {
		return fmt.Errorf("socks sign-in: %w", err)
	}
	if answer[1] != 0 {
		return d.refused(0, yp.ClassAuthError, "socks sign-in: user or password refused")
	}
	return nil
}

// socksAsk sends msg and returns the first n bytes of the answer.
func socksAsk(conn net.Conn, msg []byte, n int, version byte) ([]byte, error) {
	if _, err := conn.Write(msg); err != nil {
		return nil, err
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, err
	}
	if answer[0] != version {
		return nil, errNotSocks
	}
	return answer, nil
}

func socksRequest(addr string) ([]byte, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	msg := []byte{socksVersion, 1, 0}
	a, err := netip.ParseAddr(host)
	switch {
	case err == nil && a.Unmap().Is4():
		msg = append(append(msg, socksIPv4), a.Unmap().AsSlice()...)
	case err == nil:
		msg = append(append(msg, socksIPv6), a.AsSlice()...)
	case len(host) > 255:
		return nil, fmt.Errorf("%w: the name is too long", ErrBadURL)
	default:
		msg = append(append(msg, socksName, byte(len(host))), host...)
	}
	return append(msg, byte(n>>8), byte(n)), nil
}

// proxyError marks a failure of the proxy, not of the host behind it.
type proxyError struct {
	name   string // password redacted
	status int
	class  yp.ErrorClass // "" = as of the cause
	err    error
}

func (e *proxyError) Error() string { return "proxy " + e.name + ": " + e.err.Error() }
func (e *proxyError) Unwrap() error { return e.err }

// passage reports whether a request got past the proxy: to the host's handshake in a tunnel,
// or onto a connection. One that was given up before is the proxy's fault.
type passage struct{ through atomic.Bool }

// traced returns a context under which net/http and the connector report to the passage.
func (p *passage) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:           func(httptrace.GotConnInfo) { p.through.Store(true) },
		TLSHandshakeStart: func() { p.through.Store(true) },
	})
}
