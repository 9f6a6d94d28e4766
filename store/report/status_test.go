package report_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/checkpoint"
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
			c := s.Schedule
			got := []string{fmt.Sprintf("%d|%d|%d|%d|%d|%d|%d|%d", c.Targets, c.Due, c.Scheduled, c.Degraded, c.Paused, c.Failed, c.NeedsPlan, c.NotScheduled)}
			same(t, "schedule", got, table(t, b.DB(), `SELECT count(*), count(*) FILTER (WHERE schedule_status = 'DUE'), count(*) FILTER (WHERE schedule_status = 'SCHEDULED'),
				count(*) FILTER (WHERE schedule_status = 'DEGRADED'), count(*) FILTER (WHERE schedule_status = 'PAUSED'), count(*) FILTER (WHERE schedule_status = 'FAILED'),
				count(*) FILTER (WHERE schedule_status = 'NEEDS_PLAN'), count(*) FILTER (WHERE schedule_status = 'NOT_SCHEDULED') FROM v_crawler_status WHERE `+in))
			h := s.Health
			got = []string{fmt.Sprintf("%d|%d|%d|%d", h.Active, h.Degraded, h.Paused, h.Failed)}
			same(t, "health", got, table(t, b.DB(), `SELECT count(*) FILTER (WHERE crawl_status = 'active'), count(*) FILTER (WHERE crawl_status = 'degraded'),
				count(*) FILTER (WHERE crawl_status = 'paused'), count(*) FILTER (WHERE crawl_status = 'failed') FROM v_crawler_status WHERE `+in))
			got = []string{fmt.Sprint(s.Sources[0].HealthFigures.DueNow)}
			same(t, "due now", got, table(t, b.DB(), `SELECT count(*) FROM targets_available WHERE `+in))
		})
	}
	t.Run("as v_crawl_health", func(t *testing.T) {
		t.Parallel()
		f := readStatus(t, b, store.Scope{}).Sources[0].HealthFigures
		got := []string{fmt.Sprintf("%d|%d|%.2f|%d", f.DueNow, f.WithFailures, f.MeanFailures, f.Successes24h)}
		same(t, "health", got, table(t, b.DB(), `SELECT due_now, with_failures, format('%.2f', mean_consecutive_failures), successful_24h FROM v_crawl_health`))
	})
}

// TestHealthBeforeAnySuccess: no success is 0 of them, not NULL.
func TestHealthBeforeAnySuccess(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	same(t, "successes", table(t, b.DB(), `SELECT source, ifnull(successful_24h, 'NULL') FROM v_crawl_health`), []string{"demo|0"})
}

func TestStatusOfNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	s, err := b.Status(t.Context(), store.Scope{SourceID: b.scope.SourceID})
	noErr(t, err)
	if len(s.Sources) != 1 || s.Schedule.Targets != 0 || s.Errors == nil || s.Backoff == nil || s.Hosts == nil || s.Workers == nil || s.Sources[0].Proxies == nil {
		t.Errorf("%+v", s)
	}
	if p := s.Sources[0].Profile; p.Status != "" || p.Rate1h != nil || !p.Updated.IsZero() {
		t.Errorf("never rolled up: %+v", p)
	}
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
	var names []string
	for _, src := range s.Sources {
		names = append(names, src.Name)
	}
	same(t, "sources", names, []string{"another", "demo"})
	src := s.Sources[1]
	if src.Availability != store.SourceQuarantined || !src.Until.Equal(until) || src.Reason != "cf_challenge" || src.Remedy != "" {
		t.Errorf("gate: %+v", src)
	}
	p := src.Profile
	if p.Status != "quarantined" || *p.Rate1h != 0.25 || p.P50 != nil || *p.P95 != 900 || !p.Burst429 || p.Cooldown != 60 || !p.Quarantine.Equal(until) {
		t.Errorf("profile: %+v", p)
	}
	want := []report.HostPace{
		{Source: "demo", Host: "a", HeldUntil: until, HeldFor: "penalty", DelayMS: 4000, DelayReason: "challenges", Blocks: 2},
		{Source: "demo", Host: "b", HeldUntil: until, HeldFor: "Retry-After"},
		{Source: "demo", Host: "d", DelayMS: 3000, DelayReason: "failures"},
	}
	if diff := cmp.Diff(want, s.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if s := readStatus(t, b, b.scope); len(s.Sources) != 1 || s.Sources[0].Name != "demo" {
		t.Errorf("of one source: %+v", s.Sources)
	}
}

func TestStatusOfWaits(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	execute(t, b.DB(), `UPDATE targets SET status = 'FAILED', backoff_level = 2, last_error_code = 'TIMEOUT', wait_reason = 'backoff', not_before = '`+ahead(2*time.Hour)+`' WHERE id = 12`,
		`UPDATE targets SET wait_reason = 'backoff', not_before = '`+ago(time.Hour)+`' WHERE id = 13`) // over: it waits for nothing
	got := readStatus(t, b, store.Scope{}).Backoff
	if len(got) != 2 || got[0].Level != 0 || got[0].Targets != 1 || got[1].Level != 2 || got[1].Targets != 2 || !got[1].Next.Before(got[1].Last) {
		t.Errorf("%+v", got)
	}
	if got := readStatus(t, b, store.Scope{States: []string{"WY"}}).Backoff; len(got) != 0 {
		t.Errorf("in a state without targets: %+v", got)
	}
}

func TestStatusOfWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, "CA", "TX")
	for i := range 3 {
		noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(i, 1), yp.WorkerName(i), checkpoint.Usage{Memory: 30_000_000}))
	}
	c := b.claim(t, 1)
	execute(t, b.DB(), `UPDATE workers SET claims = 200, claim_retries = 3, pages = 7, listings = 210 WHERE worker_id = '`+yp.WorkerID(1, 1)+`'`,
		`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES (900, 'far', 'elsewhere', 1, 1, 'run', 'x', 'x')`,
		`INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at) VALUES (900, 'worker_0_pid_9', 'amber', 'elsewhere', 9, 'x', 'x')`)
	noErr(t, b.run.Dismiss(t.Context(), yp.WorkerID(2, 1), checkpoint.Usage{}))
	all := readStatus(t, b, store.Scope{}).Workers
	if len(all) != 3 {
		t.Fatalf("%d workers: %+v", len(all), all)
	}
	alive := map[string]bool{}
	for _, w := range all {
		alive[w.Worker] = w.Alive
	}
	if diff := cmp.Diff(map[string]bool{"worker_0_pid_1": true, "worker_1_pid_1": true, "worker_0_pid_9": false}, alive); diff != "" {
		t.Error(diff)
	}
	i := slices.IndexFunc(all, func(w report.WorkerStatus) bool { return w.Worker == yp.WorkerID(1, 1) })
	w := all[i]
	if w.TargetID != c.TargetID || w.Page != 1 || w.State != c.Place.State || w.City != c.Place.City || w.Claims != 200 || w.ClaimRetries != 3 || w.Listings != 210 || w.RSS != 30_000_000 {
		t.Errorf("%+v", w)
	}
	if one := readStatus(t, b, store.Scope{States: []string{c.Place.State}}).Workers; len(one) != 1 || one[0].Worker != w.Worker {
		t.Errorf("in its state: %+v", one)
	}
}

// request is a row of requests that ended so long ago.
func request(finished time.Duration, kind, outcome, class, proxy string, results int) string {
	null := func(s string) string {
		if s == "" {
			return "NULL"
		}
		return "'" + s + "'"
	}
	found := "NULL"
	if outcome == "success" {
		found = fmt.Sprint(results)
	}
	return fmt.Sprintf(`INSERT INTO requests (source_id, target_id, claim_token, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, result_count, proxy)
		VALUES (1, 1, 1, 'c', '%s', 'http://x/y', '%s', '%s', '%s', %s, 0, %s, %s)`, kind, ago(finished), ago(finished), outcome, null(class), found, null(proxy))
}

func TestStatusOfTheHour(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	execute(t, b.DB(),
		request(time.Minute, "listing", "success", "", "http://p:1", 30),
		request(59*time.Minute, "listing", "success", "", "", 12),
		request(61*time.Minute, "listing", "success", "", "http://p:1", 30),
		request(time.Minute, "listing", "failure", "http_403", "http://p:1", 0),
		request(time.Minute, "listing", "failure", "rate_limited", "http://p:1", 0),
		request(time.Minute, "robots", "success", "", "", 0),
	)
	s := readStatus(t, b, store.Scope{})
	if s.Pages != 2 || s.Rows != 42 || s.Listings != 0 {
		t.Errorf("%d pages, %d rows, %d listings", s.Pages, s.Rows, s.Listings)
	}
	for range 2 { // both targets show a and b, one is still in hand
		c := b.claim(t, 0)
		b.commit(t, c, page(c.TargetID == 1, "a", "b", fmt.Sprint("own", c.TargetID)))
	}
	if got := readStatus(t, b, store.Scope{}).Listings; got != 4 {
		t.Errorf("%d different listings, want 4", got)
	}
	if diff := cmp.Diff([]report.ProxyUse{{Proxy: "http://p:1", Requests: 2, Failures: 1}}, s.Sources[0].Proxies); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, "CA")
	attempt := func(target int, finished time.Duration, code string) string {
		ended := map[bool]string{true: "done", false: "failed"}[code == "SUCCESS"]
		return fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, duration_ms, ended, error_code)
			VALUES (%d, (SELECT count(*) + 50 FROM crawl_attempts), 1, 'w', 1, 0, '%s', '%s', 400, '%s', '%s')`, target, ago(finished), ago(finished), ended, code)
	}
	execute(t, b.DB(), attempt(1, time.Hour, "TIMEOUT"), attempt(1, 2*time.Hour, "TIMEOUT"), attempt(2, time.Hour, "TIMEOUT"),
		attempt(3, time.Hour, "PARSE_ERROR"), attempt(3, 8*24*time.Hour, "BLOCKED_PROXY"), attempt(3, time.Hour, "SUCCESS"))
	got := readStatus(t, b, store.Scope{}).Errors
	if len(got) != 2 || got[0].Code != "TIMEOUT" || got[0].Occurrences != 3 || got[0].Targets != 2 || *got[0].MeanMS != 400 || got[1].Code != "PARSE_ERROR" {
		t.Errorf("%+v", got)
	}
	if got := readStatus(t, b, store.Scope{SourceID: 77}).Errors; len(got) != 0 {
		t.Errorf("of another source: %+v", got)
	}
}
