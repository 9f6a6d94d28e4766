package crawl

import (
	"context"
	"errors"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"ypcrawl/checkpoint"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// workers are those of a source that have a log, by their numbers.
type workers struct {
	mu sync.Mutex
	on map[int]*worker
}

// work runs the workers of the source to their ends. An error of one says that nobody can go
// on, of this source or another: all finish their page and hand back. The first is returned.
func (e *Engine) work(ctx context.Context) error {
	var all errgroup.Group
	for range e.cfg.Workers {
		n := int(e.shared.workers.Add(1)) - 1
		all.Go(func() error {
			err := e.workAs(ctx, n)
			if err != nil {
				e.shared.stop(err)
			}
			return err
		})
	}
	return all.Wait()
}

// workAs runs worker n with a log of its own.
func (e *Engine) workAs(ctx context.Context, n int) (err error) {
	id, name := yp.WorkerID(n, os.Getpid()), yp.WorkerName(n)
	keep := context.WithoutCancel(ctx)
	if err := e.cfg.Run.Enlist(keep, id, name, usage()); err != nil {
		return err
	}
	log, err := e.cfg.OpenLog(id)
	if err != nil {
		return errors.Join(err, e.cfg.Run.Dismiss(keep, id, usage()))
	}
	w := &worker{
		Engine: e, number: n, name: name, me: checkpoint.Worker{ID: id, RunID: e.cfg.Run.ID}, log: log,
		logger: e.cfg.Logger.With().Str("component", "crawl").Str("worker", yp.WorkerText(id)).Logger(),
	}
	w.me.Busy, w.steps = w.claimBusy, w.logger.Sample(e.steps)
	e.workers.set(n, w)
	defer func() {
		e.workers.set(n, nil)
		if w.session != nil {
			w.session.Close()
		}
		err = errors.Join(err, log.Close(), e.cfg.Run.Dismiss(keep, id, usage()))
	}()
	return w.run(ctx)
}

// set says who is worker n. Once it is nobody, no heartbeat is being written any more,
// and the worker's log may be closed.
func (p *workers) set(n int, w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on[n] = w; w == nil {
		delete(p.on, n)
	}
}

// heartbeat writes one into the log of every worker that has a target in hand, and brings the
// logs to the disk: of what is no page, a power cut takes at most what came since the last one.
func (p *workers) heartbeat() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, w := range p.on {
		if t := w.hand.Load(); t != nil {
			errs = append(errs, w.append(&wal.Event{Type: wal.Heartbeat, Target: t}))
		}
		errs = append(errs, w.log.Sync())
	}
	return errors.Join(errs...)
}
