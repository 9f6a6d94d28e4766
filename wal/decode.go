package wal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// line is an event as encoding/json sees it: flat, the two groups allocated
// when one of their keys turns up.
type line struct {
	Timestamp Stamp           `json:"timestamp"`
	WorkerID  string          `json:"worker_id"`
	Type      EventType       `json:"event_type"`
	Seq       int64           `json:"seq"`
	Run       string          `json:"run"`
	Database  string          `json:"database"`
	RunNumber int64           `json:"run_number"`
	Status    yp.Status       `json:"status"`
	ErrorCode yp.ErrorCode    `json:"error_code"`
	Error     string          `json:"error"`
	Complete  bool            `json:"complete"`
	Edit      *yp.CompanyEdit `json:"edit"`
	*Target
	*yp.Page
}

// head is a line whose listings are passed over: the field here hides the one
// deeper down.
type head struct {
	line
	Listings ignored `json:"listings"`
}

type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// Stamp is a time whose JSON is the text of yp.TimeLayout.
type Stamp struct{ time.Time }

// MarshalJSON writes the time in yp.TimeLayout.
func (s Stamp) MarshalJSON() ([]byte, error) {
	return append(yp.AppendTime([]byte{'"'}, s.Time), '"'), nil
}

// UnmarshalJSON reads a time in yp.TimeLayout or, from logs that were edited
// by hand, in RFC 3339.
func (s *Stamp) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	t, err := yp.ParseTime(text)
	if err != nil {
		other, otherErr := time.Parse(time.RFC3339, text)
		if otherErr != nil {
			return err
		}
		t = other.UTC()
	}
	s.Time = t
	return nil
}

// UnmarshalJSON reads one line of a log. Unknown keys are passed over and
// unknown event types kept, so that logs of newer versions can be read.
func (e *Event) UnmarshalJSON(b []byte) error {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	return e.set(&l)
}

func (e *Event) unmarshalHead(b []byte) error {
	var h head
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	return e.set(&h.line)
}

func (e *Event) set(l *line) error {
	switch {
	case l.Timestamp.IsZero():
		return errors.New("no timestamp")
	case l.WorkerID == "":
		return errors.New("no worker_id")
	case l.Type == "":
		return errors.New("no event_type")
	}
	if l.Page != nil && len(l.Listings) == 0 {
		l.Listings = nil
	}
	if l.Target != nil {
		l.Target.Kind = cmp.Or(l.Target.Kind, yp.KindSearch)
	}
	*e = Event{
		Timestamp: l.Timestamp.Time, WorkerID: l.WorkerID, Type: l.Type, Seq: l.Seq, Run: l.Run, Database: l.Database, RunNumber: l.RunNumber,
		Status: l.Status, Target: l.Target, Page: l.Page, ErrorCode: l.ErrorCode, Error: l.Error, Complete: l.Complete, Edit: l.Edit,
	}
	return nil
}
