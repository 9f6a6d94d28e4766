package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// tape is a Pacer that writes down what it is told.
type tape struct {
	released []string
	mu       sync.Mutex
	lines    []string
	held     time.Duration // the last hold
}

func (p *tape) Release(host string) { p.released = append(p.released, host) }

func (p *tape) SetDelay(host string, d time.Duration, reason string) {
	p.add(fmt.Sprintf("%s delay %s %s", host, d, reason))
}

func (p *tape) Hold(host string, d time.Duration, reason string) {
	p.add(fmt.Sprintf("%s hold %s %s", host, d, reason))
	p.held = d
}

func (p *tape) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.lines); n == 0 || p.lines[n-1] != line { // it is told at once, and again when it is written
		p.lines = append(p.lines, line)
	}
}

// want checks what was said since it was last asked.
func (p *tape) want(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	storetest.Diff(t, p.lines, want, "the pacer was told")
	p.lines = nil
}

const delay = 2 * time.Second

// pacing is a world with the hosts of its first source.
type pacing struct {
	*world
	*tape
	hosts *Hosts
}

func newPacing(t *testing.T, w *world) *pacing {
	t.Helper()
	p := &pacing{world: w, tape: &tape{}}
	var err error
	p.hosts, err = p.Hosts(t.Context(), demo, delay, p.tape)
	ok(t, err)
	return p
}

// whilePacing is a subtest with hosts of its own, beside others.
func whilePacing(t *testing.T, name string, test func(t *testing.T, p *pacing)) {
	t.Helper()
	inWorld(t, name, func(t *testing.T, w *world) { test(t, newPacing(t, w)) })
}

// see observes requests to the host "a" that start and end now.
func (p *pacing) see(t *testing.T, n int, seen Seen) {
	t.Helper()
	seen.Host = cmp.Or(seen.Host, "a")
	if seen.Started.IsZero() {
		seen.Started = p.clock.Now()
	}
	for range n {
		ok(t, p.hosts.Observed(t.Context(), seen))
	}
}

const storedHosts = `SELECT host, delay_ms, blocks, substr(held_until, 12, 8), held_for FROM hosts WHERE source_id = 1`

var (
	fine    = Seen{}
	blocked = Seen{Class: yp.ClassHTTP403, Block: true}
	timeout = Seen{Class: yp.ClassTimeout, HostFault: true}
)

