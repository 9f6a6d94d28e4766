package store_test

import (
	"fmt"
	"strings"
	"testing"

	"ypcrawl/yp"
)

// The rules that no statement may break, whoever writes it.

const takeTarget = `UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', run_id = 1, claimed_at = ? WHERE id = 1`

// TestWait: a target that waits is not claimed, whoever asks; all else may happen to it.
func TestWait(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	x.drop(t, "1")
	for reason, status := range map[string]string{"backoff": "PLANNED", "recrawl": "DONE", "gap": "DONE"} {
		for _, until := range []string{"2026-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"} { // whoever finds that it is over says so first
			x.must(t, fmt.Sprintf(`UPDATE targets SET status = '%s', finished_at = 'x', wait_reason = '%s', not_before = '%s' WHERE id = 1`, status, reason, until))
			for _, q := range []string{takeTarget, strings.Replace(takeTarget, " WHERE", ", not_before = NULL, wait_reason = NULL WHERE", 1)} {
				if err := x.try(q, yp.FormatTime(noon)); err == nil || !strings.Contains(err.Error(), "a target that waits is not claimed") {
					t.Errorf("%s, %s until %s: %v, want the rule", status, reason, until, err)
				}
			}
		}
	}
	t.Run("all but a start is free", func(t *testing.T) {
		for _, q := range []string{
			`UPDATE targets SET status = 'PLANNED', wait_reason = 'backoff', not_before = 'x' WHERE id = 1`,
			`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1 WHERE id = 1`,
			`UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL WHERE id = 1`,
			`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', run_id = 1, claimed_at = '2026-11-20T12:00:00.000Z' WHERE id = 1`,
			`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'v', claimed_at = '2026-11-20T12:00:30.000Z' WHERE id = 1`, // one that goes on
			`UPDATE targets SET status = 'DONE', claimed_by = NULL, claimed_at = NULL, run_id = NULL, finished_at = 'x', wait_reason = 'recrawl', not_before = 'x' WHERE id = 1`,
		} {
			x.must(t, q)
		}
	})
	t.Run("a statement over many fails whole", func(t *testing.T) {
		x.must(t, `UPDATE targets SET status = 'PLANNED', finished_at = NULL, wait_reason = iif(id = 4, 'backoff', NULL), not_before = iif(id = 4, 'x', NULL)`)
		if x.try(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', run_id = 1, claimed_at = '2026-11-20T12:00:00.000Z'`) == nil {
			t.Error("it was taken")
		}
		x.is(t, `SELECT DISTINCT status FROM targets`, "PLANNED")
	})
}

