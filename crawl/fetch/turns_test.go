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
)

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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns := &sharedTurns{}
				tt.cfg.Turns = turns
				ts := limiterOf(tt.cfg)
				ts.setDelay(tt.slow, "")
				if at := enterAt(t, ts, time.Now()); at != 0 {
					t.Errorf("started after %s", at)
				}
				ts.leave()
				if !slices.Equal(turns.asked, tt.want) {
					t.Errorf("asked for %s, want %s", turns.asked, tt.want)
				}
			})
		})
	}
	t.Run("for robots.txt, redirects and a Crawl-delay", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			turns := &sharedTurns{}
			s := newPipeSite(t, Config{DelayMin: time.Second, Turns: turns}, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/robots.txt":
					text("User-agent: *\nCrawl-delay: 5")(w, r)
				case "/a":
					http.Redirect(w, r, "/b", http.StatusFound)
				}
			})
			if err := s.get(t.Context(), "/a"); err != nil {
				t.Error(err)
			}
			if want := []time.Duration{time.Second, 5 * time.Second, 5 * time.Second}; !slices.Equal(turns.asked, want) {
				t.Errorf("asked for %s, want %s", turns.asked, want)
			}
		})
	})
}

// A turn that came while the host said stop is not used: another is asked for.
func TestHoldComesWithTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := &sharedTurns{takes: time.Second}
		ts := limiterOf(Config{DelayMin: 2 * time.Second, Turns: turns})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if at := enterAt(t, ts, start); at != 31*time.Second {
				t.Errorf("started at %s", at)
			}
			ts.leave()
		})
		time.Sleep(time.Millisecond)
		ts.hold(30*time.Second-time.Millisecond, reasonRetryAfter)
		wg.Wait()
	})
}

func TestTurnFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk full")
		s := newPipeSite(t, Config{IgnoreRobots: true, DelayMin: time.Second, Turns: &sharedTurns{err: broken}}, text("page"))
		if err := s.get(t.Context(), "/a"); !errors.Is(err, broken) || errors.As(err, new(*Error)) {
			t.Errorf("error %v", err)
		}
		s.expect(t)
	})
}

// Who gives up while another process has the turn is not kept, and keeps nobody.
func TestCancelWhileOthersHaveTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
