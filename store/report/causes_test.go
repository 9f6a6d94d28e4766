package report_test

import (
	"fmt"
	"testing"
	"time"
)

// TestCauses: attempts by code and requests by class, of the hour and of the day.
func TestCauses(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	attempt := func(target, token int, ended, code string, age time.Duration) string {
		return fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code)
			VALUES (%d, %d, 1, 'w', 1, 0, 'x', '%s', '%s', '%s')`, target, token, ago(age), ended, code)
	}
	request := func(class string, age time.Duration, proxyFailed int) string {
		outcome := "failure"
		if class == "NULL" {
			outcome = "success"
		}
		return fmt.Sprintf(`INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, result_count, proxy_failed)
			VALUES (1, 'c', 'listing', 'u', '%[1]s', '%[1]s', '%[2]s', %[3]s, 0, 0, %[4]d)`, ago(age), outcome, class, proxyFailed)
	}
	execute(t, b.DB(),
		attempt(1, 1, "failed", "TIMEOUT", time.Minute), attempt(1, 2, "failed", "TIMEOUT", 2*time.Hour), attempt(2, 3, "parked", "TIMEOUT", 3*time.Hour),
		attempt(1, 4, "failed", "TIMEOUT", 25*time.Hour), attempt(2, 5, "done", "NO_LISTINGS", time.Minute), attempt(2, 6, "done", "SUCCESS", time.Minute),
		attempt(2, 7, "failed", "BLOCKED_PROXY", time.Minute), attempt(2, 8, "failed", "BLOCKED_PROXY", time.Minute),
		`UPDATE crawl_attempts SET proxy = 'p' WHERE claim_token = 8`,
		request("'timeout'", time.Minute, 0), request("'timeout'", 5*time.Hour, 0), request("'timeout'", 30*time.Hour, 0), request("'timeout'", time.Minute, 1),
		request("'rate_limited'", time.Minute, 0), request("NULL", time.Minute, 0), request("'http_403'", 2*time.Hour, 0))
	c, err := b.Causes(t.Context())
	noErr(t, err)
	var got []string
	for _, a := range c.Attempts {
		got = append(got, fmt.Sprintf("%s %s %d %d %d", a.Code, a.Source, a.Hour, a.Day, a.Targets))
	}
	same(t, "attempts", got, []string{"BLOCKED_PROXY demo 2 2 1", "TIMEOUT demo 1 3 2"})
	got = nil
	for _, r := range c.Requests {
		got = append(got, fmt.Sprintf("%s %s %d %d", r.Class, r.Source, r.Hour, r.Day))
	}
	same(t, "requests", got, []string{"timeout demo 1 2", "http_403 demo 0 1"})

	p, err := b.Paces(t.Context())
	noErr(t, err)
	if len(p) != 1 || p[0].BlockClass != "http_403" || time.Since(p[0].Block).Round(time.Minute) != 2*time.Hour || len(p[0].Hosts) != 0 {
		t.Errorf("%+v", p)
	}
	if r := p[0].Recent; r.Requests != 2 || r.Good != 0 || r.P50 == nil || *r.P50 != 0 {
		t.Errorf("of the last 10 minutes: %+v", r)
	}
	execute(t, b.DB(), `DELETE FROM requests`, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
		INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, result_count, parse_ok)
		SELECT 1, 'c', iif(i = 40, 'robots', 'listing'), 'u', 'x', '%s', iif(i <= 30, 'success', 'failure'), iif(i <= 30, NULL, 'timeout'), 41 - i, 1, i <= 20 FROM n`, ago(9*time.Minute)))
	p, err = b.Paces(t.Context())
	noErr(t, err)
	if r := p[0].Recent; r.Requests != 39 || r.Good != 20 || *r.P50 != 21 || *r.P95 != 39 {
		t.Errorf("of the last 10 minutes: %d, %d good, p50 %d, p95 %d", r.Requests, r.Good, *r.P50, *r.P95)
	}
	held := ahead(time.Hour)
	execute(t, b.DB(), `DELETE FROM requests`,
		`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, updated_at) VALUES
			(1, 'a', 3000, 'slow', 2, '`+held+`', 'Retry-After', 'x'), (1, 'b', 0, 'old', 0, '`+ago(time.Hour)+`', 'Retry-After', 'x')`,
		`INSERT INTO host_turns (host, next_at, gap_ms) VALUES ('a', '`+ahead(time.Second)+`', 1), ('b', '`+ahead(time.Minute)+`', 1)`)
	p, err = b.Paces(t.Context())
	noErr(t, err)
	a, o := p[0].Hosts[0], p[0].Hosts[1]
	if !p[0].Block.IsZero() || a.DelayMS != 3000 || a.DelayReason != "slow" || a.Blocks != 2 || a.HeldFor != "Retry-After" || !a.Next.Equal(a.HeldUntil) || a.Next.IsZero() {
		t.Errorf("%+v", p)
	}
	if o.DelayReason != "" || !o.HeldUntil.IsZero() || o.HeldFor != "" || time.Until(o.Next).Round(time.Minute) != time.Minute {
		t.Errorf("%+v", o)
	}
}

func TestRecentListings(t *testing.T) {
	t.Parallel()
	b := told(t)
	all, err := b.RecentListings(t.Context(), 20)
	noErr(t, err)
	var got []string
	for _, l := range all {
		got = append(got, l.ListingID+" "+l.Name+" "+l.City+" "+l.State)
	}
	same(t, "listings", got, []string{"b Best  NV", "a Acme Oakland CA"})
	if all, err = b.RecentListings(t.Context(), 1); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
