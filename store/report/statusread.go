package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const sourceStatus = `
	SELECT g.source_id, g.source, s.base_url, g.state, g.until, ifnull(g.reason, ''),
		ifnull(p.status, ''), ifnull(p.error_class, ''), ifnull(p.samples_1h, 0), p.success_rate_1h, ifnull(p.samples_24h, 0), p.success_rate_24h,
		p.latency_p50_ms, p.latency_p95_ms, ifnull(p.dominant_class, ''), ifnull(p.burst_429, 0), p.failing_since, p.quarantine_until,
		ifnull(p.cooldown_minutes, 0), p.updated_at
	FROM v_source_availability g JOIN sources s ON s.id = g.source_id LEFT JOIN connectivity_profiles p ON p.source_id = g.source_id
	WHERE ?1 = 0 OR g.source_id = ?1 GROUP BY g.source_id ORDER BY g.source`

// otherStatus is the HTTP status to name where no class of failures says more.
const otherStatus = `
	SELECT ifnull(http_status, 0) FROM requests WHERE source_id = ? AND finished_at > ? AND proxy_failed = 0 AND type <> 'robots'
		AND error_class = 'unknown' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1`

// sourceStatus reads the gates and profiles of sources; id 0 = of all.
func (k *Reader) sourceStatus(ctx context.Context, id int64) ([]SourceStatus, error) {
	all := []SourceStatus{}
	err := k.db.Each(ctx, sourceStatus, []any{id}, func(rows *sql.Rows) error {
		s := SourceStatus{Proxies: []ProxyUse{}}
		p := &s.Profile
		err := rows.Scan(&s.id, &s.Name, &s.BaseURL, &s.Gate, at(&s.Until), &s.Reason,
			&p.Status, &p.Class, &p.Samples1h, &p.Rate1h, &p.Samples24h, &p.Rate24h,
			&p.P50, &p.P95, &p.Dominant, &p.Burst429, at(&p.Failing), at(&p.Quarantine), &p.Cooldown, at(&p.Updated))
		s.Remedy = SourceRemedy(s.Name, s.Gate)
		all = append(all, s)
		return err
	})
	for i := range all {
		if s := &all[i]; err == nil && s.Profile.Class == string(yp.ClassUnknown) {
			err = k.db.Each(ctx, otherStatus, []any{s.id, yp.FormatTime(k.db.Now().Add(-time.Hour))}, func(rows *sql.Rows) error {
				return rows.Scan(&s.Profile.Other)
			})
		}
	}
	return all, err
}

// targetMarks writes four letters for each target of a source, three of its
// schedule and one of its health, and sums up the rest of v_crawl_health, in one
// pass. To GROUP BY schedule and health would sort a million rows, which takes
// longer than to read them; to sum up each would decide each of them seven times
// over. The plus keeps SQLite from an index that holds nearly every row of the
// table, in another order.
const (
	targetMarks = `
	SELECT ifnull(group_concat(substr(v.schedule_status, 1, 3) || substr(v.crawl_status, 1, 1), ''), ''),
		ifnull(sum(v.consecutive_failures > 0), 0), ifnull(avg(v.consecutive_failures), 0), ifnull(sum(v.last_success_at >= ?3), 0)
	FROM v_crawler_status v WHERE v.kind = 'search' AND +v.source = ?1 AND (?2 = '[]' OR v.state IN (SELECT value FROM json_each(?2)))`
	countAvailable = `
	SELECT count(*) FROM targets_available a WHERE a.kind = 'search' AND +a.source_id = ?1 AND (?2 = '[]' OR a.state IN (SELECT value FROM json_each(?2)))`
)

func (r statusReader) counts(s *SourceStatus) error {
	day := yp.FormatTime(r.s.Now.AddDate(0, 0, -1))
	return r.each(targetMarks, []any{s.Name, store.JSONTexts(r.scope.States), day}, func(rows *sql.Rows) error {
		var marks sql.RawBytes
		f := &s.Faring
		if err := rows.Scan(&marks, &f.WithFailures, &f.MeanFailures, &f.Successes24h); err != nil {
			return err
		}
		return s.tally(marks)
	})
}

