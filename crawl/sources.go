package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
)

// SourceConfig is what one source of a run has for itself; the fields are those of Config.
type SourceConfig struct {
	Source  *site.Source
	Secrets *fetch.Secrets // that its requests name; nil = none
	Scope   store.Scope
	Fetch   Fetcher // two sources never share one, unless they share a host
	Pool    *fetch.Pool
	Delay   time.Duration
	Index   *Index
}

// Sources crawls the sources of one run: an engine for each, which has its own workers and
// pace and ends by itself. It holds what they share in the process, and does once what
// need not be done for each: heartbeats, roll-ups, pruning, the recovery of what dead
// processes held. Budgets, stops and errors of the database are everybody's.
type Sources struct {
	cfg     Config // of the process: what it says of a source is that of one engine, or nothing
	engines []*Engine
	refresh time.Duration // how often the holds of other processes are read

	stopCtx context.Context //nolint:containedctx // the stop signal of all engines
	stop    context.CancelCauseFunc

	workers   atomic.Int64 // that were started: each of the process has a number of its own
	parsing   parsing
	fetches   atomic.Int64 // logical page fetches so far
	requests  budget
	targets   budget
	recovered lastTime // when dead processes were last looked for

	journalTold bool // that the journal is held; of the heartbeats
}

// NewSources returns the engines of a run over several sources. Of cfg, Source, Scope,
// Fetch, Pool and Delay do not count; Workers is of each source, and Budget is
// for all of them together. cfg.Run should be a run over several sources.
func NewSources(cfg Config, sources []SourceConfig) *Sources {
	cfg.Scope = store.Scope{} // of what dead processes held: all
	s := newSources(cfg)
	for _, c := range sources {
		own := cfg
		own.Source, own.Secrets, own.Scope, own.Fetch, own.Pool, own.Delay, own.Index = c.Source, c.Secrets, c.Scope, c.Fetch, c.Pool, c.Delay, c.Index
		e := s.add(own)
		e.sharesFetch = slices.ContainsFunc(sources, func(o SourceConfig) bool { return o.Fetch == c.Fetch && o.Source != c.Source })
		e.look = max(e.look, time.Duration(len(sources)*e.cfg.Workers)*lookShare)
	}
	return s
}

// lookShare is what each worker adds to the time between two looks of idle workers:
// however many wait for something to fall due, they ask the database a hundred times a
// second at most.
const lookShare = 10 * time.Millisecond

func newSources(cfg Config) *Sources {
	s := &Sources{
		cfg: cfg.withDefaults(), refresh: refreshEvery,
		parsing: parsing{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), big: make(chan struct{}, 1)},
	}
	s.requests.most, s.requests.of = cfg.Budget.Requests, "request"
	s.targets.most, s.targets.of = cfg.Budget.Targets, "target"
	s.stopCtx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// add adds an engine for one source; all are added before the first runs.
func (s *Sources) add(cfg Config) *Engine {
	cfg.Details.Every = cmp.Or(cfg.Details.Every, cfg.Source.DetailsEvery())
	e := &Engine{
		cfg: cfg.withDefaults(), shared: s, started: time.Now(), wakeup: make(chan struct{}, 1), look: look, pool: pool{on: map[int]*worker{}},
		steps: &zerolog.BurstSampler{Burst: 1, Period: stepEvery},
		over:  make(chan struct{}),
	}
	e.filter = e.cfg.Filter.compile()
	if cfg.Pages != nil {
		e.filterText = store.JSON(e.cfg.Filter)
	}
	e.stopCtx, e.stop = context.WithCancelCause(s.stopCtx)
	e.drainCtx, e.drain = context.WithCancelCause(e.stopCtx)
	s.engines = append(s.engines, e)
	return e
}

// Observed counts one HTTP request of the i-th source's fetch client. Of a client that
// sources share, it is called for one of them.
func (s *Sources) Observed(i int, o fetch.Observation) { s.engines[i].Observed(o) }

// Stop asks every worker to finish its page, release its target and end.
func (s *Sources) Stop(cause error) { s.stop(cause) }

// Result is how far one source has come.
type Result struct {
	Source  string
	Stats   Stats
	Waiting string // for what it waits now; empty while it works, and when it has ended
	Ended   bool
	Err     error // of one that has ended: nil = nothing more could be claimed

	// UnreadCard shows the first card that could not be read for the reason of most, and on which page: "" = there is none.
	UnreadCard string
}

