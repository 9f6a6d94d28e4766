package health

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// How long the figures of request_spans are kept.
const (
	KeepMinutes = 2 * 24 * time.Hour
	KeepHours   = 2 * 365 * 24 * time.Hour
)

// The figures over time (request_spans, run_passes) are sums of requests and of listing_events. Rows of both are
// only ever added behind the last one and their writers come one after the other, so that a row is either behind the mark,
// or counted: it does not matter when it was dated.
const (
	countBatch  = 2000 // rows in one transaction
	mostBatches = 10   // in one roll-up, more than a run requests in a minute; Prune counts what is left

	// ?1 and ?2 are the marks up to which was counted, and is. What ended before ?3 has no minute anymore, before ?4 no hour.
	countRequests = `
	WITH minutes AS MATERIALIZED (
		SELECT source_id, substr(finished_at, 1, 16) AS minute, count(*) AS requests,
			count(*) FILTER (WHERE outcome = 'success' AND parse_ok = 1) AS pages,
			count(*) FILTER (WHERE error_class = 'dns') AS dns, count(*) FILTER (WHERE error_class = 'tls') AS tls,
			count(*) FILTER (WHERE error_class = 'timeout') AS timeout, count(*) FILTER (WHERE error_class = 'connection_refused') AS connection_refused,
			count(*) FILTER (WHERE error_class = 'http_403') AS http_403, count(*) FILTER (WHERE error_class = 'http_429') AS http_429,
			count(*) FILTER (WHERE error_class = 'http_5xx') AS http_5xx, count(*) FILTER (WHERE error_class = 'parse_error') AS parse_error,
			count(*) FILTER (WHERE error_class = 'auth_error') AS auth_error, count(*) FILTER (WHERE error_class = 'cf_challenge') AS cf_challenge,
			count(*) FILTER (WHERE error_class = 'unknown') AS unknown,
			sum(latency_ms) AS latency_ms,
			count(*) FILTER (WHERE latency_ms <= 25) AS ms_25, count(*) FILTER (WHERE latency_ms <= 50) AS ms_50,
			count(*) FILTER (WHERE latency_ms <= 100) AS ms_100, count(*) FILTER (WHERE latency_ms <= 200) AS ms_200,
			count(*) FILTER (WHERE latency_ms <= 400) AS ms_400, count(*) FILTER (WHERE latency_ms <= 800) AS ms_800,
			count(*) FILTER (WHERE latency_ms <= 1500) AS ms_1500, count(*) FILTER (WHERE latency_ms <= 3000) AS ms_3000,
			count(*) FILTER (WHERE latency_ms <= 6000) AS ms_6000, count(*) FILTER (WHERE latency_ms <= 12000) AS ms_12000,
			count(*) FILTER (WHERE latency_ms <= 30000) AS ms_30000
		FROM requests
		WHERE id > ?1 AND id <= ?2 AND proxy_failed = 0 AND type <> 'robots' AND error_class IS NOT 'rate_limited'
		GROUP BY 1, 2)
	INSERT INTO request_spans (source_id, span, began_at, requests, pages, dns, tls, timeout, connection_refused,
		http_403, http_429, http_5xx, parse_error, auth_error, cf_challenge, unknown, latency_ms, ms_25,
		ms_50, ms_100, ms_200, ms_400, ms_800, ms_1500, ms_3000, ms_6000, ms_12000,
		ms_30000)
	SELECT source_id, span, iif(length = 0, '', substr(minute, 1, length) || rest),
		sum(requests), sum(pages), sum(dns), sum(tls), sum(timeout), sum(connection_refused), sum(http_403), sum(http_429),
		sum(http_5xx), sum(parse_error), sum(auth_error), sum(cf_challenge), sum(unknown), sum(latency_ms), sum(ms_25), sum(ms_50),
		sum(ms_100), sum(ms_200), sum(ms_400), sum(ms_800), sum(ms_1500), sum(ms_3000), sum(ms_6000), sum(ms_12000),
		sum(ms_30000)
	FROM minutes CROSS JOIN (
		SELECT 'minute' AS span, 16 AS length, ':00.000Z' AS rest, ?3 AS after UNION ALL SELECT 'hour', 13, ':00:00.000Z', ?4 UNION ALL SELECT 'ever', 0, '', '')
	WHERE minute >= after GROUP BY 1, 2, 3
	ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, pages = pages + excluded.pages, dns = dns + excluded.dns,
		tls = tls + excluded.tls, timeout = timeout + excluded.timeout, connection_refused = connection_refused + excluded.connection_refused,
		http_403 = http_403 + excluded.http_403, http_429 = http_429 + excluded.http_429, http_5xx = http_5xx + excluded.http_5xx,
		parse_error = parse_error + excluded.parse_error, auth_error = auth_error + excluded.auth_error, cf_challenge = cf_challenge + excluded.cf_challenge,
		unknown = unknown + excluded.unknown, latency_ms = latency_ms + excluded.latency_ms, ms_25 = ms_25 + excluded.ms_25,
		ms_50 = ms_50 + excluded.ms_50, ms_100 = ms_100 + excluded.ms_100, ms_200 = ms_200 + excluded.ms_200,
		ms_400 = ms_400 + excluded.ms_400, ms_800 = ms_800 + excluded.ms_800, ms_1500 = ms_1500 + excluded.ms_1500,
		ms_3000 = ms_3000 + excluded.ms_3000, ms_6000 = ms_6000 + excluded.ms_6000, ms_12000 = ms_12000 + excluded.ms_12000,
		ms_30000 = ms_30000 + excluded.ms_30000`
	// What was read by a claim is of its run. A probe has none. A page of results without a listing is no page of a run either: it is
	// not committed.
	countPages = `
	UPDATE run_passes SET pages = pages + n
	FROM (
		SELECT q.source_id AS source, a.run_id AS run, count(*) AS n
		FROM requests q CROSS JOIN crawl_attempts a ON a.target_id = q.target_id AND a.claim_token = q.claim_token
		WHERE q.id > ?1 AND q.id <= ?2 AND q.outcome = 'success' AND q.parse_ok = 1 AND (q.result_count > 0 OR q.type <> 'listing') GROUP BY 1, 2)
	WHERE source_id = source AND run_id = run`
	countEvents = `
	UPDATE run_passes SET new = new + added, changed = changed + altered, dropped = dropped + gone, restored = restored + back
	FROM (
		SELECT source_id AS source, run_id AS run, ifnull(sum(listings) FILTER (WHERE kind = 'new'), 0) AS added,
			count(*) FILTER (WHERE kind = 'changed') AS altered, count(*) FILTER (WHERE kind = 'dropped') AS gone,
			count(*) FILTER (WHERE kind = 'restored') AS back
		FROM listing_events WHERE id > ?1 AND id <= ?2 AND run_id IS NOT NULL AND reparsed = 0 GROUP BY 1, 2)
	WHERE source_id = source AND run_id = run`

	// The mark, the next one, and whether rows are left behind that.
	nextOfRequests = `
	SELECT mark, ifnull(next, mark), EXISTS (SELECT 1 FROM requests WHERE id > next)
	FROM (
		SELECT mark, (SELECT max(id) FROM (SELECT id FROM requests WHERE id > mark ORDER BY id LIMIT ?1)) AS next
		FROM (SELECT ifnull((SELECT cast(value AS INTEGER) FROM meta WHERE key = 'rolled:requests'), 0) AS mark))`
	nextOfEvents = `
	SELECT mark, ifnull(next, mark), EXISTS (SELECT 1 FROM listing_events WHERE id > next)
	FROM (
		SELECT mark, (SELECT max(id) FROM (SELECT id FROM listing_events WHERE id > mark ORDER BY id LIMIT ?1)) AS next
		FROM (SELECT ifnull((SELECT cast(value AS INTEGER) FROM meta WHERE key = 'rolled:events'), 0) AS mark))`
	saveRolled = `INSERT INTO meta (key, value) VALUES ('rolled:' || ?1, ?2) ON CONFLICT DO UPDATE SET value = ?2`
)

