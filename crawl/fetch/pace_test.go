package fetch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/store/storetest"
)

func limiterOf(cfg Config) *hostLimiter {
	return newPacer(cfg.withDefaults()).host("acme.com")
}

// enterAt takes a turn and tells when it began, counted from start.
func enterAt(t *testing.T, ts *hostLimiter, start time.Time) time.Duration {
	t.Helper()
	_, err := ts.enter(t.Context(), 0)
	noErr(t, err)
	return time.Since(start)
}

// startsAt takes a turn that must begin then, counted from start.
func startsAt(t *testing.T, ts *hostLimiter, start time.Time, want time.Duration) {
	t.Helper()
	storetest.Equal(t, enterAt(t, ts, start), want, "started at")
}

// wait is for how long somebody waits, and for what.
type wait struct {
	long time.Duration
	why  string
}

func waitOf(long time.Duration, why string) wait { return wait{long, why} }

func wantWait(t *testing.T, got, want wait) {
	t.Helper()
	storetest.Equal(t, got, want, "waits")
}

// counts tells how many wait and how many are in flight.
func (l *hostLimiter) counts() (queued, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue), l.inFlight
}

// The delay is between starts: a slow answer counts as waiting.
func TestStarts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		delay time.Duration
		takes time.Duration // a request
		want  []time.Duration
	}{
		{"2 s", 2 * time.Second, 0, []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second}},
		{"2 s, slow answers", 2 * time.Second, 3 * time.Second, []time.Duration{0, 3 * time.Second, 6 * time.Second}},
		{"no delay", 0, 0, make([]time.Duration, 100)},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			ts := limiterOf(Config{DelayMin: tt.delay})
			start := time.Now()
			for i, want := range tt.want {
				storetest.Equal(t, enterAt(t, ts, start), want, "start at", i)
				time.Sleep(tt.takes)
				ts.leave()
			}
		})
	}
}

func TestJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lo, hi = time.Second, 3 * time.Second
		ts := limiterOf(Config{DelayMin: lo, DelayMax: hi})
		var gaps []time.Duration
		last := time.Now()
		for i := range 200 {
			enterAt(t, ts, last)
			if gap := time.Since(last); i > 0 {
				gaps = append(gaps, gap)
			}
			last = time.Now()
			ts.leave()
		}
		least, most := slices.Min(gaps), slices.Max(gaps)
		if least < lo || most > hi || least > 1200*time.Millisecond || most < 2800*time.Millisecond {
			t.Errorf("gaps from %s to %s", least, most)
		}
	})
}

func TestInFlightCap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ts := limiterOf(Config{ConcurrencyPerHost: 3})
		var mu sync.Mutex
		now, most := 0, 0
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				if _, err := ts.enter(t.Context(), 0); err != nil {
					t.Error(err)
				}
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				ts.leave()
			})
		}
		start := time.Now()
		synctest.Wait()
		wantWait(t, waitOf(ts.waiting()), wait{0, "3 requests in flight"})
		wg.Wait()
		if most != 3 || time.Since(start) != 10*time.Second {
			t.Errorf("%d at once, %s in all", most, time.Since(start))
		}
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ts := limiterOf(Config{DelayMin: time.Second, ConcurrencyPerHost: 1})
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, err := ts.enter(t.Context(), 0); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				ts.leave()
			})
			synctest.Wait() // i is in the queue before i+1 comes
		}
		wg.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("order %v", order)
		}
	})
}

