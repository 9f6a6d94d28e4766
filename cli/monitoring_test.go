package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// TestMonitoringAddresses: what monitoring asks is answered at the page's address, to who passes
// its guard.
func TestMonitoringAddresses(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	storetest.NoError(t, err)
	g := &page{listener: l, db: "te\"xas.db", logs: t.TempDir(), log: zerolog.Nop()}
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { done <- g.serve(ctx, &database{checkpoint.New(db), report.New(db)}, store.Scope{}, false) }()
	ask := func(method, path, host string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, nil)
		storetest.NoError(t, err)
		if r.Close = true; host != "" {
			r.Host = host
		}
		answer, err := http.DefaultClient.Do(r)
		storetest.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		storetest.NoError(t, err)
		return answer, string(body)
	}
	if answer, body := ask(http.MethodGet, "/healthz", ""); answer.StatusCode != 200 || body != "ok\n" {
		t.Errorf("/healthz: %s, %q", answer.Status, body)
	}
	if answer, body := ask(http.MethodGet, "/metrics", ""); answer.StatusCode != 200 || !strings.Contains(body, `ypcrawl_listings{db="te\"xas.db",state="alive"} 0`) {
		t.Errorf("/metrics: %s, %s", answer.Status, body)
	}
	answer, body := ask(http.MethodGet, "/status.json", "")
	var m report.Measures
	if err := json.Unmarshal([]byte(body), &m); err != nil || answer.Header.Get("Cache-Control") != "no-store" || m.Now.IsZero() {
		t.Errorf("/status.json: %v, %s", err, body)
	}
	for _, path := range []string{"/healthz", "/metrics", "/status.json"} {
		if answer, _ := ask(http.MethodGet, path, "evil.example"); answer.StatusCode/100 != 4 {
			t.Errorf("%s by another name: %s, want it refused", path, answer.Status)
		}
		if answer, _ := ask(http.MethodPost, path, ""); answer.StatusCode/100 != 4 {
			t.Errorf("POST %s: %s, want it refused", path, answer.Status)
		}
		if answer, body := ask(http.MethodHead, path, ""); answer.StatusCode != 200 || body != "" {
			t.Errorf("HEAD %s: %s, %q", path, answer.Status, body)
		}
	}
	stop()
	storetest.NoError(t, <-done)
}
