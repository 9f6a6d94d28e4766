package crawl

import (
	"context"
	"errors"
	"os"
	"sync"

	"ypcrawl/checkpoint"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// targetsPerWorker is how many due targets make one more worker worth its while.
const targetsPerWorker = 10

// staff is the workers at work: as many as there is work for, at most
// Config.Workers. One that finds nothing to do while others are there goes; more
// come when more falls due.
type staff struct {
	engine *Engine
	group  sync.WaitGroup

	mu     sync.Mutex
	on     map[int]*worker // by number; nil = starting or going
	stay   int             // of them, those that are not going
	closed bool            // the last one has gone: the run is over
	err    error           // the first error of a worker
}

// open hires the first workers for so many due targets.
func (s *staff) open(ctx context.Context, e *Engine, due int) error {
	s.engine, s.on = e, map[int]*worker{}
	return s.hire(ctx, max(due, 1))
}

// wanted is the number of workers for so many due targets.
func (s *staff) wanted(due int) int {
	each := s.engine.perWorker
	return min((due+each-1)/each, s.engine.cfg.Workers)
}

// hire brings the staff up to what the due targets are worth. It does nothing
// once the run is stopping.
func (s *staff) hire(ctx context.Context, due int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.stay < s.wanted(due) && !s.closed && s.engine.appetite.Err() == nil {
		n := s.engine.house.numbers.take()
		s.on[n] = nil
		s.stay++
		s.group.Go(func() { s.employ(ctx, n) })
	}
	return nil
}

// wait returns when the last worker has gone, with the first error of any.
func (s *staff) wait() error {
	s.group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.err
}

// employ runs worker n to its end. An error of one says that nobody can go on, of this
// source or another: all finish their page and hand back.
func (s *staff) employ(ctx context.Context, n int) {
	gone, err := s.engine.work(ctx, n)
	if err != nil {
		s.engine.house.stop(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.on, n)
	s.engine.house.numbers.giveBack(n)
	if !gone {
		s.stay--
	}
	s.closed = s.closed || len(s.on) == 0
	if s.err == nil {
		s.err = err
	}
}

// spare lets a worker that has nothing to do go, if another one stays: somebody
// must see the run to its end.
func (s *staff) spare() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stay < 2 {
		return false
	}
	s.stay--
	return true
}

// work runs worker n with a log of its own.
// gone tells that the staff let it go.
func (e *Engine) work(ctx context.Context, n int) (gone bool, err error) {
	id, name := yp.WorkerID(n, os.Getpid()), yp.WorkerName(n)
	keep := context.WithoutCancel(ctx)
	if err := e.cfg.Run.Enlist(keep, id, name, residentBytes()); err != nil {
		return false, err
	}
	log, err := e.cfg.OpenLog(id)
	if err != nil {
		return false, errors.Join(err, e.cfg.Run.Dismiss(keep, id))
	}
	w := &worker{
		Engine: e, number: n, name: name, me: checkpoint.Worker{ID: id, RunID: e.cfg.Run.ID}, log: log,
		logger: e.cfg.Logger.With().Str("component", "crawl").Str("worker", name).Logger(),
	}
	e.staff.enter(w)
	defer func() {
		e.staff.leave(w)
		w.leaveSession()
		err = errors.Join(err, log.Close(), e.cfg.Run.Dismiss(keep, id))
	}()
	err = w.run(ctx)
	return w.gone, err
}

func (s *staff) enter(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[w.number] = w
}

// leave returns when no heartbeat is being written for w any more, so that its
// log may be closed.
func (s *staff) leave(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[w.number] = nil
}

// beat writes a heartbeat into every log, with the target in hand, and brings
// the logs to the disk: of what is no page, a power cut takes at most what came since the
// last one.
func (s *staff) beat() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, w := range s.on {
		if w == nil {
			continue
		}
		err := w.append(&wal.Event{Type: wal.Heartbeat, Target: w.hand.Load()})
		errs = append(errs, errors.Join(err, w.log.Sync()))
	}
	return errors.Join(errs...)
}
