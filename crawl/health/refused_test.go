package health

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// tooMany is a 429 without Retry-After as a crawl tells it, while requests start gap apart.
func tooMany(gap time.Duration) Seen {
	return Seen{Class: yp.ClassHTTP429, HostFault: true, RetryAfter: yp.DefaultRetryAfter, HoldReason: yp.NoRetryAfter, Gap: gap}
}

func TestRefused(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		name                            string
		delay, floor, gap, slower, rest time.Duration
	}{
		{"twice the gap, and one and a half times", s, 0, s, 2 * s, 1500 * ms},
		{"the median is larger than the delay", s, 0, 1200 * ms, 2400 * ms, 1800 * ms},
		{"half a second at least", 0, 0, 30 * ms, 500 * ms, 45 * ms},
		{"without a gap", 0, 0, 0, 500 * ms, 15 * ms},
		{"a gap that no delay makes", 0, 0, 2 * ms, 500 * ms, 15 * ms},
		{"20 s at most", 12 * s, 0, 12 * s, 20 * s, 18 * s},
		{"the floor, too", 14 * s, 0, 14 * s, 20 * s, 20 * s},
		{"a longer delay stays", 45 * s, 0, 45 * s, 45 * s, 20 * s},
		{"a higher floor stays", s, 4 * s, s, 2 * s, 4 * s},
	} {
		if slower, least := Refused(c.delay, c.floor, c.gap); slower != c.slower || least != c.rest {
			t.Errorf("%s: delay %s, floor %s, want %s, %s", c.name, slower, least, c.slower, c.rest)
		}
	}
}

func TestFloor(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ floor, since, want time.Duration }{
		{9 * s, 0, 9 * s},
		{9 * s, time.Hour - 1, 9 * s},
		{9 * s, time.Hour, 6 * s},
		{9 * s, 2*time.Hour + time.Minute, 4 * s},
		{9 * s, -time.Hour, 9 * s},
		{9 * s, 1 << 62, 0},
		{9 * time.Millisecond, 0, 0},
		{12 * time.Millisecond, time.Hour, 0},
		{0, time.Hour, 0},
	} {
		storetest.Equal(t, Floor(c.floor, c.since), c.want, "of", c.floor, "after", c.since)
	}
}

func TestRefusedAt(t *testing.T) {
	for gap, want := range map[time.Duration]string{
		500 * time.Millisecond:  "one request in 0.5 s",
		2254 * time.Millisecond: "one request in 2.25 s",
		31 * time.Millisecond:   "one request in 0.031 s",
		2 * time.Second:         "one request in 2 s",
		0:                       "requests without a delay",
	} {
		storetest.Equal(t, refusedAt(gap), "slowed down: HTTP 429 at "+want, "at", gap)
	}
}

const storedFloors = `SELECT host, delay_ms, ifnull(delay_reason, '-'), ifnull(floor_ms, '-'), ifnull(substr(floor_at, 12, 8), '-') FROM hosts ORDER BY host`