func TestObservedPenalties(t *testing.T) {
	t.Parallel()
	whilePacing(t, "the first block costs nothing, the second 30 s, then doubled", func(t *testing.T, p *pacing) {
		p.see(t, 1, blocked)
		p.want(t)
		wantRows(t, p.db, storedHosts, "a|0|1||") // a process that is started again and again must come to a penalty
		for i, want := range []string{"30s", "1m0s", "2m0s", "4m0s", "8m0s", "16m0s", "30m0s", "30m0s"} {
			p.clock.Move(time.Second)
			p.clock.Move(p.held)
			p.see(t, 1, blocked)
			p.lines = slices.DeleteFunc(p.lines, func(s string) bool { return s[:7] == "a delay" })
			p.want(t, fmt.Sprintf("a hold %s penalty: %d blocks in a row", want, i+2))
		}
		wantRows(t, p.db, `SELECT blocks, held_for FROM hosts`, "9|penalty")
	})
	whilePacing(t, "blocks of requests that were on their way are one incident", func(t *testing.T, p *pacing) {
		p.see(t, 1, blocked)
		p.clock.Move(time.Second)
		p.see(t, 3, Seen{Block: true, Class: yp.ClassHTTP403, Started: noon.Add(-time.Millisecond)})
		p.want(t)
		p.see(t, 1, Seen{Block: true, Class: yp.ClassHTTP403, Started: noon})
		p.want(t, "a hold 30s penalty: 2 blocks in a row")
	})
	whilePacing(t, "a success ends the row, one that was on its way does not", func(t *testing.T, p *pacing) {
		p.see(t, 2, blocked)
		p.clock.Move(time.Minute)
		p.see(t, 1, Seen{Started: noon.Add(-1)})
		wantRows(t, p.db, `SELECT blocks FROM hosts`, "2")
		p.see(t, 1, fine)
		wantRows(t, p.db, `SELECT blocks FROM hosts`, "0")
		p.see(t, 1, blocked)
		p.want(t, "a hold 30s penalty: 2 blocks in a row") // the one from above
	})
	for name, seen := range map[string]Seen{
		"a time-out":                  timeout,
		"a page that can't be parsed": {Class: yp.ClassParseError},
		"a deferral of our own":       {Class: yp.ClassRateLimited},
		"a 429":                       {Class: yp.ClassHTTP429, HostFault: true, RetryAfter: time.Second},
		"a success of another host":   {Host: "b"},
		"a challenge of another host": {Host: "b", Block: true},
	} {
		whilePacing(t, "the row goes on after "+name, func(t *testing.T, p *pacing) {
			p.see(t, 1, blocked)
			p.see(t, 1, seen)
			p.lines = nil
			p.see(t, 1, blocked)
			p.want(t, "a hold 30s penalty: 2 blocks in a row")
		})
	}
	whilePacing(t, "a clock that was set back makes no incident last", func(t *testing.T, p *pacing) {
		p.see(t, 3, blocked)
		p.want(t, "a hold 30s penalty: 2 blocks in a row", "a hold 1m0s penalty: 3 blocks in a row")
		p.clock.Move(-24 * time.Hour)
		p.see(t, 1, blocked)
		p.want(t, "a hold 2m0s penalty: 4 blocks in a row")
		wantRows(t, p.db, storedHosts, "a|0|4|12:02:00|penalty") // no longer than itself
	})
}

func TestObservedHolds(t *testing.T) {
	t.Parallel()
	whilePacing(t, "5 s are stored, less is not", func(t *testing.T, p *pacing) {
		p.see(t, 1, Seen{Class: yp.ClassHTTP429, HostFault: true, RetryAfter: keepHold - time.Millisecond})
		wantRows(t, p.db, storedHosts)
		p.see(t, 1, Seen{Class: yp.ClassHTTP429, HostFault: true, RetryAfter: keepHold, HoldReason: "429 without Retry-After"})
		wantRows(t, p.db, storedHosts, "a|4000|0|12:00:05|429 without Retry-After")
		p.want(t, "a hold 4.999s Retry-After", "a hold 5s 429 without Retry-After",
			"a delay 4s slowed down: HTTP 429 at one request in 2 s", "a hold 5s 429 without Retry-After")
	})
	whilePacing(t, "only ever prolonged", func(t *testing.T, p *pacing) {
		p.see(t, 1, Seen{HostFault: true, RetryAfter: time.Minute})
		p.see(t, 1, Seen{HostFault: true, RetryAfter: 59 * time.Second, HoldReason: "shorter"})
		p.see(t, 2, blocked)                                                                                // 30 s
		p.want(t, "a hold 1m0s Retry-After", "a hold 59s shorter", "a hold 30s penalty: 2 blocks in a row") // the pacer keeps the longest
		wantRows(t, p.db, storedHosts, "a|0|2|12:01:00|Retry-After")
		p.see(t, 1, blocked)
		p.see(t, 1, blocked) // 2 min
		p.want(t, "a hold 1m0s penalty: 3 blocks in a row", "a hold 2m0s penalty: 4 blocks in a row")
		wantRows(t, p.db, storedHosts, "a|0|4|12:02:00|penalty")
	})
	whilePacing(t, "at most an hour", func(t *testing.T, p *pacing) {
		p.see(t, 1, Seen{HostFault: true, RetryAfter: 24 * time.Hour})
		p.want(t, "a hold 1h0m0s Retry-After")
		wantRows(t, p.db, storedHosts, "a|0|0|13:00:00|Retry-After")
	})
	whilePacing(t, "of a run that is being stopped", func(t *testing.T, p *pacing) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		ok(t, p.hosts.Observed(ctx, Seen{Host: "a", HostFault: true, RetryAfter: time.Minute}))
		wantRows(t, p.db, storedHosts, "a|0|0|12:01:00|Retry-After")
	})
}

