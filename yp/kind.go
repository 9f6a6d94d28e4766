package yp

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
