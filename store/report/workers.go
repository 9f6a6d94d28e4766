package report

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// WorkerName is a worker as people see it, scanned from its id: see yp.WorkerText.
type WorkerName string

// Scan implements sql.Scanner.
func (w *WorkerName) Scan(id any) error {
	*w = WorkerName(yp.WorkerText(fmt.Sprint(id)))
	return nil
}

// WorkerState says whether a worker works.
type WorkerState string

// The states of a worker.
const (
	WorkerAlive  WorkerState = "alive"
	WorkerSilent WorkerState = "silent" // it has not ended, and nothing is heard of it
	WorkerEnded  WorkerState = "ended"
)

// Worker is one worker of a run, with what it holds now.
type Worker struct {
	Run       int64       `json:"run"`
	Name      WorkerName  `json:"worker"`
	State     WorkerState `json:"state"`
	Why       string      `json:"why,omitempty"` // it is silent, or has ended
	Source    string      `json:"source,omitempty"`
	TargetID  int64       `json:"target_id,omitempty"` // 0 = it has none
	Kind      yp.Kind     `json:"kind,omitempty"`
	City      string      `json:"city,omitempty"`
	Place     string      `json:"target_state,omitempty"`
	Category  string      `json:"category,omitempty"` // of a detail: its listing
	Page      int         `json:"page,omitempty"`     // in hand
	Pages     int64       `json:"pages"`
	Listings  int64       `json:"listings"`
	Rate      *float64    `json:"pages_per_second"` // over the span; null = unknown
	RateSpan  *float64    `json:"span_seconds"`     // the last minute, or less where it works for less; of one that has ended, all its time
	Claims    int64       `json:"claims"`
	Retries   int64       `json:"claim_retries"`
	Memory    int64       `json:"rss_bytes"` // of its process, at the last heartbeat; 0 = unknown
	CPUMS     *int64      `json:"cpu_ms"`    // processor time of its process until then; null = unknown
	Started   time.Time   `json:"started_at"`
	Heartbeat time.Time   `json:"heartbeat_at"`
	Stopped   time.Time   `json:"stopped_at"`
	Worker    string      `json:"worker_id"` // as its log is named
	Host      string      `json:"host"`
	PID       int         `json:"pid"`
}

// RunWorkers is a run with its workers.
type RunWorkers struct {
	Run
	Workers []Worker `json:"workers"`
}

const (
	workerRuns = runColumns + `
	WHERE r.outcome = 'running' OR r.id IN (SELECT x.id FROM runs x WHERE x.outcome <> 'running' ORDER BY x.id DESC LIMIT ?1) ORDER BY r.id DESC`
	workersOf = `
	SELECT w.run_id, w.worker_id, ifnull(s.name, ''), ifnull(t.id, 0), ifnull(t.kind, ''), ifnull(c.name, ''), ifnull(t.state, ''), coalesce(l.name, g.name, ''),
		ifnull(t.page_current + 1, 0), w.pages, w.listings, w.claims, w.claim_retries, w.rss_bytes, w.cpu_ms,
		w.started_at, w.heartbeat_at, w.stopped_at, w.worker_id, w.host, w.pid
	FROM workers w JOIN runs r ON r.id = w.run_id
	LEFT JOIN targets t INDEXED BY targets_held ON t.status = 'IN_PROGRESS' AND t.run_id = w.run_id AND t.claimed_by = w.worker_id
	LEFT JOIN sources s ON s.id = ifnull(t.source_id, r.source_id)
	LEFT JOIN cities c ON c.id = t.city_id LEFT JOIN categories g ON g.id = t.category_id LEFT JOIN listings l ON l.id = t.listing
	WHERE w.run_id IN (SELECT value FROM json_each(?1)) ORDER BY w.run_id DESC, length(w.worker_id), w.worker_id`
	// A page is a request that was answered with one that could be read.
	workerRates = `
	SELECT a.run_id, a.worker_id, count(*)
	FROM sources s CROSS JOIN requests r ON r.source_id = s.id CROSS JOIN crawl_attempts a ON a.target_id = r.target_id AND a.claim_token = r.claim_token
	WHERE r.finished_at > ?1 AND r.proxy_failed = 0 AND r.type IN ('listing', 'detail', 'state_index', 'city_index') AND r.outcome = 'success' GROUP BY 1, 2`

	// rateSpan is the time over which the pages of a worker are counted.
	rateSpan = time.Minute
)

