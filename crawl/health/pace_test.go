package health

import (
	"testing"
	"time"
)

func TestNextDelay(t *testing.T) {
	t.Parallel()
	const ms, s = time.Millisecond, time.Second
	failing, wild, fine := Window{20, 5, 0}, Window{20, 2, 2}, Window{20, 0, 0}
	for _, c := range []struct {
		name                      string
		current, configured, want time.Duration
		w                         Window
		reason                    string
	}{
		{"too few requests", 2 * s, 2 * s, 2 * s, Window{9, 9, 9}, ""},
		{"10 requests will do", 2 * s, 2 * s, 3 * s, Window{10, 3, 0}, "slowed down: 3 of the last 10 requests failed"},
		{"20 % failed", 2 * s, 2 * s, 2 * s, Window{20, 4, 0}, ""},
		{"more than 20 % failed", 2 * s, 2 * s, 3 * s, Window{20, 5, 0}, "slowed down: 5 of the last 20 requests failed"},
		{"5 % challenged", 2 * s, 2 * s, 2 * s, Window{20, 1, 1}, ""},
		{"more than 5 % challenged", 2 * s, 2 * s, 3 * s, Window{20, 2, 2}, "slowed down: 2 of the last 20 requests were challenged"},
		{"1 of 10 challenged", 2 * s, 2 * s, 3 * s, Window{10, 1, 1}, "slowed down: 1 of the last 10 requests were challenged"},
		{"up to 60 s", 50 * s, 2 * s, 60 * s, failing, "slowed down: 5 of the last 20 requests failed"},
		{"no further", 60 * s, 2 * s, 60 * s, failing, ""},
		{"configured beyond 60 s", 90 * s, 90 * s, 90 * s, failing, ""},
		{"below the configured delay, which was raised", 1 * s, 4 * s, 6 * s, failing, "slowed down: 5 of the last 20 requests failed"},
		{"from no delay", 0, 0, 500 * ms, failing, "slowed down: 5 of the last 20 requests failed"},
		{"from 500 ms", 500 * ms, 0, 750 * ms, wild, "slowed down: 2 of the last 20 requests were challenged"},
		{"95 % well", 8 * s, 2 * s, 8 * s, Window{20, 1, 0}, ""},
		{"more than 95 % well", 8 * s, 2 * s, 6 * s, fine, "easing off: 20 of the last 20 requests went well"},
		{"down to the configured delay", 2500 * ms, 2 * s, 2 * s, fine, ""},
		{"not below it", 2 * s, 2 * s, 2 * s, fine, ""},
		{"back to none", 500 * ms, 0, 0, fine, ""},
		{"nearly back to none", 750 * ms, 0, 562500 * time.Microsecond, fine, "easing off: 20 of the last 20 requests went well"},
		{"back to a small one", 600 * ms, 100 * ms, 100 * ms, fine, ""},
		{"no delay and all is well", 0, 0, 0, fine, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			next, reason := NextDelay(c.current, c.configured, c.w)
			if next != c.want || reason != c.reason {
				t.Errorf("%s %q, want %s %q", next, reason, c.want, c.reason)
			}
		})
	}
	t.Run("up and down again in a bounded number of steps", func(t *testing.T) {
		t.Parallel()
		for _, configured := range []time.Duration{0, 100 * ms, 2 * s} {
			d, steps := configured, 0
			for ; d < MaxDelay; steps++ {
				d, _ = NextDelay(d, configured, failing)
			}
			for ; d > configured; steps++ {
				d, _ = NextDelay(d, configured, fine)
			}
			if d != configured || steps > 40 {
				t.Errorf("%s: back at %s after %d steps", configured, d, steps)
			}
		}
	})
}

func TestPenalty(t *testing.T) {
	t.Parallel()
	want := []time.Duration{0, 0, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute}
	for n, d := range want {
		if got := Penalty(n); got != d {
			t.Errorf("block %d: %s, want %s", n, got, d)
		}
	}
	for _, n := range []int{-1, 100, 1 << 40} {
		if got := Penalty(n); got < 0 || got > MaxPenalty {
			t.Errorf("block %d: %s", n, got)
		}
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	for i := 1; i <= 60; i++ {
		seen := Seen{HostFault: i <= 20}
		if i%2 == 0 && i <= 20 {
			seen = challenged
		}
		due := r.add(seen)
		if due != (i%10 == 0) {
			t.Errorf("after %d requests: due %v", i, due)
		}
		want := Window{Requests: min(i, 20)}
		for j := max(i-19, 1); j <= min(i, 20); j++ {
			want.Failures++
			want.Challenges += 1 - j%2
		}
		if got := r.window(); got != want {
			t.Errorf("after %d requests %+v, want %+v", i, got, want)
		}
	}
}
