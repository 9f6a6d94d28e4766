package health

import (
	"regexp"
	"strings"
	"testing"
)

var scanned = regexp.MustCompile(`SCAN (requests|crawl_attempts|targets)\b`)

// TestQueryPlans: what is read often, or of many rows, stands in an index that holds
// all that is asked.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const rollup = "SEARCH requests USING COVERING INDEX requests_rollup (source_id=? AND finished_at>? AND finished_at<?)"
	for _, c := range []struct {
		name, query string
		want        string
		only        bool // the line that touches a table
	}{
		{"samples", countSamples, rollup, true},
		{"429s", countLimited, rollup, true},
		{"classes", countClasses, rollup, true},
		{"latencies", countLatencies, rollup, true},
		{"next requests", nextRequests, "SEARCH requests USING INTEGER PRIMARY KEY (rowid>?)", false},
		{"prune requests", pruneRequests, "SEARCH requests USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true},
		{"prune attempts", pruneAttempts, "SEARCH crawl_attempts USING COVERING INDEX crawl_attempts_by_end (finished_at<?)", false},
		{"prune workers", pruneWorkers, "SEARCH r USING INTEGER PRIMARY KEY", false},
		{"samples of pages", selectSamples, "INDEX page_samples_by_source", true},
		{"drop samples", dropSamples, "COVERING INDEX page_samples_by_source", false},
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
