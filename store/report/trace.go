package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ypcrawl/store"
)

// Trace is what is known of the attempts at one target.
type Trace struct {
	*TargetDetail
	Now      time.Time      `json:"now"`
	Earlier  int            `json:"earlier_attempts"` // recorded, and not among these
	Attempts []TraceAttempt `json:"attempts"`         // newest last
}

// TraceAttempt is one claim of the target, from its start to its outcome.
type TraceAttempt struct {
	Number     int            `json:"attempt_number"`
	Token      int64          `json:"claim_token"`
	Worker     string         `json:"worker_id"` // as its log is named
	Name       WorkerName     `json:"worker"`
	Host       string         `json:"host"`
	Run        string         `json:"run"`
	Started    time.Time      `json:"started_at"`
	Finished   time.Time      `json:"finished_at"`
	DurationMS *int64         `json:"duration_ms"`
	Ended      store.Ended    `json:"ended"` // or "running"
	Code       string         `json:"error_code,omitempty"`
	Message    string         `json:"error_message,omitempty"`
	HTTPStatus int            `json:"http_status,omitempty"` // of the last answer
	Proxy      string         `json:"proxy,omitempty"`
	Identity   string         `json:"identity,omitempty"`
	UserAgent  string         `json:"user_agent,omitempty"` // as it was sent
	PageBefore int            `json:"page_before"`          // last page committed when it began
	Pages      *int64         `json:"pages"`                // null where only its process knew
	Listings   *int64         `json:"listings"`
	Upserted   *int64         `json:"upserted"`
	Changed    *int64         `json:"changed"`
	Bytes      *int64         `json:"bytes"`
	BackoffMS  *int64         `json:"backoff_delay_ms"`
	Steps      []store.Step   `json:"steps"`
	HasSteps   bool           `json:"has_steps"` // false: its process ended before it could write them
	Dropped    int            `json:"steps_dropped"`
	Requests   []TraceRequest `json:"requests"` // those that are kept: older ones are pruned

	metadata []byte
}

// TraceRequest is one request of an attempt.
type TraceRequest struct {
	Page        int       `json:"page,omitempty"`
	Correlation string    `json:"correlation_id"`
	Retry       int       `json:"retry_seq"`
	Type        string    `json:"type"`
	URL         string    `json:"url"`
	Started     time.Time `json:"started_at"`
	Finished    time.Time `json:"finished_at"`
	WaitedMS    int64     `json:"waited_ms"`
	WaitReason  string    `json:"wait_reason,omitempty"`
	Outcome     string    `json:"outcome"`
	Class       string    `json:"error_class,omitempty"`
	HTTPStatus  int       `json:"http_status,omitempty"`
	LatencyMS   int64     `json:"latency_ms"`
	ParseOK     *bool     `json:"parse_ok"`
	Results     *int64    `json:"result_count"`
	Bytes       int64     `json:"bytes"`
	Proxy       string    `json:"proxy,omitempty"`
	ProxyFailed bool      `json:"proxy_failed"` // the proxy itself: says nothing about the source
	Identity    string    `json:"identity,omitempty"`
	Via         string    `json:"via"`
}

const (
	countAttempts = `SELECT count(*) FROM crawl_attempts WHERE target_id = ?`
	lastAttempts  = `
	SELECT a.attempt_number, a.claim_token, a.worker_id, a.worker_id, r.host, r.uuid, a.started_at, a.finished_at, a.duration_ms, a.ended,
		ifnull(a.error_code, ''), ifnull(a.error_message, ''), ifnull(a.http_status, 0), ifnull(a.proxy, ''), ifnull(a.identity, ''), ifnull(a.user_agent, ''),
		a.page_before, a.pages, a.listings, a.upserted, a.changed, a.bytes, a.backoff_delay_ms, a.metadata
	FROM crawl_attempts a JOIN runs r ON r.id = a.run_id
	WHERE a.target_id = ?1 ORDER BY a.claim_token DESC LIMIT ?2`
	attemptRequests = `
	SELECT ifnull(page, 0), correlation_id, retry_seq, type, url, started_at, finished_at, waited_ms, ifnull(wait_reason, ''), outcome,
		ifnull(error_class, ''), ifnull(http_status, 0), latency_ms, parse_ok, result_count, bytes, ifnull(proxy, ''), proxy_failed, ifnull(identity, ''), via
	FROM requests WHERE target_id = ?1 AND claim_token = ?2 ORDER BY started_at, id`
)

// Trace reads the last attempts at a target, at most so many of them (0 = all),
// with their steps and requests. The error wraps sql.ErrNoRows when there is no
// such target.
func (k *Reader) Trace(ctx context.Context, id int64, attempts int) (*Trace, error) {
	target, err := k.Target(ctx, id)
	if err != nil {
		return nil, err
	}
	t, all, what := &Trace{Now: k.db.Now(), TargetDetail: target}, 0, fmt.Sprintf("trace target %d", id)
	if _, err := k.one(ctx, what, countAttempts, []any{id}, &all); err != nil {
		return nil, err
	}
	t.Attempts, err = list(ctx, k, what, lastAttempts, []any{id, atMost(attempts)}, func(a *TraceAttempt) []any {
		return []any{
			&a.Number, &a.Token, &a.Worker, &a.Name, &a.Host, &a.Run, at(&a.Started), at(&a.Finished), &a.DurationMS, &a.Ended,
			&a.Code, &a.Message, &a.HTTPStatus, &a.Proxy, &a.Identity, &a.UserAgent,
			&a.PageBefore, &a.Pages, &a.Listings, &a.Upserted, &a.Changed, &a.Bytes, &a.BackoffMS, &a.metadata,
		}
	})
	slices.Reverse(t.Attempts)
	t.Earlier = max(0, all-len(t.Attempts))
	for i := range t.Attempts {
		a := &t.Attempts[i]
		a.readSteps()
		a.Requests, err = list(ctx, k, what, attemptRequests, []any{id, a.Token}, fields[TraceRequest])
		if err != nil {
			return nil, err
		}
	}
	return t, err
}

// readSteps reads crawl_attempts.metadata. What is no list of steps counts as none:
// the requests still tell what was done.
func (a *TraceAttempt) readSteps() {
	var steps store.Trace
	if a.Steps = []store.Step{}; json.Unmarshal(a.metadata, &steps) != nil {
		return
	}
	a.HasSteps, a.Dropped = true, steps.Dropped
	if steps.Steps != nil {
		a.Steps = steps.Steps
	}
}
