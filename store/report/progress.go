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

// Counts are targets by status, with the pages and listings behind them.
type Counts struct {
	Percent    float64 `json:"percent"` // of the targets, DONE or PARKED
	Targets    int64   `json:"targets"`
	Planned    int64   `json:"planned"`
	InProgress int64   `json:"in_progress"`
	Done       int64   `json:"done"`
	Failed     int64   `json:"failed"`
	Stuck      int64   `json:"stuck"`
	Parked     int64   `json:"parked"`
	Retired    int64   `json:"retired"` // their city is no longer in the source's index; not part of Targets
	Pages      int64   `json:"pages"`   // of the current crawls
	Raw        int64   `json:"raw"`
	Accepted   int64   `json:"accepted"`
	Listings   int64   `json:"listings"`  // distinct, first seen in this state
	Dropped    int64   `json:"dropped"`   // of them: their source no longer shows them
	Companies  *int64  `json:"companies"` // whose lead listing is in this state; null = of one of several sources: companies are of all
}

// Both have the columns of Counts: what is counted of ?1 is counted of all where there is no other source.
const (
	scopeCounts = `
	SELECT ifnull(100.0 * sum(iif(status IN ('DONE', 'PARKED'), targets, 0))
			/ nullif(sum(iif(status = 'RETIRED', 0, targets)), 0), 0.0) AS percent,
		ifnull(sum(iif(status = 'RETIRED', 0, targets)), 0) AS targets,
		ifnull(sum(iif(status = 'PLANNED', targets, 0)), 0) AS planned,
		ifnull(sum(iif(status = 'IN_PROGRESS', targets, 0)), 0) AS in_progress,
		ifnull(sum(iif(status = 'DONE', targets, 0)), 0) AS done,
		ifnull(sum(iif(status = 'FAILED', targets, 0)), 0) AS failed,
		ifnull(sum(iif(status = 'STUCK', targets, 0)), 0) AS stuck,
		ifnull(sum(iif(status = 'PARKED', targets, 0)), 0) AS parked,
		ifnull(sum(iif(status = 'RETIRED', targets, 0)), 0) AS retired,
		ifnull(sum(pages), 0) AS pages, ifnull(sum(raw), 0) AS raw, ifnull(sum(accepted), 0) AS accepted, 0, 0, NULL
	FROM (
		SELECT iif(t.retired_at IS NULL, t.status, 'RETIRED') AS status, count(*) AS targets, sum(t.page_current) AS pages,
			sum(t.raw_count) AS raw, sum(t.accepted_count) AS accepted
		FROM targets t
		WHERE (?1 = 0 OR t.source_id = ?1)
			AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
			AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
			AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
			AND (t.population >= ?5 OR t.kind = 'index')
			AND t.kind IN (SELECT value FROM json_each(?6))
		GROUP BY 1)`
	overallCounts = `
	SELECT ifnull(100.0 * sum(iif(status IN ('DONE', 'PARKED'), targets, 0))
			/ nullif(sum(iif(status = 'RETIRED', 0, targets)), 0), 0.0) AS percent,
		ifnull(sum(iif(status = 'RETIRED', 0, targets)), 0) AS targets,
		ifnull(sum(iif(status = 'PLANNED', targets, 0)), 0) AS planned,
		ifnull(sum(iif(status = 'IN_PROGRESS', targets, 0)), 0) AS in_progress,
		ifnull(sum(iif(status = 'DONE', targets, 0)), 0) AS done,
		ifnull(sum(iif(status = 'FAILED', targets, 0)), 0) AS failed,
		ifnull(sum(iif(status = 'STUCK', targets, 0)), 0) AS stuck,
		ifnull(sum(iif(status = 'PARKED', targets, 0)), 0) AS parked,
		ifnull(sum(iif(status = 'RETIRED', targets, 0)), 0) AS retired,
		ifnull(sum(pages), 0) AS pages, ifnull(sum(raw), 0) AS raw, ifnull(sum(accepted), 0) AS accepted,
		(SELECT ifnull(sum(listings), 0) FROM listing_totals
			WHERE (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))),
		(SELECT ifnull(sum(dropped), 0) FROM listing_totals
			WHERE (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))),
		iif((?1 = 0 OR NOT EXISTS (SELECT 1 FROM sources WHERE id <> ?1)),
			(SELECT ifnull(sum(companies), 0) FROM company_totals WHERE (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))),
			NULL)
	FROM target_totals
	WHERE kind = 'search' AND (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))`
)

