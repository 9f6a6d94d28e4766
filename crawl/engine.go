package crawl

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
)

// Engine runs one crawl of one source.
type Engine struct {
	cfg         Config
	shared      *Sources // with the other engines of the process
	sharesFetch bool     // its fetcher with another engine, whose Observed counts for both
	filter      matcher
	count       counters
	started     time.Time

	// stopCtx ends when the run is to stop: waits end at once, a page in hand
	// is finished.
	stopCtx context.Context //nolint:containedctx // it is the stop signal itself
	stop    context.CancelCauseFunc
	// drainCtx ends with stopCtx, or when a budget is used up: nothing new is
	// begun, what is begun goes on.
	drainCtx context.Context //nolint:containedctx // a signal too
	drain    context.CancelCauseFunc

	wakeup chan struct{} // there may be a target to claim: somebody's turn to look again
	look   time.Duration // how often an idle worker asks again: other processes can't signal
	woken  lastTime      // when what was due was last looked for
	pool   pool
	steps  *zerolog.BurstSampler // of the lines about steps
	active atomic.Bool           // it has workers
	hands  atomic.Int32          // workers that have a target, or are claiming one

	unrecognized      atomic.Int32   // pages in a row that were none of the site's
	unread            unreadCards    // the first of each reason
	fields            fieldWatch     // of the first pages
	led               led            // targets in a row that were led elsewhere
	missing           missing        // the first targets, as long as none of them has a page
	told              sync.Map       // what was told once: endings of lists
	unreadableDetails atomic.Int32   // listings' own pages in a row whose layout is not known
	robots            robotsRequests // made and not yet written
	hosts             *health.Hosts
	layout            *health.Layout
	status            string // of the source at the last roll-up

	blockedBy  atomic.Pointer[BlockedError] // why the run ends with work left
	ended      error                        // how it ended; to be read when over is closed
	took       time.Duration                // until then, likewise
	over       chan struct{}
	filterText string // in JSON, for pages that are kept
}

// look is the default of Engine.look.
const look = time.Second

// Causes of a stop.
var (
	// ErrInterrupted is the cause of a stop that was asked for from outside.
	ErrInterrupted = errors.New("interrupted")
	// ErrBudget is the cause of a stop because a budget is used up.
	ErrBudget = errors.New("budget reached")
	errDone   = errors.New("the run has ended")
)

// Stats returns what the run has done so far; safe to call at any time.
func (e *Engine) Stats() Stats { return e.count.snapshot(time.Since(e.started)) }

// Waiting tells for what the whole run waits now; empty while it works.
func (e *Engine) Waiting() string {
	e.count.mu.Lock()
	defer e.count.mu.Unlock()
	if e.count.stats.Busy > 0 {
		return ""
	}
	return e.count.waiting
}

// Observed counts one HTTP request; it is the fetch client's Observe.
func (e *Engine) Observed(o fetch.Observation) {
	if o.Robots || !e.sharesFetch {
		e.countRequest(o)
	}
	if o.Robots && !o.Cancelled {
		e.robots.add(e.cfg.Scope.SourceID, o)
	}
}

func (e *Engine) countRequest(o fetch.Observation) {
	e.count.update(func(s *Stats) { s.Requests++; s.Bytes += o.WireBytes })
}

// runSource crawls the engine's source until nothing can be claimed (nil), the run is stopped
// (the cause of the stop), a budget is used up with work left (ErrBudget), the
// source is closed for longer than the run waits (a *BlockedError), or the
// database or the log can't be written any more (that error, which ends all engines).
func (e *Engine) runSource(ctx context.Context) error {
	defer e.stop(errDone)
	err := e.prepare(ctx)
	if err == nil {
		err = e.tellStart(ctx)
	}
	if err != nil {
		e.shared.stop(err)
		return err
	}
	e.active.Store(true)
	err = e.work(ctx)
	e.active.Store(false)
	e.count.wait("")
	return e.verdict(ctx, errors.Join(err, e.flush(context.WithoutCancel(ctx))))
}

// prepare reads how the source fares and wakes what is due.
func (e *Engine) prepare(ctx context.Context) (err error) {
	if e.hosts, err = e.cfg.Monitor.Hosts(ctx, e.cfg.Scope.SourceID, e.cfg.Delay, e.cfg.Fetch); err != nil {
		return err
	}
	if e.layout, err = e.cfg.Monitor.Layout(ctx, e.cfg.Scope.SourceID); err != nil {
		return err
	}
	if e.cfg.Details.Wanted && e.cfg.Source.HasDetails() { // those of the listings that were there before
		if err := e.cfg.Keeper.AskByID(ctx, e.cfg.Scope.SourceID, e.cfg.Source.OwnByID()); err != nil {
			return err
		}
		added, err := e.cfg.Keeper.WantDetails(ctx, e.cfg.Scope.SourceID, e.cfg.Scope.States)
		if err != nil {
			return err
		}
		if added > 0 {
			e.cfg.Logger.Info().Str("component", "crawl").Str("source", e.cfg.Source.Name()).Int("new", added).Msg("own pages planned")
		}
	}
	_, err = e.cfg.Keeper.Wake(ctx, e.scope())
	return err
}

// verdict is how the run ended, err being the first of its workers' errors.
func (e *Engine) verdict(ctx context.Context, err error) error {
	if cause := context.Cause(e.drainCtx); err == nil || cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	if waitForSource := e.blockedBy.Load(); err == nil && waitForSource != nil {
		err = waitForSource
	}
	if !errors.Is(err, ErrBudget) && !errors.As(err, new(*BlockedError)) {
		return cmp.Or(err, ctx.Err())
	}
	if o, lookErr := e.offers(ctx, 1, e.cfg.Linger); lookErr == nil && o.Ready == 0 && o.Next.IsZero() {
		return nil // the budget was just enough, or others have done the rest meanwhile
	}
	return err
}
