package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// patience is how long a test waits for an answer: less than a connection may be idle, or an answer may take.
const patience = 25 * time.Second

// dial opens a connection and sends a text; many such may be refused while they are opened.
func (b *served) dial(t *testing.T, send string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, send)
	return conn
}

func (b *served) request(path string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, strings.TrimPrefix(b.url, "http://"))
}

// quick asks for a path on a connection of its own, and wants a good answer before a silent connection would end by itself.
func (b *served) quick(t *testing.T, path string) {
	t.Helper()
	began := time.Now()
	conn := b.dial(t, b.request(path))
	defer conn.Close()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%s: %v after %s", path, err, time.Since(began))
		return
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("%s: %d, %d bytes, %v, after %s", path, answer.StatusCode, len(body), err, time.Since(began))
	}
}

// TestIdleGiveWay: whoever only holds connections, or takes no answers, shuts nobody out; a request under way is not cut off by that, and
// neither is an event stream.
func TestIdleGiveWay(t *testing.T) {
	t.Parallel()
	data := serve(t, Config{})
	for name, c := range map[string]struct {
		n      int
		send   func(b *served, i int) string
		answer bool // it reads one answer, and stays
	}{
		"300 silent":            {300, func(*served, int) string { return "" }, false},
		"300 idle":              {300, func(b *served, _ int) string { return b.request("/healthz") }, true},
		"1,000 silent":          {1000, func(*served, int) string { return "" }, false},
		"1,000 idle":            {1000, func(b *served, _ int) string { return b.request("/static/page.css") }, true},
		"2,500 silent":          {2500, func(*served, int) string { return "" }, false},
		"300 half a head":       {300, func(*served, int) string { return "GET / HTTP/1.1\r\nHo" }, false},
		"1,000 half a head":     {1000, func(*served, int) string { return "GET / HTTP/1.1\r\nHo" }, false},
		"300 that never read":   {300, func(b *served, _ int) string { return strings.Repeat(b.request("/healthz"), 2000) }, false},
		"1,000 that never read": {1000, func(b *served, _ int) string { return strings.Repeat(b.request("/static/page.css"), 40) }, false},
		"300 pages": {300, func(b *served, i int) string {
			return strings.Repeat(b.request([]string{"/", "/queue?rows=1000", "/states", "/listings"}[i%4]), 40)
		}, false},
		"100 pages": {100, func(b *served, i int) string { return strings.Repeat(b.request("/"), 200) }, false},
	} {
		if testing.Short() { // the race detector looks for races, in each way of holding a connection once
			if c.n > 300 {
				continue
			}
			c.n = maxAnswers / 4 // so many pages it reads before anybody has waited too long
		}
		t.Run(name, func(t *testing.T) {
			slow, begun := make(chan struct{}), make(chan struct{})
			b := data.beside(t, map[string]http.Handler{
				"/healthz": says("ok\n"),
				"/slow": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					close(begun)
					<-slow
					_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
				}),
			})
			underWay := b.dial(t, b.request("/slow"))
			<-begun
			stream, _ := b.stream(t, "/")
			next(t, stream, "part")

			for i := range c.n {
				conn := b.dial(t, "")
				go func() {
					_, _ = io.WriteString(conn, c.send(b, i)) // some of it is never taken
				}()
				if c.answer {
					answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil {
						t.Fatalf("connection %d: %v", i, err)
					}
					_, _ = io.Copy(io.Discard, answer.Body)
				}
			}
			for range 3 {
				b.quick(t, "/healthz")
				b.quick(t, "/static/page.js")
				b.quick(t, "/")
			}
			close(slow)
			answer, err := http.ReadResponse(bufio.NewReader(underWay), nil)
			storetest.NoError(t, err)
			if body, err := io.ReadAll(answer.Body); err != nil || len(body) != 100_000 {
				t.Errorf("the request that was under way was cut off after %d bytes: %v", len(body), err)
			}
			next(t, stream, "beat")
		})
	}
}

// beside is another server of the same file, on which a connection may be silent for longer than a test waits for an answer.
func (b *served) beside(t *testing.T, plain map[string]http.Handler) *served {
	t.Helper()
	cfg := b.cfg
	cfg.Plain, cfg.Every = plain, 50*time.Millisecond
	other := &served{Server: New(cfg), Keeper: b.Keeper, run: b.run, done: make(chan error, 1)}
	other.headTime, other.conns.room, other.beatEvery = time.Hour, patience, 100*time.Millisecond
	other.listen(t)
	return other
}

