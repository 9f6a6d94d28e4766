package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// Engine runs one crawl.
type Engine struct {
	cfg     Config
	filter  matcher
	count   counters
	started time.Time

	// patience ends when the run is to stop: waits end at once, a page in hand
	// is finished.
	patience context.Context //nolint:containedctx // it is the stop signal itself
	stop     context.CancelCauseFunc
	// appetite ends with patience, or when a budget is used up: nothing new is
	// begun, what is begun goes on.
	appetite context.Context //nolint:containedctx // a signal too
	enough   context.CancelCauseFunc

	freed chan struct{} // there may be a target to claim: somebody's turn to look again
	look  time.Duration // how often an idle worker asks again: other processes can't signal
	looks pacer         // of refills by idle workers
	staff roster
	big   sync.Mutex // held while a big page is parsed
}

// look is the default of Engine.look.
const look = time.Second

// Causes of a stop.
var (
	// ErrInterrupted is the cause of a stop that was asked for from outside.
	ErrInterrupted = errors.New("interrupted")
	// ErrBudget is the cause of a stop because a budget is used up.
	ErrBudget = errors.New("budget reached")
	errDone   = errors.New("run is over")
)

// New returns an engine for one run.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg.withDefaults(), started: time.Now(), freed: make(chan struct{}, 1), look: look}
	e.filter = e.cfg.Filter.compile()
	e.patience, e.stop = context.WithCancelCause(context.Background())
	e.appetite, e.enough = context.WithCancelCause(e.patience)
	return e
}

// Stop asks every worker to finish its page, release its target and end.
func (e *Engine) Stop(cause error) { e.stop(cause) }

// Stats returns what the run has done so far; safe to call at any time.
func (e *Engine) Stats() Stats { return e.count.snapshot(time.Since(e.started)) }

// Waiting tells for what the whole run waits now; empty while it works.
func (e *Engine) Waiting() string {
	if e.count.busy.Load() > 0 {
		return ""
	}
	e.count.mu.Lock()
	defer e.count.mu.Unlock()
	return e.count.waiting
}

// Observed counts one HTTP request; hand it to the fetch client's Observe.
func (e *Engine) Observed(wireBytes int64) {
	e.count.requests.Add(1)
	e.count.bytes.Add(wireBytes)
}

// Run crawls until nothing can be claimed (nil), the run is stopped
// (the cause of the stop), a budget is used up with work left (ErrBudget), or the
// database or the log can't be written any more (that error). Cancelling ctx cuts
// requests under way, too.
func (e *Engine) Run(ctx context.Context) error {
	defer e.stop(errDone)
	if d := e.cfg.Budget.Duration; d > 0 {
		t := time.AfterFunc(d, func() { e.stop(fmt.Errorf("%w: %s", ErrBudget, d)) })
		defer t.Stop()
	}
	if _, err := e.cfg.Keeper.Wake(ctx, e.cfg.Scope); err != nil {
		return err
	}
	var side sync.WaitGroup
	beats, quiet := context.WithCancel(ctx)
	side.Go(func() { e.beat(beats) })

	var workers errgroup.Group // without a context: one that ends must not cut the others' pages
	for n := range e.cfg.Workers {
		workers.Go(func() error { return e.work(ctx, n) })
	}
	err := workers.Wait()
	quiet()
	side.Wait()
	return e.verdict(ctx, err)
}

// verdict is how the run ended, err being the first of its workers' errors.
func (e *Engine) verdict(ctx context.Context, err error) error {
	if cause := context.Cause(e.appetite); err == nil || cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	if !errors.Is(err, ErrBudget) {
		return cmp.Or(err, ctx.Err())
	}
	if more, lookErr := e.more(ctx); lookErr == nil && !more {
		return nil // the budget was just enough
	}
	return err
}

// more reports whether something of the scope can be claimed, or soon will be.
func (e *Engine) more(ctx context.Context) (bool, error) {
	ready, next, err := e.cfg.Keeper.Ready(ctx, e.cfg.Scope)
	return ready || !next.IsZero() && next.Sub(e.cfg.Keeper.DB().Now()) <= e.cfg.Linger, err
}

// work runs worker n with a log of its own.
func (e *Engine) work(ctx context.Context, n int) (err error) {
	id := yp.WorkerID(n, os.Getpid())
	log, err := e.cfg.OpenLog(id)
	if err != nil {
		e.stop(err)
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	w := &worker{
		Engine: e, me: checkpoint.Worker{ID: id, RunID: e.cfg.Run.ID}, log: log,
		logger: e.cfg.Logger.With().Str("component", "crawl").Str("worker", yp.WorkerName(n)).Logger(),
	}
	e.staff.enter(w)
	defer e.staff.leave(w)
	if err := w.run(ctx); err != nil {
		e.stop(err) // the others finish their page and hand back
		return err
	}
	return nil
}

// beat keeps the claims of this process alive, takes back what processes that
// died meanwhile held, and wakes what falls due.
func (e *Engine) beat(ctx context.Context) {
	tick := time.NewTicker(e.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := e.beatOnce(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Logger.Warn().Err(err).Str("component", "crawl").Msg("heartbeat failed")
				if store.Fatal(err) {
					e.stop(err)
				}
			}
		}
	}
}

func (e *Engine) beatOnce(ctx context.Context) error {
	if _, err := e.cfg.Run.Heartbeat(ctx, e.count.requests.Load()); err != nil {
		return err
	}
	return errors.Join(e.staff.beat(), e.refill(ctx))
}

// refill makes claimable what has become so by itself.
func (e *Engine) refill(ctx context.Context) error {
	e.looks.mark()
	rec, err := e.cfg.Keeper.RecoverDead(ctx, e.cfg.Scope)
	if err != nil {
		return err
	}
	if rec.Total() > 0 {
		e.cfg.Logger.Info().Str("component", "crawl").Int("planned", rec.Planned).Int("stuck", rec.Stuck).
			Msg("recovered targets of a dead process")
	}
	woken, err := e.cfg.Keeper.Wake(ctx, e.cfg.Scope)
	if rec.Planned+woken > 0 {
		e.free()
	}
	return err
}

// free lets one waiting worker look again.
func (e *Engine) free() {
	select {
	case e.freed <- struct{}{}:
	default:
	}
}
