package fetch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// bucket is a host's limit as nginx' limit_req keeps it: so many requests a minute, and a burst.
type bucket struct {
	mu      sync.Mutex
	minute  float64 // requests
	burst   float64
	level   float64 // requests that it would let through now
	since   time.Time
	passed  map[int]int // by the minute
	refused map[int]int // by the hour
	begin   time.Time
	answers time.Duration // it takes so long to answer
}

func newBucket(minute, burst int) *bucket {
	now := time.Now()
	return &bucket{minute: float64(minute), burst: float64(burst), level: float64(burst), since: now, begin: now, answers: answersIn, passed: map[int]int{}, refused: map[int]int{}}
}

// ask reports whether a request that comes now is let through.
func (b *bucket) ask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level = min(b.burst, b.level+now.Sub(b.since).Minutes()*b.minute)
	b.since = now
	if b.level < 1 {
		b.refused[int(now.Sub(b.begin).Hours())]++
		return false
	}
	b.level--
	b.passed[int(now.Sub(b.begin).Minutes())]++
	return true
}

// between is how many were let through in the minutes from and before to.
func (b *bucket) between(from, to int) (n int) {
	for m := from; m < to; m++ {
		n += b.passed[m]
	}
	return n
}

// fileSlack is what health.Monitor.Take adds to every gap.
const fileSlack = 20 * time.Millisecond

// fileTurns are turns as health.Monitor.Take gives them, without the file.
type fileTurns struct{ sharedTurns }

func (f *fileTurns) Take(ctx context.Context, host string, gap time.Duration) (time.Duration, error) {
	return f.sharedTurns.Take(ctx, host, gap+fileSlack)
}

// TestPaceOfStarts: the pace is the median of the last 20 gaps between starts since the delay changed, without
// those across a hold, or the delay in force.
func TestPaceOfStarts(t *testing.T) {
	t.Parallel()
	const s = time.Second
	starts := func(l *hostLimiter, gaps ...time.Duration) {
		for _, gap := range gaps {
			time.Sleep(gap)
			_, err := l.enter(context.Background(), 0) // t is not the bubble's
			noErr(t, err)
			l.leave()
		}
	}
	for _, tt := range []struct {
		name string
		cfg  Config
		do   func(l *hostLimiter)
		want time.Duration
	}{
		{"of none", Config{}, func(*hostLimiter) {}, 0},
		{"of one start", Config{}, func(l *hostLimiter) { starts(l, s) }, 0},
		{"of an odd number", Config{}, func(l *hostLimiter) { starts(l, 0, 9*s, s, 2*s) }, 2 * s},
		{"of an even number", Config{}, func(l *hostLimiter) { starts(l, 0, 9*s, s, 2*s, 3*s) }, 2500 * time.Millisecond},
		{"the last 20", Config{}, func(l *hostLimiter) {
			starts(l, slices.Repeat([]time.Duration{9 * s}, 50)...)
			starts(l, slices.Repeat([]time.Duration{s}, 20)...)
		}, s},
		{"the delay in force", Config{DelayMin: 2 * s}, func(l *hostLimiter) { starts(l, 0) }, 2 * s},
		{"a Crawl-delay", Config{DelayMin: s}, func(l *hostLimiter) { l.setCrawlDelay(5 * s); starts(l, 0) }, 5 * s},
		{"longer gaps than the delay", Config{DelayMin: s}, func(l *hostLimiter) { starts(l, 0, 3*s, 3*s, 3*s) }, 3 * s},
		{"without those across a hold", Config{}, func(l *hostLimiter) {
			starts(l, 0, s)
			for range 9 {
				l.hold(30*s, reasonTooMany)
				starts(l, 0)
			}
		}, s},
		{"since the delay changed", Config{}, func(l *hostLimiter) {
			starts(l, slices.Repeat([]time.Duration{9 * s}, 20)...)
			l.setDelay(s, "")
			starts(l, 20*s, 2*s, 2*s, 2*s) // the first gap began before
		}, 2 * s},
		{"since it changed back", Config{DelayMin: s}, func(l *hostLimiter) {
			l.setDelay(4*s, "")
			starts(l, 0, 0, 0, 0)
			l.setDelay(0, "")
		}, s},
		{"a floor below the delay changes nothing", Config{DelayMin: s}, func(l *hostLimiter) {
			starts(l, 0, 3*s, 3*s)
			l.setDelay(s/2, "")
		}, 3 * s},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			l := limiterOf(tt.cfg)
			tt.do(l)
			storetest.Equal(t, l.pace(), tt.want, "one request in")
		})
	}
}

const answersIn = 150 * time.Millisecond

// learner is a process that asks a host and learns its pace.
type learner struct {
	t     *testing.T
	host  *hostLimiter
	hosts *health.Hosts
}

func newLearner(t *testing.T, path string, delay time.Duration, turns Turns) *learner {
	t.Helper()
	db := storetest.OpenConfig(t, store.Config{Path: path, Synchronous: "OFF"})
	c := newClient(t, Config{DelayMin: delay, Turns: turns})
	hosts, err := health.New(db).Hosts(t.Context(), 1, delay, c)
	noErr(t, err)
	return &learner{t, c.pacer.host("acme.com"), hosts}
}

