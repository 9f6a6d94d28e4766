package report

import (
	"context"
	"fmt"
)

// showRun is what `runs show` shows. What is deleted in time (attempts after 30 days, requests after those of the setting, workers
// after 90) is counted as kept beside what was counted while it ran.
var showRun = thing{
	list: "runs list", named: "run command",
	row: `
	SELECT *, (SELECT sum(claims) FROM workers WHERE run_id = ?1) AS claims,
		(SELECT count(*) FROM crawl_attempts WHERE run_id = ?1) AS attempts_kept,
		(
			SELECT count(*)
			FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
			WHERE a.run_id = ?1) AS requests_kept,
		uuid, host, heartbeat_at
	FROM v_runs
	WHERE run = ?1`,
	parts: []Part{
		{
			Name: "passes", Show: "source began_at kind states cities categories min_population recrawl_seconds",
			Query: `SELECT * FROM v_passes WHERE run = ?1 ORDER BY source`,
		},
		{
			Name: "workers", Show: "worker claims claim_retries pages listings memory_bytes cpu_ms",
			Query: `SELECT * FROM v_run_workers WHERE run = ?1 ORDER BY length(worker_id), worker_id`,
		},
		// A page of a listing that was read is an attempt that is done; of the others the attempt knows, where its process lived to write it.
		{
			Name: "attempts", Show: "kind ended attempts pages listings", Query: `
	SELECT t.kind, a.ended, count(*) AS attempts, iif(t.kind = 'detail', sum(a.ended = 'done'), sum(a.pages)) AS pages,
		sum(a.listings) AS listings
	FROM crawl_attempts a CROSS JOIN targets t ON t.id = a.target_id
	WHERE a.run_id = ?1 GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2`,
		},
		{
			Name: "errors", Show: "error attempts targets", Query: `
			SELECT error_code AS error, count(*) AS attempts, count(DISTINCT target_id) AS targets
			FROM crawl_attempts WHERE run_id = ?1 AND ended IN ('failed', 'parked') GROUP BY 1 ORDER BY 2 DESC, 1`,
		},
		// Those of robots.txt and probes belong to no run.
		{
			Name: "requests_by_outcome", Show: "type outcome error_class requests bytes", Query: `
			SELECT q.type, q.outcome, q.error_class, count(*) AS requests, sum(q.bytes) AS bytes
			FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
			WHERE a.run_id = ?1 AND q.error_class IS NOT 'rate_limited' GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC`,
		},
		{
			Name: "waits", Show: "reason waited_seconds", Query: `
			SELECT ifnull(q.wait_reason, 'not said') AS reason, sum(q.waited_ms) / 1000.0 AS waited_seconds
			FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
			WHERE a.run_id = ?1 AND q.waited_ms > 0 GROUP BY 1 ORDER BY 2 DESC`,
		},
	},
}

// Run tells what a run did. The error is a *NotFoundError when there is none of that number.
func (k *Reader) Run(ctx context.Context, id int64) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		if r, err = k.record(ctx, showRun, id); err == nil && r == nil {
			err = &NotFoundError{What: fmt.Sprintf("no run %d", id)}
		}
		return err
	})
	return r, err
}
