package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// TestConnectionsGiveWay: connections on which nobody asks for anything do not shut others out, and
// those that are busy do not shut out monitoring.
func TestConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	health := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "well") })
	open := func(t *testing.T, b *served, send string) net.Conn {
		t.Helper()
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
		storetest.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		storetest.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = io.WriteString(conn, send)
		storetest.NoError(t, err)
		return conn
	}
	ask := func(b *served, path string) string {
		return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, strings.TrimPrefix(b.url, "http://"))
	}
	status := func(t *testing.T, b *served, path string) int {
		t.Helper()
		conn := open(t, b, ask(b, path))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		storetest.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		storetest.NoError(t, err)
		return answer.StatusCode
	}
	t.Run("idle ones", func(t *testing.T) {
		t.Parallel()
		b := serve(t, Config{Plain: map[string]http.Handler{"/healthz": health}})
		for range maxConns + 2*keptConns {
			if got := status(t, b, "/static/page.css"); got != http.StatusOK { // its connection stays open, and idle
				t.Fatalf("answered %d", got)
			}
		}
		for _, path := range []string{"/", "/healthz"} {
			if got := status(t, b, path); got != http.StatusOK {
				t.Errorf("%s answered %d", path, got)
			}
		}
	})
	t.Run("busy ones", func(t *testing.T) {
		t.Parallel()
		begun := make(chan struct{})
		slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-r.Context().Done()
		})
		b := serve(t, Config{Plain: map[string]http.Handler{"/healthz": health, "/slow": slow}})
		for range maxConns {
			open(t, b, ask(b, "/slow"))
			<-begun
		}
		if got := status(t, b, "/healthz"); got != http.StatusOK {
			t.Errorf("monitoring was answered %d", got)
		}
		if got := status(t, b, "/"); got != http.StatusServiceUnavailable {
			t.Errorf("the page answered %d", got)
		}
	})
}
