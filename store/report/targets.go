package report

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Schedule says where a target stands in its schedule: a value of
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

// Target is a row of v_crawler_status: a target with its health and its schedule.
type Target struct {
	ID           int64      `json:"id"`
	Source       string     `json:"source"`
	Kind         yp.Kind    `json:"kind"`
	City         string     `json:"city"`
	State        string     `json:"state"`
	Category     string     `json:"category"`
	Status       yp.Status  `json:"status"`
	Schedule     Schedule   `json:"schedule_status"`
	Health       yp.Health  `json:"crawl_status"`
	Enabled      bool       `json:"enabled"`
	NotBefore    time.Time  `json:"not_before"`
	WaitReason   string     `json:"wait_reason,omitempty"` // backoff, recrawl or gap
	AutoDisabled bool       `json:"auto_disabled"`         // parked because it failed too often
	BackoffLevel int        `json:"backoff_level"`
	Failures     int        `json:"consecutive_failures"`
	FrequencyMin Minutes    `json:"crawl_frequency_seconds"` // 0 = once only
	LastSuccess  time.Time  `json:"last_success_at"`
	Attempts     int        `json:"total_attempts"`
	Successes    int        `json:"total_successes"`
	SuccessRate  *float64   `json:"success_rate"` // percent, null before the first attempt
	Page         int        `json:"page_current"`
	ErrorCode    string     `json:"last_error_code,omitempty"`
	Error        string     `json:"last_error,omitempty"`
	ClaimedBy    WorkerName `json:"claimed_by,omitempty"`
	Heartbeat    time.Time  `json:"heartbeat_at"`
	Started      time.Time  `json:"crawl_started_at"`
	Finished     time.Time  `json:"finished_at"`
	Retired      time.Time  `json:"retired_at"` // its city is no longer in the source's index, or its listing no longer on the site
}

const (
	targetColumns = `v.id, v.source, v.kind, ifnull(v.city, ''), v.state, coalesce((SELECT l.name FROM listings l WHERE l.id = v.listing), v.category, ''), v.status, v.schedule_status, v.crawl_status, v.enabled, v.not_before,
		ifnull(v.wait_reason, ''), v.auto_disabled, v.backoff_level, v.consecutive_failures, v.crawl_frequency_minutes, v.last_success_at,
		v.total_attempts, v.total_successes, v.success_rate, v.page_current, ifnull(v.last_error_code, ''), ifnull(v.last_error, ''),
		ifnull(v.claimed_by, ''), v.heartbeat_at, v.crawl_started_at, v.finished_at, v.retired_at`
)

// TargetDetail is all that is known of one target.
type TargetDetail struct {
	Target
	Name       string    `json:"name"` // city-slug/category-slug, as commands take it
	Priority   int       `json:"priority"`
	Population int       `json:"population"`
	MaxPages   int       `json:"max_pages"`   // 0 = all
	MaxRetries int       `json:"max_retries"` // of one page within an attempt
	NextPage   string    `json:"next_page_url,omitempty"`
	SiteTotal  *int      `json:"site_total"` // listings, as the site says
	Raw        int       `json:"raw_count"`
	Accepted   int       `json:"accepted_count"`
	Bad        int       `json:"bad_count"`
	Recoveries int       `json:"recoveries"` // in a row, without a new page
	Created    time.Time `json:"created_at"`
	Next       Next      `json:"next"`

	availability store.SourceState
	closedUntil  time.Time
	closedWhy    string
	available    bool
}

const showTarget = `
	SELECT ` + targetColumns + `, iif(t.kind = 'search', c.slug || '/' || k.slug, ''), t.priority, t.population, t.max_pages, t.max_retries, ifnull(t.next_page_url, ''),
		t.site_total, t.raw_count, t.accepted_count, t.bad_count, t.recoveries, t.created_at,
		o.state, o.until, ifnull(o.reason, ''), EXISTS (SELECT 1 FROM targets_available a WHERE a.id = t.id)
	FROM v_crawler_status v JOIN targets t ON t.id = v.id JOIN v_source_availability o ON o.source_id = t.source_id
	LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id
	WHERE v.id = ?`

// Target returns one target with what happens to it next; sql.ErrNoRows, wrapped,
// when there is none with that id.
func (k *Reader) Target(ctx context.Context, id int64) (*TargetDetail, error) {
	var t TargetDetail
	into := append(fields(&t.Target), &t.Name, &t.Priority, &t.Population, &t.MaxPages, &t.MaxRetries, &t.NextPage,
		&t.SiteTotal, &t.Raw, &t.Accepted, &t.Bad, &t.Recoveries, at(&t.Created),
		&t.availability, at(&t.closedUntil), &t.closedWhy, &t.available)
	if err := k.pool().QueryRowContext(ctx, showTarget, id).Scan(into...); err != nil {
		return nil, fmt.Errorf("read target %d: %w", id, err)
	}
	t.Next = t.next()
	return &t, nil
}
