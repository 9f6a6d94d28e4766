package crawl_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/health"
)

// limitReq is a server's limit as nginx' limit_req with nodelay keeps it: a request that comes when burst others
// have come faster than the rate is answered 429, without Retry-After.
type limitReq struct {
	http.Handler
	every time.Duration // one request, the rate
	burst float64

	mu      sync.Mutex
	last    time.Time
	excess  float64 // requests
	passed  []time.Time
	refused []time.Time
}

func (l *limitReq) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.exceeded(time.Now()) {
		status(http.StatusTooManyRequests, "<html><head><title>429 Too Many Requests</title></head><body><center><h1>429 Too Many Requests</h1></center><hr><center>nginx</center></body></html>")(w, r)
		return
	}
	time.Sleep(150 * time.Millisecond)
	l.Handler.ServeHTTP(w, r)
}

func (l *limitReq) exceeded(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() {
		excess := max(0, l.excess-float64(now.Sub(l.last))/float64(l.every)+1)
		if excess > l.burst {
			l.refused = append(l.refused, now)
			return true
		}
		l.excess = excess
	}
	l.last = now
	l.passed = append(l.passed, now)
	return false
}

// TestBehindALimit: a crawl behind a limit that does not say when to come back reads all there is, seldom refused,
// and leaves what it has learned to the next one.
func TestBehindALimit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		every   time.Duration
		burst   float64
		delay   time.Duration
		workers int
		pages   int
		from    time.Duration // on that counts
		refused int
	}{
		{"60 a minute, no delay", time.Second, 5, 0, 3, 600, 5 * time.Minute, 8},
		{"60 a minute, 500 ms", time.Second, 5, 500 * time.Millisecond, 1, 600, 5 * time.Minute, 4},
		{"20 a minute, 2 s", 3 * time.Second, 5, 2 * time.Second, 2, 300, 5 * time.Minute, 4},
		{"1,200 a minute, no delay", 50 * time.Millisecond, 10, 0, 5, 2500, 2 * time.Minute, 8},
		{"6 a minute, no burst", 10 * time.Second, 0, 0, 5, 100, 5 * time.Minute, 12},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{cities: tt.pages})
			site := &limitReq{Handler: w.Config.Handler, every: tt.every, burst: tt.burst}
			w.Config.Handler = site
			w.fetch.DelayMin, w.fetch.Turns, w.fetch.ConcurrencyPerHost = tt.delay, health.New(w.db), 5
			began := time.Now()
			w.done(workers(tt.workers), func(c *crawl.Config) { c.Delay, c.Patience = tt.delay, ages })
			w.counts("targets are done", int64(tt.pages), "SELECT count(*) FROM targets WHERE status = 'DONE'")
			n := 0
			for _, at := range site.passed {
				if at.Sub(began) >= tt.from {
					n++
				}
			}
			share := float64(n) * float64(tt.every) / float64(time.Since(began)-tt.from)
			t.Logf("%s: %.2f of what is allowed, %d refused", time.Since(began), share, len(site.refused))
			if share < 0.5 || len(site.refused) > tt.refused {
				t.Errorf("%.2f of what is allowed, %d refused at %v", share, len(site.refused), site.refused)
			}
			w.counts("refusals on record", int64(len(site.refused)), "SELECT count(*) FROM requests WHERE error_class = 'http_429' AND type = 'listing'")
			learned := w.table("SELECT delay_ms, delay_reason FROM hosts")
			w.tidy()

			w.write(`UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL WHERE id <= 30`)
			before := len(site.refused)
			w.start()
			w.done(workers(tt.workers), func(c *crawl.Config) { c.Delay, c.Patience = tt.delay, ages })
			if more := len(site.refused) - before; more > 0 {
				t.Errorf("the next crawl, which knows of %v, was refused %d times", learned, more)
			}
		})
	}
}
