package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Standing is what is going on: who crawls what, or for what everything waits, with how far the
// targets are.
type Standing struct {
	Progress            // without States, Workers and Errors
	NextDue  time.Time  // when something falls due by itself, where nothing is due now; zero = never
	Last     *RunEnding // of the runs that have ended, or died
}

// Lately is how the sources answer, and what slows or holds the work. It counts all states.
type Lately struct {
	Pace     float64 `json:"pages_per_second_5m"` // of the last LookBack, or since the first of the runs alive began
	Requests int64   `json:"requests_1h"`         // those that failed at their proxy say nothing of a source
	Failed   int64   `json:"requests_failed_1h"`
	Hosts    *Table  `json:"hosts"` // held or slowed down
	Paces    *Table  `json:"paces"` // of hosts that were asked a moment ago
	Waits    *Table  `json:"waits"`
}

// RunEnding is how the last run ended.
type RunEnding struct {
	Outcome   string
	Host      string
	At        time.Time // its end, or its last sign of life
	Elsewhere bool      // it says that it runs, on another machine: whether it lives can't be told here
}

const (
	anyHeld = `
	SELECT EXISTS (
		SELECT 1 FROM targets t
		WHERE t.status = 'IN_PROGRESS'
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2))))`
	anyReady = `
	SELECT EXISTS (
		SELECT 1 FROM targets t
		WHERE t.status = 'PLANNED'
			AND t.enabled = 1
			AND t.paused = 0
			AND t.not_before IS NULL
			AND t.retired_at IS NULL
			AND (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2))))`
	// Of each reason the first: the index has them in order.
	firstDue = `
	SELECT min(d)
	FROM (
		SELECT (
			SELECT t.not_before FROM targets t
			WHERE t.wait_reason = x.value
				AND t.not_before IS NOT NULL
				AND t.enabled = 1
				AND t.paused = 0
				AND t.retired_at IS NULL
				AND (?1 = 0 OR t.source_id = ?1)
				AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			ORDER BY t.not_before LIMIT 1) AS d
		FROM json_each('["backoff", "recrawl", "gap"]') x)`
	lastEnding = `
	SELECT r.outcome, r.host, ifnull(r.finished_at, r.heartbeat_at) FROM runs r
	WHERE (?1 = 0 OR r.source_id = ?1 OR r.source_id IS NULL) ORDER BY r.id DESC LIMIT 1`
	hourOfRequests = `
	SELECT count(*), ifnull(sum(r.outcome = 'failure'), 0),
		ifnull(sum(r.outcome = 'success' AND r.type IN ('listing', 'detail', 'state_index', 'city_index') AND r.finished_at > ?3), 0)
	FROM sources s CROSS JOIN requests r ON r.source_id = s.id
	WHERE (?1 = 0 OR s.id = ?1)
		AND r.proxy_failed = 0
		AND r.finished_at > ?2
		AND r.type <> 'robots'
		AND r.error_class IS NOT 'rate_limited'`
	// What waits for its next crawl, or for a closed source, is said elsewhere.
	waitsNow = `
	SELECT reason, sum(targets) AS targets, min(next_at) AS next_at, iif(min(kind) = max(kind), min(kind), NULL) AS kind FROM v_waits
	WHERE reason IN ('backoff', 'gap', 'paused', 'disabled')
		AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
	GROUP BY reason
	UNION ALL
	SELECT reason, NULL, NULL, NULL FROM v_worker_waits
	WHERE (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))`
)

// Standing reads what is going on, by counters and indexes alone. Of the scope, source and
// states count.
func (k *Reader) Standing(ctx context.Context, scope store.Scope) (out *Standing, err error) {
	err = k.at(ctx, func(k *Reader) error {
		out, err = k.standingNow(ctx, scope)
		return err
	})
	return out, err
}

func (k *Reader) standingNow(ctx context.Context, scope store.Scope) (*Standing, error) {
	s := &Standing{}
	err := k.db.InPlace()
	if err == nil {
		err = k.goingOn(ctx, &s.Progress, scope)
	}
	if err == nil && s.Live == 0 {
		s.Last, err = k.lastEnding(ctx, scope)
	}
	if err == nil {
		err = k.waits(ctx, s, placesOf(scope))
	}
	if err != nil {
		return nil, fmt.Errorf("read what is going on: %w", err)
	}
	return s, nil
}

// lastEnding reads how the last run ended; nil = there was none.
func (k *Reader) lastEnding(ctx context.Context, scope store.Scope) (*RunEnding, error) {
	var e RunEnding
	found, err := k.one(ctx, "read the last run", lastEnding, []any{scope.SourceID}, &e.Outcome, &e.Host, at(&e.At))
	if !found {
		return nil, err
	}
	e.Elsewhere = e.Outcome == "running" && e.Host != k.host
	return &e, err
}

// waits reads what keeps those who could work from it.
func (k *Reader) waits(ctx context.Context, s *Standing, args []any) (err error) {
	var held, ready bool
	if _, err = k.one(ctx, "look for what is held", anyHeld, args, &held); err != nil || held {
		return err
	}
	if _, err = k.one(ctx, "look for work", anyReady, args, &ready); err == nil && !ready {
		_, err = k.one(ctx, "look for what is due next", firstDue, args, at(&s.NextDue))
		s.NextDue = s.whenOpen(s.NextDue)
	}
	return err
}

// whenOpen is when something that falls due then may be crawled: not before a source is open; zero = not by itself.
func (p *Progress) whenOpen(due time.Time) time.Time {
	switch {
	case !p.shut || due.IsZero() || due.After(p.opens) && !p.opens.IsZero():
		return due
	}
	return p.opens
}

// lately reads how sources answer, after speed.
func (k *Reader) lately(ctx context.Context, p *Progress, sourceID int64) (err error) {
	from, pages := p.Now.Add(-LookBack), int64(0)
	if p.Since.After(from) {
		from = p.Since
	}
	args := []any{sourceID, yp.FormatTime(p.Now.Add(-time.Hour)), yp.FormatTime(from)}
	if _, err = k.one(ctx, "count requests", hourOfRequests, args, &p.Requests, &p.Failed, &pages); err != nil {
		return err
	}
	p.Pace = float64(pages) / max(p.Now.Sub(from).Seconds(), 1)
	of := store.Scope{SourceID: sourceID}
	if p.Hosts, err = k.table(ctx, hostsNow, of); err == nil {
		p.Paces, err = k.table(ctx, pacesNow, of)
	}
	if err == nil {
		p.Waits, err = k.table(ctx, Part{Name: "waits", Query: waitsNow}, of)
	}
	return err
}

// indexTrouble counts the indexes that did not end as they should.
func (p *Progress) indexTrouble() Trouble {
	t := Trouble{Failed: p.Stage(yp.KindIndex, "failed"), Parked: p.Stage(yp.KindIndex, "parked"), Stuck: p.Stage(yp.KindIndex, "stuck")}
	t.Indexes = t.sum()
	return t
}

// Troubled reports whether somebody should look: a source is closed or slowed down, more requests
// fail than those of a healthy source (2 %), or targets are FAILED, STUCK or PARKED.
func (s *Standing) Troubled() bool {
	o := s.Overall
	return len(s.Closed) > 0 || o.Failed+o.Stuck+o.Parked+s.indexTrouble().sum() > 0 || 50*s.Failed > s.Requests ||
		slices.ContainsFunc(s.Hosts.Rows, func(h []any) bool { return s.Hosts.Value(h, "delay_ms") != nil })
}
