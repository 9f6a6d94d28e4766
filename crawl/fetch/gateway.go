package fetch

import (
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
)

// gateway connects to one proxy. CONNECT and SOCKS5 are net/http's. Nothing of it touches the
// host by itself: not even its name is looked up here.
type gateway struct {
	cfg *Config
	url *url.URL // with the password
}

// lead has a transport go through the proxy.
func (d *gateway) lead(t *http.Transport, userAgent string) {
	t.Proxy = http.ProxyURL(d.url)
	t.DialContext, t.DialTLSContext = d.dial, d.dial // to the proxy, whatever is asked for
	t.ProxyConnectHeader = http.Header{"User-Agent": {userAgent}}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
		if answer.StatusCode/100 == 2 { // any of them opens the tunnel (RFC 9110, 9.3.6), net/http knows one
			answer.StatusCode = http.StatusOK
			return nil
		}
		// The body is not read: it may never end.
		said, its := madeByProxy(answer.StatusCode, answer.Status, answer.Header, nil)
		if !its {
			said.unreached = answer.StatusCode >= 500
		}
		wait, _ := askedWait(answer.StatusCode, answer.Header, time.Now())
		return refusal{answer.StatusCode, wait, said}
	}
}

// refusal is how a proxy refuses a tunnel. The word is not in its text: it is not fit to be told.
type refusal struct {
	status int
	wait   time.Duration // how long it asks to be left alone; 0 = it does not
	own
}

func (r refusal) Error() string { return fmt.Sprintf("CONNECT was refused with %d", r.status) }

// dial connects to the proxy. Its address is the operator's choice, so no guard is in the
// way.
func (d *gateway) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	until := time.Now().Add(d.cfg.DialTimeout)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	conn, err := d.cfg.dialTo(ctx, network, d.url.Host, nil)
	if err == nil && d.url.Scheme == "https" {
		how := d.cfg.tls()
		how.ServerName, how.NextProtos = d.url.Hostname(), []string{"http/1.1"} // CONNECT is spoken in it
		secure := tls.Client(conn, how)
		ctx, cancel := context.WithTimeout(ctx, d.cfg.TLSTimeout)
		defer cancel()
		if err = secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close() // the handshake's error is the one that counts
			err = &tlsError{err}
		}
		conn = secure
	}
	if err != nil {
		return nil, err
	}
	return &greeting{Conn: conn}, conn.SetDeadline(until)
}

// greeting is a connection to a proxy. Its deadline is for connect and greeting together, and
// ends with the first words for the host, which are TLS (0x16) or GET: CONNECT begins with C,
// SOCKS5 with 5 and its password with 1.
type greeting struct {
	net.Conn
	over bool
}

func (c *greeting) Write(b []byte) (int, error) {
	if !c.over && len(b) > 0 && (b[0] == 0x16 || b[0] == 'G') {
		c.over = true
		if err := c.SetDeadline(time.Time{}); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// connTrace reports how far a request got: past the proxy, if there is one, to the host's handshake or
// onto a connection, and to an answer. One that was given up before the first is the proxy's fault.
type connTrace struct {
	through, noTLS, answered, http2 atomic.Bool

	conn    *conn // nil = it got none
	again   bool  // that had carried another request before
	stale   bool  // and was closed: ErrStale
	chunked bool  // net/http reads the answer's chunks
}

// traced returns a context under which net/http reports to it.
func (p *connTrace) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { p.through.Store(true) },
		TLSHandshakeDone: func(how tls.ConnectionState, err error) {
			p.noTLS.Store(err != nil)
			p.http2.Store(how.NegotiatedProtocol == "h2")
		},
		GotFirstResponseByte: func() { p.answered.Store(true) },
	})
}

var (
	errProxyFailed = errors.New("it failed")
	errMute        = errors.New("it does not answer")
	errPassword    = errors.New("it requires a user and password, or refuses them")
)

// isMute reports whether the proxy is why a request that it was to forward got no answer. A
// slow host looks the same, so the proxy is asked for a page of its own, which no host has a
// part in: any answer will do, also a refusal, and so does hanging up. (In a tunnel it has
// answered before the host is asked.)
func (s *Session) isMute(ctx context.Context, u *url.URL) bool {
	if !s.forwarded(u) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.gateway.cfg.DialTimeout)
	defer cancel()
	conn, err := s.gateway.dial(ctx, "tcp", "")
	if err != nil {
		return true
	}
	defer func() { _ = conn.Close() }() // nothing more is wanted of it
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+s.gateway.url.Host+"\r\nConnection: close\r\n\r\n")
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	return err != nil && ctx.Err() != nil
}

// forwarded reports whether the proxy sees the request for u and its answer: http goes to it as
// it is, the whole URL in the first line, because many proxies refuse a tunnel to port 80.
func (s *Session) forwarded(u *url.URL) bool {
	return s.gateway != nil && !strings.HasPrefix(s.gateway.url.Scheme, "socks5") && strings.EqualFold(u.Scheme, "http")
}
