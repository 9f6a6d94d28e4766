package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestAvailability(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return yp.FormatTime(new(clock).Now().Add(d)) }
	soon, now, past := at(time.Millisecond), at(0), at(-time.Millisecond)
	quarantine := func(until string) string {
		return `INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
			VALUES (1, 'quarantined', 'cf_challenge', 'x', '` + until + `', 'x')`
	}
	host := func(name, until, why string) string {
		return fmt.Sprintf(`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, '%s', '%s', '%s', 'x')`, name, until, why)
	}
	pause := func(until string) string {
		return `UPDATE sources SET paused_until = '` + until + `', paused_code = 'AUTH_FAILED', paused_reason = '401'`
	}
	const alarm = `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no phone'`
	const disable = `UPDATE sources SET enabled = 0`
	for _, c := range []struct {
		name  string
		setup []string
		want  string // state, until, code, reason
	}{
		{"nothing", nil, "open|||"},
		{"disabled", []string{disable}, "disabled|||disabled by an operator"},
		{"an alarm, until an operator says so", []string{alarm}, "paused||HTML_CHANGED|no phone"},
		{"paused", []string{pause(soon)}, "paused|" + soon + "|AUTH_FAILED|401"},
		{"paused until now", []string{pause(now)}, "open|||"},
		{"paused until a while ago", []string{pause(past)}, "open|||"},
		{"quarantined", []string{quarantine(soon)}, "quarantined|" + soon + "||cf_challenge"},
		{"quarantined, the cooldown over: until a probe succeeds", []string{quarantine(past)}, "quarantined|" + past + "||cf_challenge"},
		{"failing is not quarantined", []string{`INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, updated_at) VALUES (1, 'failing', 'dns', 'x', 'x')`}, "open|||"},
		{"held", []string{host("a", soon, "Retry-After")}, "held|" + soon + "||Retry-After"},
		{"held until now", []string{host("a", now, "Retry-After")}, "open|||"},
		{"two hosts: the later", []string{host("a", soon, "penalty"), host("b", at(time.Hour), "Retry-After"), host("c", past, "penalty")}, "held|" + at(time.Hour) + "||Retry-After"},
		{"two hosts, one of them free", []string{host("a", past, "penalty"), host("b", soon, "penalty"), `INSERT INTO hosts (source_id, host, updated_at) VALUES (1, 'c', 'x')`}, "held|" + soon + "||penalty"},
		{"another source's", []string{
			`INSERT INTO sources (id, name, base_url, enabled, created_at, updated_at) VALUES (2, 'other', 'x', 0, 'x', 'x')`,
			`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (2, 'a', '` + soon + `', 'penalty', 'x')`,
		}, "open|||"},
		{"all at once: the operator first", []string{disable, pause(soon), quarantine(soon), host("a", soon, "penalty")}, "disabled|||disabled by an operator"},
		{"an alarm before what ends by itself", []string{alarm, quarantine(soon), host("a", soon, "penalty")}, "paused||HTML_CHANGED|no phone"},
		{"a pause before a quarantine", []string{pause(soon), quarantine(at(time.Hour))}, "paused|" + soon + "|AUTH_FAILED|401"},
		{"a quarantine before a hold", []string{quarantine(soon), host("a", at(time.Hour), "penalty")}, "quarantined|" + soon + "||cf_challenge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _ := setupClock(t, 1, "CA")
			execute(t, b.DB(), c.setup...)
			g, err := b.Availability(t.Context(), b.scope.SourceID)
			if got := fmt.Sprintf("%s|%s|%s|%s", g.State, stamp(g.Until), g.Code, g.Reason); err != nil || got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
			open := strings.HasPrefix(c.want, "open")
			if o := b.outlook(t, 1, time.Hour); o.Availability.Open() != open || o.Ready != 1 {
				t.Errorf("the outlook is %+v", o)
			}
			for name, scope := range map[string]store.Scope{
				"any":         b.scope,
				"by category": {SourceID: 1, States: b.scope.States, CategoryIDs: b.cats},
				"by city":     {SourceID: 1, States: b.scope.States, CityIDs: []int64{1}},
			} {
				c, err := b.Claim(t.Context(), b.worker(0), scope, 5)
				if open && err != nil || !open && !errors.Is(err, checkpoint.ErrNothing) {
					t.Errorf("%s: claimed %+v (%v)", name, c, err)
				}
				if c != nil {
					if err := b.Release(t.Context(), c, ""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	t.Run("no such source", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 1, "CA")
		if g, err := b.Availability(t.Context(), 99); err == nil || !strings.Contains(err.Error(), "there is none") {
			t.Errorf("%+v, %v", g, err)
		}
	})
}

// TestAvailabilityViews: the statement that the engine asks, the view that people read, and
// the claim say the same of a source, whatever happened to it.
func TestAvailabilityViews(t *testing.T) {
	t.Parallel()
	b := setupOn(t, storetest.Open(t), 1, "CA") // the views read the real clock
	rapid.Check(t, func(rt *rapid.T) {
		when := func(what string) string {
			return rapid.SampledFrom([]string{"NULL", "'" + ago(time.Hour) + "'", "'" + ago(time.Minute) + "'", "'" + ahead(time.Hour) + "'", "'" + ahead(2*time.Hour) + "'"}).Draw(rt, what)
		}
		pausedUntil, alarmed := when("paused until"), rapid.IntRange(0, 3).Draw(rt, "alarmed")/3
		code := "NULL"
		if pausedUntil != "NULL" || alarmed == 1 {
			code = "'HTML_CHANGED'"
		}
		execute(rt, b.DB(), `DELETE FROM connectivity_profiles`, `DELETE FROM hosts`, `UPDATE sources SET enabled = 1`)
		execute(rt, b.DB(), fmt.Sprintf(`UPDATE sources SET auto_disabled = %d, paused_until = %s, paused_code = %s, paused_reason = %s`, alarmed, pausedUntil, code, code),
			fmt.Sprintf(`UPDATE sources SET enabled = %d WHERE %d = 0`, 0, rapid.IntRange(0, 3).Draw(rt, "enabled")))
		if status := rapid.SampledFrom([]string{"", "healthy", "failing", "quarantined", "quarantined"}).Draw(rt, "status"); status != "" {
			execute(rt, b.DB(), fmt.Sprintf(`INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
				VALUES (1, '%[1]s', iif('%[1]s' = 'healthy', NULL, 'dns'), iif('%[1]s' = 'healthy', NULL, 'x'), iif('%[1]s' = 'quarantined', '%[2]s', NULL), 'x')`, status, ahead(time.Hour)))
		}
		together := when("several held until")
		for i := range rapid.IntRange(0, 3).Draw(rt, "hosts") {
			until := rapid.SampledFrom([]string{together, when("held until")}).Draw(rt, "together")
			execute(rt, b.DB(), fmt.Sprintf(`INSERT INTO hosts (source_id, host, held_until, held_for, updated_at) VALUES (1, 'h%d', %s, iif(%[2]s IS NULL, NULL, 'penalty'), 'x')`, i, until))
		}
		g, err := b.Availability(t.Context(), 1)
		noErr(rt, err)
		want := fmt.Sprintf("%s|%d|%s|%s", g.State, bit(g.Open()), stamp(g.Until), g.Reason)
		if got := table(rt, b.DB(), `SELECT state, open, until, reason FROM v_source_availability`); len(got) != 1 || got[0] != want {
			rt.Fatalf("v_source_availability says %q, the program %s", got, want)
		}
		if got := table(rt, b.DB(), `SELECT count(*) FROM v_crawler_status`); got[0] != "2" {
			rt.Fatalf("v_crawler_status has %s rows of 2 targets", got[0])
		}
		c, err := b.Claim(t.Context(), b.worker(0), b.scope, 5)
		if g.Open() != (err == nil) || err != nil && !errors.Is(err, checkpoint.ErrNothing) {
			rt.Fatalf("the availability is %+v, a claim says %v", g, err)
		}
		if c != nil {
			noErr(rt, b.Release(t.Context(), c, ""))
		}
	})
}