// TestTargetEnabled: an operator who enables a target means it to be crawled: all
// that was set automatically goes in the same statement.
func TestTargetEnabled(t *testing.T) {
	t.Parallel()
	const columns = `status, paused, consecutive_failures, backoff_level, not_before, wait_reason, finished_at,
		last_error_code, page_current, claimed_by`
	for _, c := range []struct{ name, before, after string }{
		{"waiting after a first failure", `'PLANNED', 0, 1, 0, 'later', 'backoff', 'ended', 'TIMEOUT', 2, NULL`, "PLANNED|0|0|0|||ended|TIMEOUT|2|"},
		{"failed", `'FAILED', 0, 7, 5, 'later', 'backoff', 'ended', 'TIMEOUT', 2, NULL`, "PLANNED|0|0|0||||TIMEOUT|2|"},
		{"failed and paused by an operator", `'FAILED', 1, 3, 1, 'later', 'backoff', 'ended', 'TIMEOUT', 2, NULL`, "PLANNED|1|0|0||||TIMEOUT|2|"},
		{"planned and degraded: its rest is over", `'PLANNED', 0, 3, 1, NULL, NULL, 'ended', 'TIMEOUT', 2, NULL`, "PLANNED|0|0|0|||ended|TIMEOUT|2|"},
		{"parked because it failed too often", `'PARKED', 0, 8, 5, NULL, NULL, 'ended', 'TIMEOUT', 2, NULL`, "PLANNED|0|0|0||||TIMEOUT|2|"},
		{"the same, and paused", `'PARKED', 1, 8, 5, NULL, NULL, 'ended', 'TIMEOUT', 2, NULL`, "PLANNED|1|0|0||||TIMEOUT|2|"},
		{"parked for a permanent cause", `'PARKED', 0, 1, 0, NULL, NULL, 'ended', 'NO_LISTINGS', 0, NULL`, "PARKED|0|0|0|||ended|NO_LISTINGS|0|"},
		{"done", `'DONE', 0, 0, 0, NULL, NULL, 'ended', NULL, 3, NULL`, "DONE|0|0|0|||ended||3|"},
		{"done, and due again later", `'DONE', 0, 0, 0, 'later', 'recrawl', 'ended', NULL, 3, NULL`, "DONE|0|0|0|later|recrawl|ended||3|"},
		{"in the gap between two crawls", `'DONE', 0, 0, 0, 'later', 'gap', 'ended', NULL, 3, NULL`, "DONE|0|0|0|later|gap|ended||3|"},
		{"stuck", `'STUCK', 0, 0, 0, NULL, NULL, 'ended', NULL, 3, NULL`, "STUCK|0|0|0|||ended||3|"},
		{"in progress", `'IN_PROGRESS', 0, 4, 2, NULL, NULL, NULL, 'TIMEOUT', 3, 'w'`, "IN_PROGRESS|0|0|0||||TIMEOUT|3|w"},
		{"paused", `'PLANNED', 1, 0, 0, NULL, NULL, NULL, NULL, 0, NULL`, "PLANNED|1|0|0|||||0|"},
	} {
		for was := range 2 { // to enable one that is enabled is an operator's word as well
			t.Run(fmt.Sprintf("%s, enabled = %d", c.name, was), func(t *testing.T) {
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
					x.is(t, `SELECT `+columns+` FROM targets WHERE id = 1`, before...)
				}
				x.must(t, `UPDATE targets SET enabled = 1 WHERE id = 1`)
				x.is(t, `SELECT `+columns+`, enabled FROM targets WHERE id = 1`, c.after+"|1")
				x.is(t, `SELECT recoveries, raw_count, crawl_started_at FROM targets WHERE id = 1`, "2|9|begun") // its progress
				x.is(t, `SELECT * FROM targets WHERE id <> 1`, others...)
				x.recount(t)
			})
		}
	}
}

// recount compares the totals of targets with the targets.
func (w *world) recount(t *testing.T) {
	t.Helper()
	const kept = `SELECT source_id, kind, state, status, targets, pages, raw FROM target_totals WHERE targets <> 0 ORDER BY 1, 2, 3, 4`
	const real = `SELECT source_id, kind, state, iif(retired_at IS NULL, status, 'RETIRED'), count(*), sum(page_current), sum(raw_count) FROM targets GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`
	w.is(t, kept, rows(t, w.DB, real)...)
}

// TestListingGone: the page of a listing that is gone is not asked for, and is again when the
// listing is back; no other target is touched.
func TestListingGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	card(t, w, yp.Listing{ID: "a", Name: "Acme", ProfileURL: "/a"}, yp.Listing{ID: "b", Name: "Best", ProfileURL: "/b"})
	w.must(t, `INSERT INTO targets (source_id, kind, state, listing, population, priority, max_pages, created_at) SELECT source_id, 'detail', found_state, id, 0, 100, 1, 'x' FROM listings`)
	const retired = `SELECT l.listing_id, t.retired_at FROM targets t JOIN listings l ON l.id = t.listing ORDER BY 1`
	for _, c := range []struct{ set, a string }{
		{`dropped_at = 'then'`, "a|then"},
		{`last_seen_at = 'y'`, "a|then"},
		{`dropped_at = NULL`, "a|"},
		{`name = 'Acme 2'`, "a|"},
	} {
		w.must(t, `UPDATE listings SET `+c.set+` WHERE listing_id = 'a'`)
		w.is(t, retired, c.a, "b|")
		w.recount(t)
	}
	same(t, "rows", rows(t, w.DB, `SELECT count(*) FROM targets WHERE kind = 'search' AND retired_at IS NOT NULL`), []string{"0"})
	if err := w.try(`INSERT INTO targets (source_id, kind, state, listing, population, priority, max_pages, created_at) SELECT source_id, 'detail', found_state, id, 0, 100, 1, 'x' FROM listings`); err == nil {
		t.Error("a listing has two details")
	}
	for i, want := range []bool{true, false} { // and a state two indexes
		if err := w.try(`INSERT INTO targets (source_id, kind, state, population, priority, max_pages, created_at) VALUES (1, 'index', 'CA', 0, 0, 1, 'x')`); (err == nil) != want {
			t.Errorf("index %d: %v", i+1, err)
		}
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
		same(t, when+": sources", rows(t, x.DB, source), []string{s, bad[0]})
		same(t, when+": profiles", rows(t, x.DB, profile), []string{p, bad[1]})
		same(t, when+": hosts", rows(t, x.DB, hosts), append(h, bad[2]))
	}
	before := []string{"a|9000|5|later|penalty", "b|2000|2|later|Retry-After", "c|0|0||"}
	x.must(t, `UPDATE sources SET enabled = 0 WHERE id = 1`)
	check("disabled", "0|1|later|HTML_CHANGED|r|9|3", bad[1], before...)
	x.must(t, `UPDATE sources SET base_url = 'http://y', updated_at = 'y' WHERE id = 1`)
	check("another address", "0|1|later|HTML_CHANGED|r|9|3", bad[1], before...)
	x.must(t, `UPDATE sources SET enabled = 1 WHERE id = 1`)
	check("enabled", "1|0||||0|0", "degraded|cf_challenge|||30||9", "a|0|0||", "b|0|0|later|Retry-After", "c|0|0||")
	for _, c := range []struct{ name, set, want string }{
		{"failing", `status = 'failing', failing_since = 'since', cooldown_minutes = 60`, "degraded|cf_challenge|||30||9"},
		{"degraded", `status = 'degraded'`, "degraded|cf_challenge|||30||9"},
		{"healthy", `status = 'healthy', error_class = NULL`, "healthy||||30||9"},
	} {
		x.must(t, `UPDATE connectivity_profiles SET `+c.set+` WHERE source_id = 1`, `UPDATE sources SET enabled = 1 WHERE id = 1`)
		same(t, c.name, rows(t, x.DB, profile), []string{c.want, bad[1]})
	}
}

