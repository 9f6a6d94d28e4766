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
	reasonShared     = "delay between requests: another process asks this host too"
)

// SharedDelay is the shortest delay that is kept with other processes (Config.Turns): a
// shorter one is not worth what that costs with every request.
const SharedDelay = 200 * time.Millisecond

// Turns is what processes that ask one host share, so that all together keep its delay.
type Turns interface {
	// Take asks for the next turn at host. 0 = it is the caller's, whose request may start
	// now, and nobody else's may for gap; else it is somebody else's, and so long is to be
	// waited before the next try.
	Take(ctx context.Context, host string, gap time.Duration) (wait time.Duration, err error)
}

// pacer keeps a turnstile for every host.
type pacer struct {
	min, max time.Duration
	cap      int
	turns    Turns // nil = this process is alone

	mu    sync.Mutex
	hosts map[string]*turnstile
}

func newPacer(cfg Config) *pacer {
	return &pacer{min: cfg.DelayMin, max: cfg.DelayMax, cap: cfg.ConcurrencyPerHost, turns: cfg.Turns, hosts: map[string]*turnstile{}}
}

func (p *pacer) host(name string) *turnstile {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.hosts[name]
	if t == nil {
		t = &turnstile{name: name, min: p.min, max: p.max, cap: p.cap, turns: p.turns}
		p.hosts[name] = t
	}
	return t
}

// turnstile lets requests to one host through, first come, first served: one
// at a time after the delay, no more than cap at once, none while held back.
type turnstile struct {
	name     string
	min, max time.Duration
	cap      int
	turns    Turns // nil = this process is alone

	mu         sync.Mutex
	queue      []*waiter // the first one alone watches the clock
	inFlight   int
	last, next time.Time // last start; no start before next
	elsewhere  bool      // next is another process's word
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
	if reason == "" && wait == 0 && len(t.queue) == 0 && !t.shared() {
		t.start(arrived)
		return waited{}, nil
	}
	if err := t.tooLong(arrived, maxHold); err != nil {
		return waited{}, err
	}
	w := &waiter{wake: make(chan struct{}, 1), since: arrived}
	t.queue = append(t.queue, w)
	w.reason = t.stands(w, reason)
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
		w.note(now, t.stands(w, reason))
		if err := t.tooLong(now, maxHold); err != nil {
			return err
		}
		if t.queue[0] == w && reason == "" {
			if started, err := t.take(ctx, now); started || err != nil {
				return err
			}
			continue
		}
		if t.queue[0] == w {
			switch {
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

// stands is what w waits for while reason stands in the way of the first.
func (t *turnstile) stands(w *waiter, reason string) string {
	if reason == "" && t.queue[0] == w {
		return reasonDelay // for as long as it takes to ask whether another process keeps it
	}
	return cmp.Or(reason, reasonQueue)
}

// take starts the request of the first in the queue, with whom nothing stands in the way
// here, if its turn among all processes has come. The lock is given up while that is asked.
func (t *turnstile) take(ctx context.Context, now time.Time) (started bool, err error) {
	if !t.shared() {
		t.start(now)
		return true, nil
	}
	gap := t.gap()
	t.mu.Unlock()
	wait, err := t.turns.Take(ctx, t.name, gap)
	t.mu.Lock()
	now = time.Now()
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		return false, fmt.Errorf("take a turn at %s: %w", t.name, err)
	case wait > 0:
		// Whoever waits for the same moment draws too, so that everybody comes to a turn.
		if next := now.Add(wait + jitter(t.gap()/sharedJitter)); next.After(t.next) {
			t.next, t.elsewhere = next, true
		}
		return false, nil
	}
	if _, reason := t.due(now); reason != "" {
		return false, nil // a hold has come meanwhile
	}
	t.start(now)
	return true, nil
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
	case t.elsewhere:
		return reasonShared
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
	t.next, t.elsewhere = now.Add(t.draw()), false
}

// gap is the delay in force, without jitter.
func (t *turnstile) gap() time.Duration { return max(t.min, t.slowed, t.crawlDelay) }

// shared tells whether the delay in force is kept with other processes.
func (t *turnstile) shared() bool { return t.turns != nil && t.gap() >= SharedDelay }

// sharedJitter is the part of the delay by which turns are jittered at least where other
// processes may want the same: else the one whose clockwork is a little faster would
// always be the first.
const sharedJitter = 20

// draw picks the time to the next start: the jitter of the configured range on
// top of the delay in force, never under Crawl-delay.
func (t *turnstile) draw() time.Duration {
	d := max(max(t.min, t.slowed)+jitter(t.max-t.min), t.crawlDelay)
	if t.shared() {
		d = max(d, t.gap()+jitter(t.gap()/sharedJitter))
	}
	return d
}

// jitter draws from [0, spread].
func jitter(spread time.Duration) time.Duration {
	if spread <= 0 {
		return 0
	}
	return rand.N(spread + 1)
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
		t.next, t.elsewhere = t.last.Add(t.draw()), false
	}
	t.wakeFirst()
}

// waiting tells what a request that came now would wait for.
func (t *turnstile) waiting() (time.Duration, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.due(time.Now())
}
