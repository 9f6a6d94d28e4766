package health

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const pauseOfDemo = `SELECT auto_disabled, substr(paused_until, 12, 5), paused_code, paused_reason FROM sources WHERE id = 1`

func TestPause(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ok(t, w.Pause(t.Context(), demo, yp.CodeAuthFailed, "401"))
	wantRows(t, w.db, pauseOfDemo, "0|12:30|AUTH_FAILED|401")
	wantRows(t, w.db, `SELECT auto_disabled, paused_until FROM sources WHERE id = 2`, "0|")
	w.clock.Move(-time.Minute)
	ok(t, w.Pause(t.Context(), demo, yp.CodeAuthFailed, "407")) // would be shorter
	wantRows(t, w.db, pauseOfDemo, "0|12:30|AUTH_FAILED|401")
	w.clock.Move(time.Hour)
	ok(t, w.Pause(t.Context(), demo, yp.CodeAuthFailed, "407"))
	wantRows(t, w.db, pauseOfDemo, "0|13:29|AUTH_FAILED|407")
	for _, why := range []string{"first", "second"} {
		l := w.layout(t)
		for range MaxStrikes {
			_, err := l.Unknown(t.Context(), why)
			ok(t, err)
		}
	}
	const alarm = "1||HTML_CHANGED|the layout of 3 pages in a row was not recognized: first"
	wantRows(t, w.db, pauseOfDemo, alarm)
	ok(t, w.Pause(t.Context(), demo, yp.CodeAuthFailed, "401"))
	wantRows(t, w.db, pauseOfDemo, alarm)
	if err := w.Pause(t.Context(), other, yp.CodeTimeout, "a code that pauses nothing"); err == nil {
		t.Error("no error")
	}
}

var scanned = regexp.MustCompile(`SCAN (requests|crawl_attempts|targets|listing_events|request_spans|run_passes|r|q|a)\b`)

// TestQueryPlans: what is read often, or of many rows, is in an index that holds
// all that is asked.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, c := range []struct {
		name, query string
		want        string
		only        bool // the line that touches a table
	}{
		{"counts", readCounts, "SEARCH requests USING COVERING INDEX requests_rollup (source_id=? AND finished_at>? AND finished_at<?)", false},
		{"next requests", nextRequests, "SEARCH requests USING INTEGER PRIMARY KEY (rowid>?)", false},
		{"prune requests", pruneRequests, "SEARCH requests USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true},
		{"prune minutes", pruneMinutes, "SEARCH r USING PRIMARY KEY (source_id=? AND span=? AND began_at<?)", false},
		{"prune hours", pruneHours, "SEARCH r USING PRIMARY KEY (source_id=? AND span=? AND began_at<?)", false},
		{"lower the mark", lowerRolled, "SEARCH requests", false},
		{"next to count", nextOfRequests, "SEARCH requests USING INTEGER PRIMARY KEY (rowid>?)", false},
		{"next events to count", nextOfEvents, "SEARCH listing_events USING INTEGER PRIMARY KEY (rowid>?)", false},
		{"count requests", countRequests, "SEARCH requests USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", false},
		{"count pages", countPages, "SEARCH q USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", false},
		{"pages: their run", countPages, "(target_id=? AND claim_token=?)", false},
		{"count events", countEvents, "SEARCH listing_events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", false},
		{"prune attempts", pruneAttempts, "SEARCH crawl_attempts USING COVERING INDEX crawl_attempts_by_end (finished_at<?)", false},
		{
			"prune attempts that went well",
			`SELECT id FROM crawl_attempts WHERE finished_at < ? AND error_code IN ('SUCCESS', 'NO_LISTINGS') ORDER BY finished_at LIMIT 500`,
			"COVERING INDEX crawl_attempts_by_end", true,
		},
		{"prune workers", pruneWorkers, "SEARCH r USING INTEGER PRIMARY KEY", false},
		{"hosts", selectHosts, "SEARCH hosts USING PRIMARY KEY (source_id=?)", true},
		{"shares", selectShares, "SEARCH field_shares USING PRIMARY KEY (source_id=?)", true},
		{"profile", selectProfile, "SEARCH p USING INTEGER PRIMARY KEY", false},
	} {
		all := strings.Join(storetest.Explain(t, w.db.Read(), literal(c.query), nil), "\n")
		if !strings.Contains(all, c.want) {
			t.Errorf("%s: the plan lacks %q:\n%s", c.name, c.want, all)
		}
		if n := strings.Count(all, "SEARCH") + strings.Count(all, "SCAN"); scanned.MatchString(all) || c.only && n != 1 {
			t.Errorf("%s: reads a whole table, or more than that:\n%s", c.name, all)
		}
	}
}

var parameter = regexp.MustCompile(`\?\d?`)

// literal puts a value in place of every parameter.
func literal(query string) string { return parameter.ReplaceAllString(query, "'1'") }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
