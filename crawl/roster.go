package crawl

import (
	"errors"
	"sync"

	"ypcrawl/wal"
)

// roster knows the workers that are at work, for the heartbeats in their logs.
type roster struct {
	mu sync.Mutex
	on map[*worker]struct{}
}

func (r *roster) enter(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on == nil {
		r.on = map[*worker]struct{}{}
	}
	r.on[w] = struct{}{}
}

// leave returns when no heartbeat is being written for w any more, so that its
// log may be closed.
func (r *roster) leave(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.on, w)
}

// beat writes a heartbeat into every log, with the target in hand, and brings
// the logs to the disk: a power cut takes at most what came since the last one.
func (r *roster) beat() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for w := range r.on {
		err := w.append(&wal.Event{Type: wal.Heartbeat, Target: w.hand.Load()})
		errs = append(errs, errors.Join(err, w.log.Sync()))
	}
	return errors.Join(errs...)
}
