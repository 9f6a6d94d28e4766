package demo

import "errors"

var (
	// ErrFailSpec says that a specification of failures cannot be read.
	ErrFailSpec = errors.New("bad failure specification")
	// ErrNotLoopback says that an address would be reachable from other
	// machines without naming it outright.
	ErrNotLoopback = errors.New("not a loopback address")
)
