package yp

import (
	"fmt"
	"slices"
	"strings"
)

// State is one of the fifty states of the USA, or the District of Columbia.
type State struct {
	Code     string // "CA"
	Name     string // "California"
	TimeZone string // IANA zone in which most of its people live
}

// States returns the fifty states and DC, sorted by code.
func States() []State { return slices.Clone(states[:]) }

// LookupState returns the state with the given code or full name, in any
// letter case; spaces, hyphens and underscores are alike and periods count for
// nothing ("new-york", "D.C.").
func LookupState(s string) (State, bool) {
	var buf [32]byte
	if len(s) > len(buf) {
		return State{}, false
	}
	name := strings.ReplaceAll(string(appendSlug(buf[:0], s)), "-", " ")
	if name == "washington dc" {
		name = "dc"
	}
	for _, st := range &states {
		if strings.EqualFold(name, st.Code) || strings.EqualFold(name, st.Name) {
			return st, true
		}
	}
	return State{}, false
}

// ParseStates returns the codes of the states that args name, in the order
// given, each once. An argument may hold several, separated by commas; "all" is
// none in particular, as no arguments are. A name that is none gives an *UnknownStateError.
func ParseStates(args []string) ([]string, error) {
	var codes []string
	if len(args) == 1 && strings.EqualFold(strings.TrimSpace(args[0]), "all") {
		return nil, nil
	}
	for _, arg := range args {
		for name := range strings.SplitSeq(arg, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			st, ok := LookupState(name)
			if !ok {
				return nil, unknownState(name)
			}
			if !slices.Contains(codes, st.Code) {
				codes = append(codes, st.Code)
			}
		}
	}
	return codes, nil
}

// unknownState looks for what name may have been meant to be: among the codes
// if it is as short as one, else among the names.
func unknownState(name string) error {
	candidates := make([]string, 0, len(states))
	for _, st := range &states {
		if len(name) <= 2 {
			candidates = append(candidates, st.Code)
		} else {
			candidates = append(candidates, st.Name)
		}
	}
	err := &UnknownStateError{Input: name}
	if near, ok := Nearest(name, candidates); ok {
		err.Nearest, _ = LookupState(near)
	}
	return err
}

// states is sorted by code. Zones are those of the largest share of people
// where a state has more than one.
var states = [...]State{
	{"AK", "Alaska", "America/Anchorage"},
	{"AL", "Alabama", "America/Chicago"},
	{"AR", "Arkansas", "America/Chicago"},
	{"AZ", "Arizona", "America/Phoenix"},
	{"CA", "California", "America/Los_Angeles"},
	{"CO", "Colorado", "America/Denver"},
	{"CT", "Connecticut", "America/New_York"},
	{"DC", "District of Columbia", "America/New_York"},
	{"DE", "Delaware", "America/New_York"},
	{"FL", "Florida", "America/New_York"},
	{"GA", "Georgia", "America/New_York"},
	{"HI", "Hawaii", "Pacific/Honolulu"},
	{"IA", "Iowa", "America/Chicago"},
	{"ID", "Idaho", "America/Boise"},
	{"IL", "Illinois", "America/Chicago"},
	{"IN", "Indiana", "America/Indiana/Indianapolis"},
	{"KS", "Kansas", "America/Chicago"},
	{"KY", "Kentucky", "America/New_York"},
	{"LA", "Louisiana", "America/Chicago"},
	{"MA", "Massachusetts", "America/New_York"},
	{"MD", "Maryland", "America/New_York"},
	{"ME", "Maine", "America/New_York"},
	{"MI", "Michigan", "America/Detroit"},
	{"MN", "Minnesota", "America/Chicago"},
	{"MO", "Missouri", "America/Chicago"},
	{"MS", "Mississippi", "America/Chicago"},
	{"MT", "Montana", "America/Denver"},
	{"NC", "North Carolina", "America/New_York"},
	{"ND", "North Dakota", "America/Chicago"},
	{"NE", "Nebraska", "America/Chicago"},
	{"NH", "New Hampshire", "America/New_York"},
	{"NJ", "New Jersey", "America/New_York"},
	{"NM", "New Mexico", "America/Denver"},
	{"NV", "Nevada", "America/Los_Angeles"},
	{"NY", "New York", "America/New_York"},
	{"OH", "Ohio", "America/New_York"},
	{"OK", "Oklahoma", "America/Chicago"},
	{"OR", "Oregon", "America/Los_Angeles"},
	{"PA", "Pennsylvania", "America/New_York"},
	{"RI", "Rhode Island", "America/New_York"},
	{"SC", "South Carolina", "America/New_York"},
	{"SD", "South Dakota", "America/Chicago"},
	{"TN", "Tennessee", "America/Chicago"},
	{"TX", "Texas", "America/Chicago"},
	{"UT", "Utah", "America/Denver"},
	{"VA", "Virginia", "America/New_York"},
	{"VT", "Vermont", "America/New_York"},
	{"WA", "Washington", "America/Los_Angeles"},
	{"WI", "Wisconsin", "America/Chicago"},
	{"WV", "West Virginia", "America/New_York"},
	{"WY", "Wyoming", "America/Denver"},
}

// UnknownStateError says that a name is no state of the USA, and which one it
// may have been meant to be.
type UnknownStateError struct {
	Input   string // as given
	Nearest State  // zero when nothing comes near
}

func (e *UnknownStateError) Error() string {
	if e.Nearest.Code == "" {
		return fmt.Sprintf("unknown state %q: want a two-letter code or a full name, such as CA or California", e.Input)
	}
	return fmt.Sprintf("unknown state %q: did you mean %s (%s)?", e.Input, e.Nearest.Name, e.Nearest.Code)
}
