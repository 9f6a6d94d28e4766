package report

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Status is all that `status` tells: how sources and targets fare, what went wrong, what waits, who works.
type Status struct {
	Now      time.Time
	Sentence string // what is going on, as the page says it
	Sources  []SourceStatus
	Parts    []*Table // of statusParts
	Left     *Left    // nil = no run reads anything now
	Passes   []Pass
	RolledUp bool // the figures of sources are of now; else of their rated_at
	Journal  store.Journal
}

// MarshalJSON implements json.Marshaler.
func (s *Status) MarshalJSON() ([]byte, error) {
	all := Object{{"now", yp.Stamp{Time: s.Now}}, {"sentence", s.Sentence}, {"rolled_up", s.RolledUp}}
	for _, t := range s.Parts {
		all = append(all, Named{t.Name, t})
	}
	return append(all, Named{"time_left", s.Left}, Named{"passes", s.Passes}, Named{"journal", s.Journal}).MarshalJSON()
}

// statusParts are the parts of `status`. Where targets are counted they are searches, unless their kind is told.
//
// Attempts that succeeded are most of all. They went well, and are left out by their code, which the index has: their rows are not read.
//
// Of targets each is looked at once, in the subquery: LIMIT keeps SQLite from deciding its schedule anew in each sum.
var statusParts = []Part{
	{
		Name: "sources", Show: "source availability status success_1h_percent samples_1h error_class success_24h_percent samples_24h latency_p50_ms latency_p95_ms rated_at",
		Query: `
	SELECT source, availability, until, reason, status, error_class, success_1h_percent, samples_1h, success_24h_percent,
		samples_24h, latency_p50_ms, latency_p95_ms, rated_at, stage, base_url
	FROM v_sources
	WHERE (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1)) ORDER BY source`,
	},
	{
		Name: "targets", Show: "source targets due scheduled degraded paused failed needs_plan not_scheduled with_failures successful_24h",
		Zeros: "due scheduled degraded paused failed needs_plan not_scheduled with_failures",
		Query: `
	SELECT source, count(*) AS targets, sum(schedule_status = 'DUE') AS due,
		sum(schedule_status = 'SCHEDULED') AS scheduled, sum(schedule_status = 'DEGRADED') AS degraded,
		sum(schedule_status = 'PAUSED') AS paused, sum(schedule_status = 'FAILED') AS failed,
		sum(schedule_status = 'NEEDS_PLAN') AS needs_plan, sum(schedule_status = 'NOT_SCHEDULED') AS not_scheduled,
		sum(schedule_status = 'DUE' AND status <> 'IN_PROGRESS') AS due_now, sum(crawl_status = 'active') AS health_active,
		sum(crawl_status = 'degraded') AS health_degraded, sum(crawl_status = 'paused') AS health_paused,
		sum(crawl_status = 'failed') AS health_failed, sum(consecutive_failures > 0) AS with_failures,
		round(avg(consecutive_failures), 2) AS mean_consecutive_failures,
		ifnull(sum(last_success_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')), 0) AS successful_24h
	FROM (
		SELECT source, status, schedule_status, crawl_status, consecutive_failures, last_success_at FROM v_crawler_status
		WHERE kind = 'search'
			AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
			AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
		LIMIT -1)
	GROUP BY source`,
	},
	{
		Name: "kinds", Show: "kind planned in_progress done failed stuck parked retired source", Zeros: "in_progress failed stuck parked retired",
		Query: `
	SELECT kind, source, sum(targets) AS targets, sum(planned) AS planned, sum(in_progress) AS in_progress,
		sum(done) AS done, sum(failed) AS failed, sum(stuck) AS stuck, sum(parked) AS parked, sum(retired) AS retired
	FROM v_state_progress
	WHERE kind <> 'search'
		AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
		AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
	GROUP BY source, kind HAVING sum(targets + retired) > 0 ORDER BY source, kind`,
	},
	{
		Name: "errors", Show: "error_code occurrences targets last_seen mean_duration_ms source",
		Query: `
	SELECT error_code, source, occurrences, targets, by_proxy, last_seen, mean_duration_ms FROM v_crawl_error_summary
	WHERE error_code <> 'SUCCESS'
		AND occurrences > went_well
		AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
	ORDER BY occurrences DESC, error_code, source`,
	},
	hostsNow,
	pacesNow,
	{
		Name: "workers", Show: "worker state target waits_for page pages heartbeat_at host listings memory_bytes retries_percent",
		Zeros: "waits_for", Lives: true,
		Query: `
	SELECT worker, state, host, target_id, target, page, waits_for, pages, listings, claims, claim_retries,
		round(100.0 * claim_retries / nullif(claims, 0), 1) AS retries_percent, memory_bytes, started_at, heartbeat_at,
		source, run, worker_id, pid, uuid, host, heartbeat_at
	FROM v_run_workers w
	WHERE state = 'running'
		AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
		AND (?2 = '[]' OR EXISTS (SELECT 1 FROM targets t WHERE t.id = w.target_id AND t.state IN (SELECT value FROM json_each(?2))))
	ORDER BY run, length(worker_id), worker_id`,
	},
	{
		Name: "last_hour", Show: "source pages_1h rows_1h detail_pages_1h", Zeros: "detail_pages_1h",
		Query: `
	SELECT s.name AS source, count(nullif(r.result_count, 0)) FILTER (WHERE r.type = 'listing') AS pages_1h,
		ifnull(sum(r.result_count) FILTER (WHERE r.type = 'listing'), 0) AS rows_1h,
		count(*) FILTER (WHERE r.type = 'detail') AS detail_pages_1h
	FROM sources s LEFT JOIN requests r ON r.source_id = s.id AND r.finished_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour')
		AND r.type IN ('listing', 'detail') AND r.outcome = 'success' AND r.proxy_failed = 0
	WHERE ?1 = 0 OR s.id = ?1 GROUP BY s.id ORDER BY s.name`,
	},
}

