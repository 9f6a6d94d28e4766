package yp

import (
	"strings"
	"testing"
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
		if _, want := design[s][EventReset]; s.Resettable() != want {
			t.Errorf("%q is resettable: %t", s, s.Resettable())
		}
		for _, e := range append(Events(), "", "nonsense") {
			want, wantOK := design[s][e]
			if got, ok := s.Next(e); got != want || ok != wantOK {
				t.Errorf("%q + %q = %q, %t; want %q, %t", s, e, got, ok, want, wantOK)
			}
		}
	}
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
