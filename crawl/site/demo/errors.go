package demo

import "errors"

var (
	// ErrFailSpec says that a specification of failures cannot be read.
	ErrFailSpec = errors.New("bad failure specification")
	// ErrEpoch says that there is no such epoch.
	ErrEpoch = errors.New("no such epoch")
	// ErrNotLoopback says that an address would be reachable from other
	// machines without naming it outright.
	ErrNotLoopback = errors.New("not a loopback address")
)