// RollSeries is the part of RollUp that counts on the figures over time: it costs little, and is done more often.
func (m *Monitor) RollSeries(ctx context.Context) error { return m.rollSeries(ctx, mostBatches) }

// rollSeries counts the requests and events that no roll-up has counted: into the figures by minute and hour, and those of
// runs by source. It does so in small transactions, at most that many at once; 0 = until nothing is left.
func (m *Monitor) rollSeries(ctx context.Context, most int) error {
	for _, c := range []struct {
		of, next string
		count    func(tx *store.Tx, from, to int64) error
	}{
		{"requests", nextOfRequests, rollRequests},
		{"events", nextOfEvents, func(tx *store.Tx, from, to int64) error { return tx.Run(countEvents, from, to) }},
	} {
		left := true
		for n := 0; left && (n < most || most == 0); n++ {
			var err error
			if left, err = m.countNext(ctx, c.of, c.next, c.count); err != nil {
				return fmt.Errorf("count %s by time: %w", c.of, err)
			}
		}
	}
	return nil
}

// countNext counts the next rows and reports whether any are left. It looks before it takes the writer.
func (m *Monitor) countNext(ctx context.Context, of, next string, count func(tx *store.Tx, from, to int64) error) (left bool, err error) {
	var from, to int64
	look := func(row func(query string, args []any, dest ...any) error) error {
		return row(next, []any{countBatch}, &from, &to, &left)
	}
	err = look(func(query string, args []any, dest ...any) error { return m.db.Row(ctx, query, args, dest...) })
	if err != nil || from == to {
		return false, err
	}
	began := time.Now()
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		if err := look(tx.Get); err != nil || from == to {
			return err
		}
		if err := count(tx, from, to); err != nil {
			return err
		}
		return tx.Run(saveRolled, of, fmt.Sprint(to))
	})
	if err == nil && left {
		err = rest(ctx, time.Since(began))
	}
	return left, err
}

func rollRequests(tx *store.Tx, from, to int64) error {
	var upTo time.Time
	if err := tx.Get(lastEnded, nil, store.Instant(&upTo)); err != nil {
		return err
	}
	if upTo.IsZero() || upTo.After(tx.At) {
		upTo = tx.At
	}
	minutes, hours := yp.FormatTime(upTo.Add(-KeepMinutes)), yp.FormatTime(upTo.Add(-KeepHours))
	if err := tx.Run(countRequests, from, to, minutes, hours); err != nil {
		return err
	}
	return tx.Run(countPages, from, to)
}
