package crawl

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
)

// Crew is what one source of a fleet has for itself; the fields are those of Config.
type Crew struct {
	Source *site.Source
	Scope  store.Scope
	Fetch  Fetcher // two crews never share one, unless their sources share a host
	Pool   *fetch.Pool
	Delay  time.Duration
	Index  *Index
}

// Fleet crawls several sources in one run: an engine for each, which has its own
// workers, pace and patience, and ends by itself. What one source does is no other
// one's business; budgets, stops and errors of the database are everybody's.
type Fleet struct{ house *house }

// NewFleet returns a fleet with a crew for every source. Of cfg, Source, Scope, Fetch,
// Pool and Delay do not count; Workers is the most of each crew, and Budget is for all
// of them together. cfg.Run should be a run over several sources.
func NewFleet(cfg Config, crews []Crew) *Fleet {
	cfg.Scope = store.Scope{} // of what dead processes held: all
	h := newHouse(cfg.withDefaults())
	for _, c := range crews {
		own := cfg
		own.Source, own.Scope, own.Fetch, own.Pool, own.Delay, own.Index = c.Source, c.Scope, c.Fetch, c.Pool, c.Delay, c.Index
		e := h.engine(own)
		e.shares = slices.ContainsFunc(crews, func(o Crew) bool { return o.Fetch == c.Fetch && o.Source != c.Source })
		e.look = max(e.look, time.Duration(len(crews))*lookShare)
	}
	return &Fleet{house: h}
}

// lookShare is what an engine adds to the time between two looks of idle workers:
// however many wait for something to fall due, they ask the database twenty times a
// second at most.
const lookShare = 50 * time.Millisecond

// Observed counts one HTTP request of the i-th crew's fetch client. Of a client that
// crews share, it is called for one of them.
func (f *Fleet) Observed(i int, o fetch.Observation) { f.house.engines[i].Observed(o) }

// Stop asks every worker to finish its page, release its target and end.
func (f *Fleet) Stop(cause error) { f.house.stop(cause) }

// Result is how far one crew has come.
type Result struct {
	Source  string
	Stats   Stats
	Waiting string // for what it waits now; empty while it works, and when it has ended
	Ended   bool
	Err     error // of one that has ended: as Engine.Run returns it
}

// Results tells how far the crews have come, in their order; safe to call at any time.
func (f *Fleet) Results() []Result {
	all := make([]Result, len(f.house.engines))
	for i, e := range f.house.engines {
		all[i] = e.result()
	}
	return all
}

// Stats adds up what all crews have done so far; safe to call at any time.
func (f *Fleet) Stats() (all Stats) {
	for _, e := range f.house.engines {
		all.add(e.Stats())
	}
	return all
}

// Run crawls until every crew has come to its end. It returns nil however those were,
// unless all of them were stopped: by Stop (its cause), by a budget (ErrBudget), or
// because the database or a log can't be written any more. Results tells the rest.
func (f *Fleet) Run(ctx context.Context) error {
	err := f.house.run(ctx)
	return cmp.Or(f.house.cause(), err)
}

// cause is why all engines had to end; nil when they did by themselves.
func (h *house) cause() (budget error) {
	if err := context.Cause(h.patience); err != nil && !errors.Is(err, errDone) && !errors.Is(err, ErrBudget) {
		return err
	}
	for _, e := range h.engines {
		if errors.Is(e.ended, ErrBudget) {
			budget = e.ended // with work left
		}
	}
	return budget
}