// Count counts the targets of a scope by status. It reads them all: a start of
// a run can afford that, a display that is redrawn can't (see Overall).
func (k *Reader) Count(ctx context.Context, scope store.Scope) (c Counts, err error) {
	_, err = k.one(ctx, "count targets", scopeCounts, scope.Args(), fields(&c)...)
	return c, err
}

// Overall counts the searches of a scope and what they found, by the counters that the triggers keep: it costs the same over a
// thousand targets and over a million. Of the scope, source and states count. A company may lie in a state where nothing was searched
// (a neighbour's), or tell none: it counts here all the same.
func (k *Reader) Overall(ctx context.Context, scope store.Scope) (c Counts, err error) {
	_, err = k.one(ctx, "count targets", overallCounts, placesOf(scope), fields(&c)...)
	return c, err
}

// Progress is all that `progress` tells.
type Progress struct {
	Now     yp.Stamp `json:"now"`
	Overall Counts   `json:"overall"`
	Stages  *Table   `json:"stages"` // a row for each kind of target, in the order in which a crawl comes to them
	States  *Table   `json:"states"`
	Workers *Table   `json:"workers"`             // that hold a target
	Errors  *Table   `json:"errors"`              // of targets in trouble
	Beyond  *int64   `json:"companies_elsewhere"` // of the companies of all: their address is in none of these states, or they give none
	Rate    float64  `json:"pages_per_second"`    // of the runs alive now
	Live    int      `json:"live_runs"`
	Unknown int      `json:"unknown_runs"` // they are silent, and whether their process lives can't be told
	Left             // of runs alive; -1 s without one
	Lately

	// What everything waits for, and until when; zero = until somebody enables the source.
	WaitingFor   string   `json:"waiting_for,omitempty"`
	WaitingUntil yp.Stamp `json:"waiting_until"`

	Details *DetailTotals `json:"details,omitempty"` // where somebody wants some, over all states

	*Figures // nil = not asked for

	Closed   []SourceStatus `json:"-"` // that have something to do, and may not be asked now
	Sources  []string       `json:"-"` // of the runs that live
	Crawling int            `json:"-"` // workers of these runs
	Since    time.Time      `json:"-"` // the first of them began

	PagesLeft PagesLeft `json:"-"` // while a run lives that does not wait

	unseen UnseenRun // the last of Unknown

	shut   bool      // whatever has something to do is of a source that is closed
	opens  time.Time // when the first of those may open; zero = not by itself
	brings Rate      // new listings, by the pages that these read
}

