package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// modelTarget is what must be true of a target.
type modelTarget struct {
	id, priority   int64
	kind           yp.Kind
	every          time.Duration // it is crawled
	state          string
	status         yp.Status
	page           int
	next           bool // the site gave the URL of the page that follows
	token          int64
	recoveries     int
	inHand         bool // a page of it, when its run died
	failures       int
	attempts       int
	worker         string
	run            int64
	beat           time.Time
	wait           time.Time // with its reason
	reason         string
	begun, success time.Time // of its crawl
	created        time.Time

	level           int
	enabled, paused bool
}

func (m *modelTarget) String() string {
	return fmt.Sprintf("%d|%d|%s|%d|%d|%d|%d|%d|%s|%s|%s|%s|%d|%d|%d|%s", m.id, m.priority, m.status, m.page, m.token, m.recoveries, m.failures, m.attempts,
		m.worker, stamp(m.beat), stamp(m.wait), m.reason, m.level, bit(m.enabled), bit(m.paused), stamp(m.success))
}

const modelRows = `SELECT id, priority, status, page_current, claim_token, recoveries, consecutive_failures, total_attempts, claimed_by, heartbeat_at,
	not_before, wait_reason, backoff_level, enabled, paused, last_success_at FROM targets ORDER BY id`

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return yp.FormatTime(t)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// move applies an event by the machine of package yp.
func (m *modelTarget) move(t tester, e yp.Event) {
	next, ok := m.status.Next(e)
	if !ok {
		t.Fatalf("target %d is %s: there is no move %s", m.id, m.status, e)
	}
	if m.status = next; next != yp.InProgress {
		m.worker, m.run, m.beat = "", 0, time.Time{}
	}
}

// waits sets what it waits for; "" = nothing.
func (m *modelTarget) waits(reason string, until time.Time) { m.reason, m.wait = reason, until }

func (m *modelTarget) recover(t tester) {
	if m.inHand {
		m.recoveries++
	}
	if m.inHand && m.recoveries >= yp.MaxRecoveries {
		m.move(t, yp.EventGiveUp)
	} else {
		m.move(t, yp.EventRecover)
	}
}

// ready reports whether it can be claimed, if its source is open.
func (m *modelTarget) ready() bool { return m.status == yp.Planned && m.allowed() && m.reason == "" }

func (m *modelTarget) allowed() bool { return m.enabled && !m.paused }

// machine drives a keeper and the model side by side.
type machine struct {
	k            *checkpoint.Keeper
	clock        *clock
	source       int64
	runs         [2]*checkpoint.Run
	targets      []*modelTarget
	claims       []*checkpoint.Claim // every claim ever given
	attempts     []*modelAttempt
	availability modelAvailability
	passes       map[string]modelPass
	requests     int
	serial       int
}

const modelPerState = 2

func (m *machine) of(id int64) *modelTarget { return m.targets[id-m.targets[0].id] }

func (m *machine) holds(c *checkpoint.Claim) bool {
	t := m.of(c.TargetID)
	return t.status == yp.InProgress && t.worker == c.Worker.ID && t.token == c.Token
}

func (m *machine) scope(rt *rapid.T) store.Scope {
	s := store.Scope{SourceID: m.source, States: []string{"CA", "TX"}}
	if rapid.IntRange(0, 3).Draw(rt, "one state") == 0 {
		s.States = s.States[1:]
	}
	s.Kinds = rapid.SampledFrom([][]yp.Kind{nil, yp.Kinds(), yp.Kinds(), {yp.KindDetail}}).Draw(rt, "kinds")
	return s
}

func in(s store.Scope, t *modelTarget) bool {
	return slices.Contains(s.States, t.state) && s.Has(t.kind)
}

