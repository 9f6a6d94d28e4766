package crawl

import (
	"cmp"
	"context"
	"time"
)

// SetLook sets how often an idle worker asks again, so that a test can show
// that it is woken, or need not wait.
func (e *Engine) SetLook(d time.Duration) { e.look = d }

// SetRefresh sets how often the holds of other processes are read.
func (e *Engine) SetRefresh(d time.Duration) { e.shared.refresh = d }

// Parse is the guarded parser.
var Parse = parse

// Stopping reports whether the run is to stop.
func (e *Engine) Stopping() bool { return e.stopCtx.Err() != nil }

// Looked counts how often idle workers asked for what has become claimable.
func (e *Engine) Looked() int {
	e.woken.mu.Lock()
	defer e.woken.mu.Unlock()
	return e.woken.marks
}

// SetStepEvery sets how often a step is reported.
func (e *Engine) SetStepEvery(d time.Duration) { e.steps.Period = d }

// New returns an engine for a run over one source.
func New(cfg Config) *Engine { return newSources(cfg).add(cfg) }

// Stop asks every worker to finish its page, release its target and end.
func (e *Engine) Stop(cause error) { e.stop(cause) }

// Run crawls to the end. Cancelling ctx cuts requests under way, too.
func (e *Engine) Run(ctx context.Context) error {
	err := e.shared.run(ctx)
	return cmp.Or(e.ended, err)
}
