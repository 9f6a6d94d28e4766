package fetch

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"ypcrawl/yp"
)

// Reasons for waiting, as shown to people.
const (
	reasonNone       = "no delay between requests"
	reasonDelay      = "delay between requests"
	reasonSlowed     = "slowed down"
	reasonCrawlDelay = "Crawl-delay"
	reasonRetryAfter = "Retry-After"
	reasonTooMany    = yp.NoRetryAfter
	reasonRobots     = "robots.txt is unavailable"
	reasonQueue      = "other requests to the host came first"
	reasonShared     = "delay between requests; another process crawls this host, too"
)

// SharedDelay is the shortest configured delay that is kept with other processes (Config.Turns): a
// shorter one is not worth what that costs with every request. Whatever a host was found to need
// (SetDelay) is kept together at any length.
const SharedDelay = 200 * time.Millisecond

// Turns is what processes that ask one host share, so that all together keep its delay.
type Turns interface {
	// Take asks for the next turn at host. 0 = it is the caller's, whose request may start
	// now, and nobody else's may for gap; else it is somebody else's, and so long is to be
	// waited before the next try.
	Take(ctx context.Context, host string, gap time.Duration) (wait time.Duration, err error)
}

// limits are what all hosts have in common.
type limits struct {
	min, max time.Duration
	cap      int
	turns    Turns // nil = this process is alone
}

// pacer keeps a limiter for every host.
type pacer struct {
	limits
	mu    sync.Mutex
	hosts map[string]*hostLimiter
}

func newPacer(cfg Config) *pacer {
	all := limits{cfg.DelayMin, cfg.DelayMax, cfg.ConcurrencyPerHost, cfg.Turns}
	return &pacer{limits: all, hosts: map[string]*hostLimiter{}}
}

func (p *pacer) host(name string) *hostLimiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.hosts[name]
	if l == nil {
		l = &hostLimiter{name: name, limits: p.limits}
		p.hosts[name] = l
	}
	return l
}

// hostLimiter lets requests to one host through, first come, first served: one
// at a time after the delay, no more than cap at once, none while held back.
type hostLimiter struct {
	name string
	limits

	mu         sync.Mutex
	queue      []*waiter // the first one alone watches the clock
	inFlight   int
	last, next time.Time // last start; no start before next
	elsewhere  bool      // next was set by another process's request
	slowed     time.Duration
	slowedFor  string
	crawlDelay time.Duration
	heldUntil  time.Time
	heldFor    string
	changed    chan struct{} // closed by the next change of any of this; nil = nobody asked

	gaps   gaps
	broken bool // a hold, or another delay, lies between the last start and the next
}

// enter waits for a turn and takes it; leave must follow. It returns how long
// it waited and why, and the context's error when that ended first, or a
// *Error when a hold is, or becomes, longer than maxHold (0 = any will do).
func (l *hostLimiter) enter(ctx context.Context, maxHold time.Duration) (waited, error) {
	if err := ctx.Err(); err != nil {
		return waited{}, err
	}
	arrived := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{since: arrived}
	l.queue = append(l.queue, w)
	err := l.wait(ctx, w, maxHold)
	l.queue = slices.DeleteFunc(l.queue, func(q *waiter) bool { return q == w })
	l.change()
	left := time.Now()
	if w.note(left, ""); w.mainly == "" {
		return waited{}, err
	}
	return waited{long: left.Sub(arrived), why: w.mainly}, err
}

