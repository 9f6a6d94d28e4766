package checkpoint

import "errors"

var (
	// ErrClaimLost means that the target is no longer the worker's: it was
	// recovered, reset or finished by somebody else. Nothing was written.
	ErrClaimLost = errors.New("the claim was lost: the target is no longer this worker's")
	// ErrNothing means that no target can be claimed now.
	ErrNothing = errors.New("no target can be claimed")
	// ErrExclusive means that another run holds the database and one of the two
	// asked to be alone.
	ErrExclusive = errors.New("another run holds the database")
)
