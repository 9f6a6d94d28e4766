package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"ypcrawl/yp"
)

// framed is a server of HTTP/2 that answers each request as a test says, frame by frame,
// and counts what reaches it.
type framed struct {
	*site
	answer func(c *framedConn, stream uint32, path string) // to a request, or with stream 0 to a new connection

	mu                    sync.Mutex
	connections, requests int
}

// framedConn is a connection to it.
type framedConn struct {
	*http2.Framer
	net.Conn
	number int // of all connections, from 1
	served int // requests on it
	block  bytes.Buffer
	hpack  *hpack.Encoder
}

func newFramed(t *testing.T, cfg Config, answer func(c *framedConn, stream uint32, path string)) *framed {
	t.Helper()
	return newFramedBeside(t, cfg, http.NotFound, answer)
}

// newFramedBeside is one that answers HTTP/1.1, too.
func newFramedBeside(t *testing.T, cfg Config, http1 http.HandlerFunc, answer func(c *framedConn, stream uint32, path string)) *framed {
	t.Helper()
	f := &framed{answer: answer}
	f.site = &site{Server: httptest.NewUnstartedServer(http1)}
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.TLS = &tls.Config{NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	f.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { f.serve(conn) },
	}
	f.StartTLS()
	cfg.Roots = x509.NewCertPool()
	cfg.Roots.AddCert(f.Certificate())
	f.start(t, cfg)
	return f
}

func (f *framed) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	f.mu.Lock()
	f.connections++
	c := &framedConn{Conn: conn, Framer: http2.NewFramer(conn, conn), number: f.connections}
	f.mu.Unlock()
	c.hpack = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil || c.WriteSettings() != nil {
		return
	}
	f.answer(c, 0, "")
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = c.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			f.mu.Lock()
			f.requests++
			f.mu.Unlock()
			c.served++
			f.answer(c, frame.StreamID, frame.PseudoValue("path"))
		}
	}
}

// headers are frames of a header block.
func (c *framedConn) headers(stream uint32, end bool, fields ...string) {
	c.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.hpack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end})
}

func (c *framedConn) page(stream uint32, body string) {
	c.headers(stream, false, ":status", "200", "content-type", "text/html")
	_ = c.WriteData(stream, true, []byte(body))
}

// made compares what left with what was observed, each with its turn.
func (f *framed) made(t *testing.T, requests, connections int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if seen := f.observed(); f.requests != requests || f.connections != connections || len(seen) < requests {
		t.Errorf("%d requests on %d connections, %d of them observed: want %d on %d", f.requests, f.connections, len(seen), requests, connections)
	}
}

// What a server does so that net/http's own pool asks again, as often as it happens: here
// each request leaves once, and is told of.
func TestHTTP2Refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer func(c *framedConn, stream uint32)
	}{
		{"GOAWAY for no stream", func(c *framedConn, stream uint32) {
			if stream != 0 {
				_ = c.WriteGoAway(0, http2.ErrCodeNo, nil)
			}
		}},
		{"GOAWAY at once", func(c *framedConn, stream uint32) { _ = c.WriteGoAway(0, http2.ErrCodeNo, nil) }},
		{"GOAWAY and hanging up", func(c *framedConn, stream uint32) {
			_ = c.WriteGoAway(0, http2.ErrCodeNo, nil)
			_ = c.Close()
		}},
		{"REFUSED_STREAM", func(c *framedConn, stream uint32) {
			if stream != 0 {
				_ = c.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
			}
		}},
		{"hanging up", func(c *framedConn, stream uint32) {
			if stream != 0 {
				_ = c.Close()
			}
		}},
		{"hanging up at once", func(c *framedConn, stream uint32) { _ = c.Close() }},
	} {
		for _, robots := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, robots.txt: %v", tt.name, robots), func(t *testing.T) {
				t.Parallel()
				f := newFramed(t, Config{IgnoreRobots: !robots}, func(c *framedConn, stream uint32, path string) { tt.answer(c, stream) })
				e := f.failure(t, "/a")
				seen := f.observed()
				f.site.mu.Lock()
				defer f.site.mu.Unlock()
				f.mu.Lock()
				defer f.mu.Unlock()
				if len(seen) != 1 || f.connections != 1 || f.requests > 1 {
					t.Errorf("%d observed, %d requests on %d connections", len(seen), f.requests, f.connections)
				}
				if e.Code() != yp.CodeNetworkError || errors.Is(e, ErrStale) {
					t.Errorf("%v", e)
				}
			})
		}
	}
}

