package crawl_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// What sites say of when to come back, with other answers than 429 and in other headers than Retry-After.

// TestWaitsAreKept: whatever asks for a wait, no other run and no other process asks the site before its end.
func TestWaitsAreKept(t *testing.T) {
	for _, tt := range []struct {
		code  int
		field string
		why   string
	}{
		{500, "Retry-After: 3600", "Retry-After"},
		{502, "Retry-After: 3600", "Retry-After"},
		{504, "Retry-After: 3600", "Retry-After"},
		{520, "Retry-After: 3600", "Retry-After"},
		{400, "Retry-After: 3600", "Retry-After"},
		{402, "Retry-After: 3600", "Retry-After"},
		{403, "Retry-After: 3600", "Retry-After"},
		{418, "Retry-After: 3600", "Retry-After"},
		{429, "X-RateLimit-Reset: 3600", "429 with X-RateLimit-Reset"},
		{429, `RateLimit: "default";r=0;t=3600`, "429 with RateLimit"},
	} {
		inBubble(t, fmt.Sprint(tt.code, " ", tt.field), func(t *testing.T) {
			w := setupInBubble(t, layout{cities: 12})
			for n := range 12 {
				w.on(city(n), with(status(tt.code, shell("no")), tt.field, "X-RateLimit-Remaining: 0"))
			}
			p := w.peer()
			began := time.Now()
			for range 2 { // a restart lifts nothing
				w.isBlocked(w.crawl(w.engine()), store.SourceHeld, tt.why)
				p.isBlocked(p.crawl(p.engine()), store.SourceHeld, tt.why)
			}
			w.requested(target)
			w.counts("answers of before the time", 1, "SELECT count(*) FROM requests WHERE http_status = ?", tt.code)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			time.Sleep(time.Hour)
			for n := range 12 {
				w.on(city(n), ok(page("", shops(10*n+1, 3)...)))
			}
			w.done()
			w.counts("targets that are done", 12, "SELECT count(*) FROM targets WHERE status = 'DONE'")
		})
	}
}

// TestLimitSlows: a limit that is used up slows the host down as a 429 without Retry-After does, and a Retry-After does not.
func TestLimitSlows(t *testing.T) {
	for field, slowed := range map[string]int64{"Retry-After: 60": 0, "X-RateLimit-Reset: 60": 1, `RateLimit: "default";r=0;t=60`: 1, "RateLimit-Reset: 60": 1} {
		inBubble(t, field, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.on(target, inTurn(with(status(429, "slow down"), field, "X-RateLimit-Remaining: 0", "RateLimit-Remaining: 0"), ok(page("", shops(1, 3)...))))
			began := time.Now()
			w.done()
			took(t, began, time.Minute, 70*time.Second)
			w.is(1, yp.Done, 1, "")
			w.counts("hosts that are slowed down", slowed, "SELECT count(*) FROM hosts WHERE delay_ms > 0 AND floor_ms > 0")
		})
	}
}

// TestWaitsByProxies: what comes by a proxy rests that proxy, and the crawl goes on by another.
func TestWaitsByProxies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code   int
		scores string
	}{
		{503, "map[1:[1 0] 2:[1 0]]"},
		{500, "map[1:[1 0] 2:[1 0]]"},
		{403, "map[1:[0 1] 2:[1 0]]"},
		{451, "map[1:[1 0]]"},
	} {
		parallel(t, fmt.Sprint(tt.code), func(t *testing.T) {
			w := setup(t, layout{})
			w.on(target, inTurn(with(status(tt.code, shell("no")), "Retry-After: 600"), ok(page("", shops(1, 3)...))))
			var s scores
			began := time.Now()
			w.done(s.through(fetch.PolicyRequire, way(t, 1, newProxy(t, 0), 0), way(t, 2, newProxy(t, 0), 0)))
			if got := fmt.Sprint(s.sum); got != tt.scores {
				t.Errorf("scores %s", got)
			}
			if rest := s.last[1].CooldownUntil.Sub(began); rest < 10*time.Minute || rest > 11*time.Minute {
				t.Errorf("the first rests for %s", rest)
			}
			w.counts("hosts held", 0, "SELECT count(*) FROM hosts WHERE held_until IS NOT NULL")
		})
	}
	parallel(t, "of its own: the proxy rests so long, and the failure counts", func(t *testing.T) {
		w := setup(t, layout{})
		busy, works := newProxy(t, 503), newProxy(t, 0)
		busy.header, busy.wait = "X-Squid-Error: ERR_SHUTTING_DOWN 0", "600"
		var s scores
		began := time.Now()
		w.done(s.through(fetch.PolicyRequire, way(t, 1, busy, 0), way(t, 2, works, 0)), func(c *crawl.Config) { c.Patience = time.Second })
		if got := fmt.Sprint(s.sum); got != "map[1:[0 1] 2:[1 0]]" {
			t.Errorf("scores %s", got)
		}
		if rest := s.last[1].CooldownUntil.Sub(began); rest < 10*time.Minute || rest > 11*time.Minute {
			t.Errorf("it rests for %s", rest)
		}
	})
}
