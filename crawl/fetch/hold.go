package fetch

import (
	"context"
	"time"
)

// waited is how long a request waited before it started, and what stood in the
// way for the longest part of that.
type waited struct {
	long time.Duration
	why  string // "" = it did not wait
}

// waiter is woken whenever its turn may have come nearer. It keeps account of
// the reasons that it waited for.
type waiter struct {
	wake    chan struct{}
	reason  string    // now
	since   time.Time // when that began
	longest time.Duration
	mainly  string // what stood for that long
}

// note takes down what stands in the way from now on.
func (w *waiter) note(now time.Time, reason string) {
	if reason == w.reason {
		return
	}
	if d := now.Sub(w.since); d > w.longest {
		w.longest, w.mainly = d, w.reason
	}
	w.reason, w.since = reason, now
}

func (w *waiter) account(arrived, now time.Time) waited {
	w.note(now, "")
	return waited{long: now.Sub(arrived), why: w.mainly}
}

// heldError: the host is held back for longer than the caller would wait.
type heldError struct {
	left   time.Duration
	reason string
}

func (e *heldError) Error() string { return ErrHeld.Error() + ": " + e.reason }
func (e *heldError) Unwrap() error { return ErrHeld }

// release ends a hold.
func (t *turnstile) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heldUntil, t.heldFor = time.Time{}, ""
	t.wakeFirst()
}

// hold keeps everybody back for d. A hold in force is never shortened.
func (t *turnstile) hold(d time.Duration, reason string) {
	if d <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := time.Now().Add(d); until.After(t.heldUntil) {
		t.heldUntil, t.heldFor = until, reason
	}
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}

// toldOfHolds returns what the next hold closes.
func (t *turnstile) toldOfHolds() <-chan struct{} {
	if t.news == nil {
		t.news = make(chan struct{})
	}
	return t.news
}

// tooLong tells whether the host is held for longer than limit (0 = none).
func (t *turnstile) tooLong(now time.Time, limit time.Duration) error {
	if left := t.heldUntil.Sub(now); limit > 0 && left > limit {
		return &heldError{left: left, reason: t.heldFor}
	}
	return nil
}

// refuses is tooLong for one who does not wait yet.
func (t *turnstile) refuses(limit time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tooLong(time.Now(), limit)
}

// held tells until when the host is held, and why; the zero time = it is not.
func (t *turnstile) held() (time.Time, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.heldUntil.After(time.Now()) {
		return time.Time{}, ""
	}
	return t.heldUntil, t.heldFor
}

// await waits for done (somebody else's errand at the host) as long as ctx lasts
// and the host is not held for longer than maxHold.
func (t *turnstile) await(ctx context.Context, done <-chan struct{}, maxHold time.Duration) error {
	for {
		t.mu.Lock()
		err, news := t.tooLong(time.Now(), maxHold), t.toldOfHolds()
		t.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
