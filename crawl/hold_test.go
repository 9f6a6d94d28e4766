package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// isBlocked holds the end of a run to a closed source.
func (w *world) isBlocked(err error, state store.SourceState, reason string) {
	w.t.Helper()
	var blocked *crawl.BlockedError
	if !errors.As(err, &blocked) || blocked.Availability.State != state || !strings.Contains(blocked.Availability.Reason, reason) {
		w.t.Errorf("the run ended with %v, want a source that is %s: %s", err, state, reason)
	}
}

// TestHold: a run waits for a host that is held for no longer than its patience, and
// ends for one that is held for longer.
func TestHold(t *testing.T) {
	good := ok(page("", shops(1, 3)...))
	for _, tt := range []struct {
		name     string
		seconds  string
		patience time.Duration
		took     time.Duration // until it is done; 0 = blocked
	}{
		{"is waited for within the default patience", "600", 0, 10 * time.Minute},
		{"ends a run that has less", "601", 0, 0},
		{"is waited for within the patience asked for", "3600", time.Hour, time.Hour},
		{"ends a run that has no patience", "6", time.Second, 0},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{cities: 2})
			w.on(target, inTurn(tooMany(tt.seconds), good))
			began := time.Now()
			err := w.crawl(w.engine(func(c *crawl.Config) { c.Patience = tt.patience }))
			if tt.took == 0 {
				w.isBlocked(err, store.SourceHeld, "Retry-After")
				w.requested(target)
				w.is(1, yp.Planned, 0, "")
				return
			}
			if took := time.Since(began); err != nil || took < tt.took || took > tt.took+5*time.Second {
				t.Errorf("it took %s and ended with %v, want %s", took, err, tt.took)
			}
			w.requested(target, target, city(1))
		})
	}
	inBubble(t, "too short to be written down is no reason to claim again and again", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.on(target, inTurn(tooMany("4"), good))
		w.done(func(c *crawl.Config) { c.Patience = time.Second })
		w.requested(target, target)
		if n := w.number("SELECT total_attempts FROM targets"); n > 6 {
			t.Errorf("%d attempts in 4 seconds", n)
		}
	})
	inBubble(t, "of a source with nothing to do ends no run", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.done()
		now := time.Now()
		w.write("INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (?, 'directory.test', ?, 'Retry-After', ?)",
			w.scope.SourceID, yp.FormatTime(now.Add(time.Hour)), yp.FormatTime(now))
		w.done()
	})
	inBubble(t, "that is over while another worker goes on is none", func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 3})
		busy := make(chan struct{})
		w.on(target, inTurn(func(rw http.ResponseWriter, r *http.Request) {
			<-busy
			tooMany("9")(rw, r)
		}, good))
		w.on(city(1), after(func() {
			close(busy)
			time.Sleep(15 * time.Second)
		}, ok(page("", shops(4, 3)...))))
		st := w.done(workers(2), func(c *crawl.Config) { c.Patience = 2 * time.Second })
		storetest.Equal(t, st.Done, 3, "targets done")
	})
}

// TestRobotsHold: a robots.txt that can't be had closes the source as a page would.
func TestRobotsHold(t *testing.T) {
	inBubble(t, "for long: nothing is claimed again and again", func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 3})
		w.rules = with(status(503, "later"), "Retry-After: 3600")
		began := time.Now()
		w.isBlocked(w.crawl(w.engine(workers(2))), store.SourceHeld, "")
		if n := w.number("SELECT sum(total_attempts) FROM targets"); n > 3 || time.Since(began) > time.Minute {
			t.Errorf("%d attempts in %s", n, time.Since(began))
		}
		w.requested()
		w.same("robots.txt", w.table(requestRow+"WHERE type = 'robots'"), []string{"http_5xx 503"})
		w.rules = nil
		w.on(target+"*", ok(page("", shops(1, 3)...)))
		w.isBlocked(w.crawl(w.engine()), store.SourceHeld, "") // a restart lifts nothing
		w.requested()
	})
	inBubble(t, "for a while: it is waited for", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.rules = inTurn(status(503, ""), status(503, ""), ok(""))
		began := time.Now()
		w.done()
		took(t, began, 15*time.Second, 40*time.Second) // 5 s, then 10 s
		w.requested(target)
	})
}

// TestHoldAfterSuspend: a machine that slept has a clock that jumped ahead; the fetcher
// counts the time that was awake. It is believed, and written down.
func TestHoldAfterSuspend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jump := time.Duration(0)
		w := setupInBubble(t, layout{now: func() time.Time { return time.Now().Add(jump) }})
		w.on(target, inTurn(tooMany("3600"), ok(page("", shops(1, 3)...))))
		var client crawl.Fetcher
		w.isBlocked(w.crawl(w.engine(func(c *crawl.Config) { client = c.Fetch })), store.SourceHeld, "Retry-After")
		jump = 2 * time.Hour
		w.isBlocked(w.crawl(w.engine(func(c *crawl.Config) { c.Fetch = client })), store.SourceHeld, "Retry-After")
		w.requested(target)
		w.counts("attempts", 2, "SELECT total_attempts FROM targets")
	})
}

// TestHoldOfAnother: what one process was told, another one heeds within seconds, also
// with a target in hand.
func TestHoldOfAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 2})
		told := make(chan time.Time, 1)
		w.on(target+"*", func(rw http.ResponseWriter, r *http.Request) {
			n := 1
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &n)
			ok(page(fmt.Sprintf("%s?page=%d", target, n+1), shops(10*n, 3)...))(rw, r)
		})
		w.on(city(1), after(func() {
			time.Sleep(10 * time.Second)
			told <- time.Now()
		}, tooMany("3600")))
		w.fetch.DelayMin = 2 * time.Second
		w.look = 2 * time.Second
		p := w.peer()
		long := w.begin(t.Context(), w.engine())
		time.Sleep(time.Second)
		p.isBlocked(p.crawl(p.engine()), store.SourceHeld, "Retry-After")
		w.isBlocked(w.wait(long), store.SourceHeld, "Retry-After")
		at := <-told
		if last := w.table("SELECT max(started_at) FROM requests WHERE target_id = 1")[0]; last > yp.FormatTime(at.Add(2*time.Second)) {
			t.Errorf("told to stop at %s, the other process still asked at %s", yp.FormatTime(at), last)
		}
		if r := w.row(1); r.Status != yp.Planned || r.Pages < 5 || r.Pages > 8 {
			t.Errorf("the long target: %+v", r)
		}
	})
}

// TestProbeWithNothingToAsk: a quarantined source is asked for a target's page or for
// nothing: what its homepage answers proves nothing.
func TestProbeWithNothingToAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{})
		now := time.Now()
		w.write("UPDATE targets SET wait_reason = 'backoff', not_before = ?", yp.FormatTime(now.Add(40*time.Minute)))
		w.write(`INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
			VALUES (?, 'quarantined', 'cf_challenge', ?, ?, ?)`, w.scope.SourceID, yp.FormatTime(now.Add(-time.Hour)), yp.FormatTime(now.Add(10*time.Minute)), yp.FormatTime(now))
		e := w.watching(time.Minute)
		w.untilDone(e, w.begin(t.Context(), e))
		w.requested(target, target)
		w.same("requests", w.table("SELECT type, outcome FROM requests WHERE type <> 'robots' ORDER BY id"), []string{"probe success", "listing success"})
		if first := w.table("SELECT min(started_at) FROM requests WHERE type = 'probe'")[0]; first < yp.FormatTime(now.Add(40*time.Minute)) {
			t.Errorf("it was probed at %s with nothing to ask for", first)
		}
	})
}
