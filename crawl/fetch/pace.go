package fetch

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Reasons for waiting, as shown to people.
const (
	reasonDelay      = "delay between requests"
	reasonSlowed     = "slowed down"
	reasonCrawlDelay = "Crawl-delay"
	reasonRetryAfter = "Retry-After"
	reasonTooMany    = "429 without Retry-After"
	reasonRobots     = "robots.txt is unavailable"
	reasonQueue      = "others came first"
)

// pacer keeps a turnstile for every host.
type pacer struct {
	min, max time.Duration
	cap      int

	mu    sync.Mutex
	hosts map[string]*turnstile
}

func newPacer(cfg Config) *pacer {
	return &pacer{min: cfg.DelayMin, max: cfg.DelayMax, cap: cfg.ConcurrencyPerHost, hosts: map[string]*turnstile{}}
}

func (p *pacer) host(name string) *turnstile {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.hosts[name]
	if t == nil {
		t = &turnstile{min: p.min, max: p.max, cap: p.cap}
		p.hosts[name] = t
	}
	return t
}

// turnstile lets requests to one host through, first come, first served: one
// at a time after the delay, no more than cap at once, none while held back.
type turnstile struct {
	min, max time.Duration
	cap      int

	mu         sync.Mutex
	queue      []*waiter // the first one alone watches the clock
	inFlight   int
	last, next time.Time // last start; no start before next
	slowed     time.Duration
	slowedFor  string
	crawlDelay time.Duration
	heldUntil  time.Time
	heldFor    string
	news       chan struct{} // closed by the next hold; nil = nobody asked
}

// enter waits for a turn and takes it; leave must follow. It returns how long
// it waited and why, and the context's error when that ended first, or a
// *heldError when a hold is, or becomes, longer than maxHold (0 = any will do).
func (t *turnstile) enter(ctx context.Context, maxHold time.Duration) (waited, error) {
	if err := ctx.Err(); err != nil {
		return waited{}, err
	}
	arrived := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	wait, reason := t.due(arrived)
	if reason == "" && wait == 0 && len(t.queue) == 0 {
		t.start(arrived)
		return waited{}, nil
	}
	if err := t.tooLong(arrived, maxHold); err != nil {
		return waited{}, err
	}
	w := &waiter{wake: make(chan struct{}, 1), since: arrived, reason: cmp.Or(reason, reasonQueue)}
	t.queue = append(t.queue, w)
	err := t.wait(ctx, w, maxHold)
	t.remove(w)
	return w.account(arrived, time.Now()), err
}

// wait returns, with the lock held as on entry, when w has started, the host is
// held for too long, or ctx has ended.
func (t *turnstile) wait(ctx context.Context, w *waiter, maxHold time.Duration) error {
	var timer *time.Timer
	for {
		var clock <-chan time.Time
		now := time.Now()
		wait, reason := t.due(now)
		w.note(now, cmp.Or(reason, reasonQueue))
		if err := t.tooLong(now, maxHold); err != nil {
			return err
		}
		if t.queue[0] == w {
			switch {
			case reason == "":
				t.start(now)
				return nil
			case wait > 0 && timer == nil:
				timer = time.NewTimer(wait)
				defer timer.Stop()
			case wait > 0:
				timer.Reset(wait)
			}
			if wait > 0 {
				clock = timer.C
			}
		}
		news := t.toldOfHolds()
		t.mu.Unlock()
		select {
		case <-w.wake:
		case <-news:
		case <-clock:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// due tells what stands between now and the next start: nothing (reason ""),
// a time to wait, or, with wait 0, a request that must end first.
func (t *turnstile) due(now time.Time) (wait time.Duration, reason string) {
	if t.inFlight >= t.cap {
		reason = fmt.Sprintf("%d requests in flight", t.inFlight)
	}
	if d := t.next.Sub(now); d > 0 {
		wait, reason = d, t.delayReason()
	}
	if d := t.heldUntil.Sub(now); d > wait {
		wait, reason = d, t.heldFor
	}
	return wait, reason
}

func (t *turnstile) delayReason() string {
	switch {
	case t.crawlDelay > 0 && t.crawlDelay >= max(t.min, t.slowed):
		return reasonCrawlDelay
	case t.slowed > t.min:
		return cmp.Or(t.slowedFor, reasonSlowed)
	default:
		return reasonDelay
	}
}

func (t *turnstile) start(now time.Time) {
	t.inFlight++
	t.last = now
	t.next = now.Add(t.draw())
}

// draw picks the time to the next start: the jitter of the configured range on
// top of the delay in force, never under Crawl-delay.
func (t *turnstile) draw() time.Duration {
	d := max(t.min, t.slowed)
	if spread := t.max - t.min; spread > 0 {
		d += rand.N(spread + 1)
	}
	return max(d, t.crawlDelay)
}

// leave gives the turn back when the answer has been read.
func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	t.wakeFirst()
}

func (t *turnstile) remove(w *waiter) {
	if i := slices.Index(t.queue, w); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	t.wakeFirst()
}

func (t *turnstile) wakeFirst() {
	if len(t.queue) == 0 {
		return
	}
	select {
	case t.queue[0].wake <- struct{}{}:
	default: // already told
	}
}

// setDelay slows the host down to d between starts, and says why; 0 or less than
// the configured delay restores that.
func (t *turnstile) setDelay(d time.Duration, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slowed, t.slowedFor = max(d, 0), reason
	t.redraw()
}

// setCrawlDelay honours robots.txt; 0 = it has none.
func (t *turnstile) setCrawlDelay(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.crawlDelay != d {
		t.crawlDelay = d
		t.redraw()
	}
}

// redraw applies a changed delay to the wait under way.
func (t *turnstile) redraw() {
	if !t.last.IsZero() {
		t.next = t.last.Add(t.draw())
	}
	t.wakeFirst()
}

// waiting tells what a request that came now would wait for.
func (t *turnstile) waiting() (time.Duration, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.due(time.Now())
}
