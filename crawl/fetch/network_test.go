package fetch

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"ypcrawl/yp"
)

// fakeDNS answers for the names it knows, each time with the next of their
// addresses, and NXDOMAIN for the others. No packet leaves the process.
type fakeDNS struct {
	mu    sync.Mutex
	names map[string][]string
}

func (f *fakeDNS) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go f.serve(server)
		return client, nil
	}}
}

// serve speaks DNS as over TCP: each message with its length before it.
func (f *fakeDNS) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		msg := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, msg); err != nil {
			return
		}
		answer, err := f.answer(msg)
		if err != nil {
			return
		}
		binary.BigEndian.PutUint16(size[:], uint16(len(answer)))
		if _, err := conn.Write(append(size[:], answer...)); err != nil {
			return
		}
	}
}

func (f *fakeDNS) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	f.mu.Lock()
	defer f.mu.Unlock()
	name := strings.TrimSuffix(q.Name.String(), ".")
	addrs, known := f.names[name]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
		return m.Pack()
	}
	if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addrs[0]).As4()},
		}}
		if len(addrs) > 1 {
			f.names[name] = addrs[1:]
		}
	}
	return m.Pack()
}

// A public name that leads to a private address is refused when it is
// dialled, at first or after it was rebound; an intranet's own name is not.
func TestPrivateAddressByName(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			_, port, _ := net.SplitHostPort(r.Host)
			http.Redirect(w, r, "http://inner.demo.internal:"+port+"/", http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dns := &fakeDNS{names: map[string][]string{
		"evil.com":            {"127.0.0.1"},
		"metadata.internal":   {"169.254.169.254"},
		"www.demo.internal":   {"127.0.0.1"},
		"inner.demo.internal": {"169.254.169.254"},
		"demo":                {"127.0.0.1"},
	}}
	c := newClient(t, Config{IgnoreRobots: true, resolver: dns.resolver()})
	for _, tt := range []struct {
		name, url string
		refused   bool
	}{
		{"public name at loopback", "http://evil.com:" + port + "/", true},
		{"the same over TLS", "https://evil.com:" + port + "/", true},
		{"private name at the metadata address", "http://metadata.internal:" + port + "/", true},
		{"private name at loopback", "http://www.demo.internal:" + port + "/", false},
		{"single word", "http://demo:" + port + "/", false},
		{"redirect to a name at the metadata address", "http://www.demo.internal:" + port + "/away", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := c.Get(t.Context(), Request{URL: tt.url})
			if !tt.refused {
				noErr(t, err)
				r.Release()
				return
			}
			if e := asError(t, err); !errors.Is(e, ErrRedirectedAway) || e.Retryable() || e.Class != yp.ClassUnknown {
				t.Errorf("error %v", e)
			}
		})
	}
}

// A redirect to a private address is refused for good, also where that host's robots.txt would have to be read first: what
// can't be asked today can't be asked in a second, and the host that redirects is not held.
func TestRedirectToPrivateAddress(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://inner.demo.internal", "http://169.254.169.254", "http://10.0.0.1"} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				asked.Add(1)
				_, port, _ := net.SplitHostPort(r.Host)
				http.Redirect(w, r, to+":"+port+"/", http.StatusFound)
			}
		}))
		t.Cleanup(server.Close)
		_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		dns := &fakeDNS{names: map[string][]string{"www.demo.internal": {"127.0.0.1"}, "inner.demo.internal": {"169.254.169.254"}}}
		c := newClient(t, Config{resolver: dns.resolver()})
		e := mustFail(t, c, Request{URL: "http://www.demo.internal:" + port + "/away"})
		if !errors.Is(e, ErrRedirectedAway) || !errors.Is(e, ErrPrivate) || e.Retryable() || e.Cause() != yp.CauseOther || e.RetryAfter != 0 {
			t.Errorf("%s: %v", to, e)
		}
		if wait, why := c.Waiting("www.demo.internal:" + port); wait != 0 || asked.Load() != 1 {
			t.Errorf("%s: asked %d times, and the host waits for %q", to, asked.Load(), why)
		}
	}
}

