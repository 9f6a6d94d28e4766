package yp

import (
	"strings"
	"time"
)

// Status is where a target is in its life. From one to the next:
//
//	            claim                  last page
//	PLANNED ────────────▶ IN_PROGRESS ───────────▶ DONE ──(due again)──▶ PLANNED
//	   ▲  ▲                 │   │   │
//	   │  └─stop, first error─┘ │   └─ permanent or attempts used up ─▶ PARKED
//	   │                        └─ error, retries used up ────────────▶ FAILED ──(backoff over)──▶ PLANNED
//	   └── recover (orphan) ── 3 deaths with its page in hand ─────────▶ STUCK
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
	return ParseName("status", s, Status(strings.ToUpper(strings.ReplaceAll(s, "-", "_"))), Statuses())
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
// status s; ok is false when there is no such move.
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

// Kind says what a target is: all work is claimed, fenced, retried and recovered alike.
type Kind string

// The kinds of targets, in the order in which a run takes them.
const (
	KindIndex  Kind = "index"  // a source's index of its cities in a state
	KindSearch Kind = "search" // source × city × category
	KindDetail Kind = "detail" // a listing's own page
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{KindIndex, KindSearch, KindDetail} }

// ParseKind returns the kind named s, in any letter case, or an error that lists the valid
// ones.
func ParseKind(s string) (Kind, error) {
	return ParseName("kind of target", s, Kind(strings.ToLower(s)), Kinds())
}

// Health says how a target fares (docs/health.md, section 3).
type Health string

// The values of a target's crawl_status.
const (
	Active   Health = "active"
	Degraded Health = "degraded" // three failures in a row or more
	Paused   Health = "paused"   // by an operator
	Dead     Health = "failed"   // PARKED
)

// Healths lists every value of crawl_status.
func Healths() []Health { return []Health{Active, Degraded, Paused, Dead} }

// Numbers of docs/health.md, section 3.
const (
	MaxBackoffLevel = 5
	MinCrawlGap     = 2 * time.Minute     // between the starts of two crawls of a target
	RecrawlAfter    = 10080 * time.Minute // unless the target has a frequency of its own

	degradedFrom = 3 // failures in a row
	firstBackoff = 2 * time.Hour
	shortBackoff = 2 * time.Minute
)

// Setback is what a failure makes of a target.
type Setback struct {
	Event Event         // EventBackOff, EventFail or EventPark
	Level int           // backoff level, 0–5
	Wait  time.Duration // until it may be claimed again; 0 when it is parked
}

// Fail returns what becomes of a target at backoff level when it fails for the
// n-th time in a row (from 1):
//
//	failure 1, 2        PLANNED, due again after 2 and 4 minutes, up to a quarter more
//	from the third on   FAILED, degraded, one level up: 2, 4, 8, 16, 32 hours
//	at level 5          PARKED, the dead letter
//
// unit is a random number in [0, 1) for the jitter.
func Fail(n, level int, unit float64) Setback {
	switch {
	case level >= MaxBackoffLevel:
		return Setback{EventPark, MaxBackoffLevel, 0}
	case n < degradedFrom && level <= 0:
		d := shortBackoff << (max(n, 1) - 1)
		return Setback{EventBackOff, 0, d + time.Duration(unit*float64(d)/4)}
	}
	level = max(level, 0) + 1
	return Setback{EventFail, level, Backoff(level)}
}

// Open returns the setback of a failure that never parks a target: at the highest level it waits once more.
func (s Setback) Open() Setback {
	if s.Event == EventPark {
		return Setback{EventFail, MaxBackoffLevel, Backoff(MaxBackoffLevel)}
	}
	return s
}

// Backoff is how long a target rests at a backoff level from 1 to 5: 2 h,
// doubled with each.
func Backoff(level int) time.Duration {
	return firstBackoff << (min(max(level, 1), MaxBackoffLevel) - 1)
}

// BeyondBackoff is longer than every backoff: one that ends later is the mark of a clock
// that was set back since, and over. The view targets_and_waits has the same time.
const BeyondBackoff = firstBackoff<<(MaxBackoffLevel-1) + time.Hour
