package store

// Scope selects the targets that a command is about. Empty lists select all.
type Scope struct {
	SourceID      int64 // 0 = every source
	States        []string
	CategoryIDs   []int64
	CityIDs       []int64
	MinPopulation int
}

// InScope is a scope as a condition on targets t, with the arguments ?1 to ?5, which are
// those of Args. Its shape is constant, so that every statement is prepared once.
const InScope = `
	(?1 = 0 OR t.source_id = ?1)
	AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
	AND (?3 = '[]' OR t.category_id IN (SELECT value FROM json_each(?3)))
	AND (?4 = '[]' OR t.city_id IN (SELECT value FROM json_each(?4)))
	AND t.population >= ?5`

// Args returns the arguments of InScope, then more.
func (s Scope) Args(more ...any) []any {
	return append([]any{s.SourceID, JSONTexts(s.States), JSONInts(s.CategoryIDs), JSONInts(s.CityIDs), s.MinPopulation}, more...)
}
