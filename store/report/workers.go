package report

import (
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// WorkerName is a worker as people see it, scanned from its id: see yp.WorkerText.
type WorkerName string

// Scan implements sql.Scanner.
func (w *WorkerName) Scan(id any) error {
	*w = WorkerName(yp.WorkerText(fmt.Sprint(id)))
	return nil
}

// WorkerState says whether a worker works.
type WorkerState string

// The states of a worker.
const (
	WorkerAlive  WorkerState = "alive"
	WorkerSilent WorkerState = "silent" // it has not ended, and nothing is heard of it
	WorkerEnded  WorkerState = "ended"
)

// runState reports whether a run works. Its process holds a lock while it lives; of another
// machine's only the heartbeat is known.
func (k *Reader) runState(r *Run) (WorkerState, string) {
	quiet := k.db.Now().Sub(r.Heartbeat)
	alive, here := k.alive(r.UUID), r.Host == k.host
	switch {
	case r.Outcome == "dead":
		return WorkerEnded, "its process died; its targets were recovered"
	case r.Outcome != "running":
		return WorkerEnded, "its run ended: " + r.Outcome
	case (alive || !here) && quiet <= store.SilentElsewhere:
		return WorkerAlive, ""
	case alive:
		return WorkerSilent, "its process is alive, but has sent no heartbeat since " + yp.ClockTime(k.db.Now(), r.Heartbeat)
	case here:
		return WorkerSilent, "its process is dead; the next run recovers its targets"
	}
	return WorkerSilent, "its machine has sent no heartbeat since " + yp.ClockTime(k.db.Now(), r.Heartbeat)
}
