package health

import (
	"math"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

func TestNextDelay(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	failing, fine := Window{20, 5, 0}, Window{20, 0, 0}
	for _, c := range []struct {
		name                      string
		current, configured, want time.Duration
		w                         Window
		reason                    string
	}{
		{"too few requests", 2 * s, 2 * s, 2 * s, Window{9, 9, 9}, ""},
		{"10 requests will do to slow down", 2 * s, 2 * s, 4 * s, Window{10, 3, 0}, "slowed down: 3 of the last 10 requests failed"},
		{"20 % failed", 2 * s, 2 * s, 2 * s, Window{20, 4, 0}, ""},
		{"more than 20 % failed", 2 * s, 2 * s, 4 * s, Window{20, 5, 0}, "slowed down: 5 of the last 20 requests failed"},
		{"more than 5 % challenged", 2 * s, 2 * s, 4 * s, Window{20, 2, 2}, "slowed down: 2 of the last 20 requests were challenged"},
		{"1 of 10 challenged", 2 * s, 2 * s, 4 * s, Window{10, 1, 1}, "slowed down: 1 of the last 10 requests were challenged"},
		{"up to 60 s", 50 * s, 2 * s, 60 * s, failing, "slowed down: 5 of the last 20 requests failed"},
		{"no further", 60 * s, 2 * s, 60 * s, failing, ""},
		{"configured beyond 60 s", 90 * s, 90 * s, 90 * s, failing, ""},
		{"below the configured delay, which was raised", 1 * s, 4 * s, 8 * s, failing, "slowed down: 5 of the last 20 requests failed"},
		{"from no delay", 0, 0, 500 * ms, failing, "slowed down: 5 of the last 20 requests failed"},
		{"95 % well", 8 * s, 2 * s, 8 * s, Window{20, 1, 0}, ""},
		{"19 requests do not make it faster", 8 * s, 2 * s, 8 * s, Window{19, 0, 0}, ""},
		{"more than 95 % well", 8 * s, 2 * s, 4 * s, fine, "speeding up: 20 of the last 20 requests succeeded"},
		{"down to the configured delay", 2500 * ms, 2 * s, 2 * s, fine, ""},
		{"not below it", 2 * s, 2 * s, 2 * s, fine, ""},
		{"back to none", 19 * ms, 0, 0, fine, ""},
		{"not at once", 500 * ms, 0, 250 * ms, fine, "speeding up: 20 of the last 20 requests succeeded"},
		{"10 ms are kept", 20 * ms, 0, 10 * ms, fine, "speeding up: 20 of the last 20 requests succeeded"},
		{"down to a floor", s, 750 * ms, 750 * ms, fine, ""},
		{"nearly back to none", s, 0, 500 * ms, fine, "speeding up: 20 of the last 20 requests succeeded"},
	} {
		next, reason := NextDelay(c.current, c.configured, c.w)
		if next != c.want || reason != c.reason {
			t.Errorf("%s: %s %q, want %s %q", c.name, next, reason, c.want, c.reason)
		}
	}
}

// TestPenalty: the row of penalties itself is in TestObservedPenalties.
func TestPenalty(t *testing.T) {
	for n, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 0, 8: 30 * time.Minute, 100: MaxPenalty, math.MaxInt: MaxPenalty} {
		storetest.Equal(t, Penalty(n), want, "block", n)
	}
}

var _ fetch.Turns = (*Monitor)(nil)

const storedTurns = `SELECT host, substr(next_at, 12, 12), gap_ms FROM host_turns`

func take(t *testing.T, m *Monitor, host string, gap, want time.Duration) {
	t.Helper()
	wait, err := m.Take(t.Context(), host, gap)
	ok(t, err)
	storetest.Equal(t, wait, want, "wait", host)
}