// The parts of Progress. Errors are those that Trouble counts: a listing's page that its source has no more is none.
// WAITING is what people are told of a target that is PLANNED again after a first failure and waits for its short backoff.
var (
	progressStates = Part{
		Name: "states", Show: "state percent done planned pages failed stuck parked in_progress listings companies retired",
		Zeros: "failed stuck parked retired",
		Query: `
	SELECT state,
		ifnull(100.0 * sum(iif(status IN ('DONE', 'PARKED'), targets, 0))
			/ nullif(sum(iif(status = 'RETIRED', 0, targets)), 0), 0.0) AS percent,
		ifnull(sum(iif(status = 'RETIRED', 0, targets)), 0) AS targets,
		ifnull(sum(iif(status = 'PLANNED', targets, 0)), 0) AS planned,
		ifnull(sum(iif(status = 'IN_PROGRESS', targets, 0)), 0) AS in_progress,
		ifnull(sum(iif(status = 'DONE', targets, 0)), 0) AS done,
		ifnull(sum(iif(status = 'FAILED', targets, 0)), 0) AS failed,
		ifnull(sum(iif(status = 'STUCK', targets, 0)), 0) AS stuck,
		ifnull(sum(iif(status = 'PARKED', targets, 0)), 0) AS parked,
		ifnull(sum(iif(status = 'RETIRED', targets, 0)), 0) AS retired,
		ifnull(sum(pages), 0) AS pages, ifnull(sum(raw), 0) AS raw, ifnull(sum(accepted), 0) AS accepted,
		ifnull((SELECT sum(x.listings) FROM listing_totals x WHERE x.state = n.state AND (?1 = 0 OR x.source_id = ?1)), 0) AS listings,
		ifnull((SELECT sum(x.dropped) FROM listing_totals x WHERE x.state = n.state AND (?1 = 0 OR x.source_id = ?1)), 0) AS dropped,
		iif((?1 = 0 OR NOT EXISTS (SELECT 1 FROM sources WHERE id <> ?1)),
			ifnull((SELECT c.companies FROM company_totals c WHERE c.state = n.state), 0), NULL) AS companies
	FROM target_totals n
	WHERE kind = 'search' AND (?1 = 0 OR source_id = ?1) AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
	GROUP BY state HAVING sum(targets) > 0 ORDER BY state`,
	}
	progressStages = Part{
		Name: "stages", Show: "stage targets planned in_progress done failed stuck parked pages retired", Zeros: "failed stuck parked retired",
		Query: `
	SELECT x.value AS stage,
		ifnull(100.0 * sum(iif(status IN ('DONE', 'PARKED'), targets, 0))
			/ nullif(sum(iif(status = 'RETIRED', 0, targets)), 0), 0.0) AS percent,
		ifnull(sum(iif(status = 'RETIRED', 0, targets)), 0) AS targets,
		ifnull(sum(iif(status = 'PLANNED', targets, 0)), 0) AS planned,
		ifnull(sum(iif(status = 'IN_PROGRESS', targets, 0)), 0) AS in_progress,
		ifnull(sum(iif(status = 'DONE', targets, 0)), 0) AS done,
		ifnull(sum(iif(status = 'FAILED', targets, 0)), 0) AS failed,
		ifnull(sum(iif(status = 'STUCK', targets, 0)), 0) AS stuck,
		ifnull(sum(iif(status = 'PARKED', targets, 0)), 0) AS parked,
		ifnull(sum(iif(status = 'RETIRED', targets, 0)), 0) AS retired,
		ifnull(sum(pages), 0) AS pages, ifnull(sum(raw), 0) AS raw, ifnull(sum(accepted), 0) AS accepted
	FROM json_each('["index", "search", "detail"]') x
		LEFT JOIN target_totals n ON n.kind = x.value AND (?1 = 0 OR source_id = ?1)
			AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
	GROUP BY x.key ORDER BY x.key`,
	}
	progressWorkers = Part{
		Name: "workers", Show: "worker target page heartbeat_at state", Lives: true,
		Query: `
	SELECT worker, state, host, target_id, target, page, waits_for, pages, listings, claims, claim_retries,
		round(100.0 * claim_retries / nullif(claims, 0), 1) AS retries_percent, memory_bytes, started_at, heartbeat_at,
		source, run, worker_id, pid, uuid, host, heartbeat_at
	FROM v_run_workers w
	WHERE state = 'running'
		AND (?1 = 0 OR source = (SELECT name FROM sources WHERE id = ?1))
		AND (?2 = '[]' OR EXISTS (SELECT 1 FROM targets t WHERE t.id = w.target_id AND t.state IN (SELECT value FROM json_each(?2))))
		AND target_id IS NOT NULL
	ORDER BY run, length(worker_id), worker_id`,
	}
	progressErrors = Part{
		Name: "errors", Show: "error status targets message kind",
		Query: `
	SELECT error, status, count(*) AS targets, max(message) AS message, kind
	FROM (
		SELECT v.kind, iif(v.status = 'STUCK', NULL, v.last_error_code) AS error, v.status,
			iif(v.status = 'STUCK', 'its process died ' || v.recoveries || ' times in a row without a new page of it',
				v.last_error) AS message
		FROM targets v
		WHERE v.kind IN ('index', 'search', 'detail')
			AND v.status IN ('FAILED', 'STUCK', 'PARKED')
			AND v.retired_at IS NULL
			AND (v.kind <> 'detail' OR v.last_error_code IS NOT 'NO_LISTINGS')
			AND (?1 = 0 OR source_id = ?1)
			AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))
		UNION ALL
		SELECT v.kind, v.last_error_code, 'WAITING', v.last_error FROM targets v
		WHERE v.wait_reason = 'backoff'
			AND v.not_before IS NOT NULL
			AND v.status = 'PLANNED'
			AND v.retired_at IS NULL
			AND (?1 = 0 OR source_id = ?1)
			AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2))))
	GROUP BY 1, 2, kind ORDER BY 3 DESC, 1, 2, kind`,
	}
)

