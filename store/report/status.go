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
	Pages    int64          `json:"pages_1h"`        // of results with rows on them, read in the last hour
	OwnPages int64          `json:"detail_pages_1h"` // of listings
	Rows     int64          `json:"rows_1h"`         // on them: a listing counts on every page that shows it
	Listings int64          `json:"listings_1h"`     // different ones, kept from them
	Left     *Left          `json:"time_left"`       // nil = no run reads anything now
	LastRun  *RunListings   `json:"last_run,omitempty"`
	Passes   []Pass         `json:"passes"`
	Kinds    []KindCounts   `json:"details_and_indexes"` // the targets that are no searches, which all else is about
}

// KindCounts are the targets of one kind of a source by status.
type KindCounts struct {
	Source     string  `json:"source"`
	Kind       yp.Kind `json:"kind"`
	Targets    int64   `json:"targets"` // without those that are retired
	Planned    int64   `json:"planned"`
	InProgress int64   `json:"in_progress"`
	Done       int64   `json:"done"`
	Failed     int64   `json:"failed"`
	Stuck      int64   `json:"stuck"`
	Parked     int64   `json:"parked"`
	Retired    int64   `json:"retired"`
}

// SourceStatus is how one source fares.
type SourceStatus struct {
	Name         string            `json:"name"`
	BaseURL      string            `json:"base_url"`
	Availability store.SourceState `json:"gate"`
	Until        time.Time         `json:"gate_until"` // when it may open by itself
	Reason       string            `json:"gate_reason,omitempty"`
	Remedy       string            `json:"remedy,omitempty"` // the command that opens it, without the program's name; none while the site blocks
	Profile      Profile           `json:"connectivity"`

	Schedule      ScheduleCounts `json:"targets_by_schedule"`
	Health        HealthCounts   `json:"targets_by_health"`
	HealthFigures HealthFigures  `json:"health"`
	Proxies       []ProxyUse     `json:"proxies_1h"`
	Pages         int64          `json:"pages_1h"`
	OwnPages      int64          `json:"detail_pages_1h"`
	Rows          int64          `json:"rows_1h"`
	Listings      int64          `json:"listings_1h"`

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
	Failing    time.Time `json:"failing_since"`
	Quarantine time.Time `json:"quarantine_until"` // then one probe
	Cooldown   Minutes   `json:"cooldown_seconds"`
	Updated    time.Time `json:"updated_at"`
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

// HealthFigures are the rest of what v_crawl_health tells, of the states asked for.
type HealthFigures struct {
	DueNow       int64   `json:"due_now"`
	WithFailures int64   `json:"with_failures"`
	MeanFailures float64 `json:"mean_consecutive_failures"`
	Successes24h int64   `json:"successful_24h"`
}

// ErrorSummary is a row of v_crawl_error_summary.
type ErrorSummary struct {
	Source      string    `json:"source"`
	Code        string    `json:"error_code"`
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
	HeldUntil   time.Time `json:"held_until"`
	HeldFor     string    `json:"held_for,omitempty"`
	DelayMS     Millis    `json:"delay_ms"` // 0 = as configured
	DelayReason string    `json:"delay_reason,omitempty"`
	Blocks      int64     `json:"blocks"` // in a row
}

// WorkerStatus is a row of v_workers with what only the operating system knows.
type WorkerStatus struct {
	Worker       string     `json:"worker_id"` // as its log is named
	Name         WorkerName `json:"worker"`
	Host         string     `json:"host"`
	PID          int        `json:"pid"`
	Alive        bool       `json:"alive"` // its process is seen to live: it holds its lock
	Source       string     `json:"source"`
	Started      time.Time  `json:"started_at"`
	Heartbeat    time.Time  `json:"heartbeat_at"`
	TargetID     int64      `json:"target_id,omitempty"` // 0 = between two targets
	City         string     `json:"city,omitempty"`
	State        string     `json:"state,omitempty"`
	Category     string     `json:"category,omitempty"`
	Page         int        `json:"page,omitempty"` // in hand
	Pages        int64      `json:"pages"`
	Listings     int64      `json:"listings"`
	Claims       int64      `json:"claims"`
	ClaimRetries int64      `json:"claim_retries"`
	RSS          int64      `json:"rss_bytes"` // 0 = unknown

	run string // its uuid
}

// ProxyUse is what went through a proxy in the last hour.
type ProxyUse struct {
	Proxy    string `json:"proxy"` // without its password
	Requests int64  `json:"requests"`
	Failures int64  `json:"failures"`
}

const (
	kindCounts = `
	SELECT s.name, t.kind, sum(iif(t.status <> 'RETIRED', t.targets, 0)), sum(iif(t.status = 'PLANNED', t.targets, 0)),
		sum(iif(t.status = 'IN_PROGRESS', t.targets, 0)), sum(iif(t.status = 'DONE', t.targets, 0)), sum(iif(t.status = 'FAILED', t.targets, 0)),
		sum(iif(t.status = 'STUCK', t.targets, 0)), sum(iif(t.status = 'PARKED', t.targets, 0)), sum(iif(t.status = 'RETIRED', t.targets, 0))
	FROM target_totals t JOIN sources s ON s.id = t.source_id
	WHERE t.kind IN (SELECT value FROM json_each(?3)) AND ` + placesOn + ` GROUP BY s.name, t.kind HAVING sum(t.targets) > 0 ORDER BY s.name, t.kind`
	errorSummary = `
	SELECT source, error_code, occurrences, targets, last_seen, mean_duration_ms FROM v_crawl_error_summary
	WHERE error_code <> 'SUCCESS' AND ` + ofSource + ` ORDER BY occurrences DESC, error_code, source`
	backoffWaits = `
	SELECT t.backoff_level, count(*), min(t.not_before), max(t.not_before) FROM targets t
	WHERE t.wait_reason = 'backoff' AND t.not_before > ?7 AND ` + where + ` GROUP BY t.backoff_level ORDER BY t.backoff_level`
	hostPaces = `
	SELECT s.name, h.host, iif(h.held_until > ?2, h.held_until, NULL), iif(h.held_until > ?2, h.held_for, ''), h.delay_ms,
		iif(h.delay_ms > 0, ifnull(h.delay_reason, ''), ''), h.blocks
	FROM hosts h JOIN sources s ON s.id = h.source_id
	WHERE (?1 = 0 OR h.source_id = ?1) AND (h.held_until > ?2 OR h.delay_ms > 0) ORDER BY s.name, h.host`
	workerStatus = `
	SELECT worker_id, worker_id, host, pid, run, source, started_at, heartbeat_at, ifnull(target_id, 0), ifnull(city, ''),
		ifnull(state, ''), ifnull(category, ''), ifnull(page, 0), pages, listings, claims, claim_retries, rss_bytes
	FROM v_workers WHERE ` + ofSource + ` AND ` + inStates + ` ORDER BY run, length(worker_id), worker_id`
)

// Status reads how the crawl fares. Of the scope, source and states count; the
// states narrow targets, what rests and workers. What takes long over many
// targets is read side by side.
func (k *Reader) Status(ctx context.Context, scope store.Scope) (out *Status, err error) {
	err = k.at(ctx, func(k *Reader) error {
		out, err = k.statusNow(ctx, scope)
		return err
	})
	return out, err
}

func (k *Reader) statusNow(ctx context.Context, scope store.Scope) (*Status, error) {
	s := &Status{Now: k.db.Now()}
	now, hour, day := yp.FormatTime(s.Now), yp.FormatTime(s.Now.Add(-time.Hour)), yp.FormatTime(s.Now.AddDate(0, 0, -1))
	var err error
	if s.Sources, err = k.sourceStatus(ctx, scope.SourceID); err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4) // as many readers as there are connections
	for i := range s.Sources {
		src := &s.Sources[i]
		g.Go(func() error { return k.targetCounts(ctx, src, store.JSONTexts(scope.States), day) })
		g.Go(func() error {
			_, err := k.one(ctx, "count available targets", countAvailable, []any{src.id, store.JSONTexts(scope.States)}, &src.HealthFigures.DueNow)
			return err
		})
		g.Go(func() error { return k.lastHour(ctx, src, hour) })
	}
	g.Go(func() (err error) {
		s.Errors, err = list(ctx, k, "errors", errorSummary, []any{scope.SourceID}, fields[ErrorSummary])
		return err
	})
	g.Go(func() (err error) {
		s.Backoff, err = list(ctx, k, "backoff", backoffWaits, scope.Args(now), fields[BackoffWait])
		return err
	})
	g.Go(func() (err error) {
		s.Hosts, err = list(ctx, k, "hosts", hostPaces, []any{scope.SourceID, now}, fields[HostPace])
		return err
	})
	g.Go(func() (err error) {
		s.Workers, err = list(ctx, k, "workers", workerStatus, placesOf(scope), func(w *WorkerStatus) []any {
			return []any{
				&w.Worker, &w.Name, &w.Host, &w.PID, &w.run, &w.Source, at(&w.Started), at(&w.Heartbeat), &w.TargetID, &w.City,
				&w.State, &w.Category, &w.Page, &w.Pages, &w.Listings, &w.Claims, &w.ClaimRetries, &w.RSS,
			}
		})
		for i := range s.Workers {
			s.Workers[i].Alive = k.alive(s.Workers[i].run)
		}
		return err
	})
	g.Go(func() (err error) {
		s.Left, err = k.leftNow(ctx, scope)
		return err
	})
	g.Go(func() (err error) {
		if s.LastRun, err = k.lastRun(ctx, scope.SourceID); err == nil {
			s.Passes, err = k.Passes(ctx, scope)
		}
		return err
	})
	g.Go(func() (err error) {
		s.Kinds, err = list(ctx, k, "count targets by kind", kindCounts, placesOf(scope, store.JSONTexts([]yp.Kind{yp.KindDetail, yp.KindIndex})), fields[KindCounts])
		return err
	})
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
		s.Pages, s.OwnPages, s.Rows, s.Listings = s.Pages+src.Pages, s.OwnPages+src.OwnPages, s.Rows+src.Rows, s.Listings+src.Listings
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

const (
	sourceStatus = `
	SELECT g.source_id, g.source, s.base_url, g.state, g.until, ifnull(g.reason, ''),
		ifnull(p.status, ''), ifnull(p.error_class, ''), ifnull(p.samples_1h, 0), p.success_rate_1h, ifnull(p.samples_24h, 0), p.success_rate_24h,
		p.latency_p50_ms, p.latency_p95_ms, ifnull(p.dominant_class, ''), ifnull(p.burst_429, 0), p.failing_since, p.quarantine_until,
		ifnull(p.cooldown_minutes, 0), p.updated_at
	FROM v_source_availability g JOIN sources s ON s.id = g.source_id LEFT JOIN connectivity_profiles p ON p.source_id = g.source_id
	WHERE ?1 = 0 OR g.source_id = ?1 GROUP BY g.source_id ORDER BY g.source`
	// otherStatus is the HTTP status to name where no class of failures says more.
	otherStatus = `
	SELECT ifnull(http_status, 0) FROM requests WHERE source_id = ? AND finished_at > ? AND proxy_failed = 0 AND type <> 'robots'
		AND error_class = 'unknown' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1`
)

// Sources lists the sources that the database knows, by name, with their availability and
// profiles, and without their targets.
func (k *Reader) Sources(ctx context.Context) ([]SourceStatus, error) {
	return k.sourceStatus(ctx, 0)
}

// sourceStatus is Sources of one source; id 0 = of all.
func (k *Reader) sourceStatus(ctx context.Context, id int64) ([]SourceStatus, error) {
	all, err := list(ctx, k, "list sources", sourceStatus, []any{id}, func(s *SourceStatus) []any {
		p := &s.Profile
		return []any{
			&s.id, &s.Name, &s.BaseURL, &s.Availability, at(&s.Until), &s.Reason,
			&p.Status, &p.Class, &p.Samples1h, &p.Rate1h, &p.Samples24h, &p.Rate24h,
			&p.P50, &p.P95, &p.Dominant, &p.Burst429, at(&p.Failing), at(&p.Quarantine), &p.Cooldown, at(&p.Updated),
		}
	})
	for i := range all {
		s := &all[i]
		s.Proxies, s.Remedy = []ProxyUse{}, SourceRemedy(s.Name, s.Availability)
		if s.Profile.Class == string(yp.ClassUnknown) {
			args := []any{s.id, yp.FormatTime(k.db.Now().Add(-time.Hour))}
			if _, err := k.one(ctx, "list sources", otherStatus, args, &s.Profile.Other); err != nil {
				return nil, err
			}
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

func (k *Reader) targetCounts(ctx context.Context, s *SourceStatus, states, day string) error {
	return k.each(ctx, targetMarks, []any{s.Name, states, day}, func(rows *sql.Rows) error {
		var marks sql.RawBytes
		f := &s.HealthFigures
		if err := rows.Scan(&marks, &f.WithFailures, &f.MeanFailures, &f.Successes24h); err != nil {
			return err
		}
		return s.tally(marks)
	})
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
	SELECT count(nullif(result_count, 0)) FILTER (WHERE type = 'listing'), ifnull(sum(result_count) FILTER (WHERE type = 'listing'), 0), count(*) FILTER (WHERE type = 'detail')
	FROM requests WHERE source_id = ? AND finished_at >= ? AND type IN ('listing', 'detail') AND outcome = 'success' AND proxy_failed = 0`
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

// lastHour reads what the last hour brought.
func (k *Reader) lastHour(ctx context.Context, s *SourceStatus, hour string) error {
	args := []any{s.id, hour}
	_, err := k.one(ctx, "pages", recentPages, args, &s.Pages, &s.Rows, &s.OwnPages)
	if err == nil && s.Rows > 0 {
		_, err = k.one(ctx, "listings", recentListings, args, &s.Listings)
	}
	if err == nil {
		s.Proxies, err = list(ctx, k, "proxies", recentProxies, args, fields[ProxyUse])
	}
	return err
}