func (r statusReader) available(s *SourceStatus) error {
	return r.k.db.Read().QueryRowContext(r.ctx, countAvailable, s.id, store.JSONTexts(r.scope.States)).Scan(&s.Faring.DueNow)
}

// markWidth is what targetMarks writes for a target.
const markWidth = 4

// tally counts the marks. A mark that means nothing is a mismatch of schema and
// program, not a target of no kind.
func (s *SourceStatus) tally(marks []byte) error {
	schedule := map[string]*int64{
		"DUE": &s.Schedule.Due, "SCH": &s.Schedule.Scheduled, "DEG": &s.Schedule.Degraded, "PAU": &s.Schedule.Paused,
		"FAI": &s.Schedule.Failed, "NEE": &s.Schedule.NeedsPlan, "NOT": &s.Schedule.NotScheduled,
	}
	health := map[byte]*int64{'a': &s.Health.Active, 'd': &s.Health.Degraded, 'p': &s.Health.Paused, 'f': &s.Health.Failed}
	seen := map[[markWidth]byte]int64{}
	for len(marks) >= markWidth {
		seen[[markWidth]byte(marks)]++
		marks = marks[markWidth:]
	}
	for mark, n := range seen {
		a, b := schedule[string(mark[:markWidth-1])], health[mark[markWidth-1]]
		if a == nil || b == nil {
			return fmt.Errorf("v_crawler_status says %q", mark)
		}
		*a, *b = *a+n, *b+n
		s.Schedule.Targets += n
	}
	return nil
}

const (
	recentPages = `
	SELECT count(nullif(result_count, 0)), ifnull(sum(result_count), 0) FROM requests
	WHERE source_id = ? AND finished_at >= ? AND type = 'listing' AND outcome = 'success' AND proxy_failed = 0`
	// The listings of the targets that were at work in the hour, each once.
	recentListings = `
	SELECT count(DISTINCT x.listing) FROM (
		SELECT a.target_id AS id FROM crawl_attempts a WHERE a.finished_at >= ?2 UNION ALL SELECT id FROM targets WHERE status = 'IN_PROGRESS' AND source_id = ?1) w
	CROSS JOIN targets t ON t.id = w.id AND t.source_id = ?1
	CROSS JOIN sightings x ON x.target_id = t.id AND x.seen_at >= ?2 AND x.since < 0x7FFFFFFFFFFFFFFF`
	// No index has the requests that failed at their proxy: of the newest 50,000, more
	// than an hour's, each is looked at.
	recentProxies = `
	SELECT proxy, count(*), sum(outcome = 'failure') FROM requests
	WHERE id > (SELECT max(id) - 50000 FROM requests) AND +source_id = ? AND finished_at >= ? AND proxy IS NOT NULL
		AND error_class IS NOT 'rate_limited' GROUP BY proxy ORDER BY 2 DESC, 1`
)

// recent reads what the last hour brought.
func (r statusReader) recent(s *SourceStatus) error {
	err := r.k.db.Read().QueryRowContext(r.ctx, recentPages, s.id, r.hour).Scan(&s.Pages, &s.Rows)
	if err != nil {
		return err
	}
	if s.Rows > 0 {
		if err := r.k.db.Read().QueryRowContext(r.ctx, recentListings, s.id, r.hour).Scan(&s.Listings); err != nil {
			return err
		}
	}
	return r.each(recentProxies, []any{s.id, r.hour}, func(rows *sql.Rows) error {
		var u ProxyUse
		err := rows.Scan(&u.Proxy, &u.Requests, &u.Failures)
		s.Proxies = append(s.Proxies, u)
		return err
	})
}