// TestTooMany: what a host that answers 429 without saying when to come back teaches.
func TestTooMany(t *testing.T) {
	t.Parallel()
	const taught = "slowed down: HTTP 429 at one request in 3 s"
	// slow is a host that was asked once in three seconds, and answered 429.
	slow := func(t *testing.T, p *pacing) {
		t.Helper()
		p.see(t, 1, tooMany(3*time.Second))
		p.want(t, "a hold 30s "+yp.NoRetryAfter, "a delay 6s "+taught, "a hold 30s "+yp.NoRetryAfter)
		p.clock.Move(time.Minute)
	}
	whilePacing(t, "one is enough", func(t *testing.T, p *pacing) {
		slow(t, p)
		wantRows(t, p.db, storedFloors, "a|6000|"+taught+"|4500|12:00:00")
	})
	whilePacing(t, "the delay in force counts where it is larger than the gap", func(t *testing.T, p *pacing) {
		p.see(t, 1, tooMany(time.Second))
		wantRows(t, p.db, storedFloors, "a|4000|slowed down: HTTP 429 at one request in 2 s|3000|12:00:00")
	})
	whilePacing(t, "answers that were on their way say nothing, not even as failures", func(t *testing.T, p *pacing) {
		p.see(t, 1, tooMany(0))
		late := tooMany(0)
		late.Started = noon.Add(-time.Millisecond)
		p.see(t, 50, late)
		late.Started = noon
		p.see(t, 50, late)
		wantRows(t, p.db, `SELECT delay_ms FROM hosts`, "4000")
		late.Started = noon.Add(time.Millisecond)
		p.see(t, 1, late)
		wantRows(t, p.db, `SELECT delay_ms FROM hosts`, "8000")
	})
	whilePacing(t, "nor do those before the share of failures raised it", func(t *testing.T, p *pacing) {
		p.see(t, 10, timeout)
		late := tooMany(0)
		late.Started = noon.Add(-time.Millisecond)
		p.see(t, 1, late)
		wantRows(t, p.db, storedFloors, "a|4000|slowed down: 10 of the last 10 requests failed|-|-")
	})
	whilePacing(t, "with Retry-After only the share of failures slows", func(t *testing.T, p *pacing) {
		named := Seen{Class: yp.ClassHTTP429, HostFault: true, RetryAfter: 2 * time.Second}
		p.see(t, 9, named)
		wantRows(t, p.db, storedFloors)
		p.see(t, 1, named)
		wantRows(t, p.db, storedFloors, "a|4000|slowed down: 10 of the last 10 requests failed|-|-")
	})
	whilePacing(t, "back to the floor, and no further", func(t *testing.T, p *pacing) {
		slow(t, p)
		p.see(t, 20, fine)
		p.want(t, "a delay 4.5s "+taught)
		p.see(t, 100, fine)
		p.want(t)
		wantRows(t, p.db, storedFloors, "a|4500|"+taught+"|4500|12:00:00")
	})
	whilePacing(t, "an hour without one lowers the floor", func(t *testing.T, p *pacing) {
		slow(t, p)
		p.clock.Move(59 * time.Minute)
		p.see(t, 20, fine)
		p.want(t, "a delay 3s "+taught)
		p.clock.Move(time.Hour)
		p.see(t, 20, fine)
		p.want(t, "a delay 2s ") // a request that waits must not wait for what no longer holds
		wantRows(t, p.db, storedFloors, "a|0|-|4500|12:00:00")
	})
	whilePacing(t, "never lowered by a 429", func(t *testing.T, p *pacing) {
		p.see(t, 1, tooMany(10*time.Second))
		p.clock.Move(2 * time.Hour)
		must(t, p.db, `UPDATE hosts SET delay_ms = 0, delay_reason = NULL`)
		ok(t, p.hosts.Refresh(t.Context()))
		wantRows(t, p.db, storedFloors, "a|0|-|15000|12:00:00")
		p.see(t, 1, tooMany(0))
		wantRows(t, p.db, storedFloors, "a|13333|slowed down: HTTP 429 at one request in 6.67 s|10000|14:00:00")
		p.clock.Move(time.Minute)
		p.see(t, 1, tooMany(0))
		wantRows(t, p.db, storedFloors, "a|20000|slowed down: HTTP 429 at one request in 13.33 s|20000|14:01:00")
	})
	whilePacing(t, "at 20 s the share of failures goes on", func(t *testing.T, p *pacing) {
		p.see(t, 1, tooMany(20*time.Second))
		p.clock.Move(time.Minute)
		for range 9 {
			p.see(t, 1, tooMany(20*time.Second))
			p.clock.Move(time.Minute)
		}
		wantRows(t, p.db, `SELECT delay_ms FROM hosts`, "20000")
		p.see(t, 1, tooMany(20*time.Second))
		wantRows(t, p.db, storedFloors, "a|40000|slowed down: 10 of the last 10 requests failed|20000|12:10:00")
	})
	whilePacing(t, "a restart and another process keep to it", func(t *testing.T, p *pacing) {
		slow(t, p)
		newPacing(t, p.again(t)).want(t, "a delay 6s "+taught)
		must(t, p.db, `UPDATE hosts SET delay_ms = 0, delay_reason = NULL`) // by a process whose configured delay is longer
		newPacing(t, p.again(t)).want(t, "a delay 4.5s "+flooredReason)
	})
	whilePacing(t, "a floor below the configured delay is told, too: turns are shared", func(t *testing.T, p *pacing) {
		p.see(t, 1, tooMany(0))
		h, err := p.Hosts(t.Context(), demo, 10*time.Second, p.tape)
		ok(t, err)
		p.want(t, "a hold 30s "+yp.NoRetryAfter, "a delay 4s slowed down: HTTP 429 at one request in 2 s", "a hold 30s "+yp.NoRetryAfter,
			"a delay 3s ")
		p.clock.Move(30 * time.Hour)
		ok(t, h.Refresh(t.Context()))
		p.want(t, "a delay 0s ")
	})
	whilePacing(t, "two processes at once: the larger lesson", func(t *testing.T, p *pacing) {
		b := newPacing(t, p.again(t))
		p.see(t, 1, tooMany(3*time.Second))
		b.see(t, 1, tooMany(2*time.Second))
		wantRows(t, p.db, storedFloors, "a|6000|"+taught+"|4500|12:00:00")
		late := tooMany(0)
		late.Started = noon.Add(-time.Millisecond)
		b.see(t, 1, late) // has heard that it was raised
		wantRows(t, p.db, storedFloors, "a|6000|"+taught+"|4500|12:00:00")
	})
	whilePacing(t, "one that speeds up does not take another's lesson back", func(t *testing.T, p *pacing) {
		b := newPacing(t, p.again(t))
		for range 10 {
			b.see(t, 1, timeout)
		}
		b.see(t, 19, fine)
		ok(t, p.hosts.Refresh(t.Context()))
		p.clock.Move(time.Second)
		p.see(t, 1, tooMany(0))
		wantRows(t, p.db, `SELECT delay_ms FROM hosts`, "8000")
		b.see(t, 1, fine)
		wantRows(t, p.db, `SELECT delay_ms FROM hosts`, "8000")
	})
	whilePacing(t, "an operator takes it back", func(t *testing.T, p *pacing) {
		slow(t, p)
		p.enable(t)
		wantRows(t, p.db, storedFloors, "a|0|-|-|-")
		ok(t, p.hosts.Refresh(t.Context()))
		p.want(t, "a delay 0s ")
	})
	whilePacing(t, "a clock that was set back keeps no floor longer", func(t *testing.T, p *pacing) {
		slow(t, p)
		p.clock.Move(-24 * time.Hour)
		ok(t, p.CorrectClock(t.Context()))
		wantRows(t, p.db, storedFloors, "a|6000|"+taught+"|4500|12:01:00")
		p.see(t, 1, tooMany(6*time.Second)) // after a rise in the future
		wantRows(t, p.db, `SELECT delay_ms, floor_ms FROM hosts`, "12000|9000")
	})
}

