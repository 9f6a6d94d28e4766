package yp

import (
	"fmt"
	"slices"
	"strings"
)

// State is one of the fifty states of the USA, or the District of Columbia.
type State struct {
	Code string // "CA"
	Name string // "California"
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
// none in particular, as no arguments are. A name that is none is an error with the nearest one.
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

// unknownState says that a name is no state, and looks for what it may have been meant to be: among the codes
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
	if near, ok := Nearest(name, candidates); ok {
		st, _ := LookupState(near)
		return fmt.Errorf("unknown state %q: did you mean %s (%s)?", name, st.Name, st.Code)
	}
	return fmt.Errorf("unknown state %q: want a two-letter code or a full name, such as CA or California", name)
}

// states is sorted by code.
var states = [...]State{
	{"AK", "Alaska"},
	{"AL", "Alabama"},
	{"AR", "Arkansas"},
	{"AZ", "Arizona"},
	{"CA", "California"},
	{"CO", "Colorado"},
	{"CT", "Connecticut"},
	{"DC", "District of Columbia"},
	{"DE", "Delaware"},
	{"FL", "Florida"},
	{"GA", "Georgia"},
	{"HI", "Hawaii"},
	{"IA", "Iowa"},
	{"ID", "Idaho"},
	{"IL", "Illinois"},
	{"IN", "Indiana"},
	{"KS", "Kansas"},
	{"KY", "Kentucky"},
	{"LA", "Louisiana"},
	{"MA", "Massachusetts"},
	{"MD", "Maryland"},
	{"ME", "Maine"},
	{"MI", "Michigan"},
	{"MN", "Minnesota"},
	{"MO", "Missouri"},
	{"MS", "Mississippi"},
	{"MT", "Montana"},
	{"NC", "North Carolina"},
	{"ND", "North Dakota"},
	{"NE", "Nebraska"},
	{"NH", "New Hampshire"},
	{"NJ", "New Jersey"},
	{"NM", "New Mexico"},
	{"NV", "Nevada"},
	{"NY", "New York"},
	{"OH", "Ohio"},
	{"OK", "Oklahoma"},
	{"OR", "Oregon"},
	{"PA", "Pennsylvania"},
	{"RI", "Rhode Island"},
	{"SC", "South Carolina"},
	{"SD", "South Dakota"},
	{"TN", "Tennessee"},
	{"TX", "Texas"},
	{"UT", "Utah"},
	{"VA", "Virginia"},
	{"VT", "Vermont"},
	{"WA", "Washington"},
	{"WI", "Wisconsin"},
	{"WV", "West Virginia"},
	{"WY", "Wyoming"},
}
