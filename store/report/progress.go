package report

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Counts are targets by status, with the pages and listings behind them.
type Counts struct {
	Targets    int64   `json:"targets"`
	Planned    int64   `json:"planned"`
	InProgress int64   `json:"in_progress"`
	Done       int64   `json:"done"`
	Failed     int64   `json:"failed"`
	Stuck      int64   `json:"stuck"`
	Parked     int64   `json:"parked"`
	Retired    int64   `json:"retired"` // their city is no longer in the source's index; not part of Targets
	Percent    float64 `json:"percent"` // of the targets, DONE or PARKED
	Pages      int64   `json:"pages"`   // of the current crawls
	Raw        int64   `json:"raw"`
	Accepted   int64   `json:"accepted"`
	Listings   int64   `json:"listings"`  // distinct, first seen in this state
	Companies  int64   `json:"companies"` // whose lead listing is in this state

	Found *int64 `json:"listings_found,omitempty"` // different ones that searches of this state found, first or again; nil = not asked for
}

// retired stands for a status where targets are counted whose city is no longer in the index.
const retired yp.Status = "RETIRED"

func (c *Counts) add(status yp.Status, n int64) {
	if status == retired {
		c.Retired += n
		return
	}
	c.Targets += n
	switch status {
	case yp.Planned:
		c.Planned += n
	case yp.InProgress:
		c.InProgress += n
	case yp.Done:
		c.Done += n
	case yp.Failed:
		c.Failed += n
	case yp.Stuck:
		c.Stuck += n
	case yp.Parked:
		c.Parked += n
	}
}

func (c *Counts) setPercent() {
	if c.Targets > 0 {
		c.Percent = 100 * float64(c.Done+c.Parked) / float64(c.Targets)
	}
}

const scopeCounts = `
	SELECT iif(t.retired_at IS NULL, t.status, 'RETIRED'), count(*), sum(t.page_current), sum(t.accepted_count) FROM targets t WHERE ` + where + ` GROUP BY 1`

