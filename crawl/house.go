package crawl

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"ypcrawl/yp"
)

// house is what the engines of one process share, and what is done once however
// many they are: heartbeats, roll-ups, pruning, the recovery of what dead processes
// held. Budgets hold for all of them together.
type house struct {
	cfg     Config // of the process: what it says of a source is that of one engine, or nothing
	engines []*Engine
	hear    time.Duration // how often the holds of other processes are read

	patience context.Context //nolint:containedctx // the stop signal of all engines
	stop     context.CancelCauseFunc

	numbers          numbers
	parsing          parsing
	fetches          atomic.Int64 // logical page fetches so far
	reserved         atomic.Int64 // requests paid from the budget
	targets, details budget
	indexes          budget // none
	recovered        pacer  // when dead processes were last looked for

	mu     sync.Mutex
	active map[*Engine]bool // those with workers
}

func newHouse(cfg Config) *house {
	h := &house{cfg: cfg, hear: hearEvery, parsing: newParsing(), active: map[*Engine]bool{}}
	h.targets.most, h.targets.of = cfg.Budget.Targets, "targets"
	h.details.most, h.details.of = cfg.Budget.Details, "details"
	h.patience, h.stop = context.WithCancelCause(context.Background())
	return h
}

func (h *house) budget(kind yp.Kind) *budget {
	switch kind {
	case yp.KindSearch:
		return &h.targets
	case yp.KindDetail:
		return &h.details
	}
	return &h.indexes
}

// engine adds an engine for one source; all are added before the first runs.
func (h *house) engine(cfg Config) *Engine {
	e := &Engine{
		cfg: cfg.withDefaults(), house: h, started: time.Now(), freed: make(chan struct{}, 1), look: look, perWorker: targetsPerWorker,
		over: make(chan struct{}),
	}
	e.filter = e.cfg.Filter.compile()
	e.patience, e.stop = context.WithCancelCause(h.patience)
	e.appetite, e.enough = context.WithCancelCause(e.patience)
	h.engines = append(h.engines, e)
	return e
}

// run runs all engines to their ends, each by itself; how each ended stands in it. The
// error is that of what is done once.
func (h *house) run(ctx context.Context) error {
	defer h.stop(errDone)
	if d := h.cfg.Budget.Duration; d > 0 {
		t := time.AfterFunc(d, func() { h.stop(fmt.Errorf("%w: %s", ErrBudget, d)) })
		defer t.Stop()
	}
	if _, err := h.cfg.Monitor.RollUp(ctx); err != nil {
		return err
	}
	var crews, side sync.WaitGroup
	beats, quiet := context.WithCancel(ctx)
	side.Go(func() { h.beat(beats) })
	side.Go(func() { h.forget(beats) })
	for _, e := range h.engines {
		crews.Go(func() {
			e.ended = e.sail(ctx)
			e.took = time.Since(e.started)
			close(e.over)
		})
	}
	crews.Wait()
	quiet()
	side.Wait()
	return h.rollUp(context.WithoutCancel(ctx))
}

// enough lets no engine begin anything new: a budget is used up.
func (h *house) enough(cause error) {
	for _, e := range h.engines {
		e.enough(cause)
	}
}

// requests counts those of all engines.
func (h *house) requests() (n int64) {
	for _, e := range h.engines {
		n += e.count.requests.Load()
	}
	return n
}

func (h *house) enter(e *Engine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active[e] = true
}

func (h *house) leave(e *Engine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.active, e)
}

// atWork lists the engines with workers.
func (h *house) atWork() []*Engine {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Engine, 0, len(h.active))
	for _, e := range h.engines {
		if h.active[e] {
			all = append(all, e)
		}
	}
	return all
}

// numbers gives every worker of the process a number of its own, the lowest that is
// free: its id and its log are named for it.
type numbers struct {
	mu    sync.Mutex
	taken []bool
}

func (n *numbers) take() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, taken := range n.taken {
		if !taken {
			n.taken[i] = true
			return i
		}
	}
	n.taken = append(n.taken, true)
	return len(n.taken) - 1
}

func (n *numbers) giveBack(i int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken[i] = false
}

// bigPage is the size in bytes from which pages are parsed one at a time: the
// tree of a hostile page takes twenty times its size, and sixteen workers would
// hold as many of them.
const bigPage = 1 << 20

// parsing bounds how many pages are parsed at once: more than there are processors
// take their memory and gain nothing.
type parsing struct {
	slots chan struct{}
	big   chan struct{}
}

func newParsing() parsing {
	return parsing{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), big: make(chan struct{}, 1)}
}

// enter waits for the turn of a page of so many bytes; leave ends it.
func (p parsing) enter(bytes int) (leave func()) {
	big := bytes >= bigPage
	if big {
		p.big <- struct{}{} // first: whoever waits for it takes no slot from small pages
	}
	p.slots <- struct{}{}
	return func() {
		<-p.slots
		if big {
			<-p.big
		}
	}
}
