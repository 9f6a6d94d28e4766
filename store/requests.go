package store

import (
	"fmt"
	"time"

	"ypcrawl/yp"
)

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
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// SaveRequests writes rows of requests.
func SaveRequests(tx *Tx, requests []Request) error {
	for i := range requests {
		if err := requests[i].save(tx); err != nil {
			return fmt.Errorf("record request: %w", err)
		}
	}
	return nil
}

func (r *Request) save(tx *Tx) error {
	outcome, parsed, results := r.verdict()
	via := r.Via
	if via == "" {
		via = "none"
	}
	_, err := tx.Exec(insertRequest, r.SourceID, number(r.TargetID), number(r.ClaimToken), number(int64(r.Page)), r.Correlation, r.Retry,
		string(r.Type), r.URL, yp.FormatTime(r.Started), yp.FormatTime(r.Started.Add(r.Latency)), millis(r.Waited), text(r.WaitReason),
		outcome, text(string(r.Class)), number(int64(r.Status)), millis(r.Latency), parsed, results, r.Bytes,
		text(r.Proxy), r.ProxyFailed, text(r.Identity), via)
	return err
}

// verdict is the outcome, whether the page could be read, and what it held; nil
// where that has no answer.
func (r *Request) verdict() (outcome string, parsed, results any) {
	switch r.Class {
	case "":
		return "success", 1, r.Results
	case yp.ClassParseError:
		return "failure", 0, nil
	}
	return "failure", nil, nil
}

func millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }

// number binds 0 as NULL.
func number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