// Whoever gives up, first in the queue or not, holds nobody up.
func TestCancelWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ts := limiterOf(Config{DelayMin: 10 * time.Second})
		start := time.Now()
		enterAt(t, ts, start)
		ts.leave() // from here on only the first in the queue watches the clock
		var cancels []context.CancelFunc
		var wg sync.WaitGroup
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			wg.Go(func() {
				if _, err := ts.enter(ctx, 0); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
			synctest.Wait()
		}
		wg.Go(func() {
			startsAt(t, ts, start, 10*time.Second)
			ts.leave()
		})
		synctest.Wait()
		for _, i := range []int{1, 0, 2} {
			cancels[i]()
			synctest.Wait()
		}
		if queued, _ := ts.counts(); queued != 1 || time.Since(start) != 0 {
			t.Errorf("%d wait, after %s", queued, time.Since(start))
		}
		wg.Wait()
		if _, flying := ts.counts(); flying != 0 {
			t.Errorf("%d in flight", flying)
		}
	})
}

func TestCrawlDelayRaisesTheDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                string
		crawl, slowed, want time.Duration
		reason              string
	}{
		{"neither", 0, 0, 2 * time.Second, reasonDelay},
		{"Crawl-delay", 5 * time.Second, 0, 5 * time.Second, reasonCrawlDelay},
		{"a small Crawl-delay", time.Second, 0, 2 * time.Second, reasonDelay},
		{"slowed down", 0, 7 * time.Second, 7 * time.Second, reasonSlowed},
		{"slowed down less than configured", 0, time.Second, 2 * time.Second, reasonDelay},
		{"slowed down below Crawl-delay", 5 * time.Second, 3 * time.Second, 5 * time.Second, reasonCrawlDelay},
		{"slowed down above Crawl-delay", 5 * time.Second, 9 * time.Second, 9 * time.Second, reasonSlowed},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			ts := limiterOf(Config{DelayMin: 2 * time.Second})
			start := time.Now()
			enterAt(t, ts, start)
			ts.leave()
			ts.setCrawlDelay(tt.crawl) // robots.txt has just been read
			ts.setDelay(tt.slowed, "")
			wantWait(t, waitOf(ts.waiting()), wait{tt.want, tt.reason})
			startsAt(t, ts, start, tt.want)
			ts.leave()
		})
	}
}

// A changed delay reaches those who wait already.
func TestSetDelayWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newClient(t, Config{DelayMin: time.Second})
		ts := c.pacer.host("acme.com")
		start := time.Now()
		enterAt(t, ts, start)
		ts.leave()
		c.SetDelay("ACME.com:443", time.Minute, "30 % of the last requests failed")
		var wg sync.WaitGroup
		wg.Go(func() {
			startsAt(t, ts, start, 4*time.Second)
			ts.leave()
		})
		time.Sleep(3 * time.Second)
		wantWait(t, waitOf(c.Waiting("acme.com")), wait{57 * time.Second, "30 % of the last requests failed"})
		c.SetDelay("acme.com", 4*time.Second, "")
		wg.Wait()
		c.SetDelay("acme.com", 0, "")
		startsAt(t, ts, start, 5*time.Second)
		ts.leave()
		time.Sleep(time.Hour)
		wantWait(t, waitOf(c.Waiting("acme.com")), wait{0, ""})
		wantWait(t, waitOf(c.Waiting("never-seen.com")), wait{0, ""})
	})
}

// sharedTurns are turns of hosts in memory: what a file is for processes.
type sharedTurns struct {
	mu    sync.Mutex
	next  map[string]time.Time
	asked []time.Duration // the gaps, of every try
	takes time.Duration   // how long a try takes
	err   error
}

func (s *sharedTurns) Take(_ context.Context, host string, gap time.Duration) (time.Duration, error) {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, gap)
	if left := time.Until(s.next[host]); left > 0 || s.err != nil {
		return left, s.err
	}
	if s.next == nil {
		s.next = map[string]time.Time{}
	}
	s.next[host] = time.Now().Add(gap)
	return 0, nil
}

