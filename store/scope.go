package store

import (
	"slices"
	"time"

	"ypcrawl/yp"
)

// Scope selects the targets that a command is about. Empty lists select all. As JSON it is a part of a Selection.
type Scope struct {
	SourceID      int64     `json:"-"`               // 0 = every source
	Kinds         []yp.Kind `json:"kinds,omitempty"` // none = searches
	States        []string  `json:"states,omitempty"`
	CityIDs       []int64   `json:"cities,omitempty"`
	CategoryIDs   []int64   `json:"categories,omitempty"`
	MinPopulation int       `json:"min_population,omitempty"`

	DetailsEvery time.Duration `json:"-"` // of a claim: how long a detail that is read now stays good; 0 = as before
}

// Has reports whether the scope is about targets of a kind.
func (s Scope) Has(kind yp.Kind) bool {
	return slices.Contains(s.Kinds, kind) || len(s.Kinds) == 0 && kind == yp.KindSearch
}

// InScope is a scope as a condition on targets t, with the arguments ?1 to ?6, which are
// those of Args. Its shape is constant, so that every statement is prepared once. The index
// of a state is of all its cities: only the state chooses among indexes. Statements have it
// written out, word for word; a test compares them.
const InScope = `
	(?1 = 0 OR t.source_id = ?1)
	AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
	AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
	AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
	AND (t.population >= ?5 OR t.kind = 'index')
	AND t.kind IN (SELECT value FROM json_each(?6))`

// Args returns the arguments of InScope, then more.
func (s Scope) Args(more ...any) []any {
	return append([]any{s.SourceID, JSONTexts(s.States), JSONInts(s.CategoryIDs), JSONInts(s.CityIDs), s.MinPopulation, s.KindList()}, more...)
}

// KindList is the kinds as a JSON list, never empty.
func (s Scope) KindList() string {
	if len(s.Kinds) == 0 {
		return `["search"]`
	}
	return JSONTexts(s.Kinds)
}

// Availability says whether a source may be asked at all.
type Availability struct {
	State  SourceState
	Until  time.Time    // when it may open by itself; zero = not before an operator says so
	Code   yp.ErrorCode // of a pause
	Reason string       // for people: "Retry-After", "cf_challenge"
}

// SourceState is what closes a source.
type SourceState string

// The states of a source, in the order in which they are looked for.
const (
	SourceOpen        SourceState = "open"
	SourceDisabled    SourceState = "disabled"    // by an operator
	SourcePaused      SourceState = "paused"      // an alarm, or a refusal of our credentials
	SourceQuarantined SourceState = "quarantined" // until a probe succeeds
	SourceHeld        SourceState = "held"        // a host said when to come back, or a penalty
)

// Open reports whether targets of the source can be claimed.
func (a Availability) Open() bool { return a.State == SourceOpen }