// TestGivesWay: in which order connections go, and which never do.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	type is struct {
		name  string
		state http.ConnState
		age   time.Duration
	}
	for name, c := range map[string]struct {
		fill  is // of as many as there may be idle
		n     int
		other []is
		want  string // "" = none
	}{
		"all under way":                             {is{"", http.StateActive, time.Hour}, maxIdle, nil, ""},
		"all under way, too many":                   {is{"", http.StateActive, time.Hour}, maxConns + 1, nil, ""},
		"silent before idle":                        {is{"", http.StateActive, 0}, maxIdle, []is{{"a", http.StateIdle, time.Hour}, {"b", http.StateNew, time.Minute}, {"c", http.StateNew, time.Hour}}, "c"},
		"idle for longest":                          {is{"", http.StateActive, 0}, maxIdle, []is{{"a", http.StateIdle, time.Minute}, {"b", http.StateIdle, time.Hour}, {"c", http.StateIdle, 0}}, "b"},
		"one just opened may ask":                   {is{"", http.StateActive, 0}, maxIdle, []is{{"a", http.StateNew, freshTime / 2}}, ""},
		"also when it is the only one":              {is{"", http.StateActive, 0}, maxIdle, []is{{"a", http.StateNew, freshTime / 2}, {"b", http.StateIdle, 0}}, "b"},
		"unless there are too many, then it does":   {is{"", http.StateActive, 0}, maxConns, []is{{"a", http.StateNew, freshTime / 2}, {"b", http.StateNew, freshTime / 3}}, "a"},
		"many just opened, and one of them is idle": {is{"", http.StateNew, freshTime / 2}, maxConns, []is{{"a", http.StateIdle, 0}}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &conns{open: map[net.Conn]standing{}, views: make(chan struct{}, maxAnswers)}
			names := map[net.Conn]string{}
			for i := range c.n + len(c.other) {
				x := c.fill
				if i >= c.n {
					x = c.other[i-c.n]
				}
				conn := &net.TCPConn{}
				k.open[conn], names[conn] = standing{x.state, now.Add(-x.age)}, x.name
			}
			if gone := k.longestIdle(now); (gone != nil) != (c.want != "") || gone != nil && names[gone] != c.want {
				t.Errorf("%q goes (any: %v), want %q", names[gone], gone != nil, c.want)
			}
		})
	}
}

// TestShared: who asks for the same while it waits to be read gets the same, read after all have asked; whoever leaves takes nothing
// from the others, and too many are refused at once.
func TestShared(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	held, goOn := make(chan struct{}, readAtOnce), make(chan struct{})
	b := serve(t, Config{}, func(s *Server) {
		s.conns.room = 50 * time.Millisecond // nobody waits but the one who is refused
		s.only("/held", "bars", func(context.Context) (any, error) {
			held <- struct{}{}
			<-goOn
			return []bar{}, nil
		})
		s.only("/counted", "bars", func(context.Context) (any, error) {
			reads.Add(1)
			return []bar{{Name: "It was read", Known: true}}, nil
		})
	})
	for i := range readAtOnce { // nothing else is read meanwhile
		b.dial(t, b.request(fmt.Sprintf("/held?q=%d", i)))
		<-held
	}
	asked := func(want int) {
		t.Helper()
		for n := -1; n != want; time.Sleep(time.Millisecond) {
			n = len(b.conns.views)
		}
	}
	left := b.dial(t, b.request("/counted"))
	asked(readAtOnce + 1)
	second := b.dial(t, b.request("/counted"))
	asked(readAtOnce + 2)
	_ = left.Close()
	asked(readAtOnce + 1)
	all := []net.Conn{second}
	for range maxAnswers - readAtOnce - 1 {
		all = append(all, b.dial(t, b.request("/counted")))
	}
	asked(maxAnswers)
	if answer, text := b.ask(t, http.MethodGet, "/states", nil, ""); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "The page is busy.") {
		t.Errorf("one more is answered %d: %s", answer.StatusCode, text)
	}
	close(goOn)
	for _, conn := range all {
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		storetest.NoError(t, err)
		if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "It was read") {
			t.Fatalf("%d, %v: %s", answer.StatusCode, err, text)
		}
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("it was read %d times", n)
	}
}

// TestRequestsOfAConnection: nobody has a connection for ever by asking again and again.
func TestRequestsOfAConnection(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	conn := b.dial(t, strings.Repeat(b.request("/static/page.css"), 2*perConn))
	answers := 0
	for r := bufio.NewReader(conn); ; answers++ {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			break
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			break
		}
	}
	if answers != perConn {
		t.Errorf("%d answers, want %d", answers, perConn)
	}
}
