package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// asks is a request of the claim's next page.
func (b *bundle) asks(c *checkpoint.Claim, retry int, class yp.ErrorClass) store.Request {
	return store.Request{
		SourceID: c.SourceID, TargetID: c.TargetID, ClaimToken: c.Token, Page: c.PageCurrent + 1, Correlation: fmt.Sprint("c", c.PageCurrent+1), Retry: retry,
		Type: yp.RequestListing, URL: "http://x", Started: b.DB().Now(), Latency: time.Second, Class: class, Status: 200, Results: 2,
	}
}

const requestRows = `SELECT target_id, claim_token, page, correlation_id, retry_seq, outcome, error_class FROM requests ORDER BY id`

// TestRecordedWithThePage: requests and the attempt go with the page's own
// transaction, or not at all.
func TestRecordedWithThePage(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	ctx := t.Context()
	c := b.claim(t, 0)
	noErr(t, b.run.Enlist(ctx, c.Worker.ID, "Ada", checkpoint.Usage{}))
	begun := yp.FormatTime(clock.Now())
	same(t, "attempt", table(t, b.DB(), `SELECT target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, ended FROM crawl_attempts`),
		[]string{fmt.Sprintf("1|1|%d|worker_0_pid_1|1|0|%s|running", b.run.ID, begun)})
	commits := func() string {
		return fmt.Sprint(table(t, b.DB(), `SELECT * FROM targets`), table(t, b.DB(), `SELECT * FROM listings`), table(t, b.DB(), `SELECT * FROM requests`),
			table(t, b.DB(), `SELECT * FROM crawl_attempts`), table(t, b.DB(), `SELECT * FROM workers`), table(t, b.DB(), `SELECT * FROM runs`))
	}
	c.Requests = append(c.Requests, b.asks(c, 0, yp.ClassTimeout), b.asks(c, 1, ""))
	before, attempt := commits(), c.Attempt
	bad := page(1, true, "a")
	bad.Bad = -1 // the database refuses it
	if _, err := b.CommitPage(ctx, c, bad); err == nil || errors.Is(err, checkpoint.ErrClaimLost) {
		t.Fatalf("a bad page: %v", err)
	}
	if after := commits(); after != before || len(c.Requests) != 2 || fmt.Sprint(c.Attempt) != fmt.Sprint(attempt) {
		t.Errorf("a page that rolled back left\n%s\nof\n%s\nwith %d requests in hand, attempt %+v", after, before, len(c.Requests), c.Attempt)
	}
	clock.Move(time.Second)
	b.save(t, c, page(1, false, "a", "b"))
	same(t, "requests", table(t, b.DB(), requestRows), []string{"1|1|1|c1|0|failure|timeout", "1|1|1|c1|1|success|"})
	storetest.Equal(t, len(c.Requests), 0, "requests left to be written again")
	if a := c.Attempt; a.Pages != 1 || a.Listings != 2 || a.Upserted != 2 || a.Changed != 2 || len(a.Trace.Steps) != 1 || a.Trace.Steps[0].Event != "committed" {
		t.Errorf("the attempt is %+v", a)
	}
	c.Requests = append(c.Requests, b.asks(c, 0, ""))
	c.Attempt.Bytes, c.Attempt.HTTPStatus, c.Attempt.Proxy, c.Attempt.Identity = 999, 200, "p", "i"
	if out, err := b.CommitPage(ctx, c, page(2, true, "b", "d")); err != nil || !out.Done {
		t.Fatal(out, err)
	}
	same(t, "requests", table(t, b.DB(), requestRows), []string{"1|1|1|c1|0|failure|timeout", "1|1|1|c1|1|success|", "1|1|2|c2|0|success|"})
	same(t, "attempt", table(t, b.DB(), `SELECT ended, error_code, duration_ms, pages, listings, upserted, changed, bytes, http_status, proxy, identity,
		json_array_length(metadata, '$.steps') FROM crawl_attempts`), []string{"done|SUCCESS|1000|2|4|4|3|999|200|p|i|2"})
	same(t, "worker", table(t, b.DB(), `SELECT pages, listings, claims FROM workers`), []string{"2|4|0"}) // it was enlisted after its claim
	if _, err := b.CommitPage(ctx, c, page(3, true)); !errors.Is(err, checkpoint.ErrClaimLost) {
		t.Errorf("after the end: %v", err)
	}
}

