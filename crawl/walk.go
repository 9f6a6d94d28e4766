package crawl

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// Tour says which states' indexes of a source are walked, and what is planned of the
// cities that they show.
type Tour struct {
	States        []string             // codes, in the order in which they are walked
	Gazetteer     *gazetteer.Gazetteer // that cities are matched to
	Plan          checkpoint.Plan      // categories and pages of the targets; source and cities are filled in
	MinPopulation int                  // of cities that get targets; one that the gazetteer does not know has 0
	Heard         func(Leg)            // called when a state begins, after every page, and when it has ended; may be nil
}

// LegStatus is how a tour fared in a state.
type LegStatus string

// The statuses of a leg.
const (
	LegWalking LegStatus = "walking"
	LegDone    LegStatus = "done"    // walked to the end
	LegFailed  LegStatus = "failed"  // a page could not be had or read, or the whole is not believed
	LegSkipped LegStatus = "skipped" // somebody else walks it, or this round of walks has done it already
	LegPaused  LegStatus = "paused"  // handed back in the middle: the next walk goes on there
)

// Leg is one state of a tour.
type Leg struct {
	State     string       `json:"state"`
	Status    LegStatus    `json:"status"`
	Pages     int          `json:"pages"`
	PagesDone int          `json:"pages_done"` // by this walk, over all its resumptions
	Fetched   int          `json:"pages_fetched"`
	Cities    int          `json:"cities"` // met by this walk
	Added     int          `json:"new"`    // of them new to the source, or back
	Gone      int          `json:"gone"`
	Retired   int          `json:"targets_retired"`
	Planned   int          `json:"targets_planned"` // new ones
	Code      yp.ErrorCode `json:"error_code,omitempty"`
	Reason    string       `json:"reason,omitempty"`
}

// walker is the one worker of a tour.
type walker struct {
	*worker
	tour Tour
	legs []Leg
}

// Walk walks the indexes of the tour's states, one after the other: every page is
// committed by itself, and a walk that was cut short goes on behind its last page
// (checkpoint.PlanWalks). One state's failure is logged and told in its leg, and the next
// state taken.
//
// The error is nil when the tour came to its end, however its states fared; else the
// cause of the stop, a *BlockedError when the source is closed for longer than the run
// waits, or the database's. The engine must not run anything else.
func (e *Engine) Walk(ctx context.Context, tour Tour) ([]Leg, error) {
	defer e.stop(errDone)
	if tour.Heard == nil {
		tour.Heard = func(Leg) {}
	}
	w := &walker{tour: tour, worker: &worker{
		Engine: e, name: yp.WorkerName(0), logger: e.cfg.Logger.With().Str("component", "discover").Logger(),
	}}
	if err := e.survey(ctx); err != nil {
		return nil, err
	}
	var side sync.WaitGroup
	beats, quiet := context.WithCancel(ctx)
	side.Go(func() { e.house.beat(beats) })
	side.Go(func() { w.listen(beats) })
	err := w.walk(ctx)
	quiet()
	side.Wait()
	w.leaveSession()
	keep := context.WithoutCancel(ctx)
	err = errors.Join(w.ending(ctx, err), e.settleUp(keep), e.house.rollUp(keep))
	return w.legs, err
}

// survey reads how the source fares.
func (e *Engine) survey(ctx context.Context) (err error) {
	if _, err = e.cfg.Monitor.RollUp(ctx); err != nil {
		return err
	}
	if e.hosts, err = e.cfg.Monitor.Hosts(ctx, e.cfg.Scope.SourceID, e.cfg.Delay, e.cfg.Fetch); err != nil {
		return err
	}
	e.layout, err = e.cfg.Monitor.Layout(ctx, e.cfg.Scope.SourceID)
	return err
}

// listen takes over what other processes have been told by the host.
func (w *walker) listen(ctx context.Context) {
	tick := time.NewTicker(w.house.hear)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.hosts.Refresh(ctx); err != nil && ctx.Err() == nil {
				w.house.warn(err, "holds of other processes could not be read")
			}
		}
	}
}

