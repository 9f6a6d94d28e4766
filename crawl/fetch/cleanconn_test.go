package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// oddServer answers each request by hand, and keeps account of them.
type oddServer struct {
	answer func(path string) string
	closes bool // the connection after an answer
	secure bool

	mu    sync.Mutex
	conns int
	asked []string // "1 /page close": the connection, the path and what is said of the connection
}

func (s *oddServer) start(t *testing.T) *url.URL {
	t.Helper()
	u := parse(t, rawServer(t, func(conn net.Conn) {
		if s.secure {
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{"http/1.1"}})
		}
		s.serve(conn)
	}))
	if s.secure {
		u.Scheme = "https"
	}
	return u
}

func (s *oddServer) serve(conn net.Conn) {
	s.mu.Lock()
	s.conns++
	number := s.conns
	s.mu.Unlock()
	for br := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, strings.TrimSpace(fmt.Sprintf("%d %s %s", number, r.URL.Path, map[bool]string{true: "close"}[r.Close])))
		s.mu.Unlock()
		_, _ = io.WriteString(conn, s.answer(r.URL.Path))
		if s.closes {
			_ = conn.Close()
			return
		}
	}
}

func (s *oddServer) requests(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	storetest.Diff(t, s.asked, want)
}

// Answers that net/http refuses and browsers read. It costs one request that fails, and from then on each page
// has a connection of its own, also on a server that would keep it.
func TestCleanedConnections(t *testing.T) {
	t.Parallel()
	page := string(htmlPage(3000))
	length := fmt.Sprintf("Content-Length: %d\r\n", len(page))
	const ok, html, chunked = "HTTP/1.1 200 OK\r\n", "Content-Type: text/html; charset=utf-8\r\n", "Transfer-Encoding: chunked\r\n"
	for _, tt := range []struct {
		name, answer string
		closes       bool
	}{
		{"a line without a colon", ok + "Content-Disposition = inline\r\n" + html + length + "\r\n" + page, false},
		{"an empty name", ok + ": x\r\n" + html + length + "\r\n" + page, false},
		{"a name of other letters", ok + "Strict‐Transport: x\r\n" + html + length + "\r\n" + page, false},
		{"a control character", ok + "X: a\x01b\r\n" + html + length + "\r\n" + page, false},
		{"a bare CR", ok + "X: a\rb\r\n" + html + length + "\r\n" + page, false},
		{"a fold first", ok + " x\r\n" + html + length + "\r\n" + page, false},
		{"an empty length", ok + html + "Content-Length:\r\n\r\n" + page, true},
		{"a length twice", ok + html + fmt.Sprintf("Content-Length: %d, %[1]d\r\n\r\n", len(page)) + page, false},
		{"identity", ok + html + "Transfer-Encoding: identity\r\n" + length + "\r\n" + page, false},
		{"an empty coding", ok + html + "Transfer-Encoding:\r\n" + length + "\r\n" + page, false},
		{"chunked twice", ok + html + chunked + chunked + "\r\n" + inChunks(page, 300), false},
		{"chunked twice in a line", ok + html + "Transfer-Encoding: chunked, chunked\r\n\r\n" + inChunks(page, 300), false},
		{"chunks in chunks", ok + html + "Transfer-Encoding: chunked, chunked\r\n\r\n" + inChunks(inChunks(page, 300), 200), false},
		{"chunks with bare line feeds", ok + html + chunked + "\r\n" + strings.ReplaceAll(inChunks(page, 300), "\r\n", "\n"), false},
		{"chunks with a bad trailer", ok + html + chunked + "\r\n" + strings.TrimSuffix(inChunks(page, 300), "\r\n") + "no field\r\n\r\n", false},
		{"chunks with a long trailer", ok + html + chunked + "\r\n" + strings.TrimSuffix(inChunks(page, 300), "\r\n") + "X: " + strings.Repeat("x", 40_000) + "\r\n\r\n", false},
		{"gzip in chunks with bare line feeds", ok + html + chunked + "Content-Encoding: gzip\r\n\r\n" + fmt.Sprintf("%x\n%s\n0\n\n", len(compress(t, "gzip", []byte(page))), compress(t, "gzip", []byte(page))), false},
		{"small letters", "http/1.1 200 ok\r\n" + html + length + "\r\n" + page, false},
		{"no minor version", "HTTP/1 200 OK\r\n" + html + length + "\r\n" + page, false},
		{"chunks of no minor version", "HTTP/1 200 OK\r\n" + html + chunked + "\r\n" + inChunks(page, 300), false},
		{"chunks of HTTP/1.0 with another length", "HTTP/1.0 200 OK\r\n" + html + length + chunked + "\r\n" + inChunks(page, 300), false},
		{"an interim answer", "HTTP/1.1 103 Early Hints\r\nno field\r\n\r\n" + ok + html + length + "\r\n" + page, false},
		{"another answer behind it", ok + "no field\r\n" + html + length + "\r\n" + page + ok + html + "Content-Length: 3\r\n\r\nbad", false},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", tt.name, secure), func(t *testing.T) {
				t.Parallel()
				s := &oddServer{answer: func(string) string { return tt.answer }, closes: tt.closes, secure: secure}
				base := s.start(t)
				var seen []Observation
				c := newClient(t, patiently(Config{IgnoreRobots: true, Roots: roots(t), Observe: func(o Observation) { seen = append(seen, o) }}))
				e := mustFail(t, c, Request{URL: "/a", Base: base})
				if !errors.Is(e, ErrAskAgain) || !e.Retryable() || e.RetryAfter != 0 {
					t.Errorf("error %v", e)
				}
				for _, path := range []string{"/b", "/c"} {
					r, err := c.Get(t.Context(), Request{URL: path, Base: base})
					noErr(t, err)
					storetest.Equal(t, string(r.Body), page)
					r.Release()
				}
				s.requests(t, "1 /a", "2 /b close", "3 /c close")
				if len(seen) != 3 || seen[0].Class == "" || seen[1].Class != "" {
					t.Errorf("observed %+v", seen)
				}
			})
		}
	}
}

