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
					noErr(t, b.Release(t.Context(), c, ""))
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

// setHealth sets all that decides whether a target can be claimed, but enabled.
const setHealth = `UPDATE targets SET status = ?, paused = ?, wait_reason = ?, not_before = ?, backoff_level = ?,
	claimed_by = iif(?1 = 'IN_PROGRESS', 'w', NULL), claimed_at = iif(?1 = 'IN_PROGRESS', 'x', NULL), run_id = iif(?1 = 'IN_PROGRESS', ?, NULL), heartbeat_at = NULL,
	last_error_code = 'TIMEOUT', finished_at = 'x' WHERE id = ?`

// TestAvailable: what the view lists is what can be claimed, neither more nor less,
// of targets in mixed health. The view reads the real clock.
func TestAvailable(t *testing.T) {
	t.Parallel()
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Synchronous: "OFF"})
	b := setupOn(t, db, 6, "CA", "TX") // 24 searches
	b.want(t, "CA", "TX")
	b.found(t, "CA", "1", "2", "3")
	b.found(t, "TX", "4", "5", "6")
	b.planIndexes(t, 1, "CA", "TX")
	b.scope.Kinds = yp.Kinds()
	rapid.Check(t, func(rt *rapid.T) {
		execute(rt, db, `DELETE FROM crawl_attempts`, `UPDATE sources SET enabled = 1`, `UPDATE targets SET enabled = 1, retired_at = NULL, wait_reason = NULL, not_before = NULL,
			status = 'STUCK', claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL`)
		b.mix(rt, 32)
		execute(rt, db, `UPDATE targets SET enabled = 0 WHERE id % `+fmt.Sprint(rapid.IntRange(2, 9).Draw(rt, "disabled"))+` = 0`)
		execute(rt, db, `UPDATE targets SET retired_at = 'x' WHERE id % `+fmt.Sprint(rapid.IntRange(5, 20).Draw(rt, "retired"))+` = 1`)
		if rapid.IntRange(0, 9).Draw(rt, "closed") == 0 {
			execute(rt, db, `UPDATE sources SET enabled = 0`)
		}
		want := table(rt, db, `SELECT id FROM targets_available ORDER BY priority, id`)
		if n := table(rt, db, `SELECT due_now = (SELECT count(*) FROM targets_available WHERE kind = 'search') FROM v_crawl_health`); n[0] != "1" {
			rt.Fatalf("v_crawl_health does not say how many searches are due")
		}
		if odd := table(rt, db, `SELECT v.id, schedule_status FROM v_crawler_status v JOIN targets_available a ON a.id = v.id WHERE schedule_status <> 'DUE'`); len(odd) > 0 {
			rt.Fatalf("available, and yet %v", odd)
		}
		b.wake(rt, b.scope)
		o, err := b.Look(t.Context(), b.scope, 100, 0)
		if err != nil || o.Availability.Open() && o.Ready != len(want) {
			rt.Fatalf("the outlook is %+v (%v), the view has %d", o, err, len(want))
		}
		if got := b.claimAll(rt); !slices.Equal(got, want) {
			rt.Fatalf("claimed\n%v\navailable\n%v", got, want)
		}
	})
}

// mix gives the first n targets any health that there is.
func (b *bundle) mix(rt *rapid.T, n int) {
	at := func() string { // none is near now; the last is the mark of a clock set back
		return rapid.SampledFrom([]string{ago(30 * 24 * time.Hour), ago(time.Minute), ahead(time.Hour), ahead(30 * time.Hour), ahead(40 * 24 * time.Hour)}).Draw(rt, "at")
	}
	err := b.DB().Write(context.Background(), func(tx *store.Tx) error {
		for id := 1; id <= n; id++ {
			var reason, until any
			level := rapid.IntRange(0, 1).Draw(rt, "level")
			status := rapid.SampledFrom([]yp.Status{yp.Planned, yp.Planned, yp.Planned, yp.InProgress, yp.Done, yp.Done, yp.Failed, yp.Failed, yp.Stuck, yp.Parked}).Draw(rt, "status")
			switch status {
			case yp.Planned:
				if rapid.Bool().Draw(rt, "waits") {
					reason, until = "backoff", at()
				}
			case yp.Failed:
				level, reason, until = 1, "backoff", at()
			case yp.Done:
				switch rapid.IntRange(0, 3).Draw(rt, "again") {
				case 1, 2:
					reason, until = "recrawl", at()
				case 3:
					reason, until = "gap", rapid.SampledFrom([]string{ago(time.Second), ahead(100 * time.Second), ahead(time.Hour)}).Draw(rt, "gap")
				}
			}
			paused := rapid.IntRange(0, 4).Draw(rt, "paused") / 4
			if _, err := tx.Exec(setHealth, string(status), paused, reason, until, level, b.run.ID, id); err != nil {
				return err
			}
		}
		return nil
	})
	noErr(rt, err)
}

// claimAll claims until nothing is left and returns the ids in the order of the claims.
func (b *bundle) claimAll(t tester) (ids []string) {
	t.Helper()
	for {
		c, err := b.Claim(context.Background(), b.worker(0), b.scope, 1000)
		if errors.Is(err, checkpoint.ErrNothing) {
			return ids
		}
		noErr(t, err)
		ids = append(ids, fmt.Sprint(c.TargetID))
	}
}
