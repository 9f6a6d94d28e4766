package checkpoint_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// clock is a clock that moves when it is told to.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) move(d time.Duration) { c.ns.Add(int64(d)) }

// tester is a *testing.T, a *testing.B or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// table runs a query and gives each row as its columns, joined by "|"; NULL is "".
func table(t tester, db *store.DB, query string, args ...any) []string {
	t.Helper()
	rs, err := db.Read().QueryContext(context.Background(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rs.Close() }()
	cols, err := rs.Columns()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var out []string
	for rs.Next() {
		cells, into := make([]sql.NullString, len(cols)), make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rs.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		row := make([]string, len(cols))
		for i, c := range cells {
			row[i] = c.String
		}
		out = append(out, strings.Join(row, "|"))
	}
	if err := rs.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

func execute(t tester, db *store.DB, queries ...string) {
	t.Helper()
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		for _, q := range queries {
			if _, err := tx.Exec(q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// modelTarget is what must be true of a target.
type modelTarget struct {
	id, priority   int64
	state          string
	status         yp.Status
	page           int
	token          int64
	recoveries     int
	failures       int
	attempts       int
	worker         string
	run            int64
	beat           time.Time
	backoff, again time.Time
}

func (m *modelTarget) String() string {
	return fmt.Sprintf("%d|%s|%d|%d|%d|%d|%d|%s|%s|%s|%s", m.id, m.status, m.page, m.token, m.recoveries, m.failures, m.attempts,
		m.worker, stamp(m.beat), stamp(m.backoff), stamp(m.again))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return yp.FormatTime(t)
}

const modelRows = `SELECT id, status, page_current, claim_token, recoveries, consecutive_failures, total_attempts, claimed_by, heartbeat_at,
	backoff_until, next_crawl_at FROM targets ORDER BY id`

// move applies an event by the machine of package yp.
func (m *modelTarget) move(t tester, e yp.Event) {
	next, ok := m.status.Next(e)
	if !ok {
		t.Fatalf("target %d is %s: the design knows no %s", m.id, m.status, e)
	}
	if m.status = next; next != yp.InProgress {
		m.worker, m.run, m.beat = "", 0, time.Time{}
	}
}

func (m *modelTarget) recover(t tester) {
	m.recoveries++
	if m.recoveries >= yp.MaxRecoveries {
		m.move(t, yp.EventGiveUp)
	} else {
		m.move(t, yp.EventRecover)
	}
}

// machine drives a keeper and the model side by side.
type machine struct {
	k       *checkpoint.Keeper
	clock   *clock
	source  int64
	runs    [2]*checkpoint.Run
	targets []*modelTarget
	claims  []*checkpoint.Claim // every claim ever given
	serial  int
}

const modelPerState = 2

func (m *machine) of(id int64) *modelTarget { return m.targets[id-m.targets[0].id] }

func (m *machine) holds(c *checkpoint.Claim) bool {
	t := m.of(c.TargetID)
	return t.status == yp.InProgress && t.worker == c.Worker.ID && t.token == c.Token
}

func (m *machine) scope(rt *rapid.T) checkpoint.Scope {
	s := checkpoint.Scope{SourceID: m.source, States: []string{"CA", "TX"}}
	if rapid.IntRange(0, 3).Draw(rt, "one state") == 0 {
		s.States = s.States[1:]
	}
	return s
}

func in(s checkpoint.Scope, t *modelTarget) bool {
	for _, st := range s.States {
		if st == t.state {
			return true
		}
	}
	return false
}

func (m *machine) best(s checkpoint.Scope) *modelTarget {
	held := map[string]int{}
	for _, t := range m.targets {
		if t.status == yp.InProgress {
			held[t.state]++
		}
	}
	var best *modelTarget
	for _, t := range m.targets {
		if t.status == yp.Planned && in(s, t) && held[t.state] < modelPerState && (best == nil || t.priority < best.priority) {
			best = t
		}
	}
	return best
}

func (m *machine) claim(rt *rapid.T) {
	n := rapid.IntRange(0, 3).Draw(rt, "worker")
	w := checkpoint.Worker{ID: yp.WorkerID(n, 1), RunID: m.runs[n/2].ID}
	s := m.scope(rt)
	want := m.best(s)
	c, err := m.k.Claim(context.Background(), w, s, modelPerState)
	if want == nil {
		if !errors.Is(err, checkpoint.ErrNothing) {
			rt.Fatalf("nothing can be claimed: got %v, %v", c, err)
		}
		return
	}
	if err != nil || c.TargetID != want.id {
		rt.Fatalf("claimed %+v (%v), want target %d", c, err, want.id)
	}
	want.move(rt, yp.EventClaim)
	want.token++
	want.attempts++
	want.worker, want.run, want.beat = w.ID, w.RunID, m.clock.now()
	if c.Token != want.token || c.PageCurrent != want.page {
		rt.Fatalf("claim is %+v, want token %d and page %d", c, want.token, want.page)
	}
	m.claims = append(m.claims, c)
}

// act lets any claim ever given do something; only a valid one may change a byte.
func (m *machine) act(rt *rapid.T) {
	if len(m.claims) == 0 {
		rt.Skip()
	}
	c := m.claims[rapid.IntRange(max(0, len(m.claims)-6), len(m.claims)-1).Draw(rt, "claim")]
	t, valid := m.of(c.TargetID), m.holds(c)
	event := rapid.SampledFrom([]yp.Event{
		yp.EventPage, yp.EventPage, yp.EventPage, yp.EventLastPage, yp.EventRelease, yp.EventFail, yp.EventPark, "complete", "gap",
	}).Draw(rt, "event")
	before := m.everything(rt, c.TargetID)
	err := m.perform(c, event)
	if !valid || event == "gap" {
		if !errors.Is(err, checkpoint.ErrClaimLost) {
			rt.Fatalf("%s by %+v: %v, want ErrClaimLost", event, c, err)
		}
		if after := m.everything(rt, c.TargetID); after != before {
			rt.Fatalf("%s by a lost claim changed\n%s\nto\n%s", event, before, after)
		}
		return
	}
	if err != nil {
		rt.Fatalf("%s: %v", event, err)
	}
	m.follow(rt, t, event)
}

// everything is the target's row and what hangs on it.
func (m *machine) everything(t tester, id int64) string {
	return fmt.Sprint(table(t, m.k.DB(), `SELECT * FROM targets WHERE id = ?`, id), table(t, m.k.DB(), `SELECT * FROM runs`),
		table(t, m.k.DB(), `SELECT count(*), max(id) FROM listings`), table(t, m.k.DB(), `SELECT * FROM sightings WHERE target_id = ?`, id))
}

func (m *machine) perform(c *checkpoint.Claim, event yp.Event) error {
	ctx := context.Background()
	m.serial++
	p := checkpoint.Page{Number: c.PageCurrent + 1, NextURL: "/next", Raw: 2, Listings: []yp.Listing{{ID: fmt.Sprint("l", m.serial), Name: "N"}}}
	var err error
	switch event {
	case "gap":
		p.Number++
		_, err = m.k.CommitPage(ctx, c, p)
	case yp.EventPage:
		_, err = m.k.CommitPage(ctx, c, p)
	case yp.EventLastPage:
		p.Last, p.NextURL = true, ""
		_, err = m.k.CommitPage(ctx, c, p)
	case yp.EventRelease:
		err = m.k.Release(ctx, c)
	case yp.EventFail:
		err = m.k.Fail(ctx, c, yp.CodeTimeout, "slow")
	case yp.EventPark:
		err = m.k.Park(ctx, c, yp.CodeBlockedProxy, "no")
	case "complete":
		err = m.k.Complete(ctx, c, yp.CodeNoListings, "none")
	}
	return err
}

// follow tells the model what a valid claim did.
func (m *machine) follow(rt *rapid.T, t *modelTarget, event yp.Event) {
	now := m.clock.now()
	switch event {
	case yp.EventPage, yp.EventLastPage:
		t.page++
		t.recoveries, t.beat = 0, now
	case "complete":
		event = yp.EventLastPage
	case yp.EventFail:
		t.failures++
		t.backoff = now.Add(checkpoint.Backoff(t.failures))
	case yp.EventPark:
		t.failures++
	}
	if event == yp.EventLastPage {
		t.failures, t.again = 0, now.Add(checkpoint.RecrawlAfter)
	}
	t.move(rt, event)
}

func (m *machine) beat(rt *rapid.T) {
	r := m.runs[rapid.IntRange(0, 1).Draw(rt, "run")]
	held, want := 0, 0
	held, err := r.Heartbeat(context.Background(), 1)
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

func (m *machine) wake(rt *rapid.T) {
	s, now, want := m.scope(rt), m.clock.now(), 0
	got, err := m.k.Wake(context.Background(), s)
	for _, t := range m.targets {
		switch {
		case !in(s, t):
		case t.status == yp.Failed && !t.backoff.After(now):
			t.move(rt, yp.EventDue)
			t.backoff, t.recoveries = time.Time{}, 0
			want++
		case t.status == yp.Done && !t.again.After(now):
			t.move(rt, yp.EventDue)
			t.again, t.recoveries, t.page = time.Time{}, 0, 0
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
		for _, s := range r.Statuses {
			if t.status != s || !in(r.Scope, t) {
				continue
			}
			t.move(rt, yp.EventReset)
			t.backoff, t.failures, t.recoveries = time.Time{}, 0, 0
			if want++; r.FromPage1 {
				t.page = 0
			}
			break
		}
	}
	if err := errors.Join(err, errCount); err != nil || got != want || count != want {
		rt.Fatalf("reset %d, counted %d (%v), want %d", got, count, err, want)
	}
}

func (m *machine) tick(rt *rapid.T) {
	m.clock.move(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Minute, 30 * time.Minute, 61 * time.Minute, 3 * time.Hour, 8 * 24 * time.Hour, -time.Minute, -3 * time.Hour,
	}).Draw(rt, "time passes"))
}

func (m *machine) check(rt *rapid.T) {
	got := table(rt, m.k.DB(), modelRows)
	for i, t := range m.targets {
		if got[i] != t.String() {
			rt.Fatalf("target is\n%s\nwant\n%s", got[i], t)
		}
	}
	recount(rt, m.k.DB())
}

// recount compares the counters that triggers keep with what they count.
func recount(t tester, db *store.DB) {
	t.Helper()
	const kept = `SELECT source_id, state, status, targets, pages, raw, accepted FROM target_totals WHERE targets <> 0 ORDER BY 1, 2, 3`
	const real = `SELECT source_id, state, status, count(*), sum(page_current), sum(raw_count), sum(accepted_count) FROM targets GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
	if a, b := fmt.Sprint(table(t, db, kept)), fmt.Sprint(table(t, db, real)); a != b {
		t.Errorf("target_totals: %s, want %s", a, b)
	}
	const zero = `SELECT * FROM target_totals WHERE targets = 0 AND (pages <> 0 OR raw <> 0 OR accepted <> 0)`
	if left := table(t, db, zero); len(left) > 0 {
		t.Errorf("target_totals of no targets: %v", left)
	}
}

// begin empties the database and plans six targets.
func (m *machine) begin(rt *rapid.T) {
	ctx := context.Background()
	for _, r := range m.runs {
		if r != nil {
			if err := r.Finish(ctx, checkpoint.OutcomeDone, 0); err != nil {
				rt.Fatalf("%v", err)
			}
		}
	}
	execute(rt, m.k.DB(), `DELETE FROM sightings`, `DELETE FROM company_keys`, `DELETE FROM listings`, `DELETE FROM companies`, `DELETE FROM targets`, `DELETE FROM runs`)
	m.claims, m.targets = nil, nil
	p := checkpoint.Plan{SourceID: m.source, Categories: []checkpoint.Category{{Slug: "a", Name: "A"}}}
	for i := range 6 {
		p.Cities = append(p.Cities, checkpoint.City{Slug: fmt.Sprint("c", i), Name: "C", State: []string{"CA", "TX"}[i%2], Tier: 1 + i/2})
	}
	if _, err := m.k.Plan(ctx, p); err != nil {
		rt.Fatalf("%v", err)
	}
	for i, row := range table(rt, m.k.DB(), `SELECT id FROM targets ORDER BY id`) {
		t := &modelTarget{status: yp.Planned, state: p.Cities[i].State, priority: int64(p.Cities[i].Tier)}
		_, _ = fmt.Sscan(row, &t.id)
		m.targets = append(m.targets, t)
	}
	for i := range m.runs {
		var err error
		if m.runs[i], err = m.k.StartRun(ctx, m.source, "model", false); err != nil {
			rt.Fatalf("%v", err)
		}
	}
}

// TestModel drives random events by several workers against a model built on
// yp.Status.Next.
func TestModel(t *testing.T) {
	t.Parallel()
	m := &machine{clock: newClock()}
	m.k = checkpoint.New(storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: m.clock.now, Synchronous: "OFF"}))
	var err error
	if m.source, err = m.k.Source(t.Context(), "demo", "http://x"); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		m.begin(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"claim": m.claim, "claim too": m.claim, "act": m.act, "act too": m.act, "act as well": m.act, "beat": m.beat,
			"recover stale": m.recoverStale, "recover dead": m.recoverDead, "wake": m.wake, "reset": m.reset, "tick": m.tick, "": m.check,
		})
	})
	for _, r := range m.runs {
		_ = r.Finish(context.WithoutCancel(t.Context()), checkpoint.OutcomeDone, 0)
	}
}