// TestTooManyByProxies: a 429 by a proxy is about that proxy, until three ways say so in a row.
func TestTooManyByProxies(t *testing.T) {
	t.Parallel()
	by := func(way string) Seen {
		s := tooMany(3 * time.Second)
		s.Way = way
		return s
	}
	for _, c := range []struct {
		name  string
		ways  string // of the answers, one after the other: a digit is a proxy that brings a 429, "+" any other answer
		slows bool
	}{
		{"one, again and again", "1111111111111111111111111111111", false},
		{"two in turn", "12121212121212121212121", false},
		{"three in a row", "123", true},
		{"three in a row, one of them twice", "1223", true},
		{"three, not in a row", "12+3", false},
		{"one burnt proxy of many", "1++++1++++1++++1++++", false},
		{"directly", "d", true},
		{"two, and then directly", "12d", true},
	} {
		whilePacing(t, c.name, func(t *testing.T, p *pacing) {
			for _, way := range c.ways {
				p.clock.Move(time.Second)
				switch way {
				case '+':
					p.see(t, 1, Seen{Way: "4"})
				case 'd':
					p.see(t, 1, by(""))
				default:
					p.see(t, 1, by(string(way)))
				}
			}
			stored := table(t, p.db, `SELECT delay_ms, floor_ms FROM hosts`)
			if c.slows {
				storetest.Same(t, c.ways, stored, []string{"6000|4500"})
			} else {
				storetest.Same(t, c.ways, stored, nil)
				p.want(t)
			}
		})
	}
	whilePacing(t, "three more in a row are needed for the next step", func(t *testing.T, p *pacing) {
		for n, want := range []string{"", "", "6000", "6000", "6000", "12000"} {
			p.clock.Move(time.Second)
			p.see(t, 1, by(fmt.Sprint("proxy", n)))
			storetest.Equal(t, fmt.Sprint(table(t, p.db, `SELECT delay_ms FROM hosts`)), "["+want+"]", "after", n)
		}
	})
	whilePacing(t, "with Retry-After nobody is held for another way", func(t *testing.T, p *pacing) {
		for n := range 30 {
			p.see(t, 1, Seen{Class: yp.ClassHTTP429, HostFault: true, RetryAfter: time.Hour, Way: fmt.Sprint(n % 2)})
		}
		p.want(t)
	})
}