// Several processes keep one delay, each comes to its turns, and jitter stays.
func TestTurnsOfProcesses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const processes, each, delay = 4, 60, 2 * time.Second
		turns := &sharedTurns{takes: time.Millisecond}
		var mu sync.Mutex
		var starts []time.Time
		count, latest := map[int]int{}, 0
		var wg sync.WaitGroup
		for p := range processes {
			ts := limiterOf(Config{DelayMin: delay, Turns: turns})
			for range each {
				wg.Go(func() {
					enterAt(t, ts, time.Now())
					defer ts.leave()
					mu.Lock()
					defer mu.Unlock()
					starts = append(starts, time.Now())
					if count[p]++; len(starts) <= processes*each/2 {
						latest = max(latest, count[p])
					}
				})
			}
		}
		wg.Wait()
		slices.SortFunc(starts, time.Time.Compare)
		for i := range starts[1:] {
			if gap := starts[i+1].Sub(starts[i]); gap < delay || gap > delay+delay/10 {
				t.Errorf("gap %d is %s", i, gap)
			}
		}
		if fair := each / 2; latest > fair*8/5 {
			t.Errorf("after half of the time one process has had %d turns, a fair share is %d", latest, fair)
		}
	})
}

func TestTurnsAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
		slow time.Duration // SetDelay
		want []time.Duration
	}{
		{"not without a delay", Config{}, 0, nil},
		{"not for a short delay", Config{DelayMin: SharedDelay - 1}, 0, nil},
		{"for 200 ms", Config{DelayMin: SharedDelay}, 0, []time.Duration{SharedDelay}},
		{"without the jitter", Config{DelayMin: time.Second, DelayMax: time.Minute}, 0, []time.Duration{time.Second}},
		{"for a learned delay", Config{}, 3 * time.Second, []time.Duration{3 * time.Second}},
		{"however short that is", Config{}, 30 * time.Millisecond, []time.Duration{30 * time.Millisecond}},
		{"for a floor below the configured delay", Config{DelayMin: 100 * time.Millisecond}, 30 * time.Millisecond, []time.Duration{100 * time.Millisecond}},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			turns := &sharedTurns{}
			tt.cfg.Turns = turns
			ts := limiterOf(tt.cfg)
			ts.setDelay(tt.slow, "")
			storetest.Equal(t, enterAt(t, ts, time.Now()), 0, "started after")
			ts.leave()
			storetest.Diff(t, turns.asked, tt.want, "asked for")
		})
	}
	inBubble(t, "for robots.txt, redirects and a Crawl-delay", func(t *testing.T) {
		turns := &sharedTurns{}
		s := newPipeSite(t, Config{DelayMin: time.Second, Turns: turns}, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				text("User-agent: *\nCrawl-delay: 5")(w, r)
			case "/a":
				http.Redirect(w, r, "/b", http.StatusFound)
			}
		})
		noErr(t, s.get(t.Context(), "/a"))
		storetest.Diff(t, turns.asked, []time.Duration{time.Second, 5 * time.Second, 5 * time.Second}, "asked for")
	})
}

// A turn that came while the host said stop is not used: another is asked for.
func TestHoldComesWithTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		turns := &sharedTurns{takes: time.Second}
		ts := limiterOf(Config{DelayMin: 2 * time.Second, Turns: turns})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			startsAt(t, ts, start, 31*time.Second)
			ts.leave()
		})
		time.Sleep(time.Millisecond)
		ts.hold(30*time.Second-time.Millisecond, reasonRetryAfter)
		wg.Wait()
	})
}

// Who gives up while another process has the turn is not kept, and keeps nobody.
func TestCancelWhileOthersHaveTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		turns := &sharedTurns{next: map[string]time.Time{"acme.com": time.Now().Add(time.Minute)}}
		ts := limiterOf(Config{DelayMin: 2 * time.Second, Turns: turns})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := ts.enter(ctx, 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		if d, why := ts.waiting(); d < 59*time.Second || why != reasonShared {
			t.Errorf("waiting %s, %q", d, why)
		}
		if at := enterAt(t, ts, start); at < time.Minute || at > time.Minute+200*time.Millisecond {
			t.Errorf("started at %s", at)
		}
	})
}
