package health

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ypcrawl/yp"
)

const pauseOfDemo = `SELECT auto_disabled, substr(paused_until, 12, 5), paused_code, paused_reason FROM sources WHERE id = 1`

func TestPause(t *testing.T) {
	t.Parallel()
	type call struct {
		code   yp.ErrorCode
		reason string
		until  time.Time
	}
	auth := call{yp.CodeAuthFailed, "401", noon.Add(AuthPause)}
	alarm := call{yp.CodeHTMLChanged, "phone", time.Time{}}
	for _, c := range []struct {
		name  string
		calls []call
		want  string
	}{
		{"until a time", []call{auth}, "0|12:30|AUTH_FAILED|401"},
		{"until an operator enables it", []call{alarm}, "1||HTML_CHANGED|phone"},
		{"a longer pause replaces a shorter", []call{auth, {yp.CodeAuthFailed, "407", noon.Add(time.Hour)}}, "0|13:00|AUTH_FAILED|407"},
		{"a shorter pause changes nothing", []call{auth, {yp.CodeAuthFailed, "407", noon.Add(time.Minute)}}, "0|12:30|AUTH_FAILED|401"},
		{"an alarm replaces a pause", []call{auth, alarm}, "1||HTML_CHANGED|phone"},
		{"a pause does not replace an alarm", []call{alarm, auth}, "1||HTML_CHANGED|phone"},
		{"the first alarm stands", []call{alarm, {yp.CodeHTMLChanged, "street", time.Time{}}}, "1||HTML_CHANGED|phone"},
		{"at most 6 hours", []call{{yp.CodeAuthFailed, "401", noon.Add(48 * time.Hour)}}, "0|18:00|AUTH_FAILED|401"},
	} {
		inWorld(t, c.name, func(t *testing.T, w *world) {
			for _, p := range c.calls {
				ok(t, w.Pause(t.Context(), demo, p.code, p.reason, p.until))
			}
			wantRows(t, w.db, pauseOfDemo, c.want)
			wantRows(t, w.db, `SELECT auto_disabled, paused_until FROM sources WHERE id = 2`, "0|")
		})
	}
	inWorld(t, "a code that pauses nothing", func(t *testing.T, w *world) {
		if err := w.Pause(t.Context(), demo, yp.CodeTimeout, "x", noon.Add(time.Hour)); err == nil {
			t.Error("no error")
		}
	})
}

var scanned = regexp.MustCompile(`SCAN (requests|crawl_attempts|targets)\b`)

// TestQueryPlans: what is read often, or of many rows, stands in an index that holds
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
		{"prune attempts", pruneAttempts, "SEARCH crawl_attempts USING COVERING INDEX crawl_attempts_by_end (finished_at<?)", false},
		{"prune workers", pruneWorkers, "SEARCH r USING INTEGER PRIMARY KEY", false},
		{"hosts", selectHosts, "SEARCH hosts USING PRIMARY KEY (source_id=?)", true},
		{"shares", selectShares, "SEARCH field_shares USING PRIMARY KEY (source_id=?)", true},
		{"profile", selectProfile, "SEARCH p USING INTEGER PRIMARY KEY", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var plan []string
			for _, line := range table(t, w.db, "EXPLAIN QUERY PLAN "+literal(c.query)) {
				fields := strings.SplitN(line, "|", 4)
				plan = append(plan, fields[len(fields)-1])
			}
			all := strings.Join(plan, "\n")
			if !strings.Contains(all, c.want) {
				t.Errorf("the plan lacks %q:\n%s", c.want, all)
			}
			if scanned.MatchString(all) {
				t.Errorf("reads a whole table:\n%s", all)
			}
			if n := strings.Count(all, "SEARCH") + strings.Count(all, "SCAN"); c.only && n != 1 {
				t.Errorf("reads more than that:\n%s", all)
			}
		})
	}
}

var parameter = regexp.MustCompile(`\?\d?`)

// literal puts a value in place of every parameter.
func literal(query string) string { return parameter.ReplaceAllString(query, "'1'") }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