// What browsers can't read either is said as that; what is no answer at all stays a failure of the network, and
// is asked for twice at the most.
func TestStillUnreadable(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tt := range []struct {
		name, answer string
		code         yp.ErrorCode
		says         string
	}{
		{"a NUL", ok + "X: a\x00b\r\nContent-Length: 1\r\n\r\nx", yp.CodeParseError, "the server's header is malformed: a NUL"},
		{"lengths that differ", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy", yp.CodeParseError, "the server's header is malformed: Content-Length"},
		{"no end", ok + "Content-Type: text/html\r\n<html>\r\n\r\n", yp.CodeParseError, "the server's header is malformed: it has no end"},
		{"no end at all", ok + strings.Repeat("X: yz\r\n", 1<<16), yp.CodeParseError, "the server's header is malformed: it has more than"},
		{"no status", "HTTP/1.1 OK\r\n\r\n", yp.CodeParseError, "the server's header is malformed: its status line"},
		{"no status line", "<!doctype html><p>x\r\n\r\n", yp.CodeNetworkError, ""},
		{"broken chunks", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n", yp.CodeNetworkError, ""},
		{"chunks of other sizes", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhalf\r\n0\r\n\r\n", yp.CodeNetworkError, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &oddServer{answer: func(string) string { return tt.answer }, closes: true}
			base := s.start(t)
			c := newClient(t, patiently(noRobots()))
			if e := mustFail(t, c, Request{URL: "/a", Base: base}); !errors.Is(e, ErrAskAgain) {
				t.Errorf("error %v", e)
			}
			e := mustFail(t, c, Request{URL: "/b", Base: base})
			if errors.Is(e, ErrAskAgain) || e.Code() != tt.code || !strings.Contains(e.Error(), tt.says) || !e.Retryable() {
				t.Errorf("error %v, code %s", e, e.Code())
			}
		})
	}
}

// A connection that breaks says nothing about how the server writes.
func TestBrokenIsNotOdd(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"nothing": "", "half a header": ok + "X: y\r\n", "half a body": ok + "Content-Length: 10\r\n\r\nhalf", "half a chunk": ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf",
		"half the chunks": ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "half a size": ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &oddServer{answer: func(string) string { return answer }, closes: true}
			base := s.start(t)
			c := newClient(t, patiently(noRobots()))
			if e := mustFail(t, c, Request{URL: "/a", Base: base}); errors.Is(e, ErrAskAgain) || c.odd.has(place(base)) {
				t.Errorf("error %v", e)
			}
		})
	}
}

