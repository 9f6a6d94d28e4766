package report

import (
	"context"
	"database/sql"
	"fmt"
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
	Retired    int64   `json:"retired"` // their city is gone from the source's index; not part of Targets
	Percent    float64 `json:"percent"` // of the targets, DONE or PARKED
	Pages      int64   `json:"pages"`   // of the current crawls
	Raw        int64   `json:"raw"`
	Accepted   int64   `json:"accepted"`
	Listings   int64   `json:"listings"`  // distinct, first met in this state
	Companies  int64   `json:"companies"` // whose lead listing is in this state
}

// StateCounts are the counts of one state.
type StateCounts struct {
	State string `json:"state"`
	Counts
}

// Holder is a worker that holds a target now.
type Holder struct {
	Worker    string    `json:"worker"`
	TargetID  int64     `json:"target_id"`
	City      string    `json:"city"`
	State     string    `json:"state"`
	Category  string    `json:"category"`
	Page      int       `json:"page"` // in hand
	Heartbeat time.Time `json:"heartbeat_at"`
	AgeSec    float64   `json:"heartbeat_age_seconds"` // -1 = never beat
	Alive     bool      `json:"alive"`                 // its process is seen to live: it holds its lock
}

// ErrorCount is how many targets in trouble share an error code.
type ErrorCount struct {
	Code    string `json:"code"`
	Status  string `json:"status"`
	ByProxy bool   `json:"by_proxy,omitempty"` // of BLOCKED_PROXY: those whose last attempt used a proxy
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
	ETASec  float64       `json:"eta_seconds"` // until all targets are done, at the speed of the last ones; -1 = unknown

	// For what everything waits, and until when; zero = until somebody opens the source.
	WaitingFor   string    `json:"waiting_for,omitempty"`
	WaitingUntil time.Time `json:"waiting_until,omitzero"`

	LastRun *RunListings  `json:"last_run,omitempty"` // of those that committed a page
	Details *DetailTotals `json:"details,omitempty"`  // where somebody wants some, see ProgressOfDetails

	DetailsETASec float64 `json:"details_eta_seconds"` // as ETASec, for those that are due

	began time.Time // when the first of the runs alive did
}

const (
	stateCounts = `
	SELECT n.state, n.status, sum(n.targets), sum(n.pages), sum(n.raw), sum(n.accepted) FROM target_totals n
	WHERE n.kind = 'search' AND (?1 = 0 OR n.source_id = ?1) AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2)))
	GROUP BY n.state, n.status HAVING sum(n.targets) > 0 ORDER BY n.state`
	listingCounts = `
	SELECT state, sum(listings) FROM listing_totals n
	WHERE (?1 = 0 OR n.source_id = ?1) AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2))) GROUP BY state`
	companyCounts = `
	SELECT state, companies FROM company_totals n WHERE ?1 = ?1 AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2)))`
	holders = `
	SELECT t.claimed_by, t.id, ifnull(c.name, ''), t.state, coalesce(l.name, k.name, iif(t.kind = 'index', 'index of cities', '')), t.page_current + 1, ifnull(t.heartbeat_at, ''), r.uuid, r.host
	FROM targets t LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories k ON k.id = t.category_id LEFT JOIN listings l ON l.id = t.listing JOIN runs r ON r.id = t.run_id
	WHERE t.status = 'IN_PROGRESS' AND (?1 = 0 OR t.source_id = ?1) AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
	ORDER BY r.id, length(t.claimed_by), t.claimed_by`
	// WAITING is what people are told of a target that is PLANNED again after a first
	// failure and waits for its short backoff.
	troubles = `
	SELECT ifnull(code, 'none'), by_proxy, status, count(*), ifnull(max(error), '') FROM (
		SELECT iif(v.status = 'STUCK', NULL, v.last_error_code) AS code, ` + byProxy + ` AS by_proxy, v.status,
			iif(v.status = 'STUCK', 'its process died ' || v.recoveries || ' times in a row without a new page of it', v.last_error) AS error
		FROM targets v
		WHERE v.kind = 'search' AND v.status IN ('FAILED', 'STUCK', 'PARKED') AND (?1 = 0 OR v.source_id = ?1)
			AND (?2 = '[]' OR v.state IN (SELECT value FROM json_each(?2)))
		UNION ALL SELECT v.last_error_code, ` + byProxy + `, 'WAITING', v.last_error FROM targets v
		WHERE v.kind = 'search' AND v.wait_reason = 'backoff' AND v.not_before IS NOT NULL AND v.status = 'PLANNED' AND (?1 = 0 OR v.source_id = ?1)
			AND (?2 = '[]' OR v.state IN (SELECT value FROM json_each(?2))))
	GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3`
)