// ending turns the end of a walk that was stopped into the cause of the stop.
func (w *walker) ending(ctx context.Context, err error) error {
	if errors.Is(err, errStopped) {
		return cmp.Or(context.Cause(w.patience), ctx.Err())
	}
	return err
}

// walk takes back what dead processes held, plans the round, and walks its states.
func (w *walker) walk(ctx context.Context) error {
	k, source := w.cfg.Keeper, w.cfg.Scope.SourceID
	if n, err := k.RecoverWalks(ctx); err != nil {
		return err
	} else if n > 0 {
		w.logger.Info().Int("states", n).Msg("recovered walks of a dead process")
	}
	indexes := make([]checkpoint.StateIndex, len(w.tour.States))
	for i, state := range w.tour.States {
		indexes[i] = checkpoint.StateIndex{State: state, Pages: len(w.cfg.Source.IndexPages(state))}
	}
	todo, err := k.PlanWalks(ctx, source, indexes)
	if err != nil {
		return err
	}
	if err := w.skipped(ctx, todo); err != nil {
		return err
	}
	for _, state := range todo {
		if w.patience.Err() != nil || ctx.Err() != nil {
			return errStopped
		}
		if err := w.visit(ctx, state); err != nil {
			return err
		}
	}
	return nil
}

// skipped tells of the states that are not walked now.
func (w *walker) skipped(ctx context.Context, todo []string) error {
	if len(todo) == len(w.tour.States) {
		return nil
	}
	known, err := report.New(w.cfg.Keeper.DB()).Discoveries(ctx, checkpoint.Scope{SourceID: w.cfg.Scope.SourceID, States: w.tour.States})
	if err != nil {
		return err
	}
	for _, d := range known {
		switch d.Status {
		case yp.Done:
			w.skip(d, "walked already, by the round of walks that goes on now")
		case yp.InProgress:
			w.skip(d, "another process walks it")
		}
	}
	return nil
}

func (w *walker) skip(d report.Discovery, why string) {
	w.logger.Info().Str("state", d.State).Str("reason", why).Msg("state skipped")
	w.hear(Leg{State: d.State, Status: LegSkipped, Pages: d.Pages, PagesDone: d.PagesDone, Cities: int(d.Cities), Reason: why})
}

// hear keeps the news of a state and passes it on.
func (w *walker) hear(l Leg) {
	if n := len(w.legs); n > 0 && w.legs[n-1].State == l.State {
		w.legs[n-1] = l
	} else {
		w.legs = append(w.legs, l)
	}
	w.tour.Heard(l)
}

// visit walks one state. Only an error that ends the tour is returned.
func (w *walker) visit(ctx context.Context, state string) error {
	walk, err := w.cfg.Keeper.BeginWalk(ctx, w.cfg.Run.ID, w.cfg.Scope.SourceID, state)
	if errors.Is(err, checkpoint.ErrWalked) {
		w.skip(report.Discovery{State: state}, "another process took it meanwhile")
		return nil
	}
	if err != nil {
		return err
	}
	w.cfg.Reached(PointClaimed)
	leg := &Leg{State: state, Status: LegWalking, Pages: walk.Pages}
	if walk.PagesDone > 0 {
		w.logger.Info().Str("state", state).Int("pages_done", walk.PagesDone).Int("pages", walk.Pages).Msg("going on where the last walk ended")
	}
	w.tell(walk, leg)
	return w.conclude(ctx, walk, leg, w.pages(ctx, walk, leg))
}

// tell brings the leg up to the walk.
func (w *walker) tell(walk *checkpoint.Walk, leg *Leg) {
	leg.PagesDone, leg.Cities, leg.Added = walk.PagesDone, walk.Cities, walk.Added
	w.hear(*leg)
}

// matcher of the state's cities; made anew for each, as a state is walked once.
func (w *walker) matcher(state string) *discover.Matcher {
	return discover.NewMatcher(w.tour.Gazetteer, state)
}