// A connection that has carried requests before says by its end nothing about the host: the caller
// asks once more, on a new one.
func TestStaleHTTP2(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(c *framedConn, stream uint32)
	}{
		{"GOAWAY", func(c *framedConn, stream uint32) { _ = c.WriteGoAway(stream-2, http2.ErrCodeNo, nil) }},
		{"REFUSED_STREAM", func(c *framedConn, stream uint32) { _ = c.WriteRSTStream(stream, http2.ErrCodeRefusedStream) }},
		{"hanging up", func(c *framedConn, _ uint32) { _ = c.Close() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFramed(t, noRobots(), func(c *framedConn, stream uint32, path string) {
				switch {
				case stream == 0:
				case c.number == 1 && c.served == 3:
					tt.end(c, stream)
				default:
					c.page(stream, path)
				}
			})
			f.page(t, "/1")
			f.page(t, "/2")
			if e := f.failure(t, "/3"); !errors.Is(e, ErrStale) || e.Code() != yp.CodeNetworkError {
				t.Errorf("%v", e)
			}
			r, err := f.client.Get(t.Context(), Request{URL: f.URL + "/3", Fresh: true})
			noErr(t, err)
			r.Release()
			f.page(t, "/4")
			f.made(t, 5, 2)
		})
	}
}

// One connection carries all requests, and several at once.
func TestHTTP2Kept(t *testing.T) {
	t.Parallel()
	f := newFramed(t, noRobots(), func(c *framedConn, stream uint32, path string) {
		if stream != 0 {
			c.page(stream, path)
		}
	})
	for i := range 10 {
		if got := f.page(t, fmt.Sprintf("/%d", i)); got != fmt.Sprintf("/%d", i) {
			t.Errorf("page %q", got)
		}
	}
	f.made(t, 10, 1)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { mustGet(t, f.client, Request{URL: f.URL + "/b"}) })
	}
	all.Wait()
	f.made(t, 15, 1)
}

// What costs processor time and brings no page ends soon, whatever the time-out.
func TestFloods(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		begin func(c *framedConn, stream uint32)
		more  func(c *framedConn, stream uint32)
		says  string
	}{
		{"empty DATA", func(c *framedConn, s uint32) { c.headers(s, false, ":status", "200") }, func(c *framedConn, s uint32) { _ = c.WriteData(s, false, nil) }, "processor time"},
		{"DATA of one byte", func(c *framedConn, s uint32) { c.headers(s, false, ":status", "200") }, func(c *framedConn, s uint32) { _ = c.WriteData(s, false, []byte("x")) }, "processor time"},
		{"empty CONTINUATION", func(c *framedConn, s uint32) {
			_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: []byte{0x88}})
		}, func(c *framedConn, s uint32) { _ = c.WriteContinuation(s, false, nil) }, "processor time"},
		{"interim answers", func(*framedConn, uint32) {}, func(c *framedConn, s uint32) { c.headers(s, false, ":status", "103") }, ""}, // net/http has a limit of its own
		{"SETTINGS", func(*framedConn, uint32) {}, func(c *framedConn, _ uint32) { _ = c.WriteSettings() }, "processor time"},
		{"PING", func(*framedConn, uint32) {}, func(c *framedConn, _ uint32) { _ = c.WritePing(false, [8]byte{}) }, "processor time"},
		{"WINDOW_UPDATE", func(*framedConn, uint32) {}, func(c *framedConn, _ uint32) { _ = c.WriteWindowUpdate(0, 1) }, ""}, // likewise
		{"unknown frames", func(*framedConn, uint32) {}, func(c *framedConn, s uint32) { _ = c.WriteRawFrame(0x77, 0, s, nil) }, "processor time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sent := make(chan int, 1)
			f := newFramed(t, noRobots(), func(c *framedConn, stream uint32, _ string) {
				if stream == 0 {
					return
				}
				out := &gathered{to: c.Conn}
				c.Framer = http2.NewFramer(out, c.Conn)
				go func() { _, _ = io.Copy(io.Discard, c.Conn) }() // what the client answers
				tt.begin(c, stream)
				for out.err == nil {
					tt.more(c, stream)
				}
				sent <- out.n
			})
			e := f.failure(t, "/a")
			if !strings.Contains(e.Error(), tt.says) || tt.says != "" && (!errors.Is(e, ErrFlood) || e.Class != yp.ClassParseError || e.Retryable()) {
				t.Errorf("%v", e)
			}
			if n := <-sent; n > 3*workAtOnce { // with what was in buffers
				t.Errorf("%d bytes were sent until the connection was closed", n)
			}
		})
	}
}