// A page of HTTP/1.0 that begins with a number is a page; only a cleaned connection shows that no chunks were
// announced. One whose first chunk is cut is none.
func TestNumberOfHTTP10(t *testing.T) {
	t.Parallel()
	const old, page = "HTTP/1.0 200 OK\r\n", "bed\r\n<p>and breakfast"
	s := &oddServer{closes: true, answer: func(path string) string {
		if path == "/cut" {
			return old + "Transfer-Encoding: chunked\r\n\r\nbed\r\n<p>and break"
		}
		return old + "\r\n" + page
	}}
	base := s.start(t)
	c := newClient(t, patiently(noRobots()))
	if e := mustFail(t, c, Request{URL: "/a", Base: base}); !errors.Is(e, ErrAskAgain) || e.Code() != yp.CodeParseError {
		t.Errorf("error %v, code %s", e, e.Code())
	}
	r, err := c.Get(t.Context(), Request{URL: "/a", Base: base})
	noErr(t, err)
	storetest.Equal(t, string(r.Body), page)
	r.Release()
	if e := mustFail(t, c, Request{URL: "/cut", Base: base}); errors.Is(e, ErrAskAgain) || !errors.Is(e, errCutChunks) || e.Code() != yp.CodeParseError {
		t.Errorf("error %v, code %s", e, e.Code())
	}
}

// robots.txt and redirects of such a server, whose one page costs two requests for robots.txt.
func TestCleanedRobotsAndRedirects(t *testing.T) {
	t.Parallel()
	const odd = "no field\r\nConnection: keep-alive\r\n"
	s := &oddServer{answer: func(path string) string {
		switch path {
		case "/robots.txt":
			return "HTTP/1.1 200 OK\r\n" + odd + "Content-Length: 33\r\n\r\nUser-agent: *\r\nDisallow: /private"
		case "/a":
			return "HTTP/1.1 302 Found\r\n" + odd + "Location: /b\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
		case "/gone":
			return "HTTP/1.1 503 Busy\r\n" + odd + "Retry-After: 7\r\nContent-Length: 1\r\n\r\nx"
		}
		return "HTTP/1.1 200 OK\r\n" + odd + "Content-Length: 2\r\n\r\n<p"
	}}
	base := s.start(t)
	c := newClient(t, patiently(Config{}))
	mustGet(t, c, Request{URL: "/a", Base: base})
	if e := mustFail(t, c, Request{URL: "/private", Base: base}); !errors.Is(e, ErrDisallowed) {
		t.Errorf("error %v", e)
	}
	if e := mustFail(t, c, Request{URL: "/gone", Base: base}); e.Status != 503 || e.RetryAfter != 7*time.Second {
		t.Errorf("error %v", e)
	}
	s.requests(t, "1 /robots.txt", "2 /robots.txt close", "3 /a close", "4 /b close", "5 /gone close")
}

// Time-outs, limits and the end of the caller's context hold on a cleaned connection too.
func TestCleanedLimits(t *testing.T) {
	t.Parallel()
	const soon = 30 * time.Millisecond
	const ok = "HTTP/1.1 200 OK\r\nno field\r\n"
	drip := func(line string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, ok)
			for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
				if _, err := io.WriteString(conn, line); err != nil {
					tick.Stop()
					return
				}
			}
		}
	}
	stall := func(after string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, after)
			_, _ = io.Copy(io.Discard, conn)
		}
	}
	for _, tt := range []struct {
		name   string
		cfg    Config
		serve  func(net.Conn)
		class  yp.ErrorClass
		scheme string
	}{
		{"silence", Config{HeaderTimeout: soon}, stall(""), yp.ClassTimeout, "http"},
		{"half a header", Config{HeaderTimeout: soon}, stall(ok), yp.ClassTimeout, "http"},
		{"a header line by line", Config{HeaderTimeout: soon}, drip("X: y\r\n"), yp.ClassTimeout, "http"},
		{"a header byte by byte", Config{HeaderTimeout: soon}, drip("x"), yp.ClassTimeout, "http"},
		{"silence in the body", Config{StallTimeout: soon}, stall(ok + "\r\nhalf"), yp.ClassTimeout, "http"},
		{"silence between chunks", Config{StallTimeout: soon}, stall(ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), yp.ClassTimeout, "http"},
		{"no handshake", Config{TLSTimeout: soon}, stall(""), yp.ClassTimeout, "https"},
		{"no TLS", Config{}, func(conn net.Conn) { readRequest(conn); _, _ = io.WriteString(conn, ok) }, yp.ClassTLS, "https"},
		{"too large", Config{MaxBody: 1000}, stall(ok + "\r\n" + strings.Repeat("x", 2000)), yp.ClassParseError, "http"},
		{"chunks too large", Config{MaxBody: 1000}, stall(ok + "Transfer-Encoding: chunked\r\n\r\n7d0\r\n" + strings.Repeat("x", 2000)), yp.ClassParseError, "http"},
		{"chunks of next to nothing", Config{}, func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, ok+"Transfer-Encoding: chunked\r\n\r\n")
			for bomb := strings.Repeat("1;"+strings.Repeat("x", 4000)+"\r\nx\r\n", 10); ; {
				if _, err := io.WriteString(conn, bomb); err != nil {
					return
				}
			}
		}, yp.ClassParseError, "http"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := parse(t, rawServer(t, tt.serve))
			base.Scheme = tt.scheme
			tt.cfg.IgnoreRobots = true
			c := newClient(t, tt.cfg)
			c.odd.add(place(base))
			if e := mustFail(t, c, Request{URL: "/a", Base: base}); e.Class != tt.class {
				t.Errorf("error %v", e)
			}
		})
	}
	t.Run("the caller's end", func(t *testing.T) {
		t.Parallel()
		reached := make(chan struct{})
		base := parse(t, rawServer(t, func(conn net.Conn) {
			readRequest(conn)
			close(reached)
			_, _ = io.Copy(io.Discard, conn)
		}))
		c := newClient(t, patiently(noRobots()))
		c.odd.add(place(base))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-reached
			cancel()
		}()
		if _, err := c.Get(ctx, Request{URL: "/a", Base: base}); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
			t.Errorf("error %v", err)
		}
	})
}

