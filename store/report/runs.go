package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Run is one invocation of `run`, `details` or `discover`, with what it counted.
type Run struct {
	ID        int64     `json:"run"`
	UUID      string    `json:"uuid"`
	Source    string    `json:"source,omitempty"` // empty = several
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Started   time.Time `json:"started_at"`
	Heartbeat time.Time `json:"heartbeat_at"`
	Finished  time.Time `json:"finished_at"` // of one that was killed: when that was noticed
	Outcome   string    `json:"outcome"`
	Pages     int64     `json:"pages"` // committed, of every kind
	Targets   int64     `json:"targets"`
	New       int64     `json:"listings_new"`
	Rejected  int64     `json:"listings_rejected"` // once for each page that shows one
	Dropped   int64     `json:"listings_dropped"`
	Restored  int64     `json:"listings_restored"`
	Requests  int64     `json:"requests"`
	Command   string    `json:"command"`

	State     WorkerState `json:"state"`
	Why       string      `json:"why,omitempty"` // it is silent, or has ended
	Seconds   float64     `json:"seconds"`       // that it took, or takes so far; of one that was killed, to its last heartbeat
	Ended     string      `json:"ended"`         // how, for people
	ExitCodes []int       `json:"exit_codes"`    // one of them; empty = it has not ended, or was killed
}

const runColumns = `SELECT r.id, r.uuid, ifnull(s.name, ''), r.host, r.pid, r.started_at, r.heartbeat_at, r.finished_at, r.outcome, r.pages, r.targets,
		r.listings_new, r.listings_rejected, r.listings_dropped, r.listings_restored, r.requests, r.command
	FROM runs r LEFT JOIN sources s ON s.id = r.source_id `

func (r *Run) columns() []any {
	return []any{
		&r.ID, &r.UUID, &r.Source, &r.Host, &r.PID, at(&r.Started), at(&r.Heartbeat), at(&r.Finished), &r.Outcome, &r.Pages, &r.Targets,
		&r.New, &r.Rejected, &r.Dropped, &r.Restored, &r.Requests, &r.Command,
	}
}

// outcomes says how a run ended that wrote down how, and with which exit code.
var outcomes = map[string]struct {
	text  string
	codes []int
}{
	"done":        {"all due work was done", []int{0, 3}},
	"interrupted": {"it was interrupted", []int{130}},
	"budget":      {"a budget was used up", []int{4}},
	"error":       {"an error", []int{1}},
	"blocked":     {"its source was closed", []int{5}},
	"no_proxies":  {"no proxy was left", []int{6}},
	"layout":      {"layout alarm", []int{7}},
}

// judge says how the run stands.
func (k *Reader) judge(r *Run) {
	r.State, r.Why = k.runState(r)
	until, o := r.Finished, outcomes[r.Outcome]
	r.Ended, r.ExitCodes = o.text, append([]int{}, o.codes...)
	switch {
	case r.Outcome == "dead", r.Outcome == "running" && r.State == WorkerSilent && !k.alive(r.UUID):
		r.Ended, until = "killed", r.Heartbeat
	case r.Outcome == "running":
		r.Ended, until = "under way", k.db.Now()
	}
	r.Seconds = max(0, until.Sub(r.Started).Seconds())
}

// RunDetail is what one run did. Its attempts and requests are deleted in time: what was counted of
// them is nil then, and Pruned says which.
type RunDetail struct {
	Run
	Passes       []RunPass     `json:"passes"`
	Pruned       []string      `json:"pruned"`        // what is not there any more, in part or at all: attempts, requests, workers
	Workers      *RunUsage     `json:"workers"`       // null = deleted
	Results      *int64        `json:"results_pages"` // of pages; null = not known any more
	OwnPages     *int64        `json:"detail_pages"`
	IndexPages   *int64        `json:"index_pages"`
	Found        *int64        `json:"listings_found"`   // on its pages; a listing counts on each
	Changed      int64         `json:"listings_changed"` // different ones
	Attempts     []RunAttempts `json:"attempts"`
	Errors       []RunError    `json:"errors"`
	Outcomes     []RunRequests `json:"requests_by_outcome"` // of its targets; those of robots.txt and probes belong to no run
	RequestsKept int64         `json:"requests_kept"`
	Waited       float64       `json:"waited_seconds"` // before the requests that are kept
	Waits        []RunWait     `json:"waits"`
}

