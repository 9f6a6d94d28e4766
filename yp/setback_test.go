package yp

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestFail holds every step of docs/health.md, section 3, on both sides.
func TestFail(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	rests := func(level int, wait time.Duration) Setback { return Setback{EventFail, level, wait} }
	waits := func(d time.Duration) Setback { return Setback{EventBackOff, 0, d} }
	dead := Setback{EventPark, 5, 0}
	for _, c := range []struct {
		name     string
		n, level int
		least    Setback       // with no jitter
		jitter   time.Duration // what is added at most, exclusive
	}{
		{"never before", 0, 0, waits(2 * minute), 30 * time.Second},
		{"the first", 1, 0, waits(2 * minute), 30 * time.Second},
		{"the second", 2, 0, waits(4 * minute), minute},
		{"the third", 3, 0, rests(1, 2*hour), 0},
		{"the fourth", 4, 1, rests(2, 4*hour), 0},
		{"the seventh", 7, 4, rests(5, 32*hour), 0},
		{"at level 5", 8, 5, dead, 0},
		{"many, at level 0: as of an older file", 9, 0, rests(1, 2*hour), 0},
		{"few, but with a level: it was degraded before", 1, 1, rests(2, 4*hour), 0},
		{"few, at level 5", 1, 5, dead, 0},
		{"a level that there is not", 3, -1, rests(1, 2*hour), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Fail(c.n, c.level, 0); got != c.least {
				t.Errorf("without jitter %+v, want %+v", got, c.least)
			}
			most, want := Fail(c.n, c.level, 1), c.least
			want.Wait += c.jitter
			if most != want {
				t.Errorf("with all jitter %+v, want %+v", most, want)
			}
		})
	}
}

// TestFailToTheEnd: a target that only fails is a dead letter after eight times,
// and rests longer each time.
func TestFailToTheEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var last Setback
		for n := 1; ; n++ {
			s := Fail(n, last.Level, rapid.Float64Range(0, 0.999).Draw(rt, "unit"))
			if s.Event == EventPark {
				if n != 8 || last.Level != MaxBackoffLevel {
					rt.Fatalf("parked at failure %d, level %d", n, last.Level)
				}
				return
			}
			if s.Wait <= last.Wait || s.Level < last.Level || s.Level > MaxBackoffLevel {
				rt.Fatalf("failure %d: %+v after %+v", n, s, last)
			}
			if s.Wait < MinCrawlGap {
				rt.Fatalf("failure %d waits %s, less than the gap between two crawls", n, s.Wait)
			}
			last = s
		}
	})
}
