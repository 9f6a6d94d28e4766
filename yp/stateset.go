package yp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// StateSet is the states of a source: which there are, and how a text is read as one of them. It is never changed.
type StateSet struct {
	usa   bool
	list  []State          // sorted by code
	names map[string]State // by nameKey of code and names: of the list, and others of the country; of the USA what LookupState lacks
}

// MaxState bounds the code and the name of a state, in characters.
const MaxState = 80

// StatesOf returns the states of a country: those of the USA, and elsewhere the subdivisions of ISO 3166-2, as far as they are known here.
func StatesOf(country string) *StateSet {
	if country == DefaultCountry {
		return &StateSet{usa: true, list: states[:]}
	}
	s := &StateSet{names: map[string]State{}}
	for _, d := range subdivisionsOf(country) {
		s.add(d.State, d.others...)
	}
	return s
}

// Only returns the states of a source by its own word; what of them the country's table knows has its code there, and names that it has
// elsewhere. A text that is none of them is read by that table, unless exact.
func (s *StateSet) Only(list []State, exact bool) *StateSet {
	only := &StateSet{usa: s.usa, names: map[string]State{}}
	own := slices.Clone(list)
	for i := range own {
		if known, ok := s.Lookup(own[i].Name); ok && own[i].Code == own[i].Name && !exact {
			own[i] = known
		} else if known, ok := s.Lookup(own[i].Code); ok && own[i].Code == own[i].Name {
			own[i].Name = known.Name
		}
		only.add(own[i])
	}
	for key, st := range s.names {
		at, listed := slices.BinarySearchFunc(only.list, st.Code, func(x State, code string) int { return strings.Compare(x.Code, code) })
		if _, taken := only.names[key]; taken || exact && !listed {
			continue
		}
		if listed {
			st = only.list[at]
		}
		only.names[key] = st
	}
	return only
}

// add adds a state, once.
func (s *StateSet) add(st State, others ...string) {
	at, have := slices.BinarySearchFunc(s.list, st.Code, func(x State, code string) int { return strings.Compare(x.Code, code) })
	if !have {
		s.list = slices.Insert(s.list, at, st)
	}
	for _, name := range append([]string{st.Code, st.Name}, others...) {
		for _, key := range nameKeys(name) {
			if _, taken := s.names[key]; !taken {
				s.names[key] = st
			}
		}
	}
}

// All returns the states, sorted by code; none where they are not known. A source whose places have no states has one without code
// and name.
func (s *StateSet) All() []State { return slices.Clone(s.list) }

// Codes are those of All.
func (s *StateSet) Codes() (codes []string) {
	for i := range s.list {
		codes = append(codes, s.list[i].Code)
	}
	return codes
}

// Lookup returns the state of that code or name, in any letter case; accents, hyphens and periods count for nothing. Beside the
// source's own states it knows those that the country has.
func (s *StateSet) Lookup(text string) (State, bool) {
	if st, ok := LookupState(text); ok && s.usa {
		return st, true
	}
	if len(text) > 4*MaxState {
		return State{}, false
	}
	for _, key := range nameKeys(text) {
		if st, ok := s.names[key]; ok {
			return st, true
		}
	}
	return State{}, false
}

// Read returns what a listing keeps of a text that says its state: the code, else the text as the name. In the USA it is StateCode.
func (s *StateSet) Read(text string) string {
	if s.usa {
		return StateCode(text)
	}
	if st, ok := s.Lookup(text); ok {
		return cmp.Or(st.Code, st.Name)
	}
	if utf8.RuneCountInString(text) > MaxState || !strings.ContainsFunc(text, unicode.IsLetter) {
		return ""
	}
	return text
}

// Name returns the name of the state with that code; the code itself where there is none.
func (s *StateSet) Name(code string) string {
	at, ok := slices.BinarySearchFunc(s.list, code, func(x State, code string) int { return strings.Compare(x.Code, code) })
	if !ok {
		return code
	}
	return s.list[at].Name
}

// has reports whether the set has a state of that code.
func (s *StateSet) has(code string) bool {
	_, ok := slices.BinarySearchFunc(s.list, code, func(x State, code string) int { return strings.Compare(x.Code, code) })
	return ok
}

// Slug returns the name of the state with that code as addresses write it: "new-mexico".
func (s *StateSet) Slug(code string) string {
	if s != nil && s.has(code) {
		return cmp.Or(Slug(s.Name(code)), strings.ToLower(code))
	}
	return strings.ToLower(code)
}

// Parse returns the codes of the states that args name, see ParseStates. A state that the country has and the source has not is an
// error, too. Where the states are not known, any text is one.
func (s *StateSet) Parse(args []string) (codes []string, err error) {
	if s.usa && len(s.list) == len(states) {
		return ParseStates(args)
	}
	if len(args) == 1 && strings.EqualFold(strings.TrimSpace(args[0]), "all") {
		return nil, nil
	}
	for _, arg := range args {
		for name := range strings.SplitSeq(arg, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			st, ok := s.Lookup(name)
			if len(s.list) == 0 { // they are what an index says
				st, ok = State{Code: name}, true
			}
			if !ok || len(s.list) > 0 && !s.has(st.Code) {
				return nil, s.unknown(name)
			}
			if !slices.Contains(codes, st.Code) {
				codes = append(codes, st.Code)
			}
		}
	}
	return codes, nil
}

// unknown says that a name is no state of the set, see unknownState.
func (s *StateSet) unknown(name string) error {
	var candidates, some []string
	for _, st := range s.list {
		if utf8.RuneCountInString(name) <= 3 && st.Code != "" {
			candidates = append(candidates, st.Code)
		} else {
			candidates = append(candidates, st.Name)
		}
		if len(some) < 8 && st.Code != "" {
			some = append(some, shown(st))
		}
	}
	if near, ok := Nearest(name, candidates); ok {
		st, _ := s.Lookup(near)
		return fmt.Errorf("unknown state %q: did you mean %s?", name, shown(st))
	}
	if len(some) == 0 {
		return fmt.Errorf("unknown state %q: the source's places have no states", name)
	}
	if len(some) < len(s.list) {
		some = append(some, "…")
	}
	return fmt.Errorf("unknown state %q: want one of %s", name, strings.Join(some, ", "))
}

// shown is a state as errors say it: "Bayern (BY)".
func shown(st State) string {
	if st.Name == st.Code {
		return st.Code
	}
	return st.Name + " (" + st.Code + ")"
}

// nameKeys are the forms in which names of states are compared: as words in lower case without accents, and of a name with umlauts the one
// that writes them with an e ("thueringen").
func nameKeys(name string) []string {
	keys := []string{nameKey(name)}
	if spelled := umlauts.Replace(name); spelled != name {
		keys = append(keys, nameKey(spelled))
	}
	return keys
}

var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue")

func nameKey(name string) string {
	return string(appendWords(nil, strings.NewReplacer("-", " ", "_", " ").Replace(name)))
}
