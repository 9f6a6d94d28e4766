package store

import (
	"time"

	"ypcrawl/yp"
)

// Gate says whether a source may be asked at all.
type Gate struct {
	State  GateState
	Until  time.Time    // when it may open by itself; zero = not before an operator says so
	Code   yp.ErrorCode // of a pause
	Reason string       // for people: "Retry-After", "cf_challenge"
}

// GateState is what closes a source.
type GateState string

// The states of a gate, in the order in which they are looked for.
const (
	GateOpen        GateState = "open"
	GateDisabled    GateState = "disabled"    // by an operator
	GatePaused      GateState = "paused"      // an alarm, or a refusal of our credentials
	GateQuarantined GateState = "quarantined" // until a probe succeeds
	GateHeld        GateState = "held"        // a host said when to come back, or a penalty
)

// Open reports whether targets of the source can be claimed.
func (g Gate) Open() bool { return g.State == GateOpen }
