package start

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// scored is a database with two proxies, and a pool of them whose reports are
// gathered.
type scored struct {
	uses
	db      *store.DB
	monitor *health.Monitor
	pool    *fetch.Pool
	egress  Egress
}

func newScored(t *testing.T) *scored {
	t.Helper()
	s := &scored{db: storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: "OFF"}), egress: Egress{Policy: fetch.PolicyRequire}}
	s.monitor = health.New(s.db)
	for _, text := range []string{"http://a:1", "http://b:1"} {
		u, name, err := fetch.ParseProxy(text)
		if err != nil {
			t.Fatal(err)
		}
		s.egress.Proxies = append(s.egress.Proxies, fetch.Proxy{URL: u, Name: name})
	}
	client := fetch.New(fetch.Config{})
	t.Cleanup(client.Close)
	var err error
	if s.pool, err = s.egress.pool(t.Context(), s.monitor, client, &s.uses); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestIdentitiesAreSpread: not every run begins with the same of the twelve.
func TestIdentitiesAreSpread(t *testing.T) {
	t.Parallel()
	client := fetch.New(fetch.Config{})
	t.Cleanup(client.Close)
	first := map[string]bool{}
	for range 60 {
		pool, err := Egress{Policy: fetch.PolicyOff, Browser: true}.pool(t.Context(), nil, client, &uses{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i := range 12 {
			s, err := pool.Keep(nil)
			if err != nil {
				t.Fatal(err)
			}
			if seen[s.Identity()] = true; i == 0 {
				first[s.Identity()] = true
			}
			s.Close()
		}
		if len(seen) != 12 {
			t.Errorf("%d identities in twelve sessions", len(seen))
		}
	}
	if len(first) < 6 {
		t.Errorf("sixty runs begin with %v", first)
	}
}

// is compares successes, failures and failures in a row of the proxies, as they are stored.
func (s *scored) is(t *testing.T, want ...string) {
	t.Helper()
	if got := storetest.Table(t, s.db, `SELECT successes, failures, consecutive_failures FROM proxies ORDER BY id`); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func (s *scored) take(t *testing.T) *fetch.Session {
	t.Helper()
	way, err := s.pool.Keep(nil)
	if err != nil {
		t.Fatal(err)
	}
	return way
}

var errDead = context.DeadlineExceeded

// TestRefresh: what an operator does to a proxy reaches the run.
func TestRefresh(t *testing.T) {
	t.Parallel()
	s := newScored(t)
	a := s.take(t)
	s.pool.Report(a, nil)
	if _, err := s.monitor.SetProxyEnabled(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.monitor.AddProxy(t.Context(), "http://c:1", "http://c:1"); err != nil {
		t.Fatal(err)
	}
	if err := s.refresh(t.Context(), s.monitor, []*fetch.Pool{s.pool}, s.egress); err != nil {
		t.Fatal(err)
	}
	s.is(t, "1|0|0", "0|0|0", "0|0|0")
	if fresh, err := s.pool.Keep(a); err != nil || fresh.Proxy() == "http://a:1" {
		t.Errorf("kept %v, %v", fresh, err)
	}
	if s.pool.Active() != 2 {
		t.Errorf("%d active", s.pool.Active())
	}
	if err := s.refresh(t.Context(), s.monitor, nil, s.egress); err != nil {
		t.Errorf("without a pool: %v", err)
	}
}

// TestFlushWritesNothing when there is nothing, and once what there is.
func TestFlushWritesNothing(t *testing.T) {
	t.Parallel()
	s := newScored(t)
	s.pool.Report(s.take(t), errDead)
	for range 2 {
		if err := s.flush(t.Context(), s.monitor); err != nil {
			t.Fatal(err)
		}
	}
	s.is(t, "0|1|1", "0|0|0")
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(t.Context(), s.monitor); err != nil { // a write would fail
		t.Errorf("wrote: %v", err)
	}
}

// TestFlushKeepsWhatFails: a database that is busy costs no score.
func TestFlushKeepsWhatFails(t *testing.T) {
	t.Parallel()
	s := newScored(t)
	a := s.take(t)
	s.pool.Report(a, errDead)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.flush(ended, s.monitor); err == nil {
		t.Fatal("written")
	}
	s.pool.Report(s.take(t), nil)
	s.pool.Report(a, errDead)
	if err := s.flush(t.Context(), s.monitor); err != nil {
		t.Fatal(err)
	}
	s.is(t, "0|2|2", "1|0|0")
}