// hostsNow are the hosts that are held, or asked more slowly than configured.
var hostsNow = Part{
	Name: "hosts", Show: "host held_until reason delay_ms delay_reason blocks source",
	Query: `
	SELECT host, held_until, reason, delay_ms, delay_reason, blocks, source FROM v_hosts
	WHERE (held_until IS NOT NULL OR delay_ms > 0) AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
	ORDER BY source, host`,
}

// pacesNow are the paces of hosts that were asked a moment ago, or wait for their turn: people read them as sentences, see PaceLines.
// Those that are slowed down are in hostsNow.
var pacesNow = Part{
	Name: "paces",
	Query: `
	SELECT host, pace_ms, pace_reason, next_at, source FROM v_hosts
	WHERE pace_ms > 0
		AND delay_ms IS NOT pace_ms
		AND next_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-5 minutes')
		AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
	ORDER BY pace_ms DESC, host`,
}

// PaceLines say how often hosts are asked, and why not more often.
func (s *Status) PaceLines() []string {
	return paceLines(s.Parts[slices.IndexFunc(s.Parts, func(t *Table) bool { return t.Name == pacesNow.Name })])
}

// Status reads how the crawl fares, in one snapshot. Of the scope, source and states count; the states narrow targets, what rests
// and workers.
func (k *Reader) Status(ctx context.Context, scope store.Scope) (*Status, error) {
	s := &Status{Now: k.db.Now()}
	err := k.at(ctx, func(k *Reader) (err error) {
		for _, part := range statusParts {
			t, err := k.table(ctx, part, scope)
			if err != nil {
				return err
			}
			s.Parts = append(s.Parts, t)
		}
		if s.Sources, err = k.sourceStatus(ctx, scope); err != nil {
			return err
		}
		st, err := k.standingNow(ctx, scope)
		if err != nil {
			return err
		}
		if s.Sentence = st.Sentence(); st.Live > 0 && st.WaitingFor == "" {
			s.Left = &st.Left
		}
		s.Passes, err = k.Passes(ctx, scope)
		return err
	})
	if err == nil {
		s.Journal, err = k.db.Journal(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	return s, nil
}

// JournalLines say that the journal is held, by whom, and what to do; none where it isn't.
func (s *Status) JournalLines() []string {
	if !s.Journal.Held {
		return nil
	}
	return []string{sentence(s.Journal.HeldText()), sentence(store.HeldFix)}
}

// SourceStatus is whether one source may be asked.
type SourceStatus struct {
	ID           int64
	Name         string
	Availability store.SourceState
	Until        time.Time // when it may open by itself
	Code         yp.ErrorCode
	Reason       string
	FailingSince time.Time // without a break
	Remedy       string    // the command that opens it, without the program's name; none while the site blocks
	Unread       string    // that more than a tenth of the cards of its last run could not be read, why and which; "" = fewer

	refusal string // of a hold after blocks: " (HTTP 403)", the status of the last of them
	busy    bool   // it has something to do in the states asked for
}

const sourceStatus = `
	SELECT g.source_id, g.source, g.state, g.until, ifnull(g.code, ''), ifnull(g.reason, ''), p.failing_since,
		EXISTS (SELECT 1 FROM target_totals n WHERE n.source_id = g.source_id AND n.status IN ('PLANNED', 'IN_PROGRESS') AND n.targets > 0
			AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2)))),
		ifnull((SELECT value FROM meta WHERE key = 'unread:' || g.source_id), '')
	FROM v_source_availability g LEFT JOIN connectivity_profiles p ON p.source_id = g.source_id
	WHERE ?1 = 0 OR g.source_id = ?1 ORDER BY g.source`

// Sources lists the sources that the database knows, by name.
func (k *Reader) Sources(ctx context.Context) ([]SourceStatus, error) {
	return k.sourceStatus(ctx, store.Scope{})
}

// sourceStatus is Sources of a scope: its source, and its states for what they have to do.
func (k *Reader) sourceStatus(ctx context.Context, scope store.Scope) ([]SourceStatus, error) {
	all, err := list(ctx, k, "list sources", sourceStatus, placesOf(scope), func(s *SourceStatus) []any {
		return []any{&s.ID, &s.Name, &s.Availability, at(&s.Until), &s.Code, &s.Reason, at(&s.FailingSince), &s.busy, &s.Unread}
	})
	for i := range all {
		all[i].Remedy = SourceRemedy(all[i].Name, all[i].Availability)
		if err == nil && strings.HasPrefix(all[i].Reason, Penalty) {
			all[i].refusal, err = k.refusal(ctx, all[i].ID)
		}
	}
	return all, err
}

// A hold after blocks lasts an hour at most. The index has the times in order, and what was asked last comes first.
const lastRefusal = `
	SELECT r.http_status FROM requests r
	WHERE r.source_id = ?1
		AND r.proxy_failed = 0
		AND r.outcome = 'failure'
		AND r.finished_at > ?2
		AND (r.error_class IN ('http_403', 'cf_challenge') OR r.error_class = 'unknown' AND r.http_status IN (402, 406, 412, 418, 428, 451))
	ORDER BY r.finished_at DESC LIMIT 1`

// refusal is the status with which a source that is held said no last, for people.
func (k *Reader) refusal(ctx context.Context, source int64) (string, error) {
	var status sql.NullInt64
	_, err := k.one(ctx, "read the last refusal", lastRefusal, []any{source, yp.FormatTime(k.db.Now().Add(-time.Hour))}, &status)
	if err != nil || status.Int64 < 400 { // none, or a page of 200 that is a challenge
		return "", err
	}
	return fmt.Sprintf(" (HTTP %d)", status.Int64), nil
}