// Count counts the targets of a scope by status. It reads them all: a start of
// a run can afford that, a display that is redrawn can't (see Progress).
func (k *Reader) Count(ctx context.Context, scope store.Scope) (c Counts, err error) {
	err = k.each(ctx, scopeCounts, scope.Args(), func(rows *sql.Rows) error {
		var status yp.Status
		var n, pages, accepted int64
		err := rows.Scan(&status, &n, &pages, &accepted)
		c.add(status, n)
		c.Pages += pages
		if status != retired {
			c.Accepted += accepted
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("count targets: %w", err)
	}
	c.setPercent()
	return c, nil
}

// StateCounts are the counts of one state.
type StateCounts struct {
	State string `json:"state"`
	Counts
}

// Holder is a worker that holds a target now.
type Holder struct {
	Worker    string     `json:"worker_id"` // as its log is named
	Name      WorkerName `json:"worker"`
	TargetID  int64      `json:"target_id"`
	City      string     `json:"city"`
	State     string     `json:"state"`
	Category  string     `json:"category"`
	Page      int        `json:"page"` // in hand
	Heartbeat time.Time  `json:"heartbeat_at"`
	AgeSec    Seconds    `json:"heartbeat_age_seconds"` // -1 = never beat
	Alive     bool       `json:"alive"`                 // its process is seen to live: it holds its lock
}

// ErrorCount is how many targets in trouble share an error code.
type ErrorCount struct {
	Code    string `json:"code"`
	Status  string `json:"status"`
	Targets int64  `json:"targets"`
	Example string `json:"example"` // one of the error texts
}

// Progress is all that `progress` tells.
type Progress struct {
	Now     time.Time     `json:"now"`
	Overall Counts        `json:"overall"`
	States  []StateCounts `json:"states"`
	Workers []Holder      `json:"workers"`
	Beyond  int64         `json:"companies_elsewhere"` // of the companies of all: their address is in none of these states, or they give none
	Errors  []ErrorCount  `json:"errors"`
	Rate    float64       `json:"pages_per_second"` // of the runs alive now
	Live    int           `json:"live_runs"`
	Left                  // of runs alive; -1 s without one
	Lately

	Closed []ClosedSource `json:"-"` // that have something to do, and may not be asked now

	// For what everything waits, and until when; zero = until somebody opens the source.
	WaitingFor   string    `json:"waiting_for,omitempty"`
	WaitingUntil time.Time `json:"waiting_until"`

	LastRun *RunListings  `json:"last_run,omitempty"` // of those that committed a page
	Details *DetailTotals `json:"details,omitempty"`  // where somebody wants some, see ProgressOfDetails

	*Figures // nil = not asked for

	began  time.Time // when the first of the runs alive did
	brings Rate      // new listings, by the pages that these read
}

const (
	stateCounts = `
	SELECT state, status, sum(targets), sum(pages), sum(raw), sum(accepted) FROM target_totals
	WHERE kind = 'search' AND ` + places + ` GROUP BY state, status HAVING sum(targets) > 0 ORDER BY state`
	listingCounts = `SELECT state, sum(listings) FROM listing_totals WHERE ` + places + ` GROUP BY state`
	companyCounts = `SELECT state, companies FROM company_totals WHERE ?1 = ?1 AND ` + inStates
	holders       = `
	SELECT t.claimed_by, t.claimed_by, t.id, ifnull(c.name, ''), t.state, coalesce(l.name, k.name, iif(t.kind = 'index', 'index of cities', '')), t.page_current + 1, t.heartbeat_at, r.uuid
	FROM targets t LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id LEFT JOIN listings l ON l.id = t.listing JOIN runs r ON r.id = t.run_id
	WHERE t.status = 'IN_PROGRESS' AND ` + placesOn + ` ORDER BY r.id, length(t.claimed_by), t.claimed_by`
	// WAITING is what people are told of a target that is PLANNED again after a first
	// failure and waits for its short backoff.
	troubles = `
	SELECT ifnull(code, 'none'), status, count(*), ifnull(max(error), '') FROM (
		SELECT iif(v.status = 'STUCK', NULL, v.last_error_code) AS code, v.status,
			iif(v.status = 'STUCK', 'its process died ' || v.recoveries || ' times in a row without a new page of it', v.last_error) AS error
		FROM targets v WHERE v.kind = 'search' AND v.status IN ('FAILED', 'STUCK', 'PARKED') AND ` + places + `
		UNION ALL SELECT v.last_error_code, 'WAITING', v.last_error FROM targets v
		WHERE v.kind = 'search' AND v.wait_reason = 'backoff' AND v.not_before IS NOT NULL AND v.status = 'PLANNED' AND ` + places + `)
	GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`
)

// Progress reads the counters that the triggers keep: it costs the same over a
// thousand targets and over a million. Of the scope, source and states count.
func (k *Reader) Progress(ctx context.Context, scope store.Scope) (p *Progress, err error) {
	p = &Progress{Now: k.db.Now(), States: []StateCounts{}, Workers: []Holder{}, Left: Left{Seconds: -1}}
	args := placesOf(scope)
	if err = k.progressStates(ctx, p, args); err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	err = k.each(ctx, holders, args, func(rows *sql.Rows) error {
		h, run := Holder{AgeSec: -1}, ""
		err := rows.Scan(&h.Worker, &h.Name, &h.TargetID, &h.City, &h.State, &h.Category, &h.Page, at(&h.Heartbeat), &run)
		if !h.Heartbeat.IsZero() {
			h.AgeSec = Seconds(p.Now.Sub(h.Heartbeat).Seconds())
		}
		h.Alive = k.alive(run)
		p.Workers = append(p.Workers, h)
		return err
	})
	if err == nil {
		p.Errors, err = list(ctx, k, "errors", troubles, args, fields[ErrorCount])
	}
	if err == nil {
		err = k.progressSpeed(ctx, p, scope)
	}
	if err == nil {
		err = k.lately(ctx, p, scope.SourceID)
	}
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	return p, nil
}

// progressStates counts by state. A company may lie in a state where nothing was searched
// (a neighbour's), or tell none: it counts in the overall number all the same, and in Beyond.
func (k *Reader) progressStates(ctx context.Context, p *Progress, args []any) error {
	err := k.each(ctx, stateCounts, args, func(rows *sql.Rows) error {
		var state string
		var status yp.Status
		var n, pages, raw, accepted int64
		err := rows.Scan(&state, &status, &n, &pages, &raw, &accepted)
		if l := len(p.States); l == 0 || p.States[l-1].State != state {
			p.States = append(p.States, StateCounts{State: state})
		}
		for _, c := range []*Counts{&p.States[len(p.States)-1].Counts, &p.Overall} {
			c.add(status, n)
			c.Pages, c.Raw, c.Accepted = c.Pages+pages, c.Raw+raw, c.Accepted+accepted
		}
		return err
	})
	if err != nil {
		return err
	}
	listings, companies := map[string]int64{}, map[string]int64{}
	for query, counts := range map[string]map[string]int64{listingCounts: listings, companyCounts: companies} {
		err := k.each(ctx, query, args, func(rows *sql.Rows) error {
			var state string
			var n int64
			err := rows.Scan(&state, &n)
			counts[state] = n
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, n := range listings {
		p.Overall.Listings += n
	}
	for _, n := range companies {
		p.Overall.Companies += n
	}
	p.Beyond = p.Overall.Companies
	for i := range p.States {
		s := &p.States[i]
		s.Listings, s.Companies = listings[s.State], companies[s.State]
		p.Beyond -= s.Companies
		s.setPercent()
	}
	p.Overall.setPercent()
	return nil
}

// ProgressOfDetails is Progress with the details, which cost a walk through an index, and
// what the last run brought.
// They are counted over all states.
func (k *Reader) ProgressOfDetails(ctx context.Context, scope store.Scope) (*Progress, error) {
	p, err := k.Progress(ctx, scope)
	if err == nil {
		p.LastRun, err = k.lastRun(ctx, scope.SourceID)
	}
	if err != nil {
		return nil, err
	}
	return p, k.readDetails(ctx, p, scope)
}

// readDetails counts the details over all states.
func (k *Reader) readDetails(ctx context.Context, p *Progress, scope store.Scope) error {
	t, err := k.DetailTotals(ctx, scope.SourceID, nil)
	if err == nil && t != (DetailTotals{}) {
		p.Details = &t
	}
	return err
}

// RunListings is what a run brought.
type RunListings struct {
	Run      string    `json:"run"` // its uuid
	Started  time.Time `json:"started_at"`
	Running  bool      `json:"running"`
	Pages    int64     `json:"pages"`
	New      int64     `json:"new"`
	Rejected int64     `json:"rejected"` // broke a rule of their source, once for each page that showed them
	Dropped  int64     `json:"dropped"`  // no longer shown by their source
	Restored int64     `json:"restored"` // and back again
}

const runListings = `
	SELECT r.uuid, r.started_at, r.outcome = 'running', r.pages, r.listings_new, r.listings_rejected, r.listings_dropped, r.listings_restored
	FROM runs r WHERE (r.pages > 0 OR r.listings_dropped > 0) AND (?1 = 0 OR r.source_id = ?1 OR r.source_id IS NULL) ORDER BY r.id DESC LIMIT 1`

// lastRun returns what the last run of a source (0 = of any) brought of those that
// committed a page; nil when there was none.
func (k *Reader) lastRun(ctx context.Context, sourceID int64) (*RunListings, error) {
	last, err := list(ctx, k, "read the last run", runListings, []any{sourceID}, fields[RunListings])
	if err != nil || len(last) == 0 {
		return nil, err
	}
	return &last[0], nil
}

const (
	liveRuns = `
	SELECT r.uuid, r.host, r.started_at, r.pages, r.listings_new FROM runs r
	WHERE r.outcome = 'running' AND (?1 = 0 OR r.source_id = ?1 OR r.source_id IS NULL) AND ?2 = ?2`
	// The sources that have something to do, and what closes them.
	busySources = `
	SELECT x.source, x.state, x.until, ifnull(x.reason, '') FROM v_source_availability x
	WHERE (?1 = 0 OR x.source_id = ?1) AND EXISTS (
		SELECT 1 FROM target_totals n WHERE n.source_id = x.source_id AND n.status IN ('PLANNED', 'IN_PROGRESS') AND n.targets > 0
			AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2))))
	ORDER BY x.until, x.source`
)

// progressSpeed adds up the runs whose process lives, and says when what is left will be done.
func (k *Reader) progressSpeed(ctx context.Context, p *Progress, scope store.Scope) error {
	args := placesOf(scope)
	err := k.each(ctx, liveRuns, args, func(rows *sql.Rows) error {
		var uuid, host string
		var started time.Time
		var pages, added int64
		if err := rows.Scan(&uuid, &host, at(&started), &pages, &added); err != nil || host != k.host || !k.alive(uuid) {
			return err
		}
		if p.Live++; p.Live == 1 || started.Before(p.began) {
			p.began = started
		}
		p.brings.Of, p.brings.In = p.brings.Of+added, p.brings.In+pages
		if secs := p.Now.Sub(started).Seconds(); secs >= 1 {
			p.Rate += float64(pages) / secs
		}
		return nil
	})
	if err == nil {
		err = k.closed(ctx, p, args)
	}
	if err != nil || p.Live == 0 || p.WaitingFor != "" {
		return err
	}
	work, err := k.Work(ctx, scope, p.brings)
	if err == nil {
		p.Left, err = k.TimeLeft(ctx, scope, p.began, work)
	}
	return err
}

// closed tells which sources are closed that have something to do, and for what the runs wait
// where all are.
func (k *Reader) closed(ctx context.Context, p *Progress, args []any) error {
	busy, err := list(ctx, k, "closed sources", busySources, args, func(c *ClosedSource) []any {
		return []any{&c.Source, &c.State, at(&c.Until), &c.Reason}
	})
	for _, c := range busy {
		if c.State != store.SourceOpen {
			c.Reason, c.Remedy = ReasonText(c.Reason), SourceRemedy(c.Source, c.State)
			p.Closed = append(p.Closed, c)
		}
	}
	if p.Live > 0 && len(p.Closed) > 0 && len(p.Closed) == len(busy) {
		first := p.Closed[max(0, slices.IndexFunc(p.Closed, func(c ClosedSource) bool { return !c.Until.IsZero() }))] // that opens by itself
		p.WaitingFor, p.WaitingUntil = fmt.Sprintf("the source is %s: %s", first.State, first.Reason), first.Until
	}
	return err
}
