package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// A hold is kept to its last millisecond, whoever looks at the stored one meanwhile:
// the gaps between the requests that a server gets are measured.

// moments notes when a server was asked for a page, and answers in turn.
type moments struct {
	mu  sync.Mutex
	at  []time.Time
	end http.HandlerFunc // after the others, again and again
}

func (m *moments) answers(handlers ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		n := len(m.at)
		m.at = append(m.at, time.Now())
		m.mu.Unlock()
		if n < len(handlers) {
			handlers[n](w, r)
			return
		}
		m.end(w, r)
	}
}

// gaps checks that so much time, or a little more, passed between the first requests.
func (m *moments) gaps(t *testing.T, more time.Duration, want ...time.Duration) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.at) < len(want)+1 {
		t.Fatalf("%d requests, want %d", len(m.at), len(want)+1)
	}
	for i := range want {
		if gap := m.at[i+1].Sub(m.at[i]); gap < want[i] || gap > want[i]+more {
			t.Errorf("gap %d is %s, want %s", i+1, gap, want[i])
		}
	}
}

// fine is a clock with parts below a millisecond, which no stored time has.
func fine() time.Time { return time.Now().Add(123456 * time.Nanosecond) }

func repeat(n int, h http.HandlerFunc) []http.HandlerFunc {
	return slices.Repeat([]http.HandlerFunc{h}, n)
}

// TestHoldIsKept has a minute of waits in each case, in a bubble.
func TestHoldIsKept(t *testing.T) {
	t.Parallel()
	refuse := status(http.StatusForbidden, "no")
	for _, tt := range []struct {
		name    string
		cities  int
		answers []http.HandlerFunc
		want    []time.Duration
	}{
		{"Retry-After of 3 s", 1, repeat(3, tooMany("3")), []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}},
		{"Retry-After of a minute", 1, repeat(3, tooMany("60")), []time.Duration{time.Minute, time.Minute, time.Minute}},
		{"a date", 1, repeat(2, inDate(20*time.Second)), []time.Duration{20 * time.Second, 20 * time.Second}},
		{"penalties of 403, doubled", 5, repeat(4, refuse), []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute}},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{cities: tt.cities, now: fine})
			w.look = 0 // as in a run: the stored holds are read every two seconds
			m := &moments{end: ok(page("", shops(1, 3)...))}
			for i := range tt.cities {
				w.on(city(i), m.answers(tt.answers...))
			}
			err := w.crawl(w.engine())
			if err != nil && !errors.As(err, new(*crawl.BlockedError)) {
				t.Error(err)
			}
			m.gaps(t, 1500*time.Millisecond, tt.want...)
		})
	}
}

// TestClockIsSetBack: a hold that was taken while the clock was a year ahead lasts as long
// as it was to last, for the run that took it and for the next one.
func TestClockIsSetBack(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	setup := func(t *testing.T) (w *world, m *moments, ahead *atomic.Int64) {
		ahead = &atomic.Int64{}
		ahead.Store(int64(year))
		w = setupInBubble(t, layout{cities: 2, now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		w.look = 0
		m = &moments{end: ok(page("", shops(1, 3)...))}
		for i := range 2 {
			w.on(city(i), m.answers(tooMany("60")))
		}
		return w, m, ahead
	}
	inBubble(t, "within a run", func(t *testing.T) {
		w, m, ahead := setup(t)
		done := w.begin(t.Context(), w.engine())
		time.Sleep(10 * time.Second)
		ahead.Store(0)
		storetest.NoError(t, w.wait(done))
		m.gaps(t, 15*time.Second, time.Minute, 0)
	})
	inBubble(t, "between runs", func(t *testing.T) {
		w, m, ahead := setup(t)
		w.isBlocked(w.crawl(w.engine(func(c *crawl.Config) { c.Patience = time.Second })), store.SourceHeld, "Retry-After")
		ahead.Store(0)
		w.done()
		m.gaps(t, 5*time.Second, time.Minute, 0)
	})
}

// brokenTurns are turns in a database that can't be written any more.
type brokenTurns struct{}

func (brokenTurns) Take(context.Context, string, time.Duration) (time.Duration, error) {
	return 0, fmt.Errorf("write: %w", store.ErrDiskFull)
}

// TestNoTurnNoRequest: a run whose turns can't be written down ends, and asks for nothing.
func TestNoTurnNoRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 3})
		w.fetch.Turns, w.fetch.DelayMin = brokenTurns{}, time.Second
		endedBy(t, w.crawl(w.engine()), store.ErrDiskFull)
		w.requested()
		if n := w.number("SELECT sum(consecutive_failures) FROM targets"); n > 0 {
			t.Errorf("%d failures are the targets'", n)
		}
	})
}