// RunPass is a pass that the run began or went on with.
type RunPass struct {
	Source        string    `json:"source"`
	Began         time.Time `json:"began_at"`
	Kinds         []yp.Kind `json:"kinds"`
	States        []string  `json:"states"`     // empty = all
	Cities        int       `json:"cities"`     // how many were named; 0 = all
	Categories    int       `json:"categories"` // likewise
	MinPopulation int       `json:"min_population"`
	Recrawl       *float64  `json:"recrawl_seconds"` // what was crawled so long before or earlier is crawled again; null = what is due
}

// RunUsage is what the workers of a run used.
type RunUsage struct {
	Number  int64  `json:"number"`
	Claims  int64  `json:"claims"`
	Retries int64  `json:"claim_retries"`
	Memory  int64  `json:"rss_bytes"` // the most at a last heartbeat; 0 = unknown
	CPUMS   *int64 `json:"cpu_ms"`    // null = unknown
}

// RunAttempts are the attempts at targets of a kind, by how they ended.
type RunAttempts struct {
	Kind  yp.Kind `json:"kind"`
	Ended string  `json:"ended"`
	Times int64   `json:"attempts"`
}

// RunError is how often attempts failed for one cause.
type RunError struct {
	Code    yp.ErrorCode `json:"error_code"`
	Times   int64        `json:"attempts"`
	Targets int64        `json:"targets"`
}

// RunRequests are requests of a type that ended alike.
type RunRequests struct {
	Type    string        `json:"type"`
	Outcome string        `json:"outcome"`
	Class   yp.ErrorClass `json:"error_class,omitempty"`
	Times   int64         `json:"requests"`
	Bytes   int64         `json:"bytes"`
}

// RunWait is how long requests waited for a reason before they started.
type RunWait struct {
	Reason  string  `json:"reason"`
	Seconds float64 `json:"seconds"`
}

const (
	passesOfRun = `SELECT s.name, x.began_at, x.selection FROM run_passes x JOIN sources s ON s.id = x.source_id WHERE x.run_id = ? ORDER BY s.name`
	usageOfRun  = `SELECT count(*), ifnull(sum(claims), 0), ifnull(sum(claim_retries), 0), ifnull(max(rss_bytes), 0), max(cpu_ms) FROM workers WHERE run_id = ?`
	// A page of a listing that was read is an attempt that is done; of the others the attempt knows, where its process lived to write it.
	attemptsOfRun = `
	SELECT t.kind, a.ended, count(*), iif(t.kind = 'detail', sum(a.ended = 'done'), ifnull(sum(a.pages), 0)), ifnull(sum(a.listings), 0)
	FROM crawl_attempts a CROSS JOIN targets t ON t.id = a.target_id WHERE a.run_id = ? GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2`
	errorsOfRun = `
	SELECT a.error_code, count(*), count(DISTINCT a.target_id)
	FROM crawl_attempts a WHERE a.run_id = ? AND a.ended IN ('failed', 'parked') GROUP BY 1 ORDER BY 2 DESC, 1`
	requestsOfRun = `
	SELECT q.type, q.outcome, ifnull(q.error_class, ''), count(*), sum(q.bytes)
	FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
	WHERE a.run_id = ? AND q.error_class IS NOT 'rate_limited' GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC`
	waitsOfRun = `
	SELECT ifnull(q.wait_reason, 'not said'), sum(q.waited_ms) / 1000.0
	FROM crawl_attempts a CROSS JOIN requests q ON q.target_id = a.target_id AND q.claim_token = a.claim_token
	WHERE a.run_id = ? AND q.waited_ms > 0 GROUP BY 1 ORDER BY 2 DESC`
	changedByRun = `SELECT count(DISTINCT listing) FROM listing_events WHERE run_id = ? AND kind = 'changed'`
	// What a request of the run would be younger than, if none was deleted.
	requestsFrom = `SELECT ifnull((SELECT started_at FROM requests ORDER BY id LIMIT 1), '9999')`
)