const errorSummary = `
	SELECT e.source, e.error_code, e.by_proxy, e.occurrences, e.targets, e.last_seen, e.mean_duration_ms FROM v_crawl_error_summary e
	WHERE e.error_code <> 'SUCCESS' AND (?1 = 0 OR e.source = (SELECT name FROM sources WHERE id = ?1)) ORDER BY e.occurrences DESC, e.error_code, e.source, e.by_proxy`

func (r statusReader) errors() error {
	return r.each(errorSummary, []any{r.scope.SourceID}, func(rows *sql.Rows) error {
		var e ErrorSummary
		err := rows.Scan(&e.Source, &e.Code, &e.ByProxy, &e.Occurrences, &e.Targets, at(&e.LastSeen), &e.MeanMS)
		r.s.Errors = append(r.s.Errors, e)
		return err
	})
}

const backoffWaits = `
	SELECT t.backoff_level, count(*), min(t.not_before), max(t.not_before) FROM targets t
	WHERE t.wait_reason = 'backoff' AND t.not_before > ?7 AND ` + where + ` GROUP BY t.backoff_level ORDER BY t.backoff_level`

func (r statusReader) backoff() error {
	return r.each(backoffWaits, r.scope.Args(yp.FormatTime(r.s.Now)), func(rows *sql.Rows) error {
		var b BackoffWait
		err := rows.Scan(&b.Level, &b.Targets, at(&b.Next), at(&b.Last))
		r.s.Backoff = append(r.s.Backoff, b)
		return err
	})
}

const hostPaces = `
	SELECT s.name, h.host, iif(h.held_until > ?2, h.held_until, NULL), iif(h.held_until > ?2, h.held_for, ''), h.delay_ms,
		iif(h.delay_ms > 0, ifnull(h.delay_reason, ''), ''), h.blocks
	FROM hosts h JOIN sources s ON s.id = h.source_id
	WHERE (?1 = 0 OR h.source_id = ?1) AND (h.held_until > ?2 OR h.delay_ms > 0) ORDER BY s.name, h.host`

func (r statusReader) hosts() error {
	return r.each(hostPaces, []any{r.scope.SourceID, yp.FormatTime(r.s.Now)}, func(rows *sql.Rows) error {
		var h HostPace
		err := rows.Scan(&h.Source, &h.Host, at(&h.HeldUntil), &h.HeldFor, &h.DelayMS, &h.DelayReason, &h.Blocks)
		r.s.Hosts = append(r.s.Hosts, h)
		return err
	})
}

const workerStatus = `
	SELECT w.worker_id, w.name, w.host, w.pid, w.run, w.source, w.started_at, w.heartbeat_at, ifnull(w.target_id, 0), ifnull(w.city, ''),
		ifnull(w.state, ''), ifnull(w.category, ''), ifnull(w.page, 0), w.pages, w.listings, w.claims, w.claim_retries, w.rss_bytes
	FROM v_workers w
	WHERE (?1 = 0 OR w.source = (SELECT name FROM sources WHERE id = ?1)) AND (?2 = '[]' OR w.state IN (SELECT value FROM json_each(?2)))
	ORDER BY w.run, length(w.worker_id), w.worker_id`

func (r statusReader) workers() error {
	lives := map[string]bool{}
	return r.each(workerStatus, []any{r.scope.SourceID, store.JSONTexts(r.scope.States)}, func(rows *sql.Rows) error {
		var w WorkerStatus
		var run string
		err := rows.Scan(&w.Worker, &w.Name, &w.Host, &w.PID, &run, &w.Source, at(&w.Started), at(&w.Heartbeat), &w.TargetID, &w.City,
			&w.State, &w.Category, &w.Page, &w.Pages, &w.Listings, &w.Claims, &w.ClaimRetries, &w.RSS)
		if _, looked := lives[run]; !looked {
			lives[run] = r.alive(run)
		}
		w.Alive = lives[run]
		r.s.Workers = append(r.s.Workers, w)
		return err
	})
}