// Progress reads the counters that the triggers keep: it costs the same over a
// thousand targets and over a million. Of the scope, source and states count.
func (k *Reader) Progress(ctx context.Context, scope store.Scope) (*Progress, error) {
	r := progressReader{k: k, ctx: ctx, args: []any{scope.SourceID, store.JSONTexts(scope.States)}}
	p := &Progress{Now: k.db.Now(), States: []StateCounts{}, Workers: []Holder{}, Errors: []ErrorCount{}, ETASec: -1, DetailsETASec: -1}
	for _, step := range []func(*Progress) error{r.states, r.found, r.workers, r.errors, r.speed} {
		if err := step(p); err != nil {
			return nil, fmt.Errorf("read progress: %w", err)
		}
	}
	return p, nil
}

type progressReader struct {
	k    *Reader
	ctx  context.Context //nolint:containedctx // lives for one call
	args []any
}

func (r progressReader) each(query string, scan func(*sql.Rows) error) error {
	return r.k.db.Each(r.ctx, query, r.args, scan)
}

func (r progressReader) states(p *Progress) error {
	err := r.each(stateCounts, func(rows *sql.Rows) error {
		var state string
		var status yp.Status
		var n, pages, raw, accepted int64
		if err := rows.Scan(&state, &status, &n, &pages, &raw, &accepted); err != nil {
			return err
		}
		if l := len(p.States); l == 0 || p.States[l-1].State != state {
			p.States = append(p.States, StateCounts{State: state})
		}
		for _, c := range []*Counts{&p.States[len(p.States)-1].Counts, &p.Overall} {
			c.add(status, n)
			c.Pages, c.Raw, c.Accepted = c.Pages+pages, c.Raw+raw, c.Accepted+accepted
		}
		return nil
	})
	for i := range p.States {
		p.States[i].setPercent()
	}
	p.Overall.setPercent()
	return err
}

// retired stands for a status where targets are counted whose city is gone.
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

// found adds listings and companies. A company may lie in a state where nothing
// was searched (a neighbour's), or tell none: it counts in the overall number all the
// same, and in Beyond.
func (r progressReader) found(p *Progress) error {
	err := r.perState(listingCounts, p, func(c *Counts) *int64 { return &c.Listings })
	if err != nil {
		return err
	}
	err = r.perState(companyCounts, p, func(c *Counts) *int64 { return &c.Companies })
	p.Beyond = p.Overall.Companies
	for _, s := range p.States {
		p.Beyond -= s.Companies
	}
	return err
}

func (r progressReader) perState(query string, p *Progress, field func(*Counts) *int64) error {
	return r.each(query, func(rows *sql.Rows) error {
		var state string
		var n int64
		if err := rows.Scan(&state, &n); err != nil {
			return err
		}
		*field(&p.Overall) += n
		for i := range p.States {
			if p.States[i].State == state {
				*field(&p.States[i].Counts) += n
			}
		}
		return nil
	})
}

func (r progressReader) workers(p *Progress) error {
	return r.each(holders, func(rows *sql.Rows) error {
		var h Holder
		var beat, uuid, host string
		err := rows.Scan(&h.Worker, &h.TargetID, &h.City, &h.State, &h.Category, &h.Page, &beat, &uuid, &host)
		if err != nil {
			return err
		}
		h.AgeSec = -1
		if h.Heartbeat, err = yp.ParseTime(beat); err == nil {
			h.AgeSec = p.Now.Sub(h.Heartbeat).Seconds()
		}
		h.Alive, err = store.Alive(r.k.db.Path(), uuid)
		p.Workers = append(p.Workers, h)
		return err
	})
}

func (r progressReader) errors(p *Progress) error {
	return r.each(troubles, func(rows *sql.Rows) error {
		var e ErrorCount
		if err := rows.Scan(&e.Code, &e.ByProxy, &e.Status, &e.Targets, &e.Example); err != nil {
			return err
		}
		p.Errors = append(p.Errors, e)
		return nil
	})
}
