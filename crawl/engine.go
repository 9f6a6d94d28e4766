package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
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
	hear  time.Duration // how often the holds of other processes are read
	staff staff
	// perWorker is how many due targets make one more worker worth its while.
	perWorker int
	fetches   atomic.Int64 // logical page fetches so far
	strangers atomic.Int32 // pages in a row that were none of the site's
	loose     loose        // requests that belong to no target
	big       sync.Mutex   // held while a big page is parsed
	hosts     *health.Hosts
	layout    *health.Layout
	status    string // of the source at the last roll-up

	barredBy atomic.Pointer[BlockedError] // why the run ends with work left
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
	e := &Engine{cfg: cfg.withDefaults(), started: time.Now(), freed: make(chan struct{}, 1), look: look, hear: hearEvery, perWorker: targetsPerWorker}
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
	return e.count.idle
}

// Observed counts one HTTP request; it is the fetch client's Observe.
func (e *Engine) Observed(o fetch.Observation) {
	e.count.requests.Add(1)
	e.count.bytes.Add(o.WireBytes)
	if o.Robots && !o.Cancelled {
		e.loose.add(robotsRequest(e.cfg.Scope.SourceID, o))
	}
}

// Run crawls until nothing can be claimed (nil), the run is stopped
// (the cause of the stop), a budget is used up with work left (ErrBudget), the
// source is closed for longer than the run waits (a *BlockedError), or the
// database or the log can't be written any more (that error). Cancelling ctx cuts
// requests under way, too.
func (e *Engine) Run(ctx context.Context) error {
	defer e.stop(errDone)
	if d := e.cfg.Budget.Duration; d > 0 {
		t := time.AfterFunc(d, func() { e.stop(fmt.Errorf("%w: %s", ErrBudget, d)) })
		defer t.Stop()
	}
	due, err := e.prepare(ctx)
	if err != nil {
		return err
	}
	var side sync.WaitGroup
	beats, quiet := context.WithCancel(ctx)
	err = e.staff.open(ctx, e, due)
	side.Go(func() { e.beat(beats) })
	side.Go(func() { e.forget(beats) })
	err = errors.Join(err, e.staff.wait())
	quiet()
	side.Wait()
	return e.verdict(ctx, errors.Join(err, e.settleUp(context.WithoutCancel(ctx))))
}

// prepare reads how the source fares and wakes what is due; it returns how many
// targets are, counted as far as it matters.
func (e *Engine) prepare(ctx context.Context) (due int, err error) {
	if _, err := e.cfg.Monitor.RollUp(ctx); err != nil {
		return 0, err
	}
	if e.hosts, err = e.cfg.Monitor.Hosts(ctx, e.cfg.Scope.SourceID, e.cfg.Delay, e.cfg.Fetch); err != nil {
		return 0, err
	}
	if e.layout, err = e.cfg.Monitor.Layout(ctx, e.cfg.Scope.SourceID); err != nil {
		return 0, err
	}
	if _, err := e.cfg.Keeper.Wake(ctx, e.cfg.Scope); err != nil {
		return 0, err
	}
	return e.due(ctx)
}

// verdict is how the run ended, err being the first of its workers' errors.
func (e *Engine) verdict(ctx context.Context, err error) error {
	if cause := context.Cause(e.appetite); err == nil || cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	if barred := e.barredBy.Load(); err == nil && barred != nil {
		err = barred
	}
	if !errors.Is(err, ErrBudget) && !errors.As(err, new(*BlockedError)) {
		return cmp.Or(err, ctx.Err())
	}
	if more, lookErr := e.more(ctx); lookErr == nil && !more {
		return nil // the budget was just enough, or others have done the rest meanwhile
	}
	return err
}

// more reports whether something of the scope can be claimed, or soon will be.
func (e *Engine) more(ctx context.Context) (bool, error) {
	o, err := e.cfg.Keeper.Look(ctx, e.cfg.Scope, 1, e.cfg.Linger)
	return o.Ready > 0 || !o.Next.IsZero(), err
}