func TestObservedPace(t *testing.T) {
	t.Parallel()
	p := newPacing(t, setup(t))
	p.see(t, 7, fine)
	p.see(t, 2, timeout)
	p.want(t)
	p.see(t, 1, timeout)
	p.want(t, "a delay 4s slowed down: 3 of the last 10 requests failed")
	p.see(t, 10, timeout)
	p.want(t, "a delay 8s slowed down: 10 of the last 10 requests failed")
	wantRows(t, p.db, storedHosts, "a|8000|0||")
	p.see(t, 19, fine)
	p.want(t)
	p.see(t, 1, fine)
	p.want(t, "a delay 4s speeding up: 20 of the last 20 requests succeeded")
	wantRows(t, p.db, storedHosts, "a|4000|0||")
	p.see(t, 20, fine)
	p.want(t, "a delay 0s ")
	wantRows(t, p.db, `SELECT delay_ms, delay_reason FROM hosts`, "0|")
	p.see(t, 100, fine)
	p.want(t)
	t.Run("what is sound is no failure of the host", func(t *testing.T) {
		for _, class := range []yp.ErrorClass{"", yp.ClassParseError, yp.ClassRateLimited} {
			p.see(t, 40, Seen{Host: "b", Class: class})
		}
		p.want(t)
	})
	t.Run("challenges", func(t *testing.T) {
		p.see(t, 9, Seen{Host: "c"})
		p.see(t, 1, Seen{Host: "c", Class: yp.ClassChallenge, Block: true})
		p.want(t, "c delay 4s slowed down: 1 of the last 10 requests were challenged")
	})
}

// TestObservedWrites: a crawl that goes well writes nothing.
func TestObservedWrites(t *testing.T) {
	t.Parallel()
	w := setup(t)
	writes := 0
	db := storetest.OpenConfig(t, store.Config{Path: w.path, MustExist: true, BeforeCommit: func() { writes++ }})
	h, err := New(db).Hosts(t.Context(), demo, delay, &tape{})
	ok(t, err)
	for i := range 1000 {
		seen := Seen{Host: "a", Started: time.Now()}
		if i%25 == 0 {
			seen.HostFault, seen.Class = true, yp.ClassTimeout
		}
		ok(t, h.Observed(t.Context(), seen))
	}
	if writes > 0 {
		t.Errorf("%d writes for 1000 pages", writes)
	}
}

func TestHostsLoad(t *testing.T) {
	t.Parallel()
	row := func(values string) string {
		return `INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, updated_at) VALUES (1, 'a', ` + values + `, '2026-11-20T11:50:01.000Z')`
	}
	for _, c := range []struct {
		name, values string
		want         []string
	}{
		{"nothing in force", `0, NULL, 0, NULL, NULL`, nil},
		{"a learned delay", `4500, 'slow', 0, NULL, NULL`, []string{"a delay 4.5s slow"}},
		{"a learned delay under the configured one", `2000, 'slow', 0, NULL, NULL`, nil},
		{"a Retry-After", `0, NULL, 0, '2026-11-20T12:10:00.000Z', 'Retry-After'`, []string{"a hold 10m0s Retry-After"}},
		{"a penalty", `0, NULL, 5, '2026-11-20T12:03:00.000Z', 'penalty'`, []string{"a hold 3m0s penalty: 5 blocks in a row"}},
		{"a hold that is over", `0, NULL, 0, '2026-11-20T12:00:00.000Z', 'Retry-After'`, nil},
		{"a Retry-After from before the clock was set back", `0, NULL, 0, '2026-11-21T12:00:00.000Z', 'Retry-After'`, []string{"a hold 1h0m0s Retry-After"}},
		{"a penalty from before the clock was set back", `0, NULL, 5, '2026-11-21T12:00:00.000Z', 'penalty'`, []string{"a hold 30m0s penalty: 5 blocks in a row"}},
	} {
		inWorld(t, c.name, func(t *testing.T, w *world) {
			must(t, w.db, row(c.values))
			newPacing(t, w).want(t, c.want...)
		})
	}
	inWorld(t, "the row of blocks goes on", func(t *testing.T, w *world) {
		must(t, w.db, row(`0, NULL, 5, NULL, NULL`))
		p := newPacing(t, w)
		p.see(t, 1, blocked)
		p.want(t, "a hold 8m0s penalty: 6 blocks in a row")
	})
}

