package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/proxy"
)

// net/http refuses headers and chunks that every browser reads. A host that sends such is asked, for the rest of
// the run, by connections on which the header is cleaned before net/http reads it. Each carries one request, with
// Connection: close: where an answer ends is no question on which another answer depends.

// maxAskAgain is how often a robots.txt may have to be asked for again: after an ErrStale, and an ErrAskAgain of each
// host that its redirects lead to.
const maxAskAgain = MaxRedirects + 2

// places are scheme, host and port of those that are asked in another way than others.
type places struct {
	mu    sync.Mutex
	known map[string]bool
}

func (o *places) has(place string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[place]
}

// add reports whether the place is new.
func (o *places) add(place string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known[place] {
		return false
	}
	if o.known == nil {
		o.known = map[string]bool{}
	}
	o.known[place] = true
	return true
}

func place(u *url.URL) string { return u.Scheme + "://" + dialled(u) }

// unread turns a failure into an ErrAskAgain if it is net/http that could not read the answer.
func (c *Client) unread(u *url.URL, p *connTrace, r *Response, e *Error, cause error) {
	if p.conn == nil || p.conn.cleaned != nil || e.Proxy || p.stale {
		return
	}
	chunks := r != nil && p.chunked && errors.Is(e.Err, errTransport) && isOdd(cause)
	head := r == nil && p.answered.Load() && !p.conn.http2.Load() && errors.Is(e.Err, errTransport) && isOdd(cause)
	if !head && !chunks && !errors.Is(e.Err, errUnsure) {
		return
	}
	if c.odd.add(place(u)) {
		c.log.Info().Str("url", e.URL).Err(e.Err).Msg("the server breaks the rules of HTTP: from now on each request uses its own connection")
	}
	e.Err = fmt.Errorf("%w: %w", ErrAskAgain, e.Err)
}

// isOdd reports whether an error of net/http's is about what came, not about the connection. Most of
// those have no types.
func isOdd(err error) bool {
	var ofNet net.Error
	var ofSystem syscall.Errno
	var ofTLS tls.RecordHeaderError
	for _, other := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, other) {
			return false
		}
	}
	return !errors.As(err, &ofNet) && !errors.As(err, &ofSystem) && !errors.As(err, &ofTLS)
}

// connectCleaned opens a cleaned connection for one request for u, which is p's.
func (s *Session) connectCleaned(ctx context.Context, u *url.URL, p *connTrace) (*conn, error) {
	x := &conn{key: "cleaned " + place(u), work: newWork()}
	raw, err := s.reach(x.work.under(ctx), u, p)
	if err != nil {
		return nil, err
	}
	x.cleaned = newCleanedConn(raw)
	given := func(context.Context, string, string) (net.Conn, error) { return x.cleaned, nil }
	t := &http.Transport{
		DialContext: given, DialTLSContext: given, DisableCompression: true, ReadBufferSize: 32 << 10,
		ResponseHeaderTimeout: s.client.cfg.HeaderTimeout, MaxResponseHeaderBytes: 2 * headMax,
	}
	if s.forwarded(u) {
		t.Proxy = http.ProxyURL(s.gateway.url)
	}
	if err = s.conns.add(ctx, x, t, "http", dialled(u)); err != nil { // TLS, if any, is done: to net/http it is plain
		_ = raw.Close() // it is of no use
		return nil, err
	}
	return x, nil
}

// reach opens a connection to the host of u, or to the proxy that forwards requests for it, with TLS where the host
// speaks it.
func (s *Session) reach(ctx context.Context, u *url.URL, p *connTrace) (conn net.Conn, err error) {
	addr := dialled(u)
	switch {
	case s.gateway == nil:
		conn, err = s.client.cfg.connect(ctx, "tcp", addr)
	case s.forwarded(u):
		conn, err = s.gateway.dial(ctx, "tcp", "")
	default:
		conn, err = s.gateway.through(ctx, s.conns.transport, addr)
	}
	if err != nil {
		return nil, err
	}
	p.through.Store(true)
	if u.Scheme != "https" {
		return conn, nil
	}
	how := s.conns.transport.TLSClientConfig.Clone()
	how.ServerName, _, _ = net.SplitHostPort(addr) // dialled has joined them
	how.NextProtos = []string{"http/1.1"}
	secure := tls.Client(conn, how)
	ctx, cancel := context.WithTimeout(ctx, s.client.cfg.TLSTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		p.noTLS.Store(true)
		_ = conn.Close() // the handshake's error is the one that counts
		return nil, err
	}
	return secure, nil
}