// Progress reads counters and indexes alone. Of the scope, source and states count.
func (k *Reader) Progress(ctx context.Context, scope store.Scope) (*Progress, error) {
	p := &Progress{}
	err := k.at(ctx, func(k *Reader) (err error) {
		for part, into := range map[*Part]**Table{&progressStates: &p.States, &progressWorkers: &p.Workers, &progressErrors: &p.Errors} {
			if *into, err = k.table(ctx, *part, scope); err != nil {
				return err
			}
		}
		if err = k.goingOn(ctx, p, scope); err != nil {
			return err
		}
		if p.Overall.Companies == nil {
			return nil
		}
		p.Beyond = new(*p.Overall.Companies)
		for _, row := range p.States.Rows {
			*p.Beyond -= p.States.Value(row, "companies").(int64)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	return p, nil
}

// goingOn reads what Progress and Standing have in common.
func (k *Reader) goingOn(ctx context.Context, p *Progress, scope store.Scope) (err error) {
	p.Now.Time, p.Left.Seconds = k.db.Now(), -1
	if p.Overall, err = k.Overall(ctx, scope); err == nil {
		err = k.speed(ctx, p, scope)
	}
	if err == nil {
		p.Stages, err = k.table(ctx, progressStages, scope)
	}
	if err == nil {
		err = k.lately(ctx, p, scope.SourceID)
	}
	if err != nil {
		return err
	}
	t, err := k.DetailTotals(ctx, scope.SourceID, nil)
	if t != (DetailTotals{}) {
		p.Details = &t
	}
	return err
}

// Stage is a count of the targets of a kind: a column of Stages.
func (p *Progress) Stage(kind yp.Kind, column string) int64 {
	for _, row := range p.Stages.Rows {
		if p.Stages.Value(row, "stage") == string(kind) {
			n, _ := p.Stages.Value(row, column).(int64)
			return n
		}
	}
	return 0
}

// Staged reports whether there are targets of other kinds than searches: then each kind has a row.
func (p *Progress) Staged() bool {
	return p.Stage(yp.KindIndex, "targets")+p.Stage(yp.KindDetail, "targets") > 0
}

// ErrorsShown are the errors as people see them: of searches alone nobody needs to read the kind in each row.
func (p *Progress) ErrorsShown() *Table {
	t := *p.Errors
	if !slices.ContainsFunc(t.Rows, func(row []any) bool { return t.Value(row, "kind") != string(yp.KindSearch) }) {
		t.Show = strings.TrimSuffix(t.Show, " kind")
	}
	return &t
}

// StatesShown are the states as people see them: then companies that are elsewhere, and all.
func (p *Progress) StatesShown() *Table {
	t := *p.States
	t.Rows = slices.Clone(t.Rows)
	if p.Beyond != nil && *p.Beyond > 0 {
		row := slices.Repeat([]any{""}, len(t.Columns))
		row[0], row[slices.Index(t.Columns, "companies")] = "elsewhere", *p.Beyond // a company counts where its own address is
		t.Rows = append(t.Rows, row)
	}
	all := []any{"all"}
	for _, field := range fields(&p.Overall) {
		switch v := field.(type) {
		case *int64:
			all = append(all, *v)
		case *float64:
			all = append(all, *v)
		case **int64:
			if all = append(all, nil); *v != nil {
				all[len(all)-1] = **v
			}
		}
	}
	t.Rows = append(t.Rows, all)
	return &t
}

const (
	liveRuns = `
	SELECT r.uuid, r.host, r.started_at, r.pages, r.listings_new, ifnull(s.name, ''), r.heartbeat_at,
		(SELECT count(*) FROM workers w WHERE w.run_id = r.id AND w.stopped_at IS NULL)
	FROM runs r LEFT JOIN sources s ON s.id = r.source_id
	WHERE r.outcome = 'running' AND (?1 = 0 OR r.source_id = ?1 OR r.source_id IS NULL) ORDER BY r.started_at, r.id`
	holdingRuns = `
	SELECT DISTINCT r.uuid, r.heartbeat_at
	FROM targets t JOIN runs r ON r.id = t.run_id
	WHERE t.status = 'IN_PROGRESS'
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))`
)

// Abandoned reports whether targets of the scope are held by a run that no living process is seen behind.
func (k *Reader) Abandoned(ctx context.Context, scope store.Scope) (bool, error) {
	runs, err := list(ctx, k, "who holds targets", holdingRuns, placesOf(scope),
		func(r *RunHolder) []any { return []any{&r.UUID, at(&r.Heartbeat)} })
	return slices.ContainsFunc(runs, func(r RunHolder) bool {
		alive, unseen := k.alive(r.UUID, r.Heartbeat)
		return !alive && unseen == nil
	}), err
}

// UnseenRun is a run of which nobody knows whether it lives.
type UnseenRun struct {
	Heartbeat time.Time
	Why       error
}

// speed adds up the runs whose process lives, and says when what is left will be done.
func (k *Reader) speed(ctx context.Context, p *Progress, scope store.Scope) error {
	err := k.each(ctx, liveRuns, []any{scope.SourceID}, func(rows *sql.Rows) error {
		var uuid, host, source string
		var started, heartbeat time.Time
		var pages, added int64
		var workers int
		if err := rows.Scan(&uuid, &host, at(&started), &pages, &added, &source, at(&heartbeat), &workers); err != nil || host != k.host {
			return err
		}
		alive, unseen := k.alive(uuid, heartbeat)
		if unseen != nil {
			p.Unknown, p.unseen = p.Unknown+1, UnseenRun{heartbeat, unseen}
		}
		if !alive {
			return nil
		}
		if p.Live++; p.Live == 1 {
			p.Since = started
		}
		if source != "" && !slices.Contains(p.Sources, source) {
			p.Sources = append(p.Sources, source)
		}
		p.Crawling += workers
		p.brings.Of, p.brings.In = p.brings.Of+added, p.brings.In+pages
		if secs := p.Now.Sub(started).Seconds(); secs >= 1 {
			p.Rate += float64(pages) / secs
		}
		return nil
	})
	if err == nil {
		err = k.closed(ctx, p, scope)
	}
	if err != nil || p.Live == 0 || p.WaitingFor != "" {
		return err
	}
	work, err := k.Work(ctx, scope, p.brings)
	if err == nil {
		p.PagesLeft = pagesLeft(work)
		p.Left, err = k.TimeLeft(ctx, p.Since, work)
	}
	return err
}

// closed tells which sources are closed that have something to do, and for what the runs wait
// where all are.
func (k *Reader) closed(ctx context.Context, p *Progress, scope store.Scope) error {
	all, err := k.sourceStatus(ctx, scope)
	busy := slices.DeleteFunc(all, func(s SourceStatus) bool { return !s.busy })
	for _, s := range busy {
		if s.Availability != store.SourceOpen {
			p.Closed = append(p.Closed, s)
		}
	}
	slices.SortStableFunc(p.Closed, func(a, b SourceStatus) int { return a.Until.Compare(b.Until) })
	if len(p.Closed) == 0 || len(p.Closed) < len(busy) {
		return err
	}
	first := p.Closed[max(0, slices.IndexFunc(p.Closed, func(s SourceStatus) bool { return !s.Until.IsZero() }))] // that opens by itself
	if p.shut, p.opens = true, first.Until; p.Live > 0 {
		p.WaitingFor, p.WaitingUntil.Time = first.waits(), first.Until
	}
	return err
}

// Figures are what progress tells beside its counters. They are read from the rows themselves.
type Figures struct {
	At       yp.Stamp       `json:"figures_at"` // when they were read
	Of       string         `json:"figures_of"` // what of the file they count
	Coverage CoverageTotals `json:"coverage"`
	Passes   []Pass         `json:"passes"`
}

// Figures reads them. Of the scope, source and states count.
func (k *Reader) Figures(ctx context.Context, scope store.Scope) (f *Figures, err error) {
	f = &Figures{At: yp.Stamp{Time: k.db.Now()}, Of: OfScope(scope)}
	if f.Coverage, err = k.CoverageTotals(ctx, scope); err == nil {
		f.Passes, err = k.Passes(ctx, scope)
	}
	return f, err
}

// OfScope says what figures of a scope count.
func OfScope(s store.Scope) string {
	if s.SourceID == 0 && len(s.States)+len(s.CategoryIDs)+len(s.CityIDs)+s.MinPopulation == 0 {
		return "the whole file"
	}
	return "this selection"
}