// TestClockIsSetBack: what was taken while the clock was ahead lasts no longer than it was
// to last, in every process.
func TestClockIsSetBack(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	ends := `SELECT (SELECT substr(held_until, 1, 19) FROM hosts WHERE host = 'a'), (SELECT substr(held_until, 1, 19) FROM hosts WHERE host = 'b'),
		(SELECT substr(paused_until, 1, 19) FROM sources WHERE id = 1), (SELECT substr(quarantine_until, 1, 19) FROM connectivity_profiles WHERE source_id = 1)`
	for _, mend := range []struct {
		name string
		by   func(context.Context, *Monitor) error
	}{
		{"by a roll-up", func(ctx context.Context, m *Monitor) error { _, err := m.RollUp(ctx); return err }},
		{"by a run's next look", func(ctx context.Context, m *Monitor) error { return m.CorrectClock(ctx) }},
	} {
		quarantined(t, mend.name, func(t *testing.T, w *world) {
			p, other := newPacing(t, w), newPacing(t, w.again(t))
			back := -w.clock.Now().Sub(noon) - year // inQuarantine took its time
			w.clock.Move(year)
			must(t, w.db, `UPDATE connectivity_profiles SET quarantine_until = strftime('%Y-%m-%dT%H:%M:%fZ', quarantine_until, '+365 days')`)
			p.see(t, 1, Seen{HostFault: true, RetryAfter: time.Minute})
			p.see(t, 3, Seen{Host: "b", Block: true})
			ok(t, w.Pause(t.Context(), demo, yp.CodeAuthFailed, "401"))
			p.want(t, "a hold 1m0s Retry-After", "b hold 30s penalty: 2 blocks in a row", "b hold 1m0s penalty: 3 blocks in a row")
			w.clock.Move(back)
			other.want(t)
			ok(t, other.hosts.Refresh(t.Context())) // reads what nobody has mended yet
			other.want(t, "a hold 1m0s Retry-After", "b hold 1m0s penalty: 3 blocks in a row")
			ok(t, mend.by(t.Context(), w.Monitor))
			wantRows(t, w.db, ends, "2026-11-20T12:01:00|2026-11-20T12:01:00|2026-11-20T12:30:00|2026-11-20T12:30:00")
			for range 3 {
				w.clock.Move(time.Second)
				ok(t, mend.by(t.Context(), w.Monitor))
				ok(t, p.hosts.Refresh(t.Context()))
			}
			p.want(t)
			wantRows(t, w.db, ends, "2026-11-20T12:01:00|2026-11-20T12:01:00|2026-11-20T12:30:00|2026-11-20T12:30:00")
			if len(p.released) > 0 {
				t.Errorf("released %q: nobody has taken the holds back", p.released)
			}
			w.clock.Move(time.Minute)
			fresh := newPacing(t, w)
			fresh.want(t)
		})
	}
	t.Run("the rest of a proxy", func(t *testing.T) {
		t.Parallel()
		w := withProxies(t)
		w.clock.Move(year)
		ok(t, w.countProxy(t, 10, ProxyUse{Failures: yp.ProxyFailures, Consecutive: yp.ProxyFailures, CooldownUntil: w.clock.Now().Add(yp.ProxyRest)}))
		w.clock.Move(-year)
		for range 2 {
			ok(t, w.CorrectClock(t.Context()))
			wantRows(t, w.db, `SELECT cooldown_until FROM proxies ORDER BY id`, "2026-11-20T13:00:00.000Z", "")
			w.clock.Move(time.Minute)
		}
	})
	inWorld(t, "by less than a hold", func(t *testing.T, w *world) {
		p := newPacing(t, w)
		p.see(t, 1, Seen{HostFault: true, RetryAfter: time.Minute})
		w.clock.Move(-time.Second)
		ok(t, w.CorrectClock(t.Context()))
		wantRows(t, w.db, storedHosts, "a|0|0|12:00:59|Retry-After")
		ok(t, p.hosts.Refresh(t.Context()))
		if len(p.released) > 0 {
			t.Error("released")
		}
	})
}

