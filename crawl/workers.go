package crawl

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"

	"ypcrawl/checkpoint"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// targetsPerWorker is how many due targets there are for each worker.
const targetsPerWorker = 10

// workerPool is the workers at work: as many as there is work for, at most
// Config.Workers. One that finds nothing to do while others are there ends; more
// are started when more falls due.
type workerPool struct {
	engine *Engine
	group  sync.WaitGroup

	mu     sync.Mutex
	on     map[int]*worker // by number; nil = starting or ending
	stay   int             // of them, those that are not ending
	closed bool            // the last one has ended: the run is over
	err    error           // the first error of a worker
}

// start starts the workers that are wanted for the due targets and not there yet.
// It does nothing once the run is stopping.
func (p *workerPool) start(ctx context.Context, due int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := p.wanted(due)
	for p.stay < wanted && !p.closed && p.engine.drainCtx.Err() == nil {
		n := p.engine.shared.numbers.take()
		p.on[n] = nil
		p.stay++
		p.group.Go(func() { p.run(ctx, n) })
	}
}

// wait returns when the last worker has ended, with the first error of any.
func (p *workerPool) wait() error {
	p.group.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.err
}

// run runs worker n to its end. An error of one says that nobody can go on, of this
// source or another: all finish their page and hand back.
func (p *workerPool) run(ctx context.Context, n int) {
	excused, err := p.engine.work(ctx, n)
	if err != nil {
		p.engine.shared.stop(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.on, n)
	p.engine.shared.numbers.giveBack(n)
	if !excused {
		p.stay--
	}
	p.closed = p.closed || len(p.on) == 0
	p.err = cmp.Or(p.err, err)
}

// wanted is how many workers there are for so many due targets.
func (p *workerPool) wanted(due int) int {
	return min((due+p.engine.perWorker-1)/p.engine.perWorker, p.engine.cfg.Workers)
}

// full reports whether there are as many workers as there may be.
func (p *workerPool) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stay >= p.engine.cfg.Workers
}

// mayEnd lets a worker that has nothing to do end, if another one stays: somebody
// must see the run to its end.
func (p *workerPool) mayEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stay < 2 {
		return false
	}
	p.stay--
	return true
}

// work runs worker n with a log of its own. excused says that mayEnd let it end.
func (e *Engine) work(ctx context.Context, n int) (excused bool, err error) {
	id, name := yp.WorkerID(n, os.Getpid()), yp.WorkerName(n)
	keep := context.WithoutCancel(ctx)
	if err := e.cfg.Run.Enlist(keep, id, name, usage()); err != nil {
		return false, err
	}
	log, err := e.cfg.OpenLog(id)
	if err != nil {
		return false, errors.Join(err, e.cfg.Run.Dismiss(keep, id, usage()))
	}
	w := &worker{
		Engine: e, number: n, name: name, me: checkpoint.Worker{ID: id, RunID: e.cfg.Run.ID}, log: log, shown: map[string]int{},
		logger: e.cfg.Logger.With().Str("component", "crawl").Str("worker", yp.WorkerText(id)).Logger(),
	}
	w.me.Busy = w.claimBusy
	e.workers.set(n, w)
	defer func() {
		e.workers.set(n, nil)
		if w.session != nil {
			w.session.Close()
		}
		err = errors.Join(err, log.Close(), e.cfg.Run.Dismiss(keep, id, usage()))
	}()
	err = w.run(ctx)
	return w.excused, err
}

// set says who is worker n. Once it is nobody, no heartbeat is being written any more,
// and the worker's log may be closed.
func (p *workerPool) set(n int, w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on[n] = w
}

// heartbeat writes one into every log, with the target in hand, and brings the logs to
// the disk: of what is no page, a power cut takes at most what came since the last one.
func (p *workerPool) heartbeat() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, w := range p.on {
		if w != nil {
			errs = append(errs, w.append(&wal.Event{Type: wal.Heartbeat, Target: w.hand.Load()}), w.log.Sync())
		}
	}
	return errors.Join(errs...)
}
