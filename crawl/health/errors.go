package health

import "errors"

var (
	// ErrProbeLost means that the probe is no longer the source's: it took longer
	// than ProbeTime and another has begun, or the quarantine has ended meanwhile.
	// Its outcome was not written.
	ErrProbeLost = errors.New("the probe came too late: the source is in other hands")
	// ErrNoSource means that no source has that id.
	ErrNoSource = errors.New("no such source")
	// ErrNoSample means that no page sample has that id: only the newest of each
	// source are kept.
	ErrNoSample = errors.New("no such page sample")
	// ErrAmbiguous means that a name stands for several proxies: their id tells
	// them apart.
	ErrAmbiguous = errors.New("the name stands for several proxies: use the id")
)
