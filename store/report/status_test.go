package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func readStatus(t *testing.T, b *bundle, scope store.Scope) *report.Status {
	t.Helper()
	s, err := b.Status(t.Context(), scope)
	noErr(t, err)
	return s
}

func partOf(s *report.Status, name string) *report.Table {
	return s.Parts[slices.IndexFunc(s.Parts, func(t *report.Table) bool { return t.Name == name })]
}

// part is columns of a part of status, a text for each row.
func part(s *report.Status, name string, columns ...string) (rows []string) {
	return valuesOf(partOf(s, name), columns...)
}

// valuesOf is columns of a table, a text for each row.
func valuesOf(t *report.Table, columns ...string) (rows []string) {
	for _, row := range t.Rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = fmt.Sprint(t.Value(row, c))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return rows
}

// TestStatusCounts: the counts are those of the views.
func TestStatusCounts(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	b.claim(t, 0)
	for name, scope := range map[string]store.Scope{
		"all": {}, "a state": {States: []string{"TX"}}, "both": {States: []string{"CA", "TX"}, SourceID: 1}, "none": {States: []string{"WY"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := readStatus(t, b, scope)
			in := "1 = 1"
			if len(scope.States) > 0 {
				in = fmt.Sprintf("state IN ('%s', '%s')", scope.States[0], scope.States[len(scope.States)-1])
			}
			same(t, "targets", part(s, "targets", strings.Fields("targets due scheduled degraded paused failed needs_plan not_scheduled health_active health_degraded health_paused health_failed")...),
				table(t, b.DB(), `SELECT count(*), sum(schedule_status = 'DUE'), sum(schedule_status = 'SCHEDULED'), sum(schedule_status = 'DEGRADED'), sum(schedule_status = 'PAUSED'),
					sum(schedule_status = 'FAILED'), sum(schedule_status = 'NEEDS_PLAN'), sum(schedule_status = 'NOT_SCHEDULED'), sum(crawl_status = 'active'),
					sum(crawl_status = 'degraded'), sum(crawl_status = 'paused'), sum(crawl_status = 'failed') FROM v_crawler_status WHERE `+in+` HAVING count(*) > 0`))
			same(t, "due now", part(s, "targets", "due_now"), table(t, b.DB(), `SELECT count(*) FROM targets_available WHERE `+in+` HAVING count(*) > 0`))
		})
	}
	t.Run("as v_crawl_health", func(t *testing.T) {
		t.Parallel()
		same(t, "health", part(readStatus(t, b, store.Scope{}), "targets", "due_now", "with_failures", "mean_consecutive_failures", "successful_24h", "health_degraded"),
			table(t, b.DB(), `SELECT due_now, with_failures, mean_consecutive_failures, successful_24h, degraded FROM v_crawl_health`))
	})
}

// TestHealthBeforeAnySuccess: no success is 0 of them, not NULL.
func TestHealthBeforeAnySuccess(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	same(t, "successes", table(t, b.DB(), `SELECT source, ifnull(successful_24h, 'NULL') FROM v_crawl_health`), []string{"demo|0"})
}

func TestStatusOfSources(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	if _, err := b.Source(t.Context(), "another", "http://x"); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	execute(t, b.DB(), `INSERT INTO connectivity_profiles (source_id, status, error_class, samples_1h, success_rate_1h, latency_p95_ms, burst_429,
			failing_since, quarantine_until, cooldown_minutes, updated_at)
		VALUES (1, 'quarantined', 'cf_challenge', 40, 0.25, 900, 1, '`+ago(time.Hour)+`', '`+yp.FormatTime(until)+`', 60, '`+ago(time.Minute)+`')`,
		// Two hosts that are held until the same moment are still one source.
		`INSERT INTO hosts (source_id, host, held_until, held_for, delay_ms, delay_reason, blocks, updated_at) VALUES
			(1, 'a', '`+yp.FormatTime(until)+`', 'penalty', 4000, 'challenges', 2, 'x'), (1, 'b', '`+yp.FormatTime(until)+`', 'Retry-After', 0, NULL, 0, 'x'),
			(1, 'c', '`+ago(time.Hour)+`', 'penalty', 0, NULL, 1, 'x'), (1, 'd', NULL, NULL, 3000, 'failures', 0, 'x')`)
	s := readStatus(t, b, store.Scope{})
	same(t, "sources", part(s, "sources", "source", "availability", "reason", "status", "success_1h_percent", "latency_p50_ms", "latency_p95_ms"),
		[]string{"another|open|<nil>|<nil>|<nil>|<nil>|<nil>", "demo|quarantined|cf_challenge|quarantined|25|<nil>|900"})
	src := s.Sources[1]
	if src.Availability != store.SourceQuarantined || !src.Until.Equal(until) || src.Reason != "cf_challenge" || src.Remedy != "" {
		t.Errorf("gate: %+v", src)
	}
	same(t, "hosts", part(s, "hosts", "host", "held_until", "reason", "delay_ms", "delay_reason", "blocks"), []string{
		"a|" + yp.FormatTime(until) + "|penalty|4000|challenges|2", "b|" + yp.FormatTime(until) + "|Retry-After|<nil>|<nil>|0", "d|<nil>|<nil>|3000|failures|0",
	})
	if s := readStatus(t, b, b.scope); len(s.Sources) != 1 || s.Sources[0].Name != "demo" {
		t.Errorf("of one source: %+v", s.Sources)
	}
}

// request is a row of requests that ended so long ago, of one result or a failure.
func request(kind, class string, d time.Duration) string {
	outcome, rest := "'success', NULL", "1, 30"
	if class != "" {
		outcome, rest = "'failure', '"+class+"'", "NULL, NULL"
	}
	return fmt.Sprintf(`INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, parse_ok, result_count)
		VALUES (1, 'x', '%s', 'u', '%s', '%[2]s', %s, 0, %s)`, kind, ago(d), outcome, rest)
}

// attempt is a row of attempts of a target, which ended so long ago.
func attempt(target int, ended, code string, d time.Duration) string {
	return fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, duration_ms, ended, error_code)
		VALUES (%d, (SELECT count(*) + 50 FROM crawl_attempts), 1, 'w', 1, 0, 'x', '%s', 400, '%s', '%s')`, target, ago(d), ended, code)
}

func TestStatusOfTheHour(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	execute(t, b.DB(), request("listing", "", time.Minute), request("listing", "", 59*time.Minute), request("listing", "", 61*time.Minute),
		request("listing", "http_403", time.Minute), request("listing", "rate_limited", time.Minute), request("robots", "", time.Minute))
	s := readStatus(t, b, store.Scope{})
	hour := strings.Fields("source pages_1h rows_1h detail_pages_1h")
	same(t, "hour", part(s, "last_hour", hour...), []string{"demo|2|60|0"})
}

func TestStatusOfErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA")
	execute(t, b.DB(), attempt(1, "failed", "TIMEOUT", time.Hour), attempt(1, "failed", "TIMEOUT", 2*time.Hour), attempt(2, "failed", "TIMEOUT", time.Hour),
		attempt(3, "failed", "PARSE_ERROR", time.Hour), attempt(3, "failed", "BLOCKED_PROXY", 8*24*time.Hour), attempt(3, "done", "SUCCESS", time.Hour))
	same(t, "errors", part(readStatus(t, b, store.Scope{}), "errors", "error_code", "occurrences", "targets", "mean_duration_ms"), []string{"TIMEOUT|3|2|400", "PARSE_ERROR|1|1|400"})
	same(t, "of another source", part(readStatus(t, b, store.Scope{SourceID: 77}), "errors", "error_code"), nil)
}
