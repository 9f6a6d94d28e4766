package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Status is all that `status` tells: how sources and targets fare, what went wrong,
// what waits, who works.
type Status struct {
	Now      time.Time      `json:"now"`
	Sources  []SourceStatus `json:"sources"`
	Schedule ScheduleCounts `json:"targets_by_schedule"` // of all sources
	Health   HealthCounts   `json:"targets_by_health"`
	Errors   []ErrorSummary `json:"errors_7d"`
	Backoff  []BackoffWait  `json:"backoff"`
	Hosts    []HostPace     `json:"hosts"` // held or slowed down
	Workers  []WorkerStatus `json:"workers"`
	Pages    int64          `json:"pages_1h"`    // with rows on them, read in the last hour
	Rows     int64          `json:"rows_1h"`     // on them: a listing counts on every page that shows it
	Listings int64          `json:"listings_1h"` // different ones, kept from them
	LastRun  *RunListings   `json:"last_run,omitempty"`
}

// SourceStatus is how one source fares.
type SourceStatus struct {
	Name    string          `json:"name"`
	BaseURL string          `json:"base_url"`
	Gate    store.GateState `json:"gate"`
	Until   time.Time       `json:"gate_until,omitzero"` // when it may open by itself
	Reason  string          `json:"gate_reason,omitempty"`
	Remedy  string          `json:"remedy,omitempty"` // the command that opens it, without the program's name; none while the site blocks
	Profile Profile         `json:"connectivity"`

	Schedule ScheduleCounts `json:"targets_by_schedule"`
	Health   HealthCounts   `json:"targets_by_health"`
	Faring   Faring         `json:"health"`
	Proxies  []ProxyUse     `json:"proxies_1h"`
	Pages    int64          `json:"pages_1h"`
	Rows     int64          `json:"rows_1h"`
	Listings int64          `json:"listings_1h"`

	id int64
}

// Profile is a row of connectivity_profiles: how a source answers, as it was
// rolled up at Updated.
type Profile struct {
	Status     string    `json:"status"` // "" = never rolled up
	Class      string    `json:"error_class,omitempty"`
	Samples1h  int64     `json:"samples_1h"`
	Rate1h     *float64  `json:"success_rate_1h"` // 0–1, null without a sample
	Samples24h int64     `json:"samples_24h"`
	Rate24h    *float64  `json:"success_rate_24h"`
	P50        *int64    `json:"latency_p50_ms"`
	P95        *int64    `json:"latency_p95_ms"`
	Dominant   string    `json:"dominant_class,omitempty"`
	Other      int       `json:"other_http_status,omitempty"` // of class unknown: the most frequent HTTP status of the last hour's failures of that class
	Burst429   bool      `json:"burst_429"`
	Failing    time.Time `json:"failing_since,omitzero"`
	Quarantine time.Time `json:"quarantine_until,omitzero"` // then one probe
	Cooldown   int       `json:"cooldown_minutes,omitempty"`
	Updated    time.Time `json:"updated_at,omitzero"`
}

// ScheduleCounts are targets by v_crawler_status.schedule_status.
type ScheduleCounts struct {
	Targets      int64 `json:"targets"`
	Due          int64 `json:"due"`
	Scheduled    int64 `json:"scheduled"`
	Degraded     int64 `json:"degraded"`
	Paused       int64 `json:"paused"`
	Failed       int64 `json:"failed"`
	NeedsPlan    int64 `json:"needs_plan"`
	NotScheduled int64 `json:"not_scheduled"`
}

// HealthCounts are targets by crawl_status.
type HealthCounts struct {
	Active   int64 `json:"active"`
	Degraded int64 `json:"degraded"`
	Paused   int64 `json:"paused"`
	Failed   int64 `json:"failed"`
}

// Faring is the rest of what v_crawl_health tells, of the states asked for.
type Faring struct {
	DueNow       int64   `json:"due_now"`
	WithFailures int64   `json:"with_failures"`
	MeanFailures float64 `json:"mean_consecutive_failures"`
	Successes24h int64   `json:"successful_24h"`
}

// ErrorSummary is a row of v_crawl_error_summary.
type ErrorSummary struct {
	Source      string    `json:"source"`
	Code        string    `json:"error_code"`
	ByProxy     bool      `json:"by_proxy,omitempty"` // of BLOCKED_PROXY: attempts that used a proxy
	Occurrences int64     `json:"occurrences"`
	Targets     int64     `json:"targets"`
	LastSeen    time.Time `json:"last_seen"`
	MeanMS      *int64    `json:"mean_duration_ms"`
}