func (m *machine) best(s store.Scope) *modelTarget {
	held := map[string]int{}
	for _, t := range m.targets {
		if t.status == yp.InProgress && t.kind == yp.KindSearch {
			held[t.state]++
		}
	}
	var best *modelTarget
	for _, t := range m.targets {
		full := t.kind == yp.KindSearch && held[t.state] >= modelPerState
		if m.availability.open(m.clock.Now()) && t.ready() && in(s, t) && !full && (best == nil || t.priority < best.priority) {
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
	if err != nil || c.TargetID != want.id || c.Kind != want.kind {
		rt.Fatalf("claimed %+v (%v), want target %d", c, err, want.id)
	}
	want.move(rt, yp.EventClaim)
	want.token++
	want.attempts++
	now := m.clock.Now()
	want.worker, want.run, want.beat = w.ID, w.RunID, now
	if want.page == 0 {
		want.begun = now
	}
	if c.Token != want.token || c.PageCurrent != want.page || c.MaxRetries != 3 || !c.Attempt.StartedAt.Equal(now) {
		rt.Fatalf("claim is %+v, want token %d and page %d", c, want.token, want.page)
	}
	m.claims = append(m.claims, c)
	m.attempts = append(m.attempts, &modelAttempt{target: want.id, token: want.token, number: want.attempts, before: want.page, ended: "running"})
}

// act lets any claim ever given do something; only a valid one may change a byte.
func (m *machine) act(rt *rapid.T) {
	if len(m.claims) == 0 {
		rt.Skip()
	}
	c := m.claims[rapid.IntRange(max(0, len(m.claims)-6), len(m.claims)-1).Draw(rt, "claim")]
	t, valid := m.of(c.TargetID), m.holds(c)
	event := rapid.SampledFrom([]yp.Event{
		yp.EventPage, yp.EventPage, yp.EventPage, yp.EventLastPage, yp.EventRelease, yp.EventFail, yp.EventFail, yp.EventFail, yp.EventPark,
		"complete", "limit", "gap",
	}).Draw(rt, "event")
	event = meant(c, event)
	before := ""
	if valid = valid && event != "gap"; !valid {
		before = m.everything(rt, c.TargetID)
	}
	c.Requests = append(c.Requests, m.request(c))
	made := len(c.Requests) // with those of writes that failed before
	set, err := m.perform(c, event)
	if !valid {
		if !errors.Is(err, checkpoint.ErrClaimLost) {
			rt.Fatalf("%s by %+v: %v, want ErrClaimLost", event, c, err)
		}
		if after := m.everything(rt, c.TargetID); after != before {
			rt.Fatalf("%s by a lost claim changed\n%s\nto\n%s", event, before, after)
		}
		if len(c.Requests) == 0 {
			rt.Fatalf("%s by a lost claim forgot its requests", event)
		}
		return
	}
	if err != nil || len(c.Requests) > 0 {
		rt.Fatalf("%s: %v, %d requests left", event, err, len(c.Requests))
	}
	m.requests += made
	m.follow(rt, t, event, set)
}

// meant is what the event is for a target of this kind: a detail has one page, and an index
// ends with the last of its pages.
func meant(c *checkpoint.Claim, event yp.Event) yp.Event {
	switch event {
	case yp.EventPage, yp.EventLastPage, "limit", "complete":
		switch {
		case c.Kind == yp.KindDetail:
			return yp.EventLastPage
		case c.Kind == yp.KindIndex && c.PageCurrent+1 < c.MaxPages:
			return yp.EventPage
		case c.Kind == yp.KindIndex:
			return yp.EventLastPage
		}
	}
	return event
}

// request is one that c made; it counts when it is written.
func (m *machine) request(c *checkpoint.Claim) store.Request {
	return store.Request{
		SourceID: m.source, TargetID: c.TargetID, ClaimToken: c.Token, Page: c.PageCurrent + 1, Correlation: "c", Type: yp.RequestListing,
		URL: "/", Started: m.clock.Now(), Class: yp.ClassTimeout,
	}
}

// everything is the target's row and what hangs on it.
func (m *machine) everything(t tester, id int64) string {
	return fmt.Sprint(table(t, m.k.DB(), `SELECT * FROM targets WHERE id = ?`, id), table(t, m.k.DB(), `SELECT * FROM runs`), table(t, m.k.DB(), `SELECT * FROM workers`),
		table(t, m.k.DB(), `SELECT * FROM sources`), table(t, m.k.DB(), `SELECT * FROM crawl_attempts`), table(t, m.k.DB(), `SELECT count(*) FROM requests`),
		table(t, m.k.DB(), `SELECT count(*), max(id) FROM listings`), table(t, m.k.DB(), `SELECT * FROM sightings WHERE target_id = ?`, id),
		table(t, m.k.DB(), `SELECT id, email, cards, own_page_at FROM listings`), table(t, m.k.DB(), `SELECT * FROM source_cities`))
}

func (m *machine) perform(c *checkpoint.Claim, event yp.Event) (set yp.Setback, err error) {
	ctx := context.Background()
	m.serial++
	p := yp.Page{Number: c.PageCurrent + 1, NextURL: "/next", Raw: 2}
	switch c.Kind {
	case yp.KindSearch:
		p.Listings = []yp.Listing{{ID: fmt.Sprint("l", m.serial), Name: "N"}}
	case yp.KindIndex:
		p.Cities, p.Plan = found(fmt.Sprint("city-", m.serial%3)), m.plan().Searches(0)
	case yp.KindDetail:
		p.Own, p.Listings = true, []yp.Listing{{ID: c.ListingID, Email: fmt.Sprint(m.serial)}}
	}
	switch event {
	case "gap":
		p.Number++
		_, err = m.k.CommitPage(ctx, c, p)
	case yp.EventPage:
		_, err = m.k.CommitPage(ctx, c, p)
	case "limit": // the last page wanted, not the last there is
		p.Last = true
		_, err = m.k.CommitPage(ctx, c, p)
	case yp.EventLastPage:
		p.Last, p.NextURL = true, ""
		_, err = m.k.CommitPage(ctx, c, p)
	case yp.EventRelease:
		err = m.k.Release(ctx, c, "stop")
	case yp.EventFail:
		set, err = m.k.Fail(ctx, c, yp.CodeTimeout, "slow")
	case yp.EventPark:
		err = m.k.Park(ctx, c, yp.CodeBlockedProxy, "no")
	case "complete":
		err = m.k.Complete(ctx, c, yp.CodeNoListings, "none", checkpoint.End{How: yp.EndSaid})
	}
	return set, err
}

// follow tells the model what a valid claim did.
func (m *machine) follow(rt *rapid.T, t *modelTarget, event yp.Event, set yp.Setback) {
	now, a := m.clock.Now(), m.attemptOf(t)
	if event == yp.EventPage || event == yp.EventLastPage || event == "limit" {
		t.page++
		a.pages++
		t.recoveries, t.beat, t.next = 0, now, event != yp.EventLastPage
	}
	switch event {
	case yp.EventPage:
	case yp.EventLastPage, "limit", "complete":
		a.ended, a.code = "done", yp.CodeSuccess
		if event == "complete" {
			a.code, t.next = yp.CodeNoListings, false
		}
		event = yp.EventLastPage
		t.failures, t.level, t.success = 0, 0, now
		t.waits("recrawl", t.begun.Add(t.every*9/10))
		if t.kind == yp.KindDetail {
			t.priority = 101
		}
		m.availability.failures = 0
	case yp.EventRelease:
		a.ended = "released"
	case yp.EventFail:
		event = m.setBack(rt, t, a, set)
	case yp.EventPark:
		t.failures++
		t.level, a.ended, a.code = 0, "parked", yp.CodeBlockedProxy
		m.availability.failures++
	}
	t.move(rt, event)
}

// setBack follows a failure, whose jitter Fail has told, and holds it to the rules.
func (m *machine) setBack(rt *rapid.T, t *modelTarget, a *modelAttempt, set yp.Setback) yp.Event {
	t.failures++
	least, most := yp.Fail(t.failures, t.level, 0), yp.Fail(t.failures, t.level, 1)
	if wait := set.Wait; wait < least.Wait || wait > most.Wait || set.Event != least.Event || set.Level != least.Level {
		rt.Fatalf("failure %d at level %d: %+v, want %+v to %+v", t.failures, t.level, set, least, most)
	}
	a.ended, a.code, a.wait = "failed", yp.CodeTimeout, set.Wait
	if t.level = set.Level; set.Wait > 0 {
		t.waits("backoff", m.clock.Now().Add(set.Wait).Truncate(time.Millisecond))
	}
	if set.Event == yp.EventPark {
		a.ended = "parked"
	}
	m.availability.failures++
	return set.Event
}

func (m *machine) check(rt *rapid.T) {
	got := table(rt, m.k.DB(), modelRows)
	for i, t := range m.targets {
		if got[i] != t.String() {
			rt.Fatalf("target is\n%s\nwant\n%s", got[i], t)
		}
	}
	m.checkAttempts(rt)
	m.checkSource(rt)
	recount(rt, m.k.DB())
}

// begin empties the database and plans six searches, two indexes and two details.
func (m *machine) begin(rt *rapid.T) {
	ctx := context.Background()
	for _, r := range m.runs {
		if r != nil {
			noErr(rt, r.Finish(ctx, checkpoint.OutcomeDone, 0))
		}
	}
	for _, name := range []string{
		"sightings", "company_keys", "listing_events", "requests", "crawl_attempts", "workers", "listing_texts", "targets", "listings", "companies",
		"source_cities", "runs", "passes", "hosts", "connectivity_profiles",
	} {
		execute(rt, m.k.DB(), `DELETE FROM `+name)
	}
	execute(rt, m.k.DB(), `UPDATE sources SET enabled = 1`)
	m.claims, m.targets, m.attempts, m.requests, m.availability = nil, nil, nil, 0, modelAvailability{enabled: true}
	m.passes = map[string]modelPass{}
	p := m.plan()
	if _, err := m.k.Plan(ctx, p); err != nil {
		rt.Fatalf("%v", err)
	}
	noErr(rt, m.k.PlanIndexes(ctx, m.source, []checkpoint.StateIndex{{State: "CA", Pages: 2}, {State: "TX", Pages: 2}}))
	for i, state := range []string{"CA", "TX"} {
		execute(rt, m.k.DB(), fmt.Sprintf(`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (%d, 'N', 1, 'd%[1]d', 'x')`, i+1),
			fmt.Sprintf(`INSERT INTO listings (id, source_id, listing_id, company_id, name, profile_url, found_state, fingerprint, first_seen_at, last_seen_at)
				VALUES (%d, 1, 'd%[1]d', %[1]d, 'N', '/d', '%s', 0, 'x', 'x')`, i+1, state),
			fmt.Sprintf(`INSERT INTO targets (source_id, kind, state, listing, population, priority, max_pages, crawl_frequency_minutes, created_at)
				VALUES (1, 'detail', '%s', %d, 0, 100, 1, 43200, '%s')`, state, i+1, stamp(m.clock.Now())))
	}
	for _, row := range table(rt, m.k.DB(), `SELECT id, priority, kind, state FROM targets ORDER BY id`) {
		t := &modelTarget{status: yp.Planned, enabled: true, created: m.clock.Now(), every: yp.RecrawlAfter}
		_, _ = fmt.Sscan(strings.ReplaceAll(row, "|", " "), &t.id, &t.priority, &t.kind, &t.state)
		if t.kind == yp.KindDetail {
			t.every = checkpoint.DetailsEvery
		}
		m.targets = append(m.targets, t)
	}
	for i := range m.runs {
		var err error
		m.runs[i], err = m.k.StartRun(ctx, m.source, "model", false)
		noErr(rt, err)
	}
}

func (m *machine) plan() checkpoint.Plan {
	p := checkpoint.Plan{SourceID: m.source, Categories: []yp.Category{{Slug: "a", Name: "A"}}}
	for i := range 6 {
		p.Cities = append(p.Cities, yp.City{Slug: fmt.Sprint("c", i), Name: "C", State: []string{"CA", "TX"}[i%2], Tier: 1 + i/2})
	}
	return p
}

// TestModel drives random events by several workers and an operator against a model
// built on yp.Status.Next and yp.Fail.
func TestModel(t *testing.T) {
	t.Parallel()
	m := &machine{clock: new(clock)}
	m.k = checkpoint.New(storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: m.clock.Now, Synchronous: "OFF"}))
	var err error
	m.source, err = m.k.Source(t.Context(), "demo", "http://x")
	noErr(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		m.begin(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"claim": m.claim, "claim too": m.claim, "claim as well": m.claim, "act": m.act, "act too": m.act, "act as well": m.act, "act again": m.act,
			"beat": m.beat, "recover stale": m.recoverStale, "recover dead": m.recoverDead, "wake": m.wake, "wake too": m.wake, "reset": m.reset,
			"deepen": m.deepen, "pass": m.pass, "pass too": m.pass, "operate": m.operate, "source": m.tamper, "look": m.look, "look again": m.look, "tick": m.tick, "tick too": m.tick, "": m.check,
		})
	})
	for _, r := range m.runs {
		_ = r.Finish(context.WithoutCancel(t.Context()), checkpoint.OutcomeDone, 0)
	}
}
