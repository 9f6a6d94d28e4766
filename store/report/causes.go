package report

import (
	"context"
	"sort"
	"time"

	"ypcrawl/yp"
)

// Causes are what went wrong in the last day. Two vocabularies, never mixed: an attempt at a
// target has a code, a request has a class.
type Causes struct {
	Now      time.Time      `json:"now"`
	Attempts []AttemptCause `json:"attempts"`
	Requests []RequestCause `json:"requests"`
}

// AttemptCause is how often attempts at targets of a source failed for one cause.
type AttemptCause struct {
	Code    yp.ErrorCode `json:"error_code"`
	Source  string       `json:"source"`
	Hour    int64        `json:"attempts_1h"`
	Day     int64        `json:"attempts_24h"`
	Targets int64        `json:"targets_24h"` // different ones
	Last    time.Time    `json:"last_seen"`
}

// RequestCause is how often requests to a source failed for one cause. What failed at a proxy
// says nothing of the source, and a request that we put off ourselves (rate_limited) was not
// made: neither is counted.
type RequestCause struct {
	Class  yp.ErrorClass `json:"error_class"`
	Source string        `json:"source"`
	Hour   int64         `json:"requests_1h"`
	Day    int64         `json:"requests_24h"`
	Last   time.Time     `json:"last_seen"`
}

const (
	attemptCauses = `
	SELECT a.error_code, s.name, sum(a.finished_at > ?2), count(*), count(DISTINCT a.target_id), max(a.finished_at)
	FROM crawl_attempts a CROSS JOIN targets t ON t.id = a.target_id CROSS JOIN sources s ON s.id = t.source_id
	WHERE a.finished_at > ?1 AND a.error_code <> 'SUCCESS' AND a.ended IN ('failed', 'parked')
	GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC, 1, 2`
	requestCauses = `
	SELECT r.error_class, s.name, sum(r.finished_at > ?2), count(*), max(r.finished_at)
	FROM sources s CROSS JOIN requests r ON r.source_id = s.id
	WHERE r.finished_at > ?1 AND r.proxy_failed = 0 AND r.outcome = 'failure' AND r.error_class <> 'rate_limited'
	GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC, 1, 2`
)

// Causes counts what went wrong in the last hour and in the last 24, by cause, the most
// frequent of the hour first.
func (k *Reader) Causes(ctx context.Context) (*Causes, error) {
	c := &Causes{Now: k.db.Now()}
	spans := []any{yp.FormatTime(c.Now.Add(-24 * time.Hour)), yp.FormatTime(c.Now.Add(-time.Hour))}
	var err error
	if c.Attempts, err = list(ctx, k, "count failed attempts", attemptCauses, spans, fields[AttemptCause]); err != nil {
		return nil, err
	}
	c.Requests, err = list(ctx, k, "count failed requests", requestCauses, spans, fields[RequestCause])
	return c, err
}

// SourceHost is a host of a source with its pace.
type SourceHost struct {
	Host        string    `json:"host"`
	DelayMS     Millis    `json:"delay_ms"` // between two requests; 0 = as configured
	DelayReason string    `json:"delay_reason,omitempty"`
	Blocks      int64     `json:"blocks"` // in a row
	HeldUntil   time.Time `json:"held_until"`
	HeldFor     string    `json:"held_for,omitempty"`
	Next        time.Time `json:"next_request"` // no request starts before; zero = at once, or not known
}

// SourcePace is how a source fares, with its hosts.
type SourcePace struct {
	SourceStatus
	Hosts      []SourceHost  `json:"hosts"`
	Block      time.Time     `json:"last_block_at"` // of the last 24 hours; zero = none
	BlockClass yp.ErrorClass `json:"last_block_class,omitempty"`
	Recent     Answers       `json:"last_10_minutes"`
}

// Answers are how a source answered of late: what is rated every few minutes says nothing of a
// run that has just begun.
type Answers struct {
	Requests int64  `json:"requests"`
	Good     int64  `json:"successes"`
	P50      *int64 `json:"latency_p50_ms"` // nearest rank; null = no request
	P95      *int64 `json:"latency_p95_ms"`
}

// answersOf is how far back Answers look.
const answersOf = 10 * time.Minute

