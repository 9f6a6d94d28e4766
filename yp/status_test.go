package yp

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// design is the diagram of Status, written out.
var design = map[Status]map[Event]Status{
	Planned: {EventClaim: InProgress},
	InProgress: {
		EventPage: InProgress, EventLastPage: Done, EventRelease: Planned, EventFail: Failed,
		EventBackOff: Planned, EventPark: Parked, EventRecover: Planned, EventGiveUp: Stuck,
	},
	Done:   {EventDue: Planned},
	Failed: {EventDue: Planned, EventReset: Planned},
	Stuck:  {EventReset: Planned},
	Parked: {EventReset: Planned},
}

func TestStatusNext(t *testing.T) {
	for _, s := range append(Statuses(), "", "NONSENSE") {
		for _, e := range append(Events(), "", "nonsense") {
			want, wantOK := design[s][e]
			if got, ok := s.Next(e); got != want || ok != wantOK {
				t.Errorf("%q + %q = %q, %t; want %q, %t", s, e, got, ok, want, wantOK)
			}
		}
	}
}

// life is a target as the checkpoint room keeps it: the machine plus the count
// of recoveries that turns a recovery into giving up.
type life struct {
	status     Status
	recoveries int
	pages      int
}

func (l *life) step(e Event) {
	if e == EventRecover && l.recoveries == MaxRecoveries {
		e = EventGiveUp
	}
	next, ok := l.status.Next(e)
	if !ok {
		return
	}
	switch e {
	case EventRecover:
		l.recoveries++
	case EventPage, EventLastPage:
		l.pages++
		l.recoveries = 0
	case EventReset, EventDue:
		l.recoveries = 0
	}
	l.status = next
}

func TestStatusMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := life{status: Planned}
		for _, e := range rapid.SliceOfN(rapid.SampledFrom(Events()), 1, 60).Draw(t, "events") {
			before := l
			l.step(e)
			switch {
			case !slices.Contains(Statuses(), l.status):
				t.Fatalf("%s + %s leads to %q", before.status, e, l.status)
			case l.status != before.status && before.status == Planned && e != EventClaim:
				t.Fatalf("%s takes a planned target away without a claim", e)
			case l.status != before.status && before.status != InProgress && l.status != Planned && e != EventClaim:
				t.Fatalf("%s + %s: only a target in progress has an outcome", before.status, e)
			case l.pages < before.pages:
				t.Fatalf("%s forgets pages", e)
			case l.recoveries > MaxRecoveries:
				t.Fatalf("recovered %d times", l.recoveries)
			case e == EventReset && before.status.Resettable() != (l.status != before.status):
				t.Fatalf("reset of %s leads to %s", before.status, l.status)
			}
		}
		for _, e := range []Event{EventRelease, EventDue, EventReset, EventClaim} {
			l.step(e)
		}
		if l.status != InProgress {
			t.Fatalf("a trap: no way back to a claim from %s", l.status)
		}
	})
}

func TestParseStatus(t *testing.T) {
	for _, s := range Statuses() {
		for _, in := range []string{string(s), strings.ToLower(string(s)), strings.ReplaceAll(string(s), "_", "-")} {
			if got, err := ParseStatus(in); got != s || err != nil {
				t.Errorf("ParseStatus(%q) = %q, %v", in, got, err)
			}
		}
	}
	_, err := ParseStatus("bogus")
	if err == nil || !strings.Contains(err.Error(), `"bogus"`) || !strings.Contains(err.Error(), "PARKED") {
		t.Errorf("ParseStatus(bogus): %v", err)
	}
}