// TestEveryEndIsRecorded: with an outcome go the requests, the attempt, and how the
// source fared.
func TestEveryEndIsRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    func(b *bundle, c *checkpoint.Claim) error
		want   string // ended, code, message
		source string // failures in a row, of 5 before
		run    string // targets brought to an outcome
	}{
		"last": {func(b *bundle, c *checkpoint.Claim) error {
			_, err := b.CommitPage(bg, c, page(1, true, "a"))
			return err
		}, "done|SUCCESS|", "0", "1"},
		"page": {func(b *bundle, c *checkpoint.Claim) error {
			_, err := b.CommitPage(bg, c, page(1, false, "a"))
			return err
		}, "running||", "5", "0"},
		"empty": {func(b *bundle, c *checkpoint.Claim) error {
			return b.Complete(bg, c, yp.CodeNoListings, "none", checkpoint.End{How: yp.EndSaid})
		}, "done|NO_LISTINGS|none", "0", "1"},
		"complete": {func(b *bundle, c *checkpoint.Claim) error {
			return b.Complete(bg, c, "", "", checkpoint.End{How: yp.EndNoWord})
		}, "done|SUCCESS|", "0", "1"},
		"fail": {func(b *bundle, c *checkpoint.Claim) error {
			_, err := b.Fail(bg, c, yp.CodeTimeout, "slow")
			return err
		}, "failed|TIMEOUT|slow", "6", "1"},
		"park":    {func(b *bundle, c *checkpoint.Claim) error { return b.Park(bg, c, yp.CodeNoListings, "404") }, "parked|NO_LISTINGS|404", "6", "1"},
		"release": {func(b *bundle, c *checkpoint.Claim) error { return b.Release(bg, c, "host held") }, "released||host held", "5", "0"},
		"a long error": {
			func(b *bundle, c *checkpoint.Claim) error {
				_, err := b.Fail(bg, c, yp.CodeTimeout, strings.Repeat("é", 1000))
				return err
			}, "failed|TIMEOUT|" + strings.Repeat("é", 500), "6", "1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 1, "CA")
			execute(t, b.DB(), `UPDATE sources SET consecutive_failures = 5`, `UPDATE targets SET consecutive_failures = 4, backoff_level = 1`)
			claim := b.claim(t, 0)
			claim.Requests = append(claim.Requests, b.asks(claim, 0, yp.ClassTimeout))
			noErr(t, c.end(b, claim))
			same(t, "attempt", table(t, b.DB(), `SELECT ended, error_code, error_message FROM crawl_attempts`), []string{c.want})
			same(t, "requests", table(t, b.DB(), requestRows), []string{"1|1|1|c1|0|failure|timeout"})
			same(t, "source", table(t, b.DB(), `SELECT consecutive_failures FROM sources`), []string{c.source})
			same(t, "run", table(t, b.DB(), `SELECT targets FROM runs`), []string{c.run})
			if c.source == "0" { // a success makes all good
				target := table(t, b.DB(), `SELECT status, crawl_status, consecutive_failures, backoff_level, backoff_until, auto_disabled, total_successes FROM v_crawler_status WHERE id = 1`)
				same(t, "target", target, []string{"DONE|active|0|0||0|1"})
			}
			if len(claim.Requests) > 0 {
				t.Error("its requests are still in hand")
			}
		})
	}
}

// TestBadRequestTakesThePage: what can't be recorded is no reason to record half.
func TestBadRequestTakesThePage(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	c := b.claim(t, 0)
	c.Requests = append(c.Requests, b.asks(c, 0, "nonsense"))
	if _, err := b.CommitPage(bg, c, page(1, true, "a")); err == nil {
		t.Error("it was taken")
	}
	same(t, "targets", table(t, b.DB(), `SELECT status, page_current FROM targets WHERE id = 1`), []string{"IN_PROGRESS|0"})
	same(t, "listings", table(t, b.DB(), `SELECT * FROM listings`), nil)
}

// TestCrawlerStatus: the view tells what became of a target's last attempts, and by which way.
func TestCrawlerStatus(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	attempt := func(token int, finished, ended, code, proxy string) string {
		return fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code, proxy, identity)
			VALUES (1, %d, 1, 'w', %[1]d, 0, 'x', '%s', '%s', '%s', '%s', 'identity %[1]d')`, token, finished, ended, code, proxy)
	}
	const q = `SELECT last_failure_at, last_proxy, last_identity, max_retries, listings FROM v_crawler_status WHERE id = 1`
	same(t, "never tried", table(t, b.DB(), q), []string{"|||3|0"})
	execute(t, b.DB(), attempt(1, "first", "failed", "TIMEOUT", "a"), attempt(2, "second", "parked", "TIMEOUT", "b"), attempt(3, "third", "done", "SUCCESS", "c"),
		`UPDATE targets SET max_retries = 5, raw_count = 9, accepted_count = 7 WHERE id = 1`)
	same(t, "tried", table(t, b.DB(), q), []string{"second|c|identity 3|5|7"})
	same(t, "another", table(t, b.DB(), strings.Replace(q, "= 1", "= 2", 1)), []string{"|||3|0"})
}

// TestCrawlErrorSummary: how attempts ended, the good ones too. What is done because its
// site has nothing went well, and is counted under its code.
func TestCrawlErrorSummary(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	for i, end := range []string{
		"'done', 'SUCCESS', NULL", "'done', 'NO_LISTINGS', NULL", "'parked', 'NO_LISTINGS', NULL", "'failed', 'BLOCKED_PROXY', 'p'", "'failed', 'BLOCKED_PROXY', NULL", "'released', NULL, NULL",
		"'failed', 'TIMEOUT', NULL", "'failed', 'TIMEOUT', NULL", "'failed', 'TIMEOUT', NULL",
	} {
		execute(t, b.DB(), fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code, proxy)
			VALUES (%d, %d, 1, 'w', 1, 0, 'x', '%s', %s)`, 1+i%2, i+1, ago(time.Hour), end))
	}
	same(t, "the summary", table(t, b.DB(), `SELECT error_code, by_proxy, occurrences, targets, went_well FROM v_crawl_error_summary`),
		[]string{"TIMEOUT|0|3|2|0", "BLOCKED_PROXY|1|2|2|0", "NO_LISTINGS|0|2|2|1", "SUCCESS|0|1|1|1"})
}
