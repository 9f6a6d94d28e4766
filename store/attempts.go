package store

import (
	"cmp"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// AttemptKey names an attempt: the target and the token of its claim.
type AttemptKey struct{ TargetID, Token int64 }

// Attempt is what one claim of a target did, as its row tells it at the end.
type Attempt struct {
	HTTPStatus int    // of the last answer
	Proxy      string // without its password
	Identity   string
	UserAgent  string // as it was sent
	Pages      int    // committed
	Listings   int    // found on them
	Upserted   int    // of them written
	Changed    int    // of them new or changed
	Bytes      int64  // received
	Trace      Trace
	StartedAt  time.Time
}

// Trace lists the steps of an attempt, beside its requests.
type Trace struct {
	Steps   []Step `json:"steps"`
	Dropped int    `json:"dropped"` // steps beyond maxSteps
}

// Step is one thing that an attempt did, and why.
type Step struct {
	At     string `json:"at"`
	Event  string `json:"event"`
	Page   int    `json:"page,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// maxSteps bounds a trace: two steps a page of the deepest target.
const maxSteps = 256

// Add notes a step.
func (t *Trace) Add(at time.Time, event string, page int, detail string) {
	if len(t.Steps) == maxSteps {
		t.Dropped++
		return
	}
	t.Steps = append(t.Steps, Step{At: yp.FormatTime(at), Event: event, Page: page, Detail: yp.Clean(detail)})
}

// text is the trace as its row keeps it: always with a list, also an empty one.
func (t Trace) text() string {
	if t.Steps == nil {
		t.Steps = []Step{}
	}
	return JSON(t)
}

// Ended says how an attempt ended.
type Ended string

// The ends of an attempt.
const (
	EndedDone      Ended = "done"
	EndedFailed    Ended = "failed"
	EndedParked    Ended = "parked"
	EndedReleased  Ended = "released"  // handed back: the run stops, or the host is held
	EndedRecovered Ended = "recovered" // its process has ended
)

// AttemptEnd is the outcome of an attempt.
type AttemptEnd struct {
	Ended   Ended
	Code    yp.ErrorCode // "" for one that was released
	Message string
	Backoff time.Duration // until the target may be claimed again
}

const (
	beginAttempt = `
	INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`
	endAttempt = `
	UPDATE crawl_attempts SET finished_at = ?1, duration_ms = ?2, ended = ?3, error_code = ?4, error_message = ?5,
		http_status = ?6, proxy = ?7, identity = ?8, user_agent = ?9, pages = ?10, listings = ?11, upserted = ?12,
		changed = ?13, bytes = ?14, backoff_delay_ms = ?15, metadata = ?16
	WHERE target_id = ?17 AND claim_token = ?18 AND ended = 'running'`
	// An attempt is over when its claim is: the target is held under another token, or
	// not at all. What was committed is known from the target itself.
	closeAttempts = `
	UPDATE crawl_attempts AS a SET ended = 'recovered', finished_at = ?1,
		duration_ms = max(0, cast(round((julianday(?1) - julianday(a.started_at)) * 86400000) AS INTEGER)),
		pages = (SELECT max(0, t.page_current - a.page_before) FROM targets t WHERE t.id = a.target_id)
	WHERE a.ended = 'running' AND NOT EXISTS (
		SELECT 1 FROM targets t WHERE t.id = a.target_id AND t.claim_token = a.claim_token AND t.status = 'IN_PROGRESS')`
)

// BeginAttempt writes the row of an attempt as its target is claimed.
func BeginAttempt(tx *Tx, key AttemptKey, run int64, worker string, number, pageBefore int) error {
	return recorded("attempt", tx.Run(beginAttempt, key.TargetID, key.Token, run, worker, number, pageBefore, tx.Now))
}

// EndAttempt completes the row of an attempt. One that somebody else has closed
// stays as it is.
func EndAttempt(tx *Tx, key AttemptKey, a *Attempt, end AttemptEnd) error {
	return recorded("attempt", tx.Run(endAttempt, tx.Now, millis(tx.At.Sub(a.StartedAt)), string(end.Ended),
		Text(string(end.Code)), Text(end.Message),
		Number(int64(a.HTTPStatus)), Text(a.Proxy), Text(a.Identity), Text(a.UserAgent), a.Pages, a.Listings, a.Upserted, a.Changed, a.Bytes,
		Number(end.Backoff.Milliseconds()), a.Trace.text(), key.TargetID, key.Token))
}

// CloseAttempts ends the attempts whose claim was released: their process died.
func CloseAttempts(tx *Tx) error { return recorded("attempt", tx.Run(closeAttempts, tx.Now)) }

func recorded(what string, err error) error {
	if err != nil {
		return fmt.Errorf("record %s: %w", what, err)
	}
	return nil
}

// Request is one outbound HTTP request with what came of it: a row of requests.
type Request struct {
	SourceID    int64
	TargetID    int64 // 0 = none: robots.txt, a probe
	ClaimToken  int64 // of the attempt it belongs to
	Page        int
	Correlation string // one per logical page fetch: its retries share it
	Retry       int    // counted from 0
	Type        yp.RequestType
	URL         string // without user and password
	Started     time.Time
	Latency     time.Duration // start to last byte
	Waited      time.Duration // before Started
	WaitReason  string
	Class       yp.ErrorClass // "" = success
	Status      int           // 0 = no answer
	Results     int           // listings on the page
	Bytes       int64         // received
	Proxy       string        // without its password; "" = none
	ProxyFailed bool          // the proxy itself failed: the source is not to blame
	Identity    string
	Via         string // none, proxy or browser; "" = none
}

// Deferral is a request that was not made because the host's turn had not come:
// it cost the host nothing and counts in no roll-up.
func (r Request) Deferral(at time.Time, reason string) Request {
	r.Class, r.Started, r.Latency, r.WaitReason = yp.ClassRateLimited, at, 0, reason
	return r
}

const insertRequest = `
	INSERT INTO requests (source_id, target_id, claim_token, page, correlation_id, retry_seq, type, url, started_at, finished_at,
		waited_ms, wait_reason, outcome, error_class, http_status, latency_ms, parse_ok, result_count, bytes, proxy, proxy_failed, identity, via)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)`

// SaveRequests writes rows of requests.
func SaveRequests(tx *Tx, requests []Request) error {
	for i := range requests {
		if err := recorded("request", requests[i].save(tx)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) save(tx *Tx) error {
	outcome, parsed, results := "failure", any(nil), any(nil) // nil where the question has no answer
	switch r.Class {
	case "":
		outcome, parsed, results = "success", 1, r.Results
	case yp.ClassParseError:
		parsed = 0
	}
	return tx.Run(insertRequest, r.SourceID, Number(r.TargetID), Number(r.ClaimToken), Number(int64(r.Page)), r.Correlation, r.Retry,
		string(r.Type), r.URL, yp.FormatTime(r.Started), yp.FormatTime(r.Started.Add(r.Latency)), millis(r.Waited), Text(r.WaitReason),
		outcome, Text(string(r.Class)), Number(int64(r.Status)), millis(r.Latency), parsed, results, r.Bytes,
		Text(r.Proxy), r.ProxyFailed, Text(r.Identity), cmp.Or(r.Via, "none"))
}