// wait returns, with the lock held as on entry, when w has started, the host is
// held for too long, or ctx has ended.
func (l *hostLimiter) wait(ctx context.Context, w *waiter, maxHold time.Duration) error {
	for {
		var clock <-chan time.Time
		now := time.Now()
		wait, reason := l.due(now)
		if l.queue[0] != w {
			reason = cmp.Or(reason, reasonQueue)
		}
		w.note(now, reason)
		if err := l.tooLong(now, maxHold); err != nil {
			return err
		}
		if reason == "" {
			if started, err := l.take(ctx, now); started || err != nil {
				return err
			}
			continue
		}
		if l.queue[0] == w && wait > 0 {
			clock = time.After(wait)
		}
		changed := l.nextChange()
		l.mu.Unlock()
		select {
		case <-changed:
		case <-clock:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// nextChange returns a channel that the next change closes.
func (l *hostLimiter) nextChange() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// change has everybody who waits look again.
func (l *hostLimiter) change() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// take starts the request of the first in the queue, with whom nothing is in the way
// here, if its turn among all processes has come. The lock is given up while that is asked.
func (l *hostLimiter) take(ctx context.Context, now time.Time) (started bool, err error) {
	if !l.shared() {
		l.start(now)
		return true, nil
	}
	gap := l.gap()
	l.mu.Unlock()
	wait, err := l.turns.Take(ctx, l.name, gap)
	l.mu.Lock()
	now = time.Now()
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		return false, fmt.Errorf("reserve a request to %s: %w", l.name, err)
	case wait > 0:
		// Whoever waits for the same moment draws too, so that everybody comes to a turn.
		if next := now.Add(wait + jitter(l.gap()/sharedJitter)); next.After(l.next) {
			l.next, l.elsewhere = next, true
		}
		return false, nil
	}
	if _, reason := l.due(now); reason != "" {
		return false, nil // a hold has come meanwhile
	}
	l.start(now)
	return true, nil
}

// due says what is between now and the next start: nothing (reason ""),
// a time to wait, or, with wait 0, a request that must end first.
func (l *hostLimiter) due(now time.Time) (wait time.Duration, reason string) {
	if l.inFlight >= l.cap {
		reason = yp.Plural(l.inFlight, "request") + " in flight"
	}
	if d := l.next.Sub(now); d > 0 {
		wait, reason = d, l.delayReason()
	}
	if d := l.heldUntil.Sub(now); d > wait {
		wait, reason = d, l.heldFor
	}
	return wait, reason
}

func (l *hostLimiter) delayReason() string {
	switch {
	case l.elsewhere:
		return reasonShared
	case l.crawlDelay > 0 && l.crawlDelay >= max(l.min, l.slowed):
		return reasonCrawlDelay
	case l.slowed > l.min:
		return cmp.Or(l.slowedFor, reasonSlowed)
	default:
		return reasonDelay
	}
}

// wanted is the delay that the operator or robots.txt asks for, whatever was learned, and who.
func (l *hostLimiter) wanted() (time.Duration, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.crawlDelay > 0 && l.crawlDelay >= l.min:
		return l.crawlDelay, reasonCrawlDelay
	case l.min > 0:
		return l.min, reasonDelay
	}
	return 0, reasonNone
}

func (l *hostLimiter) start(now time.Time) {
	l.inFlight++
	if !l.last.IsZero() && !l.broken {
		l.gaps.add(now.Sub(l.last))
	}
	l.last, l.broken = now, false
	l.next, l.elsewhere = now.Add(l.draw()), false
}

// gap is the delay in force, without jitter.
func (l *hostLimiter) gap() time.Duration { return max(l.min, l.slowed, l.crawlDelay) }

// pace is the gap at which the host is asked: the delay in force, or the median of the last gaps
// between starts since it changed, without those across a hold, if that is larger.
func (l *hostLimiter) pace() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.gap(), l.gaps.median())
}

// shared reports whether the delay in force is kept with other processes.
func (l *hostLimiter) shared() bool {
	return l.turns != nil && (l.slowed > 0 || l.gap() >= SharedDelay)
}

// sharedJitter is the part of the delay by which turns are jittered at least where other
// processes may want the same: else the one whose clockwork is a little faster would
// always be the first.
const sharedJitter = 20

// draw picks the time to the next start: the jitter of the configured range on
// top of the delay in force, never under Crawl-delay.
func (l *hostLimiter) draw() time.Duration {
	d := max(max(l.min, l.slowed)+jitter(l.max-l.min), l.crawlDelay)
	if l.shared() {
		d = max(d, l.gap()+jitter(l.gap()/sharedJitter))
	}
	return d
}

