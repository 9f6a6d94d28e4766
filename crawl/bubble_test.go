package crawl_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/crawl/fetch"
)

// A bubble has a clock of its own, which jumps ahead whenever everybody waits: a
// day of a crawl takes seconds. All of the engine lives in it but for the
// network, which is net.Pipe, and the file of the database, which is real.

// ages bounds what a broken engine may cost a test in a bubble.
const ages = 1000 * time.Hour

// unsafe spares a test in a bubble the waits for a disk, which no clock of its own
// makes shorter.
const unsafe = "OFF"

// seldom is how often engines in bubbles look whether there is something new: a query
// takes real time. What falls due is not late for it.
const seldom = 10 * time.Second

// bubble runs a test in one.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// inBubble is a subtest in one.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// pipes listens for in-memory connections.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "directory.test", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, fmt.Errorf("dial: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve runs a handler behind pipes until the test ends.
func (p *pipes) serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := &httptest.Server{Listener: p, Config: &http.Server{Handler: h}, EnableHTTP2: false}
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// took fails the test unless so much time has passed since then.
func took(t testing.TB, since time.Time, least, most time.Duration) {
	t.Helper()
	if d := time.Since(since); d < least || d > most {
		t.Errorf("it took %s, want %s to %s", d, least, most)
	}
}

// setupInBubble is setup in a bubble: the town is reached through pipes.
func setupInBubble(t testing.TB, l layout) *world {
	t.Helper()
	p := newPipes()
	d := &town{routes: map[string]http.HandlerFunc{}}
	d.Server = p.serve(t, http.HandlerFunc(d.serve))
	l.synchronous = unsafe
	w := newWorld(t, d, l)
	w.fetch, w.limit, w.look = fetch.Config{Dial: p.dial}, ages, seldom
	return w
}