// TestTake: of two processes on one file, one has the turn and the other waits for it,
// whatever delay each keeps.
func TestTake(t *testing.T) {
	t.Parallel()
	w := setup(t)
	one, two := w.Monitor, w.open(t)
	const gap, all = 2 * time.Second, 2*time.Second + turnSlack
	take(t, one, "a", gap, 0)
	wantRows(t, w.db, storedTurns, "a|12:00:02.020|2020")
	take(t, one, "a", gap, all)
	take(t, two, "a", gap, all)
	take(t, two, "b", gap, 0) // another host
	w.clock.Move(all - time.Millisecond)
	take(t, two, "a", time.Minute, time.Millisecond)
	w.clock.Move(time.Millisecond)
	take(t, two, "a", time.Minute, 0)
	take(t, one, "a", gap, time.Minute+turnSlack)
	w.clock.Move(time.Hour)
	take(t, one, "a", gap, 0)
	t.Run("a process that dies leaves no more than its own turn behind", func(t *testing.T) {
		for range 10 {
			w.restart(t)
			take(t, w.Monitor, "a", gap, all)
		}
	})
	t.Run("a fraction of a millisecond is kept, too", func(t *testing.T) {
		take(t, two, "c", gap+1, 0)
		take(t, two, "c", gap, all+time.Millisecond)
	})
}

func TestTakeAndTheClock(t *testing.T) {
	t.Parallel()
	const gap, all = 2 * time.Second, 2*time.Second + turnSlack
	for _, jump := range []time.Duration{-time.Second, -time.Minute, -365 * 24 * time.Hour} {
		inWorld(t, "set back by "+(-jump).String(), func(t *testing.T, w *world) {
			take(t, w.Monitor, "a", gap, 0)
			w.clock.Move(jump)
			take(t, w.Monitor, "a", time.Minute, all) // no longer than the delay in force
			w.clock.Move(all)
			take(t, w.Monitor, "a", gap, 0)
		})
	}
	inWorld(t, "a year ahead and back", func(t *testing.T, w *world) {
		w.clock.Move(365 * 24 * time.Hour)
		take(t, w.Monitor, "a", gap, 0)
		w.clock.Move(-365 * 24 * time.Hour)
		take(t, w.Monitor, "a", gap, all)
		w.clock.Move(all)
		take(t, w.Monitor, "a", gap, 0)
	})
}

// TestTakeIsSlow: a turn that took long to write down begins when it is written.
func TestTakeIsSlow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const gap = 2 * time.Second
	commit := time.Duration(0)
	db, err := store.Open(t.Context(), store.Config{
		Path: w.path, MustExist: true, Now: w.clock.Now, BeforeCommit: func() { w.clock.Move(commit) },
	})
	ok(t, err)
	defer db.Close()
	for _, commit = range []time.Duration{turnSlack, turnSlack + time.Millisecond, 300 * time.Millisecond, gap} {
		w.clock.Move(time.Hour)
		take(t, New(db), "a", gap, 0)
		began := w.clock.Now()
		commit = 0
		wait, err := w.Take(t.Context(), "a", gap)
		ok(t, err)
		if wait < gap || wait > 2*gap {
			t.Errorf("%s after the turn began, %s are left of it", w.clock.Now().Sub(began), wait)
		}
	}
}

func TestTakeFromABusyFile(t *testing.T) {
	t.Parallel()
	w := setup(t)
	db := storetest.OpenConfig(t, store.Config{Path: w.path, MustExist: true, BusyTimeout: time.Millisecond})
	ok(t, w.db.Write(t.Context(), func(*store.Tx) error {
		take(t, New(db), "a", time.Second, turnBusy)
		return nil
	}))
	take(t, New(db), "a", time.Second, 0)
}

// TestTakeTogether: of many who ask at once one is let through.
func TestTakeTogether(t *testing.T) {
	t.Parallel()
	w := setup(t)
	all := []*Monitor{w.Monitor, w.open(t), w.open(t)}
	for range 5 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for _, m := range all {
			for range 4 {
				wg.Go(func() {
					wait, err := m.Take(t.Context(), "a", time.Second)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if wait == 0 {
						taken++
					}
				})
			}
		}
		wg.Wait()
		storetest.Equal(t, taken, 1, "turns were taken")
		w.clock.Move(2 * time.Second)
	}
}
