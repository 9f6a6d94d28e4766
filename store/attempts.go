package store

import (
	"encoding/json"
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
	Pages      int   // committed
	Listings   int   // found on them
	Upserted   int   // of them written
	Changed    int   // of them new or changed
	Bytes      int64 // received
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
func (t Trace) text() (string, error) {
	if t.Steps == nil {
		t.Steps = []Step{}
	}
	b, err := json.Marshal(t)
	return string(b), err
}

// Ended says how an attempt ended.
type Ended string

// The ends of an attempt.
const (
	EndedDone      Ended = "done"
	EndedFailed    Ended = "failed"
	EndedParked    Ended = "parked"
	EndedReleased  Ended = "released"  // handed back: the run stops, or the host is held
	EndedRecovered Ended = "recovered" // its process is gone
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
	VALUES (?, ?, ?, ?, ?, ?, ?)`
	endAttempt = `
	UPDATE crawl_attempts SET finished_at = ?, duration_ms = ?, ended = ?, error_code = ?, error_message = ?, http_status = ?, proxy = ?,
		identity = ?, pages = ?, listings = ?, upserted = ?, changed = ?, bytes = ?, backoff_delay_ms = ?, metadata = ?
	WHERE target_id = ? AND claim_token = ? AND ended = 'running'`
	noteAttempt = `UPDATE crawl_attempts SET metadata = ? WHERE target_id = ? AND claim_token = ? AND ended = 'running'`
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
	if _, err := tx.Exec(beginAttempt, key.TargetID, key.Token, run, worker, number, pageBefore, tx.Now); err != nil {
		return fmt.Errorf("record attempt: %w", err)
	}
	return nil
}

// EndAttempt completes the row of an attempt. One that somebody else has closed
// stays as it is.
func EndAttempt(tx *Tx, key AttemptKey, a *Attempt, end AttemptEnd) error {
	metadata, err := a.Trace.text()
	if err != nil {
		return fmt.Errorf("record attempt: %w", err)
	}
	_, err = tx.Exec(endAttempt, tx.Now, millis(tx.At.Sub(a.StartedAt)), string(end.Ended), text(string(end.Code)), text(end.Message),
		number(int64(a.HTTPStatus)), text(a.Proxy), text(a.Identity), a.Pages, a.Listings, a.Upserted, a.Changed, a.Bytes,
		number(end.Backoff.Milliseconds()), metadata, key.TargetID, key.Token)
	if err != nil {
		return fmt.Errorf("record attempt: %w", err)
	}
	return nil
}

// NoteAttempt writes the steps of an attempt that goes on.
func NoteAttempt(tx *Tx, key AttemptKey, a *Attempt) error {
	metadata, err := a.Trace.text()
	if err != nil {
		return fmt.Errorf("record attempt: %w", err)
	}
	if _, err := tx.Exec(noteAttempt, metadata, key.TargetID, key.Token); err != nil {
		return fmt.Errorf("record attempt: %w", err)
	}
	return nil
}

// CloseAttempts ends the attempts whose claim is gone: their process died.
func CloseAttempts(tx *Tx) error {
	if _, err := tx.Exec(closeAttempts, tx.Now); err != nil {
		return fmt.Errorf("close attempts: %w", err)
	}
	return nil
}
