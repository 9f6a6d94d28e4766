package yp

import "fmt"

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
