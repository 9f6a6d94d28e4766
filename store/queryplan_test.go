package store

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQueryPlans: what is written with every claim and page finds its rows by a key,
// and a recovery finds the attempts that are open, however many there were.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: file(t, "../schema.sql")})
	for _, c := range []struct {
		name, query string
		want        []string
	}{
		{"end attempt", endAttempt, []string{"SEARCH crawl_attempts USING INDEX sqlite_autoindex_crawl_attempts_1 (target_id=? AND claim_token=?)"}},
		{"close attempts", closeAttempts, []string{"SCAN a USING INDEX crawl_attempts_open", "SEARCH t USING INTEGER PRIMARY KEY"}},
		{"attempts of a target", "SELECT * FROM crawl_attempts WHERE target_id = ?", []string{"SEARCH crawl_attempts USING INDEX sqlite_autoindex_crawl_attempts_1 (target_id=?)"}},
		{"requests of an attempt", "SELECT * FROM requests WHERE target_id = ? AND claim_token = ?", []string{"SEARCH requests USING INDEX requests_by_target (target_id=? AND claim_token=?)"}},
		{"pass: in hand", passHolds, []string{"SEARCH t USING INDEX targets_held (source_id=?"}},
		{"pass: in a backoff", passRests, []string{"SEARCH t USING INDEX targets_waiting (wait_reason=? AND not_before>?)"}},
		{"pass: due", passWaits, []string{"SEARCH t USING INDEX targets_waiting (wait_reason=? AND not_before<?)"}},
		{"error summary", "SELECT * FROM v_crawl_error_summary", []string{"INDEX crawl_attempts_by_end (finished_at>?)"}},
	} {
		plan := strings.Join(lines(t, db.Read(), "EXPLAIN QUERY PLAN "+bound(c.query)), "\n")
		for _, want := range c.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%s: the plan lacks %q:\n%s", c.name, want, plan)
			}
		}
	}
}

// bound gives every parameter the value NULL.
func bound(query string) string { return parameter.ReplaceAllString(query, "NULL") }

var parameter = regexp.MustCompile(`\?\d*`)