// Workers lists the runs that have not ended, and the last ones that have (ended of them, -1 =
// all that are kept), the newest first, each with its workers.
func (k *Reader) Workers(ctx context.Context, ended int) ([]RunWorkers, error) {
	const what = "list workers"
	runs, err := list(ctx, k, what, workerRuns, []any{ended}, func(r *RunWorkers) []any { return r.columns() })
	if err != nil {
		return nil, err
	}
	ids, by := make([]int64, len(runs)), map[int64]*RunWorkers{}
	for i := range runs {
		r := &runs[i]
		r.Workers = []Worker{}
		k.judge(&r.Run)
		ids[i], by[r.ID] = r.ID, r
	}
	workers, err := list(ctx, k, what, workersOf, []any{store.JSONInts(ids)}, func(w *Worker) []any {
		return []any{
			&w.Run, &w.Name, &w.Source, &w.TargetID, &w.Kind, &w.City, &w.Place, &w.Category,
			&w.Page, &w.Pages, &w.Listings, &w.Claims, &w.Retries, &w.Memory, &w.CPUMS,
			at(&w.Started), at(&w.Heartbeat), at(&w.Stopped), &w.Worker, &w.Host, &w.PID,
		}
	})
	if err != nil {
		return nil, err
	}
	rates, now, err := k.workerRates(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		r := by[w.Run]
		w.State, w.Why = r.State, r.Why
		if w.State != WorkerEnded && !w.Stopped.IsZero() {
			w.State, w.Why = WorkerEnded, "there was no more work for it"
		}
		w.rate(now, rates[rateKey{w.Run, w.Worker}])
		r.Workers = append(r.Workers, w)
	}
	return runs, nil
}

// runState reports whether a run works. Its process holds a lock while it lives; of another
// machine's only the heartbeat is known.
func (k *Reader) runState(r *Run) (WorkerState, string) {
	quiet := k.db.Now().Sub(r.Heartbeat)
	alive, here := k.alive(r.UUID), r.Host == k.host
	switch {
	case r.Outcome == "dead":
		return WorkerEnded, "its process died; its targets were recovered"
	case r.Outcome != "running":
		return WorkerEnded, "its run ended: " + r.Outcome
	case (alive || !here) && quiet <= store.SilentElsewhere:
		return WorkerAlive, ""
	case alive:
		return WorkerSilent, "its process is alive, but has sent no heartbeat since " + yp.ClockTime(k.db.Now(), r.Heartbeat)
	case here:
		return WorkerSilent, "its process is dead; the next run recovers its targets"
	}
	return WorkerSilent, "its machine has sent no heartbeat since " + yp.ClockTime(k.db.Now(), r.Heartbeat)
}

// rateKey is a worker of a run.
type rateKey struct {
	run    int64
	worker string
}

// workerRates counts the pages that each worker read within the span until now.
func (k *Reader) workerRates(ctx context.Context) (pages map[rateKey]int64, now time.Time, err error) {
	now, pages = k.db.Now(), map[rateKey]int64{}
	err = k.db.Each(ctx, workerRates, []any{yp.FormatTime(now.Add(-rateSpan))}, func(rows *sql.Rows) error {
		var key rateKey
		var n int64
		err := rows.Scan(&key.run, &key.worker, &n)
		pages[key] = n
		return err
	})
	if err != nil {
		return nil, now, fmt.Errorf("count the pages of workers: %w", err)
	}
	return pages, now, nil
}

// rate sets how many pages a second it reads. Of one that is silent it isn't known.
func (w *Worker) rate(now time.Time, pages int64) {
	span := min(now.Sub(w.Started), rateSpan)
	switch w.State {
	case WorkerSilent:
		return
	case WorkerEnded:
		pages = w.Pages
		if span = w.Heartbeat.Sub(w.Started); !w.Stopped.IsZero() {
			span = w.Stopped.Sub(w.Started)
		}
	}
	if span < time.Second {
		return
	}
	rate := float64(pages) / span.Seconds()
	w.Rate, w.RateSpan = &rate, new(span.Seconds())
}