// ask makes one request, as the client does, and tells how it ended, as a worker does.
func (l *learner) ask(site *bucket) {
	_, err := l.host.enter(l.t.Context(), 0)
	noErr(l.t, err)
	seen := health.Seen{Host: "acme.com", Started: time.Now()}
	passed := site.ask()
	time.Sleep(site.answers)
	if !passed {
		seen.Class, seen.HostFault, seen.Gap = yp.ClassHTTP429, true, l.host.pace()
		seen.RetryAfter, seen.HoldReason = yp.DefaultRetryAfter, reasonTooMany
		l.host.hold(yp.DefaultRetryAfter, reasonTooMany)
	}
	l.host.leave()
	noErr(l.t, l.hosts.Observed(l.t.Context(), seen))
}

// crawl asks for so long.
func (l *learner) crawl(site *bucket, workers int, long time.Duration) {
	var wg sync.WaitGroup
	end := time.Now().Add(long)
	for range workers {
		wg.Go(func() {
			for time.Now().Before(end) {
				l.ask(site)
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(end) {
			time.Sleep(30 * time.Second)
			noErr(l.t, l.hosts.Refresh(l.t.Context()))
		}
	})
	wg.Wait()
}

// paced runs processes that crawl a host with a limit for hours, and checks that from the fifth minute on each hour
// brought the least share of what is allowed, and that few requests were refused.
func paced(t *testing.T, site *bucket, processes, workers int, delay time.Duration, hours int, least float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db := storetest.OpenConfig(t, store.Config{Path: path, Synchronous: "OFF"})
	storetest.Execute(t, db, `INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'demo', 'http://acme.com', 'x', 'x')`)
	turns := &fileTurns{}
	var wg sync.WaitGroup
	for range processes {
		l := newLearner(t, path, delay, turns)
		wg.Go(func() { l.crawl(site, workers, time.Duration(hours)*time.Hour) })
	}
	wg.Wait()
	allowed := min(site.minute, float64(processes*workers)/site.answers.Minutes())
	if delay > 0 {
		allowed = min(allowed, 1/(delay+fileSlack).Minutes())
	}
	for hour := range hours {
		from, to, most := max(60*hour, 5), 60*hour+60, 4*processes
		if hour == 0 {
			most = 12 * processes
		}
		share := float64(site.between(from, to)) / float64(to-from) / allowed
		if share < least || site.refused[hour] > most {
			t.Errorf("in hour %d %.2f of what is allowed, %d refused", hour+1, share, site.refused[hour])
		}
		t.Logf("hour %d: %.2f, refused %d", hour+1, share, site.refused[hour])
	}
}

// TestPaceBehindALimit: behind a limit of requests a minute, which answers 429 and does not say when to come
// back, a crawl finds a pace of at least half of what is allowed, and is seldom refused.
func TestPaceBehindALimit(t *testing.T) {
	t.Parallel()
	limits, bursts, hours := []int{6, 20, 60, 1200}, []int{1, 5, 20}, 4
	if testing.Short() { // the race detector looks for races, and takes ten times as long
		limits, bursts, hours = []int{20, 1200}, []int{5}, 1
	}
	for _, limit := range limits {
		for _, burst := range bursts {
			for _, workers := range []int{1, 5} {
				for _, delay := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second} {
					inBubble(t, fmt.Sprintf("%d a minute, burst %d, %d workers, delay %s", limit, burst, workers, delay), func(t *testing.T) {
						paced(t, newBucket(limit, burst), 1, workers, delay, hours, 0.5)
					})
				}
			}
		}
	}
}

// TestPaceOfFastAnswers: likewise where the answers come so fast that without a delay the gaps between starts are
// shorter than any delay that is kept.
func TestPaceOfFastAnswers(t *testing.T) {
	t.Parallel()
	limits := []int{60, 1200}
	if testing.Short() {
		limits = limits[:1]
	}
	for _, limit := range limits {
		for _, workers := range []int{1, 5} {
			inBubble(t, fmt.Sprintf("%d a minute, %d workers", limit, workers), func(t *testing.T) {
				site := newBucket(limit, 20)
				site.answers = 2 * time.Millisecond
				paced(t, site, 1, workers, 0, 2, 0.5)
			})
		}
	}
}

// TestPaceOfProcessesBehindALimit: two processes on one file keep one pace together. Each knows of its own starts
// alone, which are further apart than those of both, so that together they are slower than one until the floor has
// come down.
func TestPaceOfProcessesBehindALimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{6, 60} {
		for _, delay := range []time.Duration{0, 2 * time.Second} {
			inBubble(t, fmt.Sprintf("%d a minute, delay %s", limit, delay), func(t *testing.T) {
				paced(t, newBucket(limit, 5), 2, 3, delay, 3, 0.1)
			})
		}
	}
}
