package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pgregory.net/rapid"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// What happens to the targets of the model without a claim on them.

func (m *machine) beat(rt *rapid.T) {
	r := m.runs[rapid.IntRange(0, 1).Draw(rt, "run")]
	held, want := 0, 0
	held, err := r.Heartbeat(context.Background(), 1, 1)
	for _, t := range m.targets {
		if t.status == yp.InProgress && t.run == r.ID {
			t.beat = m.clock.now()
			want++
		}
	}
	if err != nil || held != want {
		rt.Fatalf("heartbeat of %d targets (%v), want %d", held, err, want)
	}
}

func (m *machine) recoverStale(rt *rapid.T) {
	const timeout = time.Hour
	s, now := m.scope(rt), m.clock.now()
	got, err := m.k.RecoverStale(context.Background(), s, timeout)
	m.recovered(rt, got, err, func(t *modelTarget) bool {
		return in(s, t) && (t.beat.Before(now.Add(-timeout)) || t.beat.After(now.Add(timeout)))
	})
}

// recoverDead kills a run – its lock is gone – and puts a new one in its place.
func (m *machine) recoverDead(rt *rapid.T) {
	n := rapid.IntRange(0, 2).Draw(rt, "who dies") // 2 = nobody
	var dead int64 = -1
	if n < 2 {
		dead = m.runs[n].ID
		m.die(rt, n)
	}
	got, err := m.k.RecoverDead(context.Background(), checkpoint.Scope{})
	m.recovered(rt, got, err, func(t *modelTarget) bool { return t.run == dead })
}

func (m *machine) die(t tester, n int) {
	path := m.k.DB().Path()
	if err := os.Remove(filepath.Join(store.LockDir(path), m.runs[n].UUID+".lock")); err != nil {
		t.Fatalf("%v", err)
	}
	var err error
	if m.runs[n], err = m.k.StartRun(context.Background(), m.source, "model", false); err != nil {
		t.Fatalf("%v", err)
	}
}

func (m *machine) recovered(rt *rapid.T, got checkpoint.Recovered, err error, orphan func(*modelTarget) bool) {
	var want checkpoint.Recovered
	for _, t := range m.targets {
		if t.status != yp.InProgress || !orphan(t) {
			continue
		}
		a := m.attemptOf(t)
		a.ended, a.pages = "recovered", t.page-a.before
		if t.recover(rt); t.status == yp.Stuck {
			want.Stuck++
		} else {
			want.Planned++
		}
	}
	if err != nil || got.Planned != want.Planned || got.Stuck != want.Stuck {
		rt.Fatalf("recovered %+v (%v), want %+v", got, err, want)
	}
}

// longest is beyond every backoff: one that ends later than that is the mark of a
// clock that was set back since.
const longest = 33 * time.Hour

// latest is beyond every next crawl of a target of the usual frequency, likewise.
const latest = yp.RecrawlAfter + 24*time.Hour

func (m *machine) wake(rt *rapid.T) {
	s, now, want := m.scope(rt), m.clock.now(), 0
	got, err := m.k.Wake(context.Background(), s)
	for _, t := range m.targets {
		switch {
		case !in(s, t):
		case !t.backoff.IsZero() && (!t.backoff.After(now) || t.backoff.After(now.Add(longest))):
			if t.status != yp.Planned {
				t.move(rt, yp.EventDue)
			}
			t.backoff, t.recoveries = time.Time{}, 0
			want++
		case t.status == yp.Done && (!t.again.After(now) || t.again.After(now.Add(latest))) && t.ripe(now):
			t.move(rt, yp.EventDue)
			t.again, t.recoveries, t.page, t.next = time.Time{}, 0, 0, false
			want++
		}
	}
	if err != nil || got != want {
		rt.Fatalf("woke %d (%v), want %d", got, err, want)
	}
}

