package crawl

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// pool are the workers of a source that have a log, by their numbers.
type pool struct {
	mu sync.Mutex
	on map[int]*worker
}

// worker is one goroutine of a run. It visits one target at a time.
type worker struct {
	*Engine
	me     checkpoint.Worker
	log    Log
	logger zerolog.Logger
	steps  zerolog.Logger // lines of it for people, one a second

	number   int
	name     string         // for people
	session  *fetch.Session // proxy and identity, over targets; nil = direct and honest
	unprobed time.Time      // since when a probe of the source could not be made
	waitsFor string         // as others were told: see fullStates

	hand atomic.Pointer[visit] // for the heartbeat
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
	detached := context.WithoutCancel(ctx)
	if err := e.cfg.Run.Enlist(detached, id, name, usage()); err != nil {
		return err
	}
	log, err := e.cfg.OpenLog(id)
	if err != nil {
		return errors.Join(err, e.cfg.Run.Dismiss(detached, id, usage()))
	}
	w := &worker{
		Engine: e, number: n, name: name, me: checkpoint.Worker{ID: id, RunID: e.cfg.Run.ID}, log: log,
		logger: e.cfg.Logger.With().Str("component", "crawl").Str("worker", yp.WorkerText(id)).Logger(),
	}
	w.me.Busy, w.steps = w.claimBusy, w.logger.Sample(e.steps)
	e.pool.set(n, w)
	defer func() {
		e.pool.set(n, nil)
		if w.session != nil {
			w.session.Close()
		}
		err = errors.Join(err, log.Close(), e.cfg.Run.Dismiss(detached, id, usage()))
	}()
	return w.run(ctx)
}

// run claims targets and visits them until there is nothing more to do or the run stops. An
// error means that nobody can go on.
func (w *worker) run(ctx context.Context) error {
	defer w.wakeWorker() // who waits beside this one may as well be at the end
	for {
		c, err := w.next(ctx)
		if err != nil || c == nil {
			return err
		}
		w.count.update(func(s *Stats) { s.Busy++ })
		o, err := w.visit(c).run(ctx)
		w.count.update(func(s *Stats) { s.Busy-- })
		w.hands.Add(-1)
		if err != nil {
			return err
		}
		if o.rest > 0 {
			w.sleep(ctx, w.stopCtx, min(o.rest, w.look), nil)
		}
	}
}

// inHand notes that a page of the claim is in hand; nil = none.
func (w *worker) inHand(c *checkpoint.Claim) { w.cfg.Run.InHand(w.number, c) }

// set says who is worker n. Once it is nobody, no heartbeat is being written any more,
// and the worker's log may be closed.
func (p *pool) set(n int, w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on[n] = w; w == nil {
		delete(p.on, n)
	}
}

// heartbeat writes one into the log of every worker that has a target in hand, and brings the
// logs to the disk: of what is no page, a power cut takes at most what came since the last one.
func (p *pool) heartbeat() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, w := range p.on {
		if v := w.hand.Load(); v != nil {
			errs = append(errs, w.append(&wal.Event{Type: wal.Heartbeat, Target: v.target}))
		}
		errs = append(errs, w.log.Sync())
	}
	return errors.Join(errs...)
}