// BackoffWait counts the targets that rest at a backoff level.
type BackoffWait struct {
	Level   int       `json:"level"` // 0 = a short rest after the first or second failure
	Targets int64     `json:"targets"`
	Next    time.Time `json:"next_end"` // the first of them is claimable again
	Last    time.Time `json:"last_end"`
}

// HostPace is a host that is held, or asked more slowly than configured.
type HostPace struct {
	Source      string    `json:"source"`
	Host        string    `json:"host"`
	HeldUntil   time.Time `json:"held_until,omitzero"`
	HeldFor     string    `json:"held_for,omitempty"`
	DelayMS     int64     `json:"delay_ms"` // 0 = as configured
	DelayReason string    `json:"delay_reason,omitempty"`
	Blocks      int64     `json:"blocks"` // in a row
}

// WorkerStatus is a row of v_workers with what only the operating system knows.
type WorkerStatus struct {
	Worker       string    `json:"worker"`
	Name         string    `json:"name"`
	Host         string    `json:"host"`
	PID          int       `json:"pid"`
	Alive        bool      `json:"alive"` // its process is seen to live: it holds its lock
	Source       string    `json:"source"`
	Started      time.Time `json:"started_at"`
	Heartbeat    time.Time `json:"heartbeat_at"`
	TargetID     int64     `json:"target_id,omitempty"` // 0 = between two targets
	City         string    `json:"city,omitempty"`
	State        string    `json:"state,omitempty"`
	Category     string    `json:"category,omitempty"`
	Page         int       `json:"page,omitempty"` // in hand
	Pages        int64     `json:"pages"`
	Listings     int64     `json:"listings"`
	Claims       int64     `json:"claims"`
	ClaimRetries int64     `json:"claim_retries"`
	RSS          int64     `json:"rss_bytes"` // 0 = unknown
}

// ProxyUse is what went through a proxy in the last hour.
type ProxyUse struct {
	Proxy    string `json:"proxy"` // without its password
	Requests int64  `json:"requests"`
	Failures int64  `json:"failures"`
}

// Status reads how the crawl fares. Of the scope, source and states count; the
// states narrow targets, what rests and workers. What takes long over many
// targets is read side by side.
func (k *Reader) Status(ctx context.Context, scope store.Scope) (*Status, error) {
	s := &Status{
		Now: k.db.Now(), Errors: []ErrorSummary{}, Backoff: []BackoffWait{}, Hosts: []HostPace{}, Workers: []WorkerStatus{},
	}
	var err error
	if s.Sources, err = k.sourceStatus(ctx, scope.SourceID); err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	r := statusReader{k: k, ctx: ctx, scope: scope, s: s, hour: yp.FormatTime(s.Now.Add(-time.Hour))}
	g.SetLimit(4) // as many readers as there are connections
	for i := range s.Sources {
		g.Go(func() error { return r.counts(&s.Sources[i]) })
		g.Go(func() error { return r.available(&s.Sources[i]) })
		g.Go(func() error { return r.recent(&s.Sources[i]) })
	}
	lastRun := func() (err error) {
		s.LastRun, err = k.LastRun(ctx, scope.SourceID)
		return err
	}
	for _, step := range []func() error{r.errors, r.backoff, r.hosts, r.workers, lastRun} {
		g.Go(step)
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	s.sum()
	return s, nil
}

// sum adds up the sources.
func (s *Status) sum() {
	for i := range s.Sources {
		src := &s.Sources[i]
		s.Schedule.add(src.Schedule)
		s.Health.add(src.Health)
		s.Pages += src.Pages
		s.Rows += src.Rows
		s.Listings += src.Listings
	}
}

func (c *ScheduleCounts) add(o ScheduleCounts) {
	c.Targets += o.Targets
	c.Due += o.Due
	c.Scheduled += o.Scheduled
	c.Degraded += o.Degraded
	c.Paused += o.Paused
	c.Failed += o.Failed
	c.NeedsPlan += o.NeedsPlan
	c.NotScheduled += o.NotScheduled
}

func (c *HealthCounts) add(o HealthCounts) {
	c.Active += o.Active
	c.Degraded += o.Degraded
	c.Paused += o.Paused
	c.Failed += o.Failed
}

type statusReader struct {
	k     *Reader
	ctx   context.Context //nolint:containedctx // lives for one call
	scope store.Scope
	s     *Status
	hour  string // an hour ago
}

func (r statusReader) each(query string, args []any, scan func(*sql.Rows) error) error {
	return r.k.db.Each(r.ctx, query, args, scan)
}

// alive looks at the lock of a run. Where the lock can't be looked at (a read-only
// disk), nobody is seen to live.
func (r statusReader) alive(uuid string) bool {
	lives, err := store.Alive(r.k.db.Path(), uuid)
	return err == nil && lives
}