func (m *machine) reset(rt *rapid.T) {
	r := checkpoint.Reset{Scope: m.scope(rt), FromPage1: rapid.Bool().Draw(rt, "from page 1")}
	r.Statuses = rapid.SampledFrom([][]yp.Status{nil, {yp.Stuck}, {yp.Parked, yp.Stuck}, {yp.Failed, yp.Stuck, yp.Parked}}).Draw(rt, "statuses")
	count, errCount := m.k.CountReset(context.Background(), r)
	got, err := m.k.ResetTargets(context.Background(), r)
	if r.Statuses == nil {
		r.Statuses = []yp.Status{yp.Failed}
	}
	want := 0
	for _, t := range m.targets {
		// With FAILED go those that wait after a first failure.
		waits := t.status == yp.Planned && !t.backoff.IsZero() && slices.Contains(r.Statuses, yp.Failed)
		if !in(r.Scope, t) || !waits && !slices.Contains(r.Statuses, t.status) {
			continue
		}
		if !waits {
			t.move(rt, yp.EventReset)
		}
		t.backoff, t.gap, t.failures, t.level, t.recoveries, t.dead = time.Time{}, time.Time{}, 0, 0, 0, false
		t.fares(yp.Active)
		if want++; r.FromPage1 {
			t.page, t.next = 0, false
		}
	}
	if err := errors.Join(err, errCount); err != nil || got != want || count != want {
		rt.Fatalf("reset %d, counted %d (%v), want %d", got, count, err, want)
	}
}

// deepen asks for all pages: what the limit of pages alone ended goes on.
func (m *machine) deepen(rt *rapid.T) {
	p := m.plan()
	p.Explicit = true
	got, err := m.k.Plan(context.Background(), p)
	want := 0
	for _, t := range m.targets {
		if t.status == yp.Done && t.next {
			t.move(rt, yp.EventDue)
			t.again, t.gap = time.Time{}, time.Time{}
			want++
		}
	}
	if err != nil || got.Deepened != want {
		rt.Fatalf("deepened %d (%v), want %d", got.Deepened, err, want)
	}
}

// operate is an operator with sqlite3.
func (m *machine) operate(rt *rapid.T) {
	t := m.targets[rapid.IntRange(0, len(m.targets)-1).Draw(rt, "target")]
	set := ""
	switch rapid.IntRange(0, 5).Draw(rt, "what the operator does") {
	case 0:
		set, t.health = `crawl_status = 'paused'`, yp.Paused
	case 1, 2:
		set, t.health = `crawl_status = 'active'`, yp.Active
		if t.status == yp.Parked {
			set, t.health = `crawl_status = 'failed'`, yp.Dead
		}
	case 3:
		set, t.enabled = `enabled = 0`, false
	default:
		set = `enabled = 1`
		m.enable(rt, t)
	}
	execute(rt, m.k.DB(), fmt.Sprintf(`UPDATE targets SET %s WHERE id = %d`, set, t.id))
}

// enable clears what was set automatically, and leaves a dead letter that has a
// permanent cause.
func (m *machine) enable(rt *rapid.T, t *modelTarget) {
	if t.health == yp.Degraded || t.health == yp.Dead && t.dead {
		t.health = yp.Active
	}
	if t.status == yp.Failed || t.dead {
		t.move(rt, yp.EventReset)
	}
	t.enabled, t.dead, t.failures, t.level, t.backoff = true, false, 0, 0, time.Time{}
}

func (m *machine) tick(rt *rapid.T) {
	m.clock.move(rapid.SampledFrom([]time.Duration{
		time.Millisecond, 30 * time.Second, 2 * time.Minute, 2*time.Minute - time.Millisecond, 5 * time.Minute, 30 * time.Minute, 61 * time.Minute,
		3 * time.Hour, 33 * time.Hour, 8 * 24 * time.Hour, -time.Minute, -3 * time.Hour, -34 * time.Hour,
	}).Draw(rt, "time passes"))
}