// ShowRun says what a run did. The error is a *NotFoundError when there is none of that number.
func (k *Reader) ShowRun(ctx context.Context, id int64) (*RunDetail, error) {
	what := fmt.Sprintf("read run %d", id)
	found, err := list(ctx, k, what, runColumns+`WHERE r.id = ?`, []any{id}, (*Run).columns)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &NotFoundError{What: fmt.Sprintf("no run %d", id)}
	}
	d := &RunDetail{Run: found[0], Pruned: []string{}, Workers: &RunUsage{}}
	k.judge(&d.Run)
	of := []any{id}
	var selections []store.Selection
	d.Passes, err = list(ctx, k, what, passesOfRun, of, func(p *RunPass) []any {
		selections = append(selections, store.Selection{})
		return []any{&p.Source, at(&p.Began), fromJSON(&selections[len(selections)-1])}
	})
	if err != nil {
		return nil, err
	}
	for i := range d.Passes {
		d.Passes[i].of(selections[i])
	}
	if _, err = k.one(ctx, what, usageOfRun, of, fields(d.Workers)...); err != nil {
		return nil, err
	}
	if _, err = k.one(ctx, what, changedByRun, of, &d.Changed); err != nil {
		return nil, err
	}
	if err = k.attemptsOf(ctx, what, d); err != nil {
		return nil, err
	}
	return d, k.requestsOf(ctx, what, d)
}

// attemptsOf reads what the attempts tell: all of them are there if there are as many as the workers claimed.
func (k *Reader) attemptsOf(ctx context.Context, what string, d *RunDetail) (err error) {
	type sums struct {
		RunAttempts
		pages, listings int64
	}
	rows, err := list(ctx, k, what, attemptsOfRun, []any{d.ID}, func(s *sums) []any { return []any{&s.Kind, &s.Ended, &s.Times, &s.pages, &s.listings} })
	if err != nil {
		return err
	}
	var times, own, index, found int64
	d.Attempts = []RunAttempts{}
	for _, s := range rows {
		d.Attempts = append(d.Attempts, s.RunAttempts)
		times += s.Times
		switch s.Kind {
		case yp.KindDetail:
			own += s.pages
		case yp.KindIndex:
			index += s.pages
		default:
			found += s.listings
		}
	}
	switch {
	case d.Workers.Number == 0 && d.Pages > 0:
		d.Workers = nil
		d.Pruned = append(d.Pruned, "workers", "attempts")
	case times < d.Workers.Claims:
		d.Pruned = append(d.Pruned, "attempts")
	default:
		results := max(0, d.Pages-own-index)
		d.Results, d.OwnPages, d.IndexPages, d.Found = &results, &own, &index, &found
	}
	d.Errors, err = list(ctx, k, what, errorsOfRun, []any{d.ID}, fields[RunError])
	return err
}

func (k *Reader) requestsOf(ctx context.Context, what string, d *RunDetail) (err error) {
	if d.Outcomes, err = list(ctx, k, what, requestsOfRun, []any{d.ID}, fields[RunRequests]); err != nil {
		return err
	}
	for _, o := range d.Outcomes {
		d.RequestsKept += o.Times
	}
	d.Requests = max(d.Requests, d.RequestsKept) // of one that was killed: those at its last heartbeat
	if d.Waits, err = list(ctx, k, what, waitsOfRun, []any{d.ID}, fields[RunWait]); err != nil {
		return err
	}
	for _, w := range d.Waits {
		d.Waited += w.Seconds
	}
	var from string
	_, err = k.one(ctx, what, requestsFrom, nil, &from)
	if d.RequestsKept < d.Requests && (from > yp.FormatTime(d.Started.Add(time.Minute)) || slices.Contains(d.Pruned, "attempts")) {
		d.Pruned = append(d.Pruned, "requests")
	}
	return err
}

func (p *RunPass) of(s store.Selection) {
	p.Kinds, p.States, p.Cities, p.Categories, p.MinPopulation = append([]yp.Kind{}, s.Kinds...), append([]string{}, s.States...), len(s.Cities), len(s.Categories), s.Population
	if len(p.Kinds) == 0 {
		p.Kinds = append(p.Kinds, yp.KindSearch)
	}
	if s.Recrawl != nil {
		p.Recrawl = new(s.Recrawl.Seconds())
	}
}

// Text says in words what the pass is over.
func (p RunPass) Text() string {
	parts := []string{"all states"}
	if len(p.States) > 0 {
		parts[0] = strings.Join(p.States, " ")
	}
	if p.Cities > 0 {
		parts = append(parts, yp.Plural(p.Cities, "city"))
	}
	if p.Categories > 0 {
		parts = append(parts, yp.Plural(p.Categories, "category"))
	}
	if p.MinPopulation > 0 {
		parts = append(parts, "cities from "+yp.Thousands(int64(p.MinPopulation))+" inhabitants up")
	}
	if p.Recrawl != nil {
		parts = append(parts, "again what was crawled "+yp.Lasting(time.Duration(*p.Recrawl*float64(time.Second)))+" before or earlier")
	}
	return strings.Join(parts, ", ")
}
