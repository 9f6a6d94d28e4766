package discover

import "fmt"

// UnknownError names a word of the operator that means nothing here, and the
// next step.
type UnknownError struct{ What, Name, Hint string }

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q%s", e.What, e.Name, e.Hint) }
