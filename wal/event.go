package wal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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
	PageComplete   EventType = "page_complete"   // a page was read; it carries what it says and is before the commit
	TargetComplete EventType = "target_complete" // the last page is committed
	TargetError    EventType = "target_error"    // the attempt ended in an error
	Heartbeat      EventType = "heartbeat"       // the worker is alive
	ClaimLost      EventType = "claim_lost"      // the fence refused a write: the page before it was rolled back
	Stop           EventType = "stop"            // the worker ends and has handed its target back
	LogLost        EventType = "log_lost"        // the first line of a file: the log had lines before that it may have no more
)

// EventTypes lists every event type in the order of a target's life.
func EventTypes() []EventType {
	return []EventType{TargetStart, PageComplete, TargetComplete, TargetError, Heartbeat, ClaimLost, Stop, LogLost}
}

// Event is one line of a log. Its JSON is flat: the fields of Target and Page
// are beside the others, and are absent where the event has none.
type Event struct {
	Timestamp time.Time    `json:"-"`                  // "timestamp", to the millisecond; Append sets it when zero
	WorkerID  string       `json:"worker_id"`          // Append sets it
	Type      EventType    `json:"event_type"`         //
	Seq       int64        `json:"seq"`                // from 1, consecutive in a worker's log; Append sets it
	Run       string       `json:"run"`                // the id of the run
	Database  string       `json:"database,omitempty"` // id of the database that the page goes into; Append sets it
	Status    yp.Status    `json:"status,omitempty"`   // the target has after the event; empty when it has none
	*Target                // nil when the event is about no target
	ErrorCode yp.ErrorCode `json:"error_code,omitempty"`
	Error     string       `json:"error,omitempty"` // for people
	How       yp.Ending    `json:"how,omitempty"`   // of a target_complete that no page's commit brought: how the crawl came to its end,
	Why       string       `json:"why,omitempty"`   // and why, for people
	*yp.Page               // nil unless the event is about a page

	Lost *Lost `json:"lost,omitempty"` // of a log_lost

	// The number of the target's last commit before this line, as meta 'committed' gave it: that of
	// the page before, and of a start that of whoever had the target. So the line behind a page tells
	// that and when it was committed; or, after a kill, the start of the target's next claim does.
	Committed   int64    `json:"committed,omitempty"`
	CommittedAt yp.Stamp `json:"committed_at,omitzero"` // by this claim; the time that is stored
	Ended       int64    `json:"ended,omitempty"`       // of an end that no page's commit brought: the number of its own
	Behind      int64    `json:"behind,omitempty"`      // of a start: the number of the database's last commit

	// What a Reader by commit finds: the number of the event's own commit, 0 = there was none, and when its claim began.
	Nth     int64     `json:"-"`
	Started time.Time `json:"-"`
}

// Target is what a log says of the target an event is about: enough to build
// the target's row without the database.
type Target struct {
	ID         int64   `json:"target_id"`
	ClaimToken int64   `json:"claim_token"`
	Crawl      int64   `json:"crawl,omitempty"` // number of the target's crawl, from 1
	Kind       yp.Kind `json:"kind,omitempty"`  // absent = search
	Source     string  `json:"source"`
	Listing    string  `json:"listing_id,omitempty"` // of a detail, the source's own
	yp.Place           // of an index the state alone
	Priority   int     `json:"priority"`
	MaxPages   int     `json:"max_pages"` // 0 = all

	Country string   `json:"country,omitempty"`  // of the source (ISO 3166); absent = US
	OwnCity *yp.City `json:"own_city,omitempty"` // the city as the source's own file has it; absent = it is of the gazetteer, or of an index
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
	return key + t.State + "\x00" + t.CitySlug + "\x00" + t.CategorySlug
}

// line is an event as encoding/json sees it.
type line struct {
	Timestamp yp.Stamp `json:"timestamp"`
	*plain
}

type plain Event

// known is a line as it is read, with what only development versions wrote.
type known struct {
	line
	RunNumber int64           `json:"run_number"`
	Detail    json.RawMessage `json:"detail"` // a listing's own page, before it had a listing
}

// head is a line whose listings are passed over: the field here hides the one
// deeper down.
type head struct {
	known
	Listings ignored `json:"listings"`
}

type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// MarshalJSON returns the event as one line of a log, without its end. What acts on a
// terminal or ends a line somewhere is escaped, so that `cat` and `tail -f` of a log are safe.
func (e *Event) MarshalJSON() ([]byte, error) { return e.appendTo(nil) }

// appendTo appends the line. The listings, which are nearly all of it, are written without
// encoding/json: that took three quarters of a page's time at its log.
func (e *Event) appendTo(to []byte) ([]byte, error) {
	flat := plain(*e)
	if e.Target != nil && e.Target.Kind == yp.KindSearch {
		t := *e.Target
		t.Kind = "" // most are
		flat.Target = &t
	}
	if e.Page != nil {
		p := *e.Page
		p.Listings = []yp.Listing{}
		flat.Page = &p
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line{yp.Stamp{Time: e.Timestamp}, &flat}); err != nil {
		return nil, err
	}
	text := yp.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
	if e.Page == nil || len(e.Page.Listings) == 0 {
		return append(to, text...), nil
	}
	before, after, _ := bytes.Cut(text, []byte(noListings)) // no other key of that name is before it, and in a text the quotes are escaped
	to = append(append(slices.Grow(to, len(text)+1<<10*len(e.Page.Listings)), before...), `"listings":`...)
	for i := range e.Page.Listings {
		var err error
		if to, err = e.Page.Listings[i].AppendJSON(append(to, "[,"[min(i, 1)])); err != nil {
			return nil, err
		}
	}
	return append(append(to, ']'), after...), nil
}

const noListings = `"listings":[]`

// UnmarshalJSON reads one line of a log. Unknown keys are passed over and
// unknown event types kept, so that logs of newer versions can be read.
func (e *Event) UnmarshalJSON(b []byte) error { return e.unmarshal(b, false) }

// unmarshal reads a line; of a head the listings are passed over.
func (e *Event) unmarshal(b []byte, headOnly bool) error {
	*e = Event{}
	h := head{known: known{line: line{plain: (*plain)(e)}}}
	into := any(&h.known)
	if headOnly {
		into = &h
	}
	err := json.Unmarshal(b, into)
	shape, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case h.RunNumber != 0, len(h.Detail) > 0, ok && strings.HasSuffix(shape.Field, ".committed") && shape.Value == "object":
		return ErrDevelopment
	case err != nil:
		return err
	}
	switch e.Timestamp = h.Timestamp.Time; {
	case e.Timestamp.IsZero():
		return errors.New("no timestamp")
	case e.WorkerID == "":
		return errors.New("no worker_id")
	case e.Type == "":
		return errors.New("no event_type")
	}
	if e.Page != nil && len(e.Listings) == 0 {
		e.Listings = nil
	}
	if e.Target != nil {
		e.Target.Kind = cmp.Or(e.Target.Kind, yp.KindSearch)
	}
	return nil
}