// A public name that leads to a private address is not asked by a cleaned connection either.
func TestCleanedIsGuarded(t *testing.T) {
	t.Parallel()
	base := parse(t, rawServer(t, func(net.Conn) { t.Error("it was asked") }))
	dns := &fakeDNS{names: map[string][]string{"evil.com": {"127.0.0.1"}}}
	base.Host = "evil.com:" + base.Port()
	c := newClient(t, Config{IgnoreRobots: true, resolver: dns.resolver()})
	c.odd.add(place(base))
	if e := mustFail(t, c, Request{URL: "/a", Base: base}); !errors.Is(e, ErrRedirectedAway) {
		t.Errorf("error %v", e)
	}
}

// Through every kind of proxy, to every kind of host: nothing goes past it, and the password is kept.
func TestCleanedThroughProxies(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		for _, user := range []string{"", "scout"} {
			site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.Host+r.URL.Path) })
			p := (&proxyServer{user: user, password: secret, hosts: site.hosts()}).start(t, scheme)
			c := newProxied(t, patiently(noRobots()))
			c.odd.add(place(site.base))
			s := session(t, c, p)
			for _, path := range []string{"/a", "/b"} {
				body, err := fetchVia(t, c, s, site, path)
				noErr(t, err)
				storetest.Equal(t, body, "HTTP/1.1 www.example.com"+path)
			}
			storetest.Diff(t, site.seen(), []string{"/a", "/b"})
			storetest.Equal(t, p.accepted, 2, "connections")
		}
	})
}

// A header that only a cleaned connection reads, in a tunnel and forwarded.
func TestOddThroughProxies(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 3\r\n\r\nabc"
	for _, scheme := range proxySchemes {
		for _, to := range []string{"http", "https"} {
			t.Run(scheme+" to "+to, func(t *testing.T) {
				t.Parallel()
				origin := &oddServer{answer: func(string) string { return answer }, secure: to == "https"}
				at := origin.start(t).Host
				base := &url.URL{Scheme: to, Host: "www.example.com"}
				p := &proxyServer{hosts: map[string]string{"www.example.com:80": at, "www.example.com:443": at}}
				if to == "http" && !strings.HasPrefix(scheme, "socks5") {
					if scheme == "https" {
						return // the proxy of these tests says what it is told to in the clear alone
					}
					p.says = answer
				}
				c := newProxied(t, patiently(noRobots()))
				s := session(t, c, p.start(t, scheme))
				if e := mustFail(t, c, Request{URL: "/a", Base: base, Session: s}); !errors.Is(e, ErrAskAgain) || e.Proxy {
					t.Errorf("error %v", e)
				}
				r, err := c.Get(t.Context(), Request{URL: "/b", Base: base, Session: s})
				noErr(t, err)
				storetest.Equal(t, string(r.Body), "abc")
				r.Release()
			})
		}
	}
}

// HTTP/2 has frames, not lines: what is wrong with its headers, no cleaned connection reads.
func TestHTTP2IsNotOdd(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]string{
		"capitals": {":status", "200", "X-Odd", "a"}, "a control character": {":status", "200", "x", "a\x00b"}, "no status": {"x", "y"}, "a length twice": {":status", "200", "content-length", "1, 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFramed(t, patiently(noRobots()), func(c *framedConn, stream uint32, _ string) {
				if stream > 0 {
					c.headers(stream, true, fields...)
				}
			})
			for range 2 { // on a new connection, and on one that was used
				r, err := f.get(t, "/")
				if errors.Is(err, ErrAskAgain) || f.client.odd.has(place(parse(t, f.URL))) {
					t.Errorf("error %v", err)
				}
				r.Release()
			}
		})
	}
}
