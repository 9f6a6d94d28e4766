package checkpoint_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"ypcrawl/yp"
)

// What the model holds around the targets: their attempts, their source, and what
// a look at them tells.

// modelAttempt is what must be true of a row of crawl_attempts.
type modelAttempt struct {
	target, token  int64
	number, before int
	ended          string
	code           yp.ErrorCode
	pages          int
	wait           time.Duration
}

func (a *modelAttempt) String() string {
	pages, wait := fmt.Sprint(a.pages), ""
	if a.ended == "running" {
		pages = ""
	}
	if a.wait > 0 {
		wait = fmt.Sprint(a.wait.Milliseconds())
	}
	return fmt.Sprintf("%d|%d|%d|%d|%s|%d|%s|%s|%s", a.target, a.token, a.number, a.before, a.ended, bit(a.ended != "running"), a.code, pages, wait)
}

// attemptOf is the attempt of the claim that a target was held by last.
func (m *machine) attemptOf(t *modelTarget) *modelAttempt {
	i := slices.IndexFunc(m.attempts, func(a *modelAttempt) bool { return a.target == t.id && a.token == t.token })
	return m.attempts[i]
}

// checkAttempts: a claim is one row, from its start on, and running for as long as
// it is held.
func (m *machine) checkAttempts(rt *rapid.T) {
	got := table(rt, m.k.DB(), `SELECT target_id, claim_token, attempt_number, page_before, ended, finished_at IS NOT NULL, error_code, pages, backoff_delay_ms
		FROM crawl_attempts ORDER BY id`)
	want := make([]string, len(m.attempts))
	for i, a := range m.attempts {
		want[i] = a.String()
		if t := m.of(a.target); (a.ended == "running") != (t.status == yp.InProgress && t.token == a.token) {
			rt.Fatalf("the model lies: attempt %s of target %s", a, t)
		}
	}
	if !slices.Equal(got, want) {
		rt.Fatalf("attempts are\n%q\nwant\n%q", got, want)
	}
}

// modelAvailability is what must be true of the source.
type modelAvailability struct {
	enabled, alarmed, quarantined bool
	paused                        time.Time
	penalty, told                 time.Time // two of its hosts are held until then
	failures                      int
}

func (g *modelAvailability) open(now time.Time) bool {
	return g.enabled && !g.alarmed && !g.quarantined && !g.paused.After(now) && !g.penalty.After(now) && !g.told.After(now)
}

// tamper closes the source in one of the ways that there are, or opens it.
func (m *machine) tamper(rt *rapid.T) {
	g, at := &m.availability, m.clock.Now().Add(rapid.SampledFrom([]time.Duration{-time.Minute, 0, time.Millisecond, time.Hour}).Draw(rt, "until"))
	const profile = `INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at) VALUES (1, %s, 'x')
		ON CONFLICT DO UPDATE SET status = excluded.status, error_class = excluded.error_class, failing_since = excluded.failing_since, quarantine_until = excluded.quarantine_until`
	const host = `INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, '%s', '%s', '%s', 'x')
		ON CONFLICT DO UPDATE SET held_until = excluded.held_until, held_for = excluded.held_for`
	db := m.k.DB()
	switch rapid.IntRange(0, 11).Draw(rt, "what happens to the source") {
	case 0:
		g.enabled = false
		execute(rt, db, `UPDATE sources SET enabled = 0`)
	case 1:
		g.alarmed, g.paused = true, time.Time{}
		execute(rt, db, `UPDATE sources SET auto_disabled = 1, paused_until = NULL, paused_code = 'HTML_CHANGED', layout_strikes = 3`)
	case 2:
		g.alarmed, g.paused = false, at
		execute(rt, db, fmt.Sprintf(`UPDATE sources SET auto_disabled = 0, paused_until = '%s', paused_code = 'AUTH_FAILED'`, yp.FormatTime(at)))
	case 3:
		g.quarantined = true
		execute(rt, db, fmt.Sprintf(profile, `'quarantined', 'cf_challenge', 'x', '`+yp.FormatTime(at)+`'`))
	case 4:
		g.quarantined = false
		execute(rt, db, fmt.Sprintf(profile, `'failing', 'dns', 'x', NULL`))
	case 5:
		g.penalty = at
		execute(rt, db, fmt.Sprintf(host, "a", yp.FormatTime(at), "penalty"))
	case 6:
		g.told = at
		execute(rt, db, fmt.Sprintf(host, "b", yp.FormatTime(at), "Retry-After"))
	case 7:
		g.told = time.Time{}
		execute(rt, db, `DELETE FROM hosts WHERE host = 'b'`)
	default: // an operator's word; only what a host asked for stays
		*g = modelAvailability{enabled: true, told: g.told}
		execute(rt, db, `UPDATE sources SET enabled = 1`)
	}
}

func (m *machine) checkSource(rt *rapid.T) {
	g := &m.availability
	want := fmt.Sprintf("%d|%d|%s|%d|%d|%d", bit(g.enabled), bit(g.alarmed), stamp(g.paused), g.failures, bit(g.quarantined), m.requests)
	got := table(rt, m.k.DB(), `SELECT enabled, auto_disabled, paused_until, consecutive_failures, ifnull(status, '') = 'quarantined', (SELECT count(*) FROM requests)
		FROM sources LEFT JOIN connectivity_profiles ON source_id = id`)
	if got[0] != want {
		rt.Fatalf("the source, and the requests recorded, are\n%s\nwant\n%s", got[0], want)
	}
}

// look tells what claims would meet.
func (m *machine) look(rt *rapid.T) {
	const horizon = 10 * time.Minute
	s, now := m.scope(rt), m.clock.Now()
	ready, next := 0, time.Time{}
	due := func(at time.Time) {
		if !at.After(now.Add(horizon)) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, t := range m.targets {
		switch {
		case !in(s, t) || !t.allowed():
		case t.ready():
			ready++
		case t.reason != "":
			due(t.wait)
		}
	}
	if ready > 0 {
		next = time.Time{}
	}
	o, err := m.k.Look(context.Background(), s, 4, horizon)
	if err != nil || o.Ready != min(ready, 4) || !o.Next.Equal(next) || o.Availability.Open() != m.availability.open(now) {
		rt.Fatalf("the outlook is %+v (%v), want %d ready, next %s", o, err, min(ready, 4), stamp(next))
	}
}