// TestImpossible: combinations that make no sense are refused, whoever writes them.
func TestImpossible(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	x.drop(t, "1")
	x.must(t, `INSERT INTO connectivity_profiles (source_id, status, updated_at) VALUES (1, 'healthy', 'x')`, `INSERT INTO hosts (source_id, host, updated_at) VALUES (1, 'a', 'x')`)
	for _, q := range []string{
		`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', not_before = 'x', wait_reason = 'backoff' WHERE id = 1`, // no level
		`UPDATE targets SET status = 'FAILED', last_error_code = 'TIMEOUT', backoff_level = 1 WHERE id = 1`,                         // no end
		`UPDATE targets SET status = 'FAILED', not_before = 'x', wait_reason = 'backoff', backoff_level = 1 WHERE id = 1`,           // no cause
		`UPDATE targets SET status = 'DONE', finished_at = 'x', not_before = 'x', wait_reason = 'backoff' WHERE id = 1`,
		`UPDATE targets SET not_before = 'x', wait_reason = 'recrawl' WHERE id = 1`, // of one that is not done
		`UPDATE targets SET not_before = 'x', wait_reason = 'gap' WHERE id = 1`,
		`UPDATE targets SET not_before = 'x' WHERE id = 1`,        // no reason
		`UPDATE targets SET wait_reason = 'backoff' WHERE id = 1`, // no time
		`UPDATE targets SET not_before = 'x', wait_reason = 'weather' WHERE id = 1`,
		`UPDATE targets SET paused = 2 WHERE id = 1`,
		`INSERT INTO passes (source_id, selection, began_at, cutoff) VALUES (1, 'all', 'x', 'x')`,
		`UPDATE targets SET backoff_level = 6 WHERE id = 1`,
		`UPDATE targets SET backoff_level = -1 WHERE id = 1`,
		`UPDATE targets SET crawl_frequency_minutes = -1 WHERE id = 1`,
		`UPDATE targets SET max_retries = -1 WHERE id = 1`,
		`UPDATE targets SET kind = 'page' WHERE id = 1`,
		`UPDATE targets SET city_id = NULL WHERE id = 1`, // a search without a place
		`UPDATE targets SET category_id = NULL WHERE id = 1`,
		`UPDATE targets SET listing = 1 WHERE id = 1`,
		`UPDATE targets SET kind = 'index' WHERE id = 1`,                                       // of one city
		`UPDATE targets SET kind = 'index', city_id = NULL, category_id = NULL WHERE id = 1`,   // of no pages
		`UPDATE targets SET kind = 'detail', city_id = NULL, category_id = NULL WHERE id = 1`,  // of no listing
		`UPDATE targets SET city_id = (SELECT city_id FROM targets WHERE id = 3) WHERE id = 1`, // twice
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
