package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/yp"
)

// The rules that no statement may break, whoever writes it.

const takeTarget = `UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', run_id = 1, claimed_at = ? WHERE id = 1`

// TestGap: two crawls of a target start at least two minutes apart. A gap further
// ahead is the mark of a clock set back, and none.
func TestGap(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	x.drop(t, "1")
	for _, c := range []struct {
		ahead time.Duration // of the end of the gap, seen from the claim
		free  bool
	}{
		{-3 * time.Hour, true},
		{-time.Millisecond, true},
		{0, true},
		{time.Millisecond, false},
		{time.Minute, false},
		{2*time.Minute - time.Millisecond, false},
		{2 * time.Minute, false},
		{2*time.Minute + time.Millisecond, true},
		{3 * time.Hour, true},
		{8 * 24 * time.Hour, true},
	} {
		t.Run(fmt.Sprint(c.ahead), func(t *testing.T) {
			for i := range 40 { // days are fractions with rounding errors of their own
				at := noon.Add(time.Duration(i) * 437891 * time.Millisecond)
				if err := x.try(`UPDATE targets SET gap_until = ? WHERE id = 1`, yp.FormatTime(at.Add(c.ahead))); err != nil {
					t.Fatal(err)
				}
				err := x.try(takeTarget, yp.FormatTime(at))
				switch {
				case c.free && err != nil:
					t.Fatalf("at %s: %v", at, err)
				case !c.free && (err == nil || !strings.Contains(err.Error(), "2 minutes apart")):
					t.Fatalf("at %s: %v, want the rule", at, err)
				}
				if c.free {
					x.drop(t, "1")
				}
			}
		})
	}
	t.Run("no gap", func(t *testing.T) {
		x.must(t, `UPDATE targets SET gap_until = NULL`)
		if err := x.try(takeTarget, yp.FormatTime(noon)); err != nil {
			t.Error(err)
		}
		x.drop(t, "1")
	})
	t.Run("all but a start is free", func(t *testing.T) {
		x.must(t, `UPDATE targets SET gap_until = '2026-11-20T12:01:00.000Z' WHERE id = 1`)
		for _, q := range []string{
			`UPDATE targets SET status = 'STUCK' WHERE id = 1`, `UPDATE targets SET status = 'PLANNED' WHERE id = 1`,
			`UPDATE targets SET gap_until = NULL, status = 'PLANNED' WHERE id = 1`,
			`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', run_id = 1, claimed_at = '2026-11-20T12:00:00.000Z', gap_until = '2026-11-20T12:02:00.000Z' WHERE id = 1`,
			`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'v', claimed_at = '2026-11-20T12:00:30.000Z' WHERE id = 1`, // one that goes on
			`UPDATE targets SET status = 'DONE', claimed_by = NULL, claimed_at = NULL, run_id = NULL, finished_at = 'x' WHERE id = 1`,
		} {
			if err := x.try(q); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
	})
	t.Run("a statement over many fails whole", func(t *testing.T) {
		x.must(t, `UPDATE targets SET status = 'PLANNED', finished_at = NULL, gap_until = iif(id = 4, '2026-11-20T12:01:00.000Z', NULL)`)
		err := x.try(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', run_id = 1, claimed_at = '2026-11-20T12:00:00.000Z'`)
		if got := rows(t, x.DB, `SELECT DISTINCT status FROM targets`); err == nil || !slices.Equal(got, []string{"PLANNED"}) {
			t.Errorf("%v: the targets are %v", err, got)
		}
	})
}

// TestTargetEnabled: an operator who enables a target means it to be crawled: all
// that was set automatically goes in the same statement.
func TestTargetEnabled(t *testing.T) {
	t.Parallel()
	const columns = `status, crawl_status, auto_disabled, consecutive_failures, backoff_level, backoff_until, finished_at,
		last_error_code, page_current, claimed_by, gap_until`
	for _, c := range []struct{ name, before, after string }{
		{
			"waiting after a first failure", `'PLANNED', 'active', 0, 1, 0, 'later', 'ended', 'TIMEOUT', 2, NULL, 'gap'`,
			"PLANNED|active|0|0|0||ended|TIMEOUT|2||gap",
		},
		{
			"failed", `'FAILED', 'degraded', 0, 7, 5, 'later', 'ended', 'TIMEOUT', 2, NULL, 'gap'`,
			"PLANNED|active|0|0|0|||TIMEOUT|2||gap",
		},
		{
			"failed and paused: the pause is the operator's", `'FAILED', 'paused', 0, 3, 1, 'later', 'ended', 'TIMEOUT', 2, NULL, NULL`,
			"PLANNED|paused|0|0|0|||TIMEOUT|2||",
		},
		{
			"planned and degraded: its rest is over", `'PLANNED', 'degraded', 0, 3, 1, NULL, 'ended', 'TIMEOUT', 2, NULL, NULL`,
			"PLANNED|active|0|0|0||ended|TIMEOUT|2||",
		},
		{
			"parked because it failed too often", `'PARKED', 'failed', 1, 8, 5, NULL, 'ended', 'TIMEOUT', 2, NULL, NULL`,
			"PLANNED|active|0|0|0|||TIMEOUT|2||",
		},
		{
			"the same, and paused", `'PARKED', 'paused', 1, 8, 5, NULL, 'ended', 'TIMEOUT', 2, NULL, NULL`,
			"PLANNED|paused|0|0|0|||TIMEOUT|2||",
		},
		{
			"parked for a permanent cause: for dead requeue", `'PARKED', 'failed', 0, 1, 0, NULL, 'ended', 'NO_LISTINGS', 0, NULL, NULL`,
			"PARKED|failed|0|0|0||ended|NO_LISTINGS|0||",
		},
		{"done", `'DONE', 'active', 0, 0, 0, NULL, 'ended', NULL, 3, NULL, NULL`, "DONE|active|0|0|0||ended||3||"},
		{"stuck", `'STUCK', 'active', 0, 0, 0, NULL, 'ended', NULL, 3, NULL, NULL`, "STUCK|active|0|0|0||ended||3||"},
		{"in progress", `'IN_PROGRESS', 'degraded', 0, 4, 2, NULL, NULL, 'TIMEOUT', 3, 'w', 'gap'`, "IN_PROGRESS|active|0|0|0|||TIMEOUT|3|w|gap"},
		{"paused", `'PLANNED', 'paused', 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL`, "PLANNED|paused|0|0|0||||0||"},
	} {
		for was := range 2 { // to enable one that is enabled is an operator's word as well
			t.Run(fmt.Sprintf("%s, enabled = %d", c.name, was), func(t *testing.T) {
				t.Parallel()
				x := newTried(t)
				x.drop(t, "1")
				x.must(t, `UPDATE targets SET recoveries = 2, raw_count = 9, crawl_started_at = 'begun'`) // and it stays
				set := `UPDATE targets SET (` + columns + `) = (SELECT ` + c.before + `)`
				if strings.HasPrefix(c.before, "'IN_PROGRESS'") {
					set += `, claimed_at = 'x', run_id = 1`
				}
				x.must(t, set+` WHERE id = 1`)
				before, others := rows(t, x.DB, `SELECT `+columns+` FROM targets WHERE id = 1`), rows(t, x.DB, `SELECT * FROM targets WHERE id <> 1`)
				if was == 0 {
					x.must(t, `UPDATE targets SET enabled = 0 WHERE id = 1`)
					if got := rows(t, x.DB, `SELECT `+columns+` FROM targets WHERE id = 1`); got[0] != before[0] {
						t.Errorf("disabling it made it\n%s\nof\n%s", got[0], before[0])
					}
				}
				x.must(t, `UPDATE targets SET enabled = 1 WHERE id = 1`)
				if got := rows(t, x.DB, `SELECT `+columns+`, enabled FROM targets WHERE id = 1`); got[0] != c.after+"|1" {
					t.Errorf("enabled:\n%s\nwant\n%s|1", got[0], c.after)
				}
				if got := rows(t, x.DB, `SELECT recoveries, raw_count, crawl_started_at FROM targets WHERE id = 1`); got[0] != "2|9|begun" {
					t.Errorf("its progress is %s", got[0])
				}
				if got := rows(t, x.DB, `SELECT * FROM targets WHERE id <> 1`); !slices.Equal(got, others) {
					t.Error("other targets were changed")
				}
				x.recount(t)
			})
		}
	}
}

// recount compares the totals of targets with the targets.
func (w *world) recount(t *testing.T) {
	t.Helper()
	const kept = `SELECT source_id, state, status, targets, pages, raw FROM target_totals WHERE targets <> 0 ORDER BY 1, 2, 3`
	const real = `SELECT source_id, state, status, count(*), sum(page_current), sum(raw_count) FROM targets GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
	if a, b := rows(t, w.DB, kept), rows(t, w.DB, real); !slices.Equal(a, b) {
		t.Errorf("the totals say %v, the targets are %v", a, b)
	}
}

// TestSourceEnabled: the same for a source, its profile and its hosts. What a host
// itself asked for stays.
func TestSourceEnabled(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	const (
		source  = `SELECT enabled, auto_disabled, paused_until, paused_code, paused_reason, consecutive_failures, layout_strikes FROM sources ORDER BY id`
		profile = `SELECT status, error_class, failing_since, quarantine_until, cooldown_minutes, probe_until, samples_1h FROM connectivity_profiles ORDER BY source_id`
		hosts   = `SELECT host, delay_ms, blocks, held_until, held_for FROM hosts ORDER BY source_id, host`
	)
	x.must(t,
		`UPDATE sources SET auto_disabled = 1, paused_until = 'later', paused_code = 'HTML_CHANGED', paused_reason = 'r', consecutive_failures = 9, layout_strikes = 3`,
		`INSERT INTO connectivity_profiles (source_id, status, error_class, samples_1h, failing_since, quarantine_until, cooldown_minutes, probe_until, updated_at)
			VALUES (1, 'quarantined', 'cf_challenge', 9, 'since', 'later', 240, 'soon', 'x'), (2, 'quarantined', 'cf_challenge', 9, 'since', 'later', 240, 'soon', 'x')`,
		`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, updated_at) VALUES (1, 'a', 9000, '403', 5, 'later', 'penalty', 'x'), (1, 'b', 2000, NULL, 2, 'later', 'Retry-After', 'x'), (1, 'c', 0, NULL, 0, NULL, NULL, 'x'),
			(2, 'a', 9000, '403', 5, 'later', 'penalty', 'x')`)
	bad := []string{"1|1|later|HTML_CHANGED|r|9|3", "quarantined|cf_challenge|since|later|240|soon|9", "a|9000|5|later|penalty"}
	check := func(when, s, p string, h ...string) {
		t.Helper()
		if got := rows(t, x.DB, source); !slices.Equal(got, []string{s, bad[0]}) {
			t.Errorf("%s: sources %q", when, got)
		}
		if got := rows(t, x.DB, profile); !slices.Equal(got, []string{p, bad[1]}) {
			t.Errorf("%s: profiles %q", when, got)
		}
		if got := rows(t, x.DB, hosts); !slices.Equal(got, append(h, bad[2])) {
			t.Errorf("%s: hosts %q", when, got)
		}
	}
	before := []string{"a|9000|5|later|penalty", "b|2000|2|later|Retry-After", "c|0|0||"}
	x.must(t, `UPDATE sources SET enabled = 0 WHERE id = 1`)
	check("disabled", "0|1|later|HTML_CHANGED|r|9|3", bad[1], before...)
	x.must(t, `UPDATE sources SET base_url = 'http://y', updated_at = 'y' WHERE id = 1`)
	check("another address", "0|1|later|HTML_CHANGED|r|9|3", bad[1], before...)
	x.must(t, `UPDATE sources SET enabled = 1 WHERE id = 1`)
	check("enabled", "1|0||||0|0", "degraded|cf_challenge|||30||9", "a|9000|0||", "b|2000|0|later|Retry-After", "c|0|0||")
	for _, c := range []struct{ name, set, want string }{
		{"failing", `status = 'failing', failing_since = 'since', cooldown_minutes = 60`, "degraded|cf_challenge|||30||9"},
		{"degraded", `status = 'degraded'`, "degraded|cf_challenge|||30||9"},
		{"healthy", `status = 'healthy', error_class = NULL`, "healthy||||30||9"},
	} {
		x.must(t, `UPDATE connectivity_profiles SET `+c.set+` WHERE source_id = 1`, `UPDATE sources SET enabled = 1 WHERE id = 1`)
		if got := rows(t, x.DB, profile); got[0] != c.want {
			t.Errorf("%s: %s, want %s", c.name, got[0], c.want)
		}
	}
}

// TestImpossible: combinations that make no sense are refused, whoever writes them.
func TestImpossible(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	x.drop(t, "1")
	x.must(t, `INSERT INTO connectivity_profiles (source_id, status, updated_at) VALUES (1, 'healthy', 'x')`, `INSERT INTO hosts (source_id, host, updated_at) VALUES (1, 'a', 'x')`)
	for _, q := range []string{
		`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_until = 'x' WHERE id = 1`, // no level
		`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1 WHERE id = 1`,   // no end
		`UPDATE targets SET status = 'FAILED', backoff_until = 'x', backoff_level = 1 WHERE id = 1`,           // no cause
		`UPDATE targets SET status = 'DONE', finished_at = 'x', backoff_until = 'x' WHERE id = 1`,
		`UPDATE targets SET auto_disabled = 1 WHERE id = 1`,
		`UPDATE targets SET crawl_status = 'failed' WHERE id = 1`,
		`UPDATE targets SET crawl_status = 'weary' WHERE id = 1`,
		`UPDATE targets SET backoff_level = 6 WHERE id = 1`,
		`UPDATE targets SET backoff_level = -1 WHERE id = 1`,
		`UPDATE targets SET crawl_frequency_minutes = -1 WHERE id = 1`,
		`UPDATE targets SET max_retries = -1 WHERE id = 1`,
		`UPDATE targets SET last_error_code = 'SUCCESS' WHERE id = 1`,
		`UPDATE sources SET auto_disabled = 1`,
		`UPDATE sources SET paused_until = 'x'`,
		`UPDATE sources SET paused_code = 'HTML_CHANGED'`,
		`UPDATE sources SET auto_disabled = 1, paused_code = 'TIMEOUT'`,
		`UPDATE connectivity_profiles SET status = 'failing', error_class = 'dns'`,
		`UPDATE connectivity_profiles SET status = 'quarantined', error_class = 'dns', failing_since = 'x'`,
		`UPDATE connectivity_profiles SET status = 'degraded'`,
		`UPDATE connectivity_profiles SET error_class = 'dns'`,
		`UPDATE connectivity_profiles SET cooldown_minutes = 29`,
		`UPDATE connectivity_profiles SET cooldown_minutes = 361`,
		`UPDATE connectivity_profiles SET success_rate_1h = 1.01`,
		`UPDATE hosts SET held_until = 'x'`,
		`UPDATE hosts SET held_for = 'x'`,
	} {
		if err := x.try(q); err == nil {
			t.Errorf("taken: %s", q)
		}
	}
}