func newTLSSite(t *testing.T, h http.HandlerFunc) *site {
	t.Helper()
	s := &site{Server: httptest.NewUnstartedServer(h)}
	s.EnableHTTP2 = true
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	s.start(t, Config{IgnoreRobots: true, Roots: roots})
	return s
}

// rawServer answers each connection by hand; the rest is up to serve.
func rawServer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// chunk is a body as one chunk, without the empty one that ends it.
func chunk(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }

func readRequest(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	member := string(compress(t, "gzip", htmlPage(2000)))
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	for _, tt := range []struct {
		name, answer string
		reset        bool
	}{
		{"closed without an answer", "", false},
		{"reset without an answer", "", true},
		{"closed in the headers", head, false},
		{"closed in the body", head + "Content-Length: 1000\r\n\r\nhalf", false},
		{"reset in the body", head + "Content-Length: 1000\r\n\r\nhalf", true},
		{"closed between chunks", head + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", false},
		{"malformed chunks", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n", false},
		{"no HTTP at all", "SSH-2.0-OpenSSH_9.6\r\n\r\n", false},
		{"closed in a gzip body", head + "Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", false},
		{"closed between gzip members", head + "Content-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n" + member, false},
		{"closed between chunks of a gzip body", head + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(member), false},
		{"closed between chunks of a brotli body", head + "Content-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(string(compress(t, "br", htmlPage(2000)))), false},
		{"closed between chunks of a zstd body", head + "Content-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(string(compress(t, "zstd", htmlPage(2000)))), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, func(conn net.Conn) {
				readRequest(conn)
				_, _ = io.WriteString(conn, tt.answer)
				if tt.reset {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
			})
			c := newClient(t, patiently(noRobots()))
			e := mustFail(t, c, Request{URL: url})
			if e.Class != yp.ClassUnknown || e.Code() != yp.CodeNetworkError || !e.Retryable() {
				t.Errorf("error %v, code %s", e, e.Code())
			}
		})
	}
}

// Each time-out alone ends its own kind of waiting.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	const soon = 30 * time.Millisecond
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	drip := func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, head)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := io.WriteString(conn, "x"); err != nil {
				return
			}
		}
	}
	silent := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	stall := func(after string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, after)
			silent(conn)
		}
	}
	for _, tt := range []struct {
		name, scheme string
		cfg          Config
		serve        func(net.Conn)
		says         string
	}{
		{"no header", "http", Config{HeaderTimeout: soon}, silent, "awaiting response headers"},
		{"no handshake", "https", Config{TLSTimeout: soon}, silent, "TLS handshake timeout"},
		{"silence before the body", "http", Config{StallTimeout: soon}, stall(head), "stopped arriving"},
		{"silence in the body", "http", Config{StallTimeout: soon}, stall(head + "some"), "stopped arriving"},
		{"slow loris", "http", Config{Timeout: 2 * soon}, drip, "too long"},
		{"all of it", "http", Config{Timeout: soon, HeaderTimeout: time.Hour}, silent, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, tt.serve)
			tt.cfg.IgnoreRobots = true
			c := newClient(t, tt.cfg)
			e := mustFail(t, c, Request{URL: strings.Replace(url, "http", tt.scheme, 1)})
			if e.Class != yp.ClassTimeout || e.Code() != yp.CodeTimeout || !e.Retryable() || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("error %v", e)
			}
		})
	}
}

// A connection that is never made (a firewall that drops, say).
func TestDialTimeout(t *testing.T) {
	t.Parallel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := net.Dialer{Timeout: time.Nanosecond}
		return d.DialContext(ctx, "tcp", "127.0.0.1:1")
	}
	c := newClient(t, Config{IgnoreRobots: true, Dial: dial})
	if e := mustFail(t, c, Request{URL: "http://acme.com/"}); e.Class != yp.ClassTimeout || !e.Retryable() {
		t.Errorf("error %v", e)
	}
}
