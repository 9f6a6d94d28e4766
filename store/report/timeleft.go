package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const (
	// SpeedEnds is from how many ends the time left is told: enough to even out, few
	// enough to forget a wait soon.
	SpeedEnds = 100
	// LookBack bounds the search for ends.
	LookBack = 15 * time.Minute
	// Silence is how long at least nothing must end before the time left is unknown.
	Silence = 30 * time.Second
)

// TimeLeft is how long the rest takes at the speed of the last ends: n of them within span,
// the last of them since ago. ok is false when that can't be told: too few have ended, or
// none for several times as long as usual.
func TimeLeft(n, left int64, span, since time.Duration) (d time.Duration, ok bool) {
	if n < 1 || span <= 0 {
		return 0, false
	}
	mean := span / time.Duration(n)
	if since > max(Silence, 4*mean) {
		return 0, false
	}
	return max(time.Duration(left)*mean-since, 0), true
}

const (
	liveRuns = `
	SELECT r.uuid, r.host, r.started_at, r.pages FROM runs r
	WHERE r.outcome = 'running' AND (?1 = 0 OR r.source_id = ?1 OR r.source_id IS NULL) AND ?2 = ?2`
	// A target that is tried again in minutes has not ended.
	lastEnds    = ends + `t.kind = 'search' AND (a.ended IN ('done', 'parked') OR a.ended = 'failed' AND t.status = 'FAILED')` + newestEnds
	lastDetails = ends + `t.kind = 'detail' AND a.ended = 'done'` + newestEnds
	ends        = `
	SELECT a.finished_at FROM crawl_attempts a INDEXED BY crawl_attempts_by_end CROSS JOIN targets t ON t.id = a.target_id
	WHERE a.finished_at IS NOT NULL AND a.finished_at > ?3 AND `
	newestEnds = ` AND ` + placesOn + ` ORDER BY a.finished_at DESC LIMIT ?4`
	// The sources that have targets or details to do, and what closes them.
	closedSources = `
	SELECT g.state, g.until, ifnull(g.reason, '') FROM v_source_availability g
	WHERE (?1 = 0 OR g.source_id = ?1) AND (EXISTS (
		SELECT 1 FROM target_totals n WHERE n.kind IN ('search', 'detail') AND n.source_id = g.source_id AND n.status IN ('PLANNED', 'IN_PROGRESS') AND n.targets > 0
			AND (?2 = '[]' OR n.state IN (SELECT value FROM json_each(?2)))))
	ORDER BY g.until`
)

// progressSpeed adds up the runs whose process lives, and tells when what is left will be done.
func (k *Reader) progressSpeed(ctx context.Context, p *Progress, args []any) error {
	err := k.db.Each(ctx, liveRuns, args, func(rows *sql.Rows) error {
		var uuid, host string
		var started time.Time
		var pages int64
		if err := rows.Scan(&uuid, &host, at(&started), &pages); err != nil || host != k.host || !k.alive(uuid) {
			return err
		}
		if p.Live++; p.Live == 1 || started.Before(p.began) {
			p.began = started
		}
		if secs := p.Now.Sub(started).Seconds(); secs >= 1 {
			p.Rate += float64(pages) / secs
		}
		return nil
	})
	if err != nil || p.Live == 0 {
		return err
	}
	if err := k.closed(ctx, p, args); err != nil || p.WaitingFor != "" {
		return err
	}
	p.ETASec, err = k.timeLeft(ctx, lastEnds, p, args, p.Overall.Planned+p.Overall.InProgress)
	return err
}

// closed tells for what all sources wait that have something to do.
func (k *Reader) closed(ctx context.Context, p *Progress, args []any) error {
	open, why := 0, ""
	var until time.Time
	err := k.db.Each(ctx, closedSources, args, func(rows *sql.Rows) error {
		var gate store.GateState
		var end time.Time
		var reason string
		err := rows.Scan(&gate, at(&end), &reason)
		if gate == store.GateOpen {
			open++
		}
		if why == "" || until.IsZero() { // the first that opens by itself
			why, until = fmt.Sprintf("the source is %s: %s", gate, ReasonText(reason)), end
		}
		return err
	})
	if err == nil && open == 0 {
		p.WaitingFor, p.WaitingUntil = why, until
	}
	return err
}

// timeLeft is the time for so many in seconds, from when the last ones ended; -1 = unknown.
func (k *Reader) timeLeft(ctx context.Context, query string, p *Progress, args []any, left int64) (float64, error) {
	if left == 0 {
		return 0, nil
	}
	from := p.Now.Add(-LookBack)
	if p.began.After(from) { // what an earlier run did says nothing: nobody crawled between the two
		from = p.began
	}
	ends, err := list(ctx, k, "read the last ends", query, append(args[:2:2], yp.FormatTime(from), SpeedEnds), func(t *time.Time) []any { return []any{at(t)} })
	if err != nil || len(ends) == 0 {
		return -1, err
	}
	last, n := ends[0], len(ends)-1
	if d, ok := TimeLeft(int64(n), left, last.Sub(ends[n]), p.Now.Sub(last)); ok {
		return d.Seconds(), nil
	}
	return -1, nil
}