// through opens a connection to a host through the proxy, as net/http does: t says what CONNECT carries and which answer
// to it will do.
func (d *gateway) through(ctx context.Context, t *http.Transport, addr string) (net.Conn, error) {
	if d.url.Scheme == "socks5" || d.url.Scheme == "socks5h" {
		return d.socks(ctx, addr)
	}
	conn, err := d.dial(ctx, "tcp", "")
	if err != nil {
		return nil, err
	}
	done := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = d.tunnel(ctx, t, conn, addr)
	if !done() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close() // it leads nowhere
		return nil, err
	}
	return conn, nil
}

func (d *gateway) tunnel(ctx context.Context, t *http.Transport, conn net.Conn, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: t.ProxyConnectHeader.Clone()}
	if user := d.url.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.WithContext(ctx).Write(conn); err != nil {
		return err
	}
	// Nothing of the host's is lost with the buffer: in TLS it is the client who speaks first.
	answer, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, headMax)), req)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // the connection is the tunnel's now
	return t.OnProxyConnectResponse(ctx, d.url, req, answer)
}

func (d *gateway) socks(ctx context.Context, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if user := d.url.User; user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", d.url.Host, auth, socksDialer{d})
	if err != nil {
		return nil, err
	}
	return dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
}

// socksDialer connects to the proxy for x/net/proxy.
type socksDialer struct{ d *gateway }

func (s socksDialer) Dial(network, addr string) (net.Conn, error) {
	return s.d.dial(context.Background(), network, addr)
}

func (s socksDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.d.dial(ctx, network, addr)
}

// cleanedConn is a connection for one answer. What is read from it is the answer with its header cleaned and its
// chunks undone; what comes behind it is not read.
type cleanedConn struct {
	net.Conn
	head  headReader
	out   []byte    // of the cleaned header, not handed over yet
	body  io.Reader // nil = its header has not come
	err   error
	shown framing // what the header said of chunks that are still there

	once  sync.Once
	asked chan struct{} // closed when the request is being sent, or never will be: what comes before it is no answer
}

func newCleanedConn(conn net.Conn) *cleanedConn {
	return &cleanedConn{Conn: conn, head: headReader{br: bufio.NewReaderSize(conn, wireBuffer)}, asked: make(chan struct{})}
}

func (c *cleanedConn) Write(b []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	return c.Conn.Write(b)
}

func (c *cleanedConn) Close() error {
	c.once.Do(func() { close(c.asked) })
	return c.Conn.Close()
}

func (c *cleanedConn) Read(p []byte) (int, error) {
	<-c.asked
	if len(c.out) == 0 && c.body == nil && c.err == nil {
		c.err = c.next()
	}
	switch {
	case len(c.out) > 0:
		n := copy(p, c.out)
		c.out = c.out[n:]
		return n, nil
	case c.err != nil:
		return 0, c.err
	}
	return c.body.Read(p)
}

// next reads a header and prepares the body behind it.
func (c *cleanedConn) next() error {
	lines, err := c.head.read()
	if err != nil {
		return err
	}
	h, err := cleanHead(lines)
	if err != nil {
		return err
	}
	c.out = h.text
	switch {
	case h.interim():
	case h.chunked && h.old:
		c.shown, c.body = announced, c.head.br
	case h.chunked:
		c.body = &chunkStream{br: c.head.br}
	case h.length >= 0:
		c.body = io.LimitReader(c.head.br, h.length)
	default:
		c.body = c.head.br
	}
	return nil
}

// errBrokenChunks: what an answer sends as chunks is none.
var errBrokenChunks = errors.New("malformed chunks")

// chunkStream reads the data of chunks as browsers do: line ends may be bare, and nothing need follow the last chunk.
type chunkStream struct {
	br     *bufio.Reader
	left   int64 // bytes of the chunk that is read
	begun  bool  // there was a chunk before
	padded int   // see chunkScan
	err    error
}

func (c *chunkStream) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.size()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.err = err
	return n, err
}

// size goes to the data of the next chunk. Its error is io.EOF at the last one.
func (c *chunkStream) size() error {
	if c.begun {
		end, _ := c.br.Peek(2)
		n := endOfLine(end)
		if n < 0 {
			return errBrokenChunks
		}
		_, _ = c.br.Discard(n) // it was there
	}
	line, err := c.br.ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		if c.begun && isLastSize(line, c.padded) {
			return io.EOF
		}
		return io.ErrUnexpectedEOF
	}
	size, length, digits, ok := sizeLine(line)
	switch {
	case err != nil && !errors.Is(err, bufio.ErrBufferFull):
		return err
	case err != nil, !ok, length == 0:
		return errBrokenChunks
	case size == 0:
		return io.EOF
	case !c.begun && line[0] == '0':
		c.padded = digits
	}
	c.begun, c.left = true, size
	return nil
}
