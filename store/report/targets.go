package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Schedule says where a target is in its schedule: a value of
// v_crawler_status.schedule_status, which alone decides it.
type Schedule string

// The values of schedule_status, as the schema explains them.
const (
	ScheduleFailed    Schedule = "FAILED"        // a dead letter
	SchedulePaused    Schedule = "PAUSED"        // by an operator, or its source is closed
	ScheduleDegraded  Schedule = "DEGRADED"      // rests after several failures
	ScheduleNeedsPlan Schedule = "NEEDS_PLAN"    // stuck
	ScheduleNone      Schedule = "NOT_SCHEDULED" // done, and not to be crawled again
	ScheduleDue       Schedule = "DUE"           // may be crawled now, or is
	ScheduleLater     Schedule = "SCHEDULED"     // has its time
)

// Schedules lists every value in the order in which people read them.
func Schedules() []Schedule {
	return []Schedule{
		ScheduleDue, ScheduleLater, ScheduleDegraded, SchedulePaused, ScheduleFailed, ScheduleNeedsPlan, ScheduleNone,
	}
}

// showTarget is what `targets show` shows: the last attempts, at most ?2 of them, with their steps and requests.
var showTarget = thing{
	list: "targets list", named: "id target next_at", row: `SELECT * FROM v_targets WHERE id = ?1`,
	parts: []Part{
		{Name: "attempts", Query: `
	SELECT * FROM v_attempts
	WHERE target_id = ?1
		AND claim_token IN (SELECT x.claim_token FROM crawl_attempts x WHERE x.target_id = ?1 ORDER BY x.claim_token DESC LIMIT ?2)
	ORDER BY claim_token`},
		{
			Name: "steps", Show: "clock what",
			Query: `
	SELECT attempt, claim_token, time, ifnull(substr(time, 12), '') AS clock, what FROM v_steps
	WHERE target_id = ?1
		AND claim_token IN (SELECT x.claim_token FROM crawl_attempts x WHERE x.target_id = ?1 ORDER BY x.claim_token DESC LIMIT ?2)
	ORDER BY claim_token, rank > 4, time, page, rank`,
		},
		{Name: "requests", Query: `
	SELECT * FROM requests
	WHERE target_id = ?1
		AND claim_token IN (SELECT x.claim_token FROM crawl_attempts x WHERE x.target_id = ?1 ORDER BY x.claim_token DESC LIMIT ?2)
	ORDER BY claim_token, started_at, id`},
	},
}

// Target tells all that is known of a target, with at most so many attempts, 0 = all; sql.ErrNoRows, wrapped, when there is none
// with that id.
func (k *Reader) Target(ctx context.Context, id int64, attempts int) (r *Record, err error) {
	err = k.at(ctx, func(k *Reader) error {
		next, err := k.Next(ctx, id)
		if err != nil {
			return err
		}
		if r, err = k.record(ctx, showTarget, id, atMost(attempts)); err == nil {
			r.Add("next", func([]any) any { return next })
		}
		return err
	})
	return r, err
}

// waiting is what decides when a target is crawled next.
type waiting struct {
	ID        int64
	Source    string
	Kind      yp.Kind
	Status    yp.Status
	Schedule  Schedule
	Health    yp.Health
	Enabled   bool
	NotBefore time.Time
	Wait      string // backoff, recrawl or gap
	Failures  int
	ErrorCode string
	ClaimedBy WorkerName
	Retired   time.Time
	Run, Host string // of ClaimedBy
	Heartbeat time.Time

	Availability store.SourceState
	ClosedUntil  time.Time
	ClosedWhy    string
	Available    bool
}

const readWaiting = `
	SELECT v.id, v.source, v.kind, v.status, v.schedule_status, v.crawl_status, v.enabled, v.not_before,
		ifnull(v.wait_reason, ''), v.consecutive_failures, ifnull(v.last_error_code, ''), ifnull(v.claimed_by, ''),
		v.retired_at, ifnull(r.uuid, ''), ifnull(r.host, ''), v.heartbeat_at, o.state, o.until, ifnull(o.reason, ''),
		EXISTS (SELECT 1 FROM targets_available a WHERE a.id = v.id)
	FROM v_crawler_status v
		JOIN v_source_availability o ON o.source = v.source
		LEFT JOIN runs r ON r.id = (SELECT run_id FROM targets WHERE id = v.id)
	WHERE v.id = ?`

// Next says when a target is crawled next; sql.ErrNoRows, wrapped, when there is none with that id.
func (k *Reader) Next(ctx context.Context, id int64) (Next, error) {
	var w waiting
	found, err := k.one(ctx, fmt.Sprintf("read target %d", id), readWaiting, []any{id}, fields(&w)...)
	if err == nil && !found {
		err = fmt.Errorf("read target %d: %w", id, sql.ErrNoRows)
	}
	if w.Status != yp.InProgress || err != nil {
		return w.next(), err
	}
	next := w.next()
	switch k.life(w.Run, w.Host, w.Heartbeat) {
	case "killed":
		next = Next{When: NextNow, Why: "the process that was crawling it died; the next run continues it"}
	case "unknown":
		next.Why = "the worker crawling it is silent, and may be dead"
	}
	return next, nil
}