// gaps are the last gaps between starts.
type gaps struct {
	ring [20]time.Duration
	n    int // ever added
}

func (g *gaps) add(d time.Duration) {
	g.ring[g.n%len(g.ring)] = d
	g.n++
}

// median is 0 of none.
func (g *gaps) median() time.Duration {
	n := min(g.n, len(g.ring))
	if n == 0 {
		return 0
	}
	sorted := g.ring
	slices.Sort(sorted[:n])
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// jitter draws from [0, spread].
func jitter(spread time.Duration) time.Duration {
	if spread <= 0 {
		return 0
	}
	return rand.N(spread + 1)
}

// leave gives the turn back when the answer has been read.
func (l *hostLimiter) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.change()
}

// setDelay slows the host down to d between starts, and says why; 0 or less than
// the configured delay restores that.
func (l *hostLimiter) setDelay(d time.Duration, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.gap()
	l.slowed, l.slowedFor = max(d, 0), reason
	l.redraw(before)
}

// setCrawlDelay honours robots.txt; 0 = it has none.
func (l *hostLimiter) setCrawlDelay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.gap(); l.crawlDelay != d {
		l.crawlDelay = d
		l.redraw(before)
	}
}

// redraw applies a changed delay to the wait under way.
func (l *hostLimiter) redraw(before time.Duration) {
	if l.gap() != before {
		l.gaps, l.broken = gaps{}, true
	}
	if !l.last.IsZero() {
		l.next, l.elsewhere = l.last.Add(l.draw()), false
	}
	l.change()
}

// waiting says what a request that came now would wait for.
func (l *hostLimiter) waiting() (time.Duration, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.due(time.Now())
}

// waited is how long a request waited before it started, and what stood in the
// way for the longest part of that.
type waited struct {
	long time.Duration
	why  string // "" = it did not wait
}

// waiter keeps account of the reasons that a request waits for.
type waiter struct {
	reason  string    // now
	since   time.Time // when that began
	longest time.Duration
	mainly  string // what stood for that long
}

// note takes down what is in the way from now on.
func (w *waiter) note(now time.Time, reason string) {
	if reason == w.reason {
		return
	}
	if d := now.Sub(w.since); d > w.longest {
		w.longest, w.mainly = d, w.reason
	}
	w.reason, w.since = reason, now
}

// release ends a hold.
func (l *hostLimiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heldUntil, l.heldFor = time.Time{}, ""
	l.change()
}

// hold keeps everybody back for d. A hold in force is never shortened.
func (l *hostLimiter) hold(d time.Duration, reason string) {
	if d <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(d); until.After(l.heldUntil) {
		l.heldUntil, l.heldFor = until, reason
	}
	l.broken = true
	l.change()
}

// tooLong returns an *Error, whose URL its caller knows, when the host is held for longer
// than limit (0 = none).
func (l *hostLimiter) tooLong(now time.Time, limit time.Duration) error {
	if left := l.heldUntil.Sub(now); limit > 0 && left > limit {
		return &Error{Class: yp.ClassRateLimited, RetryAfter: left, Err: fmt.Errorf("%w: %s", ErrHeld, l.heldFor)}
	}
	return nil
}

// refuses is tooLong for one who does not wait yet.
func (l *hostLimiter) refuses(limit time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tooLong(time.Now(), limit)
}

// held says until when the host is held, and why; the zero time = it is not.
func (l *hostLimiter) held() (time.Time, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.heldUntil.After(time.Now()) {
		return time.Time{}, ""
	}
	return l.heldUntil, l.heldFor
}

// await waits for done (another request to the host) as long as ctx lasts
// and the host is not held for longer than maxHold.
func (l *hostLimiter) await(ctx context.Context, done <-chan singleflight.Result,
	maxHold time.Duration,
) (r singleflight.Result, err error) {
	for {
		l.mu.Lock()
		err, changed := l.tooLong(time.Now(), maxHold), l.nextChange()
		l.mu.Unlock()
		if err != nil {
			return r, err
		}
		select {
		case r = <-done:
			return r, nil
		case <-changed:
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}