const (
	sourceHosts = `
	SELECT h.host, h.delay_ms, iif(h.delay_ms > 0, ifnull(h.delay_reason, ''), ''), h.blocks, iif(h.held_until > ?2, h.held_until, NULL),
		iif(h.held_until > ?2, ifnull(h.held_for, ''), ''), nullif(max(ifnull(iif(h.held_until > ?2, h.held_until, NULL), ''), ifnull(iif(n.next_at > ?2, n.next_at, NULL), '')), '')
	FROM hosts h LEFT JOIN host_turns n ON n.host = h.host WHERE h.source_id = ?1 ORDER BY h.host LIMIT 20`
	lastBlock = `
	SELECT finished_at, error_class FROM requests
	WHERE source_id = ?1 AND finished_at > ?2 AND proxy_failed = 0 AND error_class IN ('http_403', 'http_429', 'cf_challenge') ORDER BY finished_at DESC LIMIT 1`
	// What counts is what the roll-up counts.
	recentAnswers = `
	SELECT latency_ms, outcome = 'success' AND parse_ok IS 1 FROM requests
	WHERE source_id = ?1 AND finished_at > ?2 AND proxy_failed = 0 AND type <> 'robots' AND error_class IS NOT 'rate_limited'`
)

// Paces lists the sources with their hosts, how fast these are asked and when next.
func (k *Reader) Paces(ctx context.Context) ([]SourcePace, error) {
	sources, err := k.Sources(ctx)
	if err != nil {
		return nil, err
	}
	now, all := k.db.Now(), make([]SourcePace, len(sources))
	for i, s := range sources {
		p := &all[i]
		p.SourceStatus = s
		if p.Hosts, err = list(ctx, k, "list hosts", sourceHosts, []any{s.id, yp.FormatTime(now)}, fields[SourceHost]); err != nil {
			return nil, err
		}
		if _, err := k.one(ctx, "look for the last block", lastBlock, []any{s.id, yp.FormatTime(now.Add(-24 * time.Hour))}, at(&p.Block), &p.BlockClass); err != nil {
			return nil, err
		}
		if p.Recent, err = k.answers(ctx, s.id, now.Add(-answersOf)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (k *Reader) answers(ctx context.Context, source int64, since time.Time) (a Answers, err error) {
	type answer struct {
		latency int64
		good    bool
	}
	all, err := list(ctx, k, "read the last answers", recentAnswers, []any{source, yp.FormatTime(since)}, func(x *answer) []any { return []any{&x.latency, &x.good} })
	if err != nil || len(all) == 0 {
		return a, err
	}
	sort.Slice(all, func(i, j int) bool { return all[i].latency < all[j].latency })
	for _, x := range all {
		if x.good {
			a.Good++
		}
	}
	rank := func(percent int) *int64 { return &all[(len(all)*percent+99)/100-1].latency }
	a.Requests, a.P50, a.P95 = int64(len(all)), rank(50), rank(95)
	return a, nil
}

// RecentListing is a listing that was seen for the first time not long ago.
type RecentListing struct {
	Source    string    `json:"source"`
	ListingID string    `json:"listing_id"`
	Name      string    `json:"name"`
	City      string    `json:"city"`
	State     string    `json:"state"`
	Category  string    `json:"category"` // the first of its own
	Phone     string    `json:"phone"`
	Email     string    `json:"email"`
	Website   string    `json:"website"`
	First     time.Time `json:"first_seen_at"`
}

const recentlyAdded = `
	SELECT s.name, x.listing_id, x.name, ifnull(x.city, ''), ifnull(x.state, x.found_state), ifnull(x.categories ->> 0, ''), coalesce(x.phone, d.phone, ''),
		ifnull(d.email, ''), coalesce(x.website, d.website, ''), x.first_seen_at
	FROM listings x JOIN sources s ON s.id = x.source_id LEFT JOIN details d ON d.listing = x.id ORDER BY x.id DESC LIMIT ?`

// RecentListings lists the listings that were added last, the newest first.
func (k *Reader) RecentListings(ctx context.Context, limit int) ([]RecentListing, error) {
	return list(ctx, k, "list recent listings", recentlyAdded, []any{limit}, fields[RecentListing])
}
