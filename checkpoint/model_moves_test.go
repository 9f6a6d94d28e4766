package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
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
	held, err := r.Heartbeat(context.Background(), 1, checkpoint.Usage{Memory: 1})
	for _, t := range m.targets {
		if t.status == yp.InProgress && t.run == r.ID {
			t.beat = m.clock.Now()
			want++
		}
	}
	if err != nil || held != want {
		rt.Fatalf("heartbeat of %d targets (%v), want %d", held, err, want)
	}
}

func (m *machine) recoverStale(rt *rapid.T) {
	const timeout = time.Hour
	s, now := m.scope(rt), m.clock.Now()
	for _, t := range m.targets {
		t.inHand = true // nobody knows: it counts
	}
	got, err := m.k.RecoverStale(context.Background(), s, timeout)
	m.recovered(rt, got, err, func(t *modelTarget) bool {
		return slices.Contains(s.States, t.state) && (t.beat.Before(now.Add(-timeout)) || t.beat.After(now.Add(timeout)))
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
	got, err := m.k.RecoverDead(context.Background(), store.Scope{})
	m.recovered(rt, got, err, func(t *modelTarget) bool { return t.run == dead })
}

// die kills a run; of every other target that it held a page was in hand.
func (m *machine) die(t tester, n int) {
	for i, x := range m.targets {
		if x.inHand = x.run == m.runs[n].ID && i%2 == 0; x.inHand {
			m.runs[n].InHand(i, &checkpoint.Claim{TargetID: x.id, Token: x.token})
		}
	}
	noErr(t, m.runs[n].Die())
	var err error
	m.runs[n], err = m.k.StartRun(context.Background(), m.source, "model", false)
	noErr(t, err)
}

func (m *machine) recovered(rt *rapid.T, got checkpoint.Recovered, err error, orphan func(*modelTarget) bool) {
	var want checkpoint.Recovered
	for _, t := range m.targets {
		if t.status != yp.InProgress || !orphan(t) {
			continue
		}
		a := m.attemptOf(t)
		a.ended, a.pages = "recovered", t.page-a.before
		t.recover(rt)
		want.Stuck += bit(t.status == yp.Stuck)
		want.Planned += bit(t.status != yp.Stuck)
	}
	want.Dead = got.Dead
	if err != nil || got != want {
		rt.Fatalf("recovered %+v (%v), want %+v", got, err, want)
	}
}

// farthest is beyond every wait of the target for its reason: one that ends later than that
// is the mark of a clock that was set back since.
func (m *modelTarget) farthest() time.Duration {
	switch m.reason {
	case "backoff":
		return 33 * time.Hour
	case "gap":
		return yp.MinCrawlGap
	}
	return m.every + 24*time.Hour
}

func (m *machine) wake(rt *rapid.T) {
	s, now, want := m.scope(rt), m.clock.Now(), 0
	got, err := m.k.Wake(context.Background(), s)
	for _, t := range m.targets {
		switch {
		case !in(s, t):
		case t.reason == "" || t.wait.After(now) && !t.wait.After(now.Add(t.farthest())):
		case t.reason == "backoff":
			if t.status != yp.Planned {
				t.move(rt, yp.EventDue)
			}
			t.waits("", time.Time{})
			t.recoveries = 0
			want++
		default:
			t.move(rt, yp.EventDue)
			t.waits("", time.Time{})
			t.recoveries, t.page, t.next = 0, 0, false
			want++
		}
	}
	if err != nil || got != want {
		rt.Fatalf("woke %d (%v), want %d", got, err, want)
	}
}

func (m *machine) reset(rt *rapid.T) {
	r, o := checkpoint.Chosen{Scope: m.scope(rt)}, rapid.SampledFrom([]checkpoint.Operation{checkpoint.Reset, checkpoint.ResetFromPage1}).Draw(rt, "operation")
	r.Statuses = rapid.SampledFrom([][]yp.Status{nil, {yp.Stuck}, {yp.Parked, yp.Stuck}, {yp.Failed, yp.Stuck, yp.Parked}}).Draw(rt, "statuses")
	count, errCount := m.k.CountChosen(context.Background(), o, r)
	got, err := m.k.Operate(context.Background(), o, r)
	if r.Statuses == nil {
		r.Statuses = []yp.Status{yp.Failed}
	}
	want := 0
	for _, t := range m.targets {
		// With FAILED go those that wait after a first failure.
		waits := t.status == yp.Planned && t.reason == "backoff" && slices.Contains(r.Statuses, yp.Failed)
		if !in(r.Scope, t) || !waits && !slices.Contains(r.Statuses, t.status) {
			continue
		}
		if !waits {
			t.move(rt, yp.EventReset)
		}
		t.waits("", time.Time{})
		t.failures, t.level, t.recoveries = 0, 0, 0
		if want++; o == checkpoint.ResetFromPage1 {
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
		if t.status == yp.Done && t.next && t.kind == yp.KindSearch {
			t.move(rt, yp.EventDue)
			t.waits("", time.Time{})
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
		set, t.paused = `paused = 1`, true
	case 1, 2:
		set, t.paused = `paused = 0`, false
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
	if t.status == yp.Failed || t.status == yp.Parked && t.level > 0 {
		t.move(rt, yp.EventReset)
	}
	t.enabled, t.failures, t.level = true, 0, 0
	if t.reason == "backoff" {
		t.waits("", time.Time{})
	}
}

type modelPass struct{ began, cutoff time.Time }

// pass begins one, or goes on with it.
func (m *machine) pass(rt *rapid.T) {
	s, now := m.scope(rt), m.clock.Now()
	again := rapid.SampledFrom([]*time.Duration{nil, new(time.Duration(0)), new(time.Duration(0)), new(time.Hour)}).Draw(rt, "recrawl")
	key := fmt.Sprint(s.Kinds, s.States)
	if again != nil {
		key += again.String()
	}
	p, known := m.passes[key]
	ended := p.began // of the runs that are its own still: a later pass takes a run along
	for _, row := range table(rt, m.k.DB(), `SELECT ifnull(r.finished_at, '9999-01-01T00:00:00.000Z') FROM run_passes x JOIN runs r ON r.id = x.run_id WHERE x.selection = '`+
		store.JSON(store.SelectionOf(s, again))+`' AND x.began_at = '`+stamp(p.began)+`'`) {
		at, err := yp.ParseTime(row)
		if noErr(rt, err); at.After(ended) {
			ended = at
		}
	}
	goesOn := known && !p.began.After(now) && slices.ContainsFunc(m.targets, func(t *modelTarget) bool { return in(s, t) && t.keepsOpen(p.began, ended) })
	if !goesOn {
		p = modelPass{began: now, cutoff: now}
		if again != nil {
			p.cutoff = now.Add(-*again)
		}
		m.passes[key] = p
	}
	want := checkpoint.Pass{Began: p.began, GoesOn: goesOn}
	for _, t := range m.targets {
		if again == nil || !in(s, t) || s.Has(yp.KindSearch) && t.kind != yp.KindSearch || t.status != yp.Done || t.success.After(p.cutoff) && !t.success.After(now) {
			continue
		}
		want.Recrawl++
		if t.waits("recrawl", now); t.kind == yp.KindSearch && t.begun.Add(yp.MinCrawlGap).After(now) && !t.begun.After(now) {
			t.waits("gap", t.begun.Add(yp.MinCrawlGap))
		}
	}
	got, err := m.runs[0].BeginPass(context.Background(), s, again)
	if err != nil || !got.Began.Equal(want.Began) || got.GoesOn != want.GoesOn || got.Recrawl != want.Recrawl {
		rt.Fatalf("the pass %s is %+v (%v), want %+v", key, got, err, want)
	}
}

// keepsOpen reports whether a pass that began then is not over because of it.
func (m *modelTarget) keepsOpen(began, ended time.Time) bool {
	due := m.status == yp.Done && m.reason != "" && !m.wait.After(began.Add(yp.MinCrawlGap)) && m.allowed()
	before := m.success.Before(began)
	if m.success.IsZero() {
		before = !m.created.After(ended)
	}
	rests := m.status == yp.Planned && m.reason == "backoff" && m.allowed()
	return (m.status == yp.InProgress || m.ready() || due || rests) && before
}

func (m *machine) tick(rt *rapid.T) {
	m.clock.Move(rapid.SampledFrom([]time.Duration{
		time.Millisecond, 30 * time.Second, 2 * time.Minute, 2*time.Minute - time.Millisecond, 5 * time.Minute, 30 * time.Minute, 61 * time.Minute,
		3 * time.Hour, 33 * time.Hour, 8 * 24 * time.Hour, -time.Minute, -3 * time.Hour, -34 * time.Hour,
	}).Draw(rt, "time passes"))
}
