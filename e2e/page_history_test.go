//go:build browser && unix

package e2e

import "testing"

// past has a file begin with the runs of eight weeks, one a week, the first of which found most. Nothing else of them is kept.
func past(t testing.TB, dir string) {
	t.Helper()
	alter(t, dir, `
	WITH RECURSIVE w (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM w WHERE i < 7),
	r AS (SELECT i, strftime('%Y-%m-%dT03:00:00.000Z', 'now', '-' || (7 * (8 - i) - 1) || ' days') AS began FROM w)
	INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at, finished_at, outcome, requests, pages, targets,
		listings_new, listings_changed, listings_dropped, listings_restored)
	SELECT i + 1, 'past-' || i, 'h', 1, 'ypcrawl run --source demo', began, began, strftime('%Y-%m-%dT%H:%M:%fZ', began, '+50 minutes'), 'done', 5200, 5000, 60,
		iif(i = 0, 31250, 420 - 25 * i), iif(i = 0, 0, 140 + 45 * i), iif(i = 0, 0, 40 + 35 * (i % 3)), iif(i = 0, 0, 3) FROM r`)
}

// history tells what the requests of the last hours came to, in place of what they did: the demo answers so fast that nothing else could be
// seen. They stopped for an hour; when they fail, they fail more and more. The runs of past belong to passes of the source.
func history(t testing.TB, dir string, fails bool) {
	t.Helper()
	minute, hour, one := "i % 19 = 0", "i % 5", "100"
	if fails {
		minute, hour, one = "max(0, 12 - i / 6)", "max(0, 300 - 60 * i)", "4"
	}
	alter(t, dir, `UPDATE requests SET started_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (id % 300) || ' minutes')`, `UPDATE requests SET finished_at = started_at`,
		`UPDATE requests SET outcome = 'failure', error_class = 'http_403', result_count = NULL WHERE id % 300 < 60 AND id % `+one+` = 0`,
		`DELETE FROM request_spans`, `
	WITH RECURSIVE m (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m WHERE i < 300),
	f AS (SELECT i, max(0, 25 + i % 7 - i / 30) AS pages, `+minute+` AS failed FROM m WHERE i NOT BETWEEN 120 AND 180)
	INSERT INTO request_spans (source_id, span, began_at, requests, pages, timeout, http_403, http_5xx, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000, ms_30000)
	SELECT 1, 'minute', strftime('%Y-%m-%dT%H:%M:00.000Z', 'now', '-' || i || ' minutes'), pages + failed, pages, failed / 4, failed - failed / 4 - failed / 3, failed / 3,
		0, pages, pages, pages, pages, pages + failed, pages + failed, pages + failed FROM f`, `
	WITH RECURSIVE h (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM h WHERE i < 23),
	f AS (SELECT i, 1400 - 20 * i AS pages, `+hour+` AS failed FROM h WHERE i NOT BETWEEN 12 AND 15)
	INSERT INTO request_spans (source_id, span, began_at, requests, pages, timeout, http_403, http_5xx, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000, ms_30000)
	SELECT 1, 'hour', strftime('%Y-%m-%dT%H:00:00.000Z', 'now', '-' || i || ' hours'), pages + failed, pages, failed / 4, failed - failed / 4, 0,
		pages / 2, pages - 10 * (24 - i), pages, pages, pages + failed, pages + failed, pages + failed, pages + failed FROM f`, `
	INSERT INTO run_passes (source_id, run_id, selection, began_at, pages, new, changed, dropped, restored)
	SELECT 1, r.id, x.selection, r.started_at, r.pages, r.listings_new, r.listings_changed, r.listings_dropped, r.listings_restored
	FROM runs r, (SELECT selection FROM run_passes ORDER BY run_id DESC LIMIT 1) x WHERE r.uuid LIKE 'past-%'`)
}
