package report

import (
	"fmt"
	"time"

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

// life says whether a run that has not ended is running, silent or killed, or that it is unknown. Its process holds a lock
// while it lives; of another machine's only the heartbeat is known.
func (k *Reader) life(uuid, host string, heartbeat time.Time) string {
	alive, unseen := k.alive(uuid, heartbeat)
	here := host == k.host
	switch {
	case here && unseen != nil:
		return "unknown"
	case here && !alive:
		return "killed"
	case k.db.Now().Sub(heartbeat) > store.SilentElsewhere:
		return "silent"
	}
	return "running"
}