// TestHoldIsReplaced: an operator takes a hold back, and another process takes a shorter
// one before this one looks.
func TestHoldIsReplaced(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := newPacing(t, w)
	p.see(t, 4, blocked)
	p.want(t, "a hold 30s penalty: 2 blocks in a row", "a hold 1m0s penalty: 3 blocks in a row", "a hold 2m0s penalty: 4 blocks in a row")
	w.enable(t)
	other := newPacing(t, w.again(t))
	other.see(t, 1, Seen{HostFault: true, RetryAfter: 10 * time.Second})
	ok(t, p.hosts.Refresh(t.Context()))
	p.want(t, "a hold 10s Retry-After")
	storetest.Equal(t, len(p.released), 1, "released", p.released)
}

// TestHostsOfTwoProcesses: what one process has met, the other keeps to.
func TestHostsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a, b := newPacing(t, w), newPacing(t, w.again(t))
	a.see(t, 1, Seen{HostFault: true, RetryAfter: 10 * time.Minute})
	ok(t, b.hosts.Refresh(t.Context()))
	b.want(t, "a hold 10m0s Retry-After")
	a.see(t, 3, blocked)
	b.see(t, 2, blocked) // hears of the three with its first
	b.want(t, "a hold 2m0s penalty: 4 blocks in a row")
	wantRows(t, w.db, storedHosts, "a|0|4|12:10:00|Retry-After")
	b.clock.Move(time.Hour)
	b.see(t, 1, blocked)
	b.want(t, "a hold 4m0s penalty: 5 blocks in a row")
	a.see(t, 1, fine)
	wantRows(t, w.db, storedHosts, "a|0|0|13:04:00|penalty")
	for range 20 {
		b.see(t, 1, Seen{HostFault: true})
	}
	wantRows(t, w.db, storedHosts, "a|8000|0|13:04:00|penalty")
}

// TestHostsReset: an operator's reset reaches a process that works.
func TestHostsReset(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := newPacing(t, w)
	a.see(t, 3, blocked)
	for range 20 {
		a.see(t, 1, timeout)
	}
	w.enable(t)
	ok(t, a.hosts.Refresh(t.Context()))
	if a.released == nil {
		t.Error("the pacer still holds the host")
	}
	a.see(t, 1, blocked)
	wantRows(t, w.db, storedHosts, "a|0|1||")
}

// TestHostsHeld: a hold that only the pacer knows of does not apply to failures.
func TestHostsHeld(t *testing.T) {
	t.Parallel()
	p := newPacing(t, setup(t))
	for range 30 {
		ok(t, p.hosts.Held(t.Context(), "a", time.Minute, "robots.txt is unavailable"))
	}
	wantRows(t, p.db, storedHosts, "a|0|0|12:01:00|robots.txt is unavailable")
}

