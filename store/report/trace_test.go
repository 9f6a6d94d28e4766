package report_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func readTarget(t *testing.T, b *bundle, id int64, attempts int) *report.Record {
	t.Helper()
	r, err := b.Target(t.Context(), id, attempts)
	noErr(t, err)
	return r
}

// cells are the rows of a part, its columns as words.
func cells(r *report.Record, part, columns string) []string {
	return valuesOf(r.Part(part), strings.Fields(columns)...)
}

// tell notes a step and a request on a claim, as a worker does.
func tell(b *bundle, c *checkpoint.Claim, event string, class yp.ErrorClass, status int) {
	now := b.DB().Now()
	c.Attempt.Trace.Add(now, event, 1, "a detail")
	c.Requests = append(c.Requests, store.Request{
		SourceID: c.SourceID, TargetID: c.TargetID, ClaimToken: c.Token, Page: 1, Correlation: "c", Retry: len(c.Requests), Type: "listing",
		URL: "http://x/y", Started: now, Latency: 120 * time.Millisecond, Waited: 42 * time.Second, WaitReason: "Retry-After",
		Class: class, Status: status, Results: 30, Proxy: "http://p:1", Identity: "honest", Via: "proxy",
	})
}

func TestTarget(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	c := b.claim(t, 0)
	tell(b, c, "retry", yp.ClassHTTP429, 429)
	clock.Move(time.Second)
	tell(b, c, "rotated", yp.ClassTimeout, 0)
	clock.Move(time.Second)
	if _, err := b.Fail(t.Context(), c, yp.CodeTimeout, "it hangs"); err != nil {
		t.Fatal(err)
	}
	r := readTarget(t, b, c.TargetID, 5)
	if r.Get("id") != c.TargetID || r.Get("attempts_kept") != int64(1) || r.Get("next") == nil {
		t.Errorf("%v", r.Rows)
	}
	same(t, "attempts", cells(r, "attempts", "attempt worker_id ended error message duration_ms pages"), []string{"1|" + c.Worker.ID + "|failed|TIMEOUT|it hangs|2000|0"})
	same(t, "requests", cells(r, "requests", "http_status error_class waited_ms wait_reason latency_ms proxy result_count outcome retry_seq"),
		[]string{"429|http_429|42000|Retry-After|120|http://p:1|<nil>|failure|0", "<nil>|timeout|42000|Retry-After|120|http://p:1|<nil>|failure|1"})
}

// TestSteps: steps and requests are in the order in which they happened, also those of one millisecond.
func TestSteps(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	c := b.claim(t, 0)
	second := func(n int) string { return fmt.Sprintf("2026-11-20T12:00:%02d.000Z", n) }
	execute(t, b.DB(), fmt.Sprintf(`UPDATE crawl_attempts SET started_at = '%s', metadata = '{"steps": [{"at": "%[1]s", "event": "claimed"},
			{"at": "%s", "event": "committed", "page": 1, "detail": "30 listings, 12 new"}, {"at": "%s", "event": "retry", "page": 1, "detail": "TIMEOUT"}, {"at": "no time", "event": "odd"}]}'`,
		second(0), second(44), second(3)))
	for _, q := range []string{
		`2, 'http://x/2', 0, '` + second(44) + `', '` + second(45) + `', 1000, 403, 'http_403', NULL, 'http://p:1', 0, 'chrome', 'proxy', 0, NULL, 'failure'`,
		`1, 'http://x/1', 0, '` + second(2) + `', '` + second(3) + `', 1000, NULL, 'timeout', NULL, NULL, 1, NULL, 'none', 0, NULL, 'failure'`,
		`1, 'http://x/1', 1, '` + second(43) + `', '` + second(44) + `', 120, 200, NULL, 30, NULL, 0, NULL, 'none', 42000, 'Retry-After', 'success'`,
		`3, 'http://x/3', 0, '` + second(50) + `', '` + second(50) + `', 0, NULL, 'rate_limited', NULL, NULL, 0, NULL, 'none', 0, 'penalty', 'failure'`,
	} {
		execute(t, b.DB(), fmt.Sprintf(`INSERT INTO requests (source_id, target_id, claim_token, correlation_id, type, page, url, retry_seq, started_at, finished_at, latency_ms, http_status,
			error_class, result_count, proxy, proxy_failed, identity, via, waited_ms, wait_reason, outcome) SELECT 1, %d, %d, 'c', 'listing', %s`, c.TargetID, c.Token, q))
	}
	want := []string{
		"odd", "sent GET http://x/1", "no response after 1.0 s: the proxy failed, timeout", "page 1 retry: TIMEOUT",
		"waited 42.0 s: Retry-After", "sent GET http://x/1 again (1)", "status 200 after 120 ms: 30 listings", "page 1 committed: 30 listings, 12 new",
		"sent GET http://x/2 via http://p:1 as chrome", "status 403 after 1.0 s: http_403",
		"not sent yet: penalty", "still under way, or its process was killed and is not recovered yet",
	}
	same(t, "steps", cells(readTarget(t, b, c.TargetID, 5), "steps", "what")[1:], want)
}

// TestStepsOfWhatIsGone: what is left of an attempt is told, and how it ended.
func TestStepsOfWhatIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	if r := readTarget(t, b, 1, 5); len(r.Part("attempts").Rows)+len(r.Part("steps").Rows) != 0 {
		t.Errorf("never crawled: %v", r.Parts)
	}
	c := b.claim(t, 0)
	// A killed process, pruned requests, a text that is no list of steps.
	execute(t, b.DB(), `UPDATE crawl_attempts SET ended = 'recovered', finished_at = '2099-01-01T00:00:00.000Z', metadata = '[1, 2]'`)
	same(t, "of a killed process", cells(readTarget(t, b, c.TargetID, 5), "steps", "what")[1:], []string{
		"its steps are not known: the process ended before it could write them",
		"no requests are kept of it: none was made, they were deleted as too old, or the process was killed first", "recovered: its process had ended",
	})
	for change, want := range map[string]string{
		`ended = 'released', duration_ms = 1500, error_message = 'the run stops'`:                                             "released after 1.5 s: the run stops",
		`ended = 'done', error_code = 'SUCCESS', duration_ms = 900, pages = 1, listings = 30, changed = 12`:                   "done after 900 ms; 1 page, 30 listings, 12 new or changed",
		`ended = 'done', error_code = 'NO_LISTINGS'`:                                                                          "done (the site has no listings here)",
		`ended = 'failed', error_code = 'TIMEOUT', error_message = 'fetch http://x/y: slow: very', backoff_delay_ms = 120000`: "failed TIMEOUT: slow: very; next try at 2099-01-01 00:02:00 UTC",
	} {
		execute(t, b.DB(), `UPDATE crawl_attempts SET duration_ms = NULL, error_code = NULL, error_message = NULL, pages = NULL, listings = NULL, changed = NULL, backoff_delay_ms = NULL, ended = 'released'`,
			`UPDATE crawl_attempts SET `+change)
		if got := cells(readTarget(t, b, c.TargetID, 5), "steps", "what"); got[len(got)-1] != want {
			t.Errorf("%s: %q, want %q", change, got[len(got)-1], want)
		}
	}
	if _, err := b.Target(t.Context(), 999, 5); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no such target: %v", err)
	}
}
