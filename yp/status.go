package yp

import (
	"fmt"
	"slices"
)

// Status is where a target stands in its life. See design, section 4:
//
//	            claim                  last page
//	PLANNED ────────────▶ IN_PROGRESS ───────────▶ DONE ──(due again)──▶ PLANNED
//	   ▲  ▲                 │   │   │
//	   │  └─stop, first error─┘ │   └─ permanent or attempts used up ─▶ PARKED
//	   │                        └─ error, retries used up ────────────▶ FAILED ──(backoff over)──▶ PLANNED
//	   └── recover (orphan) ── 3 recoveries without a new page ───────▶ STUCK
//
// reset takes FAILED, STUCK and PARKED back to PLANNED.
type Status string

// The statuses of a target.
const (
	Planned    Status = "PLANNED"
	InProgress Status = "IN_PROGRESS"
	Done       Status = "DONE"
	Failed     Status = "FAILED"
	Stuck      Status = "STUCK"
	Parked     Status = "PARKED"
)

// Statuses lists every status in the order in which people read them.
func Statuses() []Status {
	return []Status{Planned, InProgress, Done, Failed, Stuck, Parked}
}

// ParseStatus returns the status named s, in any letter case, or an error that
// lists the valid ones.
func ParseStatus(s string) (Status, error) {
	for _, st := range Statuses() {
		if equalFold(s, string(st)) {
			return st, nil
		}
	}
	return "", fmt.Errorf("unknown status %q: want one of %v", s, Statuses())
}

// Event is something that happens to a target.
type Event string

// The events of a target's life.
const (
	EventClaim    Event = "claim"     // a worker takes the target
	EventPage     Event = "page"      // a page was committed and more follow
	EventLastPage Event = "last_page" // the last page was committed, or the site said there is nothing
	EventRelease  Event = "release"   // the worker stops and hands the target back
	EventFail     Event = "fail"      // an error, retries used up
	EventBackOff  Event = "back_off"  // the same, for the first or second time in a row
	EventPark     Event = "park"      // a permanent cause
	EventRecover  Event = "recover"   // the owner is gone
	EventGiveUp   Event = "give_up"   // recovered MaxRecoveries times without a new page
	EventDue      Event = "due"       // time for the next crawl, or the backoff is over
	EventReset    Event = "reset"     // an operator takes it back
)

// MaxRecoveries is how many times running a target may be recovered without a
// new page before it is STUCK.
const MaxRecoveries = 3

// Events lists every event.
func Events() []Event {
	return []Event{
		EventClaim, EventPage, EventLastPage, EventRelease, EventFail, EventBackOff, EventPark, EventRecover, EventGiveUp,
		EventDue, EventReset,
	}
}

type move struct {
	from  Status
	event Event
}

// Next returns the status that follows when event e happens to a target in
// status s; ok is false when the design has no such move.
func (s Status) Next(e Event) (next Status, ok bool) {
	switch (move{s, e}) {
	case move{Planned, EventClaim}, move{InProgress, EventPage}:
		return InProgress, true
	case move{InProgress, EventLastPage}:
		return Done, true
	case move{InProgress, EventRelease}, move{InProgress, EventBackOff}, move{InProgress, EventRecover}:
		return Planned, true
	case move{InProgress, EventFail}:
		return Failed, true
	case move{InProgress, EventPark}:
		return Parked, true
	case move{InProgress, EventGiveUp}:
		return Stuck, true
	case move{Done, EventDue}, move{Failed, EventDue}:
		return Planned, true
	case move{Failed, EventReset}, move{Stuck, EventReset}, move{Parked, EventReset}:
		return Planned, true
	}
	return "", false
}

// Resettable reports whether reset may take a target in status s back.
func (s Status) Resettable() bool {
	_, ok := s.Next(EventReset)
	return ok
}

// Valid reports whether s is one of Statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }
