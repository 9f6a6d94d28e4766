package wal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// EventType says what happened.
type EventType string

// The events of a worker's log.
const (
	TargetStart    EventType = "target_start"    // a claim was taken
	PageComplete   EventType = "page_complete"   // a page was read; it carries what it says and stands before the commit
	TargetComplete EventType = "target_complete" // the last page is committed
	TargetError    EventType = "target_error"    // the attempt ended in an error
	Heartbeat      EventType = "heartbeat"       // the worker is alive
	ClaimLost      EventType = "claim_lost"      // the fence refused a write: the page before it was rolled back
	Stop           EventType = "stop"            // the worker ends and has handed its target back
	CompanyMerge   EventType = "company_merge"   // an operator made companies one; it stands before the commit
	CompanySplit   EventType = "company_split"   // an operator took listings out of a company, or a merge back
)

// EventTypes lists every event type in the order of a target's life.
func EventTypes() []EventType {
	return []EventType{TargetStart, PageComplete, TargetComplete, TargetError, Heartbeat, ClaimLost, Stop, CompanyMerge, CompanySplit}
}

// ParseEventType returns the event type named s, in any letter case and with
// dashes or underscores, or an error that lists the valid ones.
func ParseEventType(s string) (EventType, error) {
	t := EventType(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_"))
	if slices.Contains(EventTypes(), t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown event type %q: want one of %v", s, EventTypes())
}

// Event is one line of a log. Its JSON is flat: the fields of Target and Page
// stand beside the others, and are absent where the event has none.
type Event struct {
	Timestamp time.Time       // "timestamp", to the millisecond; Append sets it when zero
	WorkerID  string          // "worker_id"; Append sets it
	Type      EventType       // "event_type"
	Seq       int64           // "seq", from 1, consecutive in a worker's log; Append sets it
	Run       string          // "run", the id of the run
	Database  string          // "database", the id of the database that the page goes into; Append sets it; empty in older logs
	RunNumber int64           // "run_number" in the database: of two runs that never ran at the same time, the later has the higher; Append sets it; 0 in older logs
	Status    yp.Status       // "status" the target has after the event; empty when it has none
	Target    *Target         // nil when the event is about no target
	Page      *yp.Page        // nil unless the event is about a page
	Edit      *yp.CompanyEdit // "edit": nil unless the event is about companies
	ErrorCode yp.ErrorCode    // "error_code"
	Error     string          // "error", for people
	Complete  bool            // "complete": a target_complete whose crawl saw every page to a confirmed end
}

// Target is what a log says of the target an event is about: enough to build
// the target's row without the database.
type Target struct {
	ID         int64   `json:"target_id"`
	ClaimToken int64   `json:"claim_token"`
	Crawl      int64   `json:"crawl"` // number of the target's crawl, from 1; 0 in older logs
	Kind       yp.Kind `json:"kind"`  // absent = search
	Source     string  `json:"source"`
	Listing    string  `json:"listing_id"` // of a detail, the source's own
	yp.Place           // of an index the state alone
	Priority   int     `json:"priority"`
	MaxPages   int     `json:"max_pages"` // 0 = all
}

// Key names the target among all of its database, by what does not change.
func (t *Target) Key() string {
	key := t.Source + "\x00" + string(cmp.Or(t.Kind, yp.KindSearch)) + "\x00"
	switch t.Kind {
	case yp.KindIndex:
		return key + t.State
	case yp.KindDetail:
		return key + t.Listing
	}
	return key + t.CitySlug + "\x00" + t.CategorySlug
}
