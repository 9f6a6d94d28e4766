package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

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
// site has nothing went well.
func TestCrawlErrorSummary(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, "CA")
	for i, end := range []string{"'done', 'SUCCESS', NULL", "'done', 'NO_LISTINGS', NULL", "'parked', 'NO_LISTINGS', NULL", "'failed', 'BLOCKED_PROXY', 'p'", "'failed', 'BLOCKED_PROXY', NULL", "'released', NULL, NULL"} {
		execute(t, b.DB(), fmt.Sprintf(`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code, proxy)
			VALUES (%d, %d, 1, 'w', 1, 0, 'x', '%s', %s)`, 1+i%2, i+1, ago(time.Hour), end))
	}
	same(t, "the summary", table(t, b.DB(), `SELECT error_code, by_proxy, occurrences, targets FROM v_crawl_error_summary ORDER BY 1, 2`),
		[]string{"BLOCKED_PROXY|0|1|1", "BLOCKED_PROXY|1|1|1", "NO_LISTINGS|0|1|1", "SUCCESS|0|2|2"})
}