func TestHostsTogether(t *testing.T) {
	t.Parallel()
	p := newPacing(t, setup(t))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				seen := Seen{Host: fmt.Sprint("host", j%3), Block: j%7 == i%7, HostFault: j%5 == 0, RetryAfter: time.Duration(j%11) * time.Second}
				if err := p.hosts.Observed(t.Context(), seen); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	stored, err := store.All(p.db.Reader(t.Context()), selectHosts, []any{demo}, (*Host).columns)
	ok(t, err)
	for _, row := range stored {
		if s := p.hosts.hosts[row.Host]; s.Host != row {
			t.Errorf("%+v is known, %+v stored", s.Host, row)
		}
	}
}

// TestHostsAsked: every host that was asked is on record with its pace, written by the next Refresh, and only
// when it has changed.
func TestHostsAsked(t *testing.T) {
	t.Parallel()
	const paces = `SELECT host, delay_ms, reason FROM host_paces ORDER BY host`
	p := newPacing(t, setup(t))
	p.hosts.Asked("a", 2*time.Second, "delay between requests")
	p.hosts.Asked("b", 0, "no delay between requests")
	wantRows(t, p.db, paces)
	ok(t, p.hosts.Refresh(t.Context()))
	wantRows(t, p.db, paces, "a|2000|delay between requests", "b|0|no delay between requests")
	wantRows(t, p.db, storedHosts)
	p.want(t)

	other := newPacing(t, p.again(t))
	other.hosts.Asked("a", 3*time.Second, "delay between requests")
	ok(t, other.hosts.Refresh(t.Context()))
	ok(t, p.hosts.Refresh(t.Context())) // has asked it no differently since
	wantRows(t, p.db, paces, "a|3000|delay between requests", "b|0|no delay between requests")
	p.hosts.Asked("a", 75*time.Second, "Crawl-delay")
	ok(t, p.hosts.Refresh(t.Context()))
	wantRows(t, p.db, paces, "a|75000|Crawl-delay", "b|0|no delay between requests")
}

// TestListOfHosts: the pace is what was asked for, or what was learned where that is longer.
func TestListOfHosts(t *testing.T) {
	t.Parallel()
	p := newPacing(t, setup(t))
	const list = `SELECT source, host, pace_ms, pace_reason, delay_ms, blocks, next_at, last_429_at FROM v_hosts ORDER BY host`
	p.hosts.Asked("a", 75*time.Second, "Crawl-delay")
	p.hosts.Asked("b", time.Second, "delay between requests")
	ok(t, p.hosts.Refresh(t.Context()))
	p.see(t, 1, tooMany(0))
	p.see(t, 1, Seen{Host: "b", Class: yp.ClassHTTP429, HostFault: true})
	p.see(t, 3, Seen{Host: "c", Block: true})
	must(t, p.db, `INSERT INTO host_turns (host, next_at, gap_ms) VALUES ('a', '2026-11-20T12:00:01.000Z', 1000), ('one', '2026-11-20T12:00:02.000Z', 2020), ('on', '2026-11-20T12:00:03.000Z', 3020)`)
	const taught = "slowed down: HTTP 429 at one request in 2 s"
	wantRows(
		t, p.db, list,
		"demo|a|75000|Crawl-delay|4000|0|2026-11-20T12:00:01.000Z|2026-11-20T12:00:00.000Z",
		"demo|b|4000|"+taught+"|4000|0||2026-11-20T12:00:00.000Z",
		"demo|c||||3||",
		"|on|3020|||0|2026-11-20T12:00:03.000Z|",
		"demo|one|2020|||0|2026-11-20T12:00:02.000Z|",
	)
	p.enable(t)
	wantRows(t, p.db, `SELECT host, pace_ms, pace_reason FROM v_hosts WHERE host < 'd' ORDER BY host`, "a|75000|Crawl-delay", "b|1000|delay between requests", "c||")
}
