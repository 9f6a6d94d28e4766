package cli

import (
	"testing"
	"time"
)

// TestTimeLeftOfRun: the time left never grows while nothing ends, and is unknown before it
// would mislead; what comes after a silence is counted anew.
func TestTimeLeftOfRun(t *testing.T) {
	t.Parallel()
	var e ender
	at, n := time.Duration(0), int64(0)
	const total = 100
	look := func() time.Duration { return e.left(at, n, total-n) }
	if got := look(); got != 0 {
		t.Errorf("at the start: %s, want unknown", got)
	}
	for n < 20 { // one every two seconds
		at, n = at+2*time.Second, n+1
		look()
	}
	if got := look(); got != 160*time.Second {
		t.Errorf("80 left, two seconds each: %s", got)
	}
	last := look()
	for range 20 * 60 { // the site answers nothing any more
		at += time.Second
		got := look()
		if got > last {
			t.Fatalf("%s after the last end it has grown from %s to %s", at-40*time.Second, last, got)
		}
		last = got
	}
	if last != 0 {
		t.Errorf("after 20 minutes in which nothing ended: %s, want unknown", last)
	}
	n++
	if got := look(); got != 0 {
		t.Errorf("after the first end again: %s, want unknown: nobody knows how long that took", got)
	}
	at, n = at+5*time.Second, n+1
	if got := look(); got != 78*5*time.Second {
		t.Errorf("after the second, five seconds later: %s", got)
	}
	e.restart()
	at += time.Hour
	if got := look(); got != 0 {
		t.Errorf("after a restart: %s, want unknown", got)
	}
}

// TestTimeLeftLooksBackAsProgressDoes: over the last hundred ends, however long they took.
func TestTimeLeftLooksBackAsProgressDoes(t *testing.T) {
	t.Parallel()
	var e ender
	var got time.Duration
	at, n := time.Duration(0), int64(0)
	for n < 201 { // half a minute each for eight minutes, then a hundred and eighty-five of a second each
		step := time.Second
		if n < 16 {
			step = 30 * time.Second
		}
		at, n = at+step, n+1
		got = e.left(at, n, 100)
	}
	if got != 100*time.Second {
		t.Errorf("100 left, of the last hundred a second each: %s", got)
	}
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	var s speedometer
	for i := range int64(601) { // ten minutes, the last of them twice as fast
		n := i
		if i > 540 {
			n += i - 540
		}
		got := s.rate(time.Duration(i)*time.Second, n)
		if want := 1.0; i == 500 && got != want {
			t.Errorf("after 500 s: %f, want %f", got, want)
		}
		if want := 2.0; i == 600 && got < 1.95 {
			t.Errorf("of the last minute: %f, want %f", got, want)
		}
	}
}
