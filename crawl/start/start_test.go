package start

import (
	"errors"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at is the demo source at a host.
func at(t *testing.T, host string, delay time.Duration) Source {
	t.Helper()
	src, err := site.Builtin("demo")
	storetest.NoError(t, err)
	return Source{Source: src.WithBaseURL(&url.URL{Scheme: "http", Host: host}), DelayMin: delay, DelayMax: 2 * delay}
}

func testConfig(t *testing.T, sources ...Source) Config {
	t.Helper()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: "OFF"})
	return Config{Engine: crawl.Config{Monitor: health.New(db)}, Sources: sources, PerHost: 1, Egress: Egress{Policy: fetch.PolicyOff}}
}

// TestClients: sources at one host share a client and its pool, with the longest of their delays; others have their own.
func TestClients(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, at(t, "a.example", time.Second), at(t, "b.example", 2*time.Second), at(t, "a.example", 3*time.Second))
	cfg.Egress.Browser = true // which needs a pool
	c, err := New(t.Context(), cfg)
	storetest.NoError(t, err)
	defer c.Close()
	if len(c.Clients) != 3 || c.Clients[0] != c.Clients[2] || c.Clients[0] == c.Clients[1] {
		t.Errorf("clients: %v", c.Clients)
	}
	if len(c.pools) != 3 || c.pools[0] == nil || c.pools[0] != c.pools[2] || c.pools[0] == c.pools[1] {
		t.Errorf("pools: %v", c.pools)
	}
	for host, want := range map[string][2]time.Duration{"a.example": {3 * time.Second, 6 * time.Second}, "b.example": {2 * time.Second, 4 * time.Second}} {
		if got := c.fetchConfig(host, nil); got.DelayMin != want[0] || got.DelayMax != want[1] {
			t.Errorf("%s: %s to %s between two requests, want %v", host, got.DelayMin, got.DelayMax, want)
		}
	}
	if got := len(c.Results()); got != 3 {
		t.Errorf("%d sources", got)
	}
}

// TestNoProxy: where proxies are required, and none can be used, there is no crawl.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, at(t, "a.example", 0))
	cfg.Egress.Policy = fetch.PolicyRequire
	c, err := New(t.Context(), cfg)
	if none := new(NoProxyError); c != nil || !errors.As(err, &none) || none.Known != 0 {
		t.Errorf("got %v, %v", c, err)
	}
}