// gathered writes small pieces in larger ones, as a server in haste does.
type gathered struct {
	to  io.Writer
	buf []byte
	n   int
	err error
}

func (g *gathered) Write(b []byte) (int, error) {
	if g.buf = append(g.buf, b...); len(g.buf) > 16<<10 && g.err == nil {
		var n int
		n, g.err = g.to.Write(g.buf)
		g.n += n
		g.buf = g.buf[:0]
	}
	return len(b), g.err
}

// The same in HTTP/1: bytes one by one, and chunks of one byte.
func TestSingleBytes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ head, piece string }{
		"plain":  {"", "x"},
		"chunks": {"Transfer-Encoding: chunked\r\n", "1\r\nx\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := patiently(noRobots())
			cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe() // each write is a read
				go func() {
					_, err := http.ReadRequest(bufio.NewReader(server))
					if err == nil {
						_, err = io.WriteString(server, "HTTP/1.1 200 OK\r\n"+tt.head+"\r\n")
					}
					for err == nil {
						_, err = io.WriteString(server, tt.piece)
					}
				}()
				return client, nil
			}
			if e := mustFail(t, newClient(t, cfg), Request{URL: "http://www.example.com/"}); !errors.Is(e, ErrFlood) {
				t.Errorf("%v", e)
			}
		})
	}
}

// Pages that come in many small pieces, as some servers send them, are taken all the same.
func TestSmallPieces(t *testing.T) {
	t.Parallel()
	const piece = "<li>A row of 30 bytes.</li>\r\n"
	s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
		for range 20_000 {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	})
	for range 3 { // on one connection
		if got := len(s.page(t, "/a")); got != 20_000*len(piece) {
			t.Errorf("%d bytes", got)
		}
	}
}

// The total says what it was.
func TestTimeOutSays(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{IgnoreRobots: true, Timeout: 200 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		for tick := time.Tick(10 * time.Millisecond); ; {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick:
			case <-r.Context().Done():
				return
			}
		}
	})
	if e := s.failure(t, "/a"); e.Class != yp.ClassTimeout || !strings.Contains(e.Error(), "more than request_timeout, 200ms") {
		t.Errorf("%v", e)
	}
}

// A connection of HTTP/1 that the server resets when it is used again: one request, one row.
func TestStaleHTTP1(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	served := map[string]int{}
	asked := 0
	s := newSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served[r.RemoteAddr]++
		n := served[r.RemoteAddr]
		asked++
		mu.Unlock()
		if n%2 == 0 {
			reset(w)
			return
		}
		_, _ = io.WriteString(w, "page")
	})
	for i := range 2 * mostLost {
		if _, err := s.get(t, "/a"); (err != nil) != (i%2 == 1) || err != nil && !errors.Is(err, ErrStale) {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	for range 5 { // by now the server is known not to keep its connections
		s.page(t, "/a")
	}
	if seen := s.observed(); asked != len(seen) || asked != 2*mostLost+5 {
		t.Errorf("%d requests, %d observed", asked, len(seen))
	}
}

// reset ends a connection with RST.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
