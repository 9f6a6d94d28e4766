package report

import (
	"fmt"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Next tells when a target is crawled next, and what would change that.
type Next struct {
	When   NextWhen  `json:"when"`
	At     time.Time `json:"at,omitzero"`       // of NextLater, when that is known
	Why    string    `json:"why"`               // for people
	Remedy string    `json:"remedy,omitempty"`  // the command that makes it claimable, without the program's name
	Held   string    `json:"held_by,omitempty"` // the worker of NextHeld
}

// NextWhen is when, roughly.
type NextWhen string

// The answers to "when is it crawled next?".
const (
	NextNow   NextWhen = "now"   // the next free worker may take it
	NextHeld  NextWhen = "held"  // a worker has it
	NextLater NextWhen = "later" // by itself
	NextNever NextWhen = "never" // not before an operator says so
)

// next reads the answer off what the views say of the target: it decides nothing
// but how to say it.
func (t *TargetDetail) next() Next {
	switch {
	case t.Status == yp.InProgress:
		return Next{When: NextHeld, Held: t.ClaimedBy, Why: "a worker has it"}
	case t.available:
		return Next{When: NextNow, Why: "the next free worker may take it"}
	case !t.Retired.IsZero() && t.Kind == yp.KindDetail:
		return never("its listing is gone from the source; its page is read again when the listing is back", "")
	case !t.Retired.IsZero():
		return never("its city is gone from the source's index; it is crawled again when the city is back (`discover` looks)", "")
	case t.Schedule == ScheduleFailed:
		return never("it is a dead letter", fmt.Sprintf("dead requeue %d", t.ID))
	case !t.Enabled:
		return never("it is disabled", fmt.Sprintf("targets enable %d", t.ID))
	case t.Health == yp.Paused:
		return never("it is paused", fmt.Sprintf("targets resume %d", t.ID))
	case t.Schedule == ScheduleNeedsPlan && t.Kind == yp.KindDetail:
		return never("it is stuck: its worker died too often", "details retry --status STUCK")
	case t.Schedule == ScheduleNeedsPlan:
		return never("it is stuck: its worker died too often", "reset --status STUCK")
	case t.Schedule == ScheduleNone:
		return never("it is done, and not to be crawled again", "")
	case t.gate == store.GateDisabled:
		return never("its source is disabled", SourceRemedy(t.Source, t.gate))
	case t.gate == store.GatePaused && t.gateUntil.IsZero():
		return never("its source is paused: "+t.gateWhy, SourceRemedy(t.Source, t.gate))
	}
	return t.later()
}

func never(why, remedy string) Next { return Next{When: NextNever, Why: why, Remedy: remedy} }

// later is the latest of the times that the target waits for.
func (t *TargetDetail) later() Next {
	n := Next{When: NextLater, Why: "it is due"}
	waits := []Next{{At: t.NotBefore, Why: "then it is due again"}}
	switch t.WaitReason {
	case "backoff":
		waits[0].Why, waits[0].Remedy = restText(t.Failures), t.restRemedy()
	case "gap":
		waits[0].Why = "two crawls of a target start at least 2 minutes apart"
	}
	if t.gate != store.GateOpen {
		waits = append(waits, Next{At: t.gateUntil, Why: fmt.Sprintf("its source is %s: %s", t.gate, ReasonText(t.gateWhy)), Remedy: SourceRemedy(t.Source, t.gate)})
	}
	for _, w := range waits {
		if w.At.After(n.At) {
			n.At, n.Why, n.Remedy = w.At, w.Why, w.Remedy
		}
	}
	if n.At.IsZero() { // its time came while it was looked at
		n.When, n.Why = NextNow, "the next free worker may take it"
	}
	return n
}

func restText(failures int) string {
	if failures <= 1 {
		return "it rests after a failure"
	}
	return fmt.Sprintf("it rests after %d failures in a row", failures)
}

// restRemedy is the command that ends a target's rest; none where the site said no: it
// would only be asked again too soon.
func (t *TargetDetail) restRemedy() string {
	if (Rest{Code: yp.ErrorCode(t.ErrorCode)}).Blocked() {
		return ""
	}
	return fmt.Sprintf("targets enable %d", t.ID)
}

// SourceRemedy is the command that opens a source, without the program's name; empty
// where there is none. What a host itself asked for is kept to, and while a site blocks
// nothing is to be done but to wait: `sources reset` would have it asked all the more.
func SourceRemedy(source string, gate store.GateState) string {
	if gate == store.GateDisabled || gate == store.GatePaused {
		return "sources enable " + source
	}
	return ""
}

// Penalty is the reason of a hold that is ours, after a block, not the host's.
const Penalty = "penalty"

// ReasonText is the reason of a closed source or a held host as people are told it:
// "penalty: 3 blocks in a row" is "a rest after 3 blocks in a row".
func ReasonText(reason string) string {
	if reason == Penalty {
		return "a rest after blocks"
	}
	if blocks, ok := strings.CutPrefix(reason, Penalty+": "); ok {
		return "a rest after " + blocks
	}
	return reason
}
