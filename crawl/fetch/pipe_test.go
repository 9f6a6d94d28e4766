package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/store/storetest"
)

// pipeSite is a web server without a network, for tests in a synctest bubble:
// its clock is the bubble's.
type pipeSite struct {
	client *Client
	start  time.Time

	mu   sync.Mutex
	hits []string // "1m30s /path"
}

// pipes listens for in-memory connections.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func newPipeSite(t *testing.T, cfg Config, h http.HandlerFunc) *pipeSite {
	t.Helper()
	p := pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &pipeSite{start: time.Now()}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits = append(s.hits, fmt.Sprintf("%s %s", time.Since(s.start).Round(time.Millisecond), r.URL.Path))
		s.mu.Unlock()
		h(w, r)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(p)
	}()
	cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		client, conn := net.Pipe()
		select {
		case p.conns <- conn:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.client = New(cfg)
	t.Cleanup(func() {
		s.client.Close()
		_ = server.Close()
		<-served
	})
	return s
}

func (s *pipeSite) get(ctx context.Context, path string) error {
	r, err := s.client.Get(ctx, Request{URL: "http://acme.com" + path})
	r.Release()
	return err
}

func (s *pipeSite) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	storetest.Diff(t, s.hits, want, "requests")
}

// bubble runs a test with a clock of its own, beside others.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// inBubble is a subtest with a clock of its own, beside others.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, test) })
}

// atOnce runs f n times together and waits for all.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