// Results says how far the sources have come, in their order; safe to call at any time.
func (s *Sources) Results() []Result {
	all := make([]Result, len(s.engines))
	for i, e := range s.engines {
		all[i].Source = e.cfg.Source.Name()
		select {
		case <-e.over: // its clock stands still
			all[i].Ended, all[i].Err, all[i].Stats = true, e.ended, e.count.snapshot(e.took)
		default:
			all[i].Waiting, all[i].Stats = e.Waiting(), e.Stats()
		}
		all[i].UnreadCard = e.unread.example(all[i].Stats.MostUnread())
	}
	return all
}

// Stats adds up what all sources have done so far; safe to call at any time.
func (s *Sources) Stats() (all Stats) {
	for _, e := range s.engines {
		all.Add(e.Stats())
	}
	return all
}

// Run crawls until every source has come to its end. It returns nil however those were,
// unless all of them were stopped: by Stop (its cause), by a budget (ErrBudget), or
// because the database or a log can't be written any more. Results tells the rest.
func (s *Sources) Run(ctx context.Context) error {
	failed := s.run(ctx)
	if err := context.Cause(s.stopCtx); err != nil && !errors.Is(err, errDone) && !errors.Is(err, ErrBudget) {
		return err
	}
	var budget error
	for _, e := range s.engines {
		if errors.Is(e.ended, ErrBudget) {
			budget = e.ended // with work left
		}
	}
	return cmp.Or(budget, failed)
}

// run runs all engines to their ends, each by itself; how each ended is in it. The
// error is that of what is done once.
func (s *Sources) run(ctx context.Context) error {
	defer s.stop(errDone)
	if d := s.cfg.Budget.Duration; d > 0 {
		t := time.AfterFunc(d, func() { s.stop(fmt.Errorf("%w: %s", ErrBudget, d)) })
		defer t.Stop()
	}
	if _, err := s.cfg.Monitor.RollUp(ctx); err != nil {
		return err
	}
	var engines, background sync.WaitGroup
	beats, end := context.WithCancel(ctx)
	background.Go(func() { s.heartbeats(beats) })
	background.Go(func() { s.prune(beats) })
	for _, e := range s.engines {
		engines.Go(func() {
			e.ended = e.runSource(ctx)
			e.took = time.Since(e.started)
			close(e.over)
		})
	}
	engines.Wait()
	end()
	background.Wait()
	return s.rollUp(context.WithoutCancel(ctx))
}

// drain lets no engine begin anything new: a budget is used up.
func (s *Sources) drain(cause error) {
	for _, e := range s.engines {
		e.drain(cause)
	}
}

// active lists the engines with workers.
func (s *Sources) active() []*Engine {
	return slices.DeleteFunc(slices.Clone(s.engines), func(e *Engine) bool { return !e.active.Load() })
}

// budget bounds how many requests are made, or searches claimed.
type budget struct {
	most          int64 // 0 = no limit
	of            string
	reserved, had atomic.Int64
}

// reserve takes one out of the budget; false when the others have the last.
func (b *budget) reserve() bool {
	if b.most > 0 && b.reserved.Add(1) > b.most {
		b.reserved.Add(-1)
		return false
	}
	return true
}

func (b *budget) giveBack() {
	if b.most > 0 {
		b.reserved.Add(-1)
	}
}

// use uses what was reserved, and reports whether it was the last.
func (b *budget) use() (last bool) { return b.most > 0 && b.had.Add(1) == b.most }

// bigPage is the size in bytes from which pages are parsed one at a time: the
// tree of a hostile page takes twenty times its size, and sixteen workers would
// hold as many of them.
const bigPage = 1 << 20

// parsing bounds how many pages are parsed at once: more than there are processors
// take their memory and gain nothing.
type parsing struct{ slots, big chan struct{} }

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

// lastTime is when something was last done, so that idle workers do it once for all.
type lastTime struct {
	mu    sync.Mutex
	last  time.Time
	marks int
}

func (l *lastTime) mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	l.marks++
}

// due reports whether the last mark is d ago.
func (l *lastTime) due(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last) >= d
}
