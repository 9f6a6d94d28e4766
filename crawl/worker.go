package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// worker is one goroutine of a run. It holds at most one target at a time.
type worker struct {
	*Engine
	me     checkpoint.Worker
	log    Log
	logger zerolog.Logger
	steps  zerolog.Logger // lines of it for people, one a second

	number   int
	name     string         // for people
	unprobed time.Time      // since when a probe of the source could not be made
	session  *fetch.Session // proxy and identity; nil = direct and honest
	// heldFor is for how long its host is held, when the availability of the source does not
	// say so: a hold of a few seconds is not written down.
	heldFor  time.Duration
	waitsFor string // as others were told: see fullStates

	matcher *discover.Matcher // of the cities of the index in hand
	hand    atomic.Pointer[wal.Target]
}

// run claims and crawls until there is nothing more to do or the run stops. An
// error means that nobody can go on.
func (w *worker) run(ctx context.Context) error {
	defer w.wakeWorker() // who waits beside this one may as well be at the end
	for {
		c, err := w.next(ctx)
		if err != nil || c == nil {
			return err
		}
		w.count.update(func(s *Stats) { s.Busy++ })
		err = w.crawl(ctx, c)
		w.count.update(func(s *Stats) { s.Busy-- })
		w.hands.Add(-1)
		if err != nil {
			return err
		}
		if w.heldFor > 0 {
			w.sleep(ctx, w.stopCtx, min(w.heldFor, w.look), nil)
			w.heldFor = 0
		}
	}
}

// crawl brings one claimed target to an outcome. Only an error that ends the
// run is returned.
func (w *worker) crawl(ctx context.Context, c *checkpoint.Claim) error {
	w.cfg.Reached(PointClaimed)
	t := &wal.Target{
		ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Source: w.cfg.Source.Name(), Listing: c.ListingID, Place: c.Place,
		Priority: c.Priority, MaxPages: c.MaxPages,
	}
	w.hand.Store(t)
	defer func() {
		w.hand.Store(nil)
		w.inHand(nil)
	}()
	if err := w.tell(c, &wal.Event{Type: wal.TargetStart, Target: t, Status: yp.InProgress, Behind: c.Behind}); err != nil {
		return w.abandon(ctx, c, err)
	}
	w.logger.Debug().Int64("target", c.TargetID).Str("kind", string(c.Kind)).Str("city", c.Place.City).Str("state", c.Place.State).
		Str("category", c.Place.Category).Int("page", c.PageCurrent+1).Msg("target claimed")
	if c.Kind == yp.KindSearch {
		w.steps.Info().Str("source", w.cfg.Source.Name()).Int64("target", c.TargetID).Str("state", c.Place.State).
			Msgf("crawling %s in %s", yp.Printable(c.Place.Category), yp.Printable(c.Place.City))
	}
	err := w.conclude(ctx, c, t, w.guarded(ctx, c, t))
	if err == nil {
		w.cfg.Reached(PointEnded)
		return nil
	}
	if !errors.Is(err, checkpoint.ErrClaimLost) {
		return err
	}
	// Somebody else has taken the target back. What was asked for it was asked all the same.
	w.count.update(func(s *Stats) { s.Lost++ })
	if err := w.cfg.Keeper.Record(context.WithoutCancel(ctx), c.Requests); err != nil {
		return fatalOrNil(err)
	}
	w.logger.Warn().Int64("target", c.TargetID).Msg("claim lost: another worker or an operator has taken the target")
	return w.tell(c, &wal.Event{Type: wal.ClaimLost, Target: t})
}

// inHand notes that a page of the claim is in hand; nil = none.
func (w *worker) inHand(c *checkpoint.Claim) { w.cfg.Run.InHand(w.number, c) }

// guarded is pages, but for a bug: one target must not take the whole run down.
func (w *worker) guarded(ctx context.Context, c *checkpoint.Claim, t *wal.Target) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			w.logger.Error().Int64("target", c.TargetID).Any("panic", p).Bytes("stack", debug.Stack()).
				Msg("internal error: please report it")
			o = outcome{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return w.pages(ctx, c, t)
}

// append writes an event; without its log the run can't keep its promise and ends.
func (w *worker) append(e *wal.Event) error {
	e.Run = w.cfg.Run.UUID
	if err := w.log.Append(e); err != nil {
		return fmt.Errorf("write-ahead log: %w", err)
	}
	return nil
}

// tell appends an event of the claim, with the number of its target's last commit.
func (w *worker) tell(c *checkpoint.Claim, e *wal.Event) error {
	e.Committed, e.CommittedAt = c.Committed, yp.Stamp{Time: c.CommittedAt}
	return w.append(e)
}

// save logs a page and commits it. Its event is on the disk before the commit: no power cut
// may leave a page in the database alone. Each worker does so for its own log while others
// are in the database, so the commit that follows waits for none of it, and what is synced
// at the same time shares the journal of the file system.
func (w *worker) save(ctx context.Context, c *checkpoint.Claim, t *wal.Target, p *yp.Page) (res checkpoint.Committed, err error) {
	if err = w.tell(c, &wal.Event{Type: wal.PageComplete, Target: t, Status: yp.InProgress, Page: p}); err == nil && !w.cfg.LazyLogs {
		if err = w.log.Sync(); err != nil {
			err = fmt.Errorf("write-ahead log: %w", err)
		}
	}
	if err != nil {
		return res, fatalError{err}
	}
	w.cfg.Reached(PointAppended)
	defer w.inHand(nil)
	// A page in hand is carried through: a stop must not cost it.
	if res, err = w.cfg.Keeper.CommitPage(context.WithoutCancel(ctx), c, *p); err == nil {
		w.cfg.Reached(PointCommitted)
	}
	return res, err
}

// outcome is how a target's crawl ended.
type outcome struct {
	event   yp.Event            // EventLastPage, EventRelease, EventFail, EventPark
	saved   bool                // the last page's commit has done it already
	how     yp.Ending           // EventLastPage without a page: how the crawl came to its end,
	why     string              // and why, for people
	index   checkpoint.IndexEnd // of an index that was read to its end
	code    yp.ErrorCode
	reason  string
	wait    time.Duration // after a failure: until the target may be claimed again
	missing string        // the address of a page that is just not there
	err     error         // the claim is lost, or the run can't go on
}

// conclude makes the outcome durable, then counts and logs it, for a failure with what
// becomes of the target.
func (w *worker) conclude(ctx context.Context, c *checkpoint.Claim, t *wal.Target, o outcome) error {
	if o.err != nil {
		return w.abandon(ctx, c, o.err)
	}
	k, keep := w.cfg.Keeper, context.WithoutCancel(ctx)
	e := &wal.Event{Type: wal.TargetError, Target: t, ErrorCode: o.code, Error: o.reason}
	var err error
	switch {
	case o.event == yp.EventLastPage:
		e.Type, e.Status = wal.TargetComplete, yp.Done
		if !o.saved {
			e.How, e.Why = o.how, o.why
			err = k.Complete(keep, c, o.code, o.reason, checkpoint.End{How: o.how, Why: o.why})
		}
	case o.saved:
	case o.event == yp.EventRelease:
		e.Type, e.Status = wal.Stop, yp.Planned
		err = k.Release(keep, c, o.reason)
	case o.event == yp.EventPark:
		e.Status = yp.Parked
		err = k.Park(keep, c, o.code, o.reason)
	default:
		var set yp.Setback
		set, err = k.Fail(keep, c, o.code, o.reason)
		o.event, o.wait = set.Event, set.Wait
		e.Status, _ = yp.InProgress.Next(set.Event)
	}
	if err != nil {
		return err
	}
	if !o.saved {
		e.Ended, e.Timestamp = c.Ended, c.EndedAt
	}
	w.tally(c, o)
	if o.how == yp.EndElsewhere && c.PageCurrent == 0 {
		err = w.ledElsewhere(ctx, c, o.why)
	}
	err = cmp.Or(err, w.countMissing(ctx, c, o))
	return errors.Join(w.tell(c, e), err)
}

// abandon hands a target back before the run ends with err; what can't be
// handed back any more is recovered by the next start.
func (w *worker) abandon(ctx context.Context, c *checkpoint.Claim, err error) error {
	if errors.Is(err, checkpoint.ErrClaimLost) || store.Fatal(err) {
		return err
	}
	if rel := w.cfg.Keeper.Release(context.WithoutCancel(ctx), c, err.Error()); rel != nil {
		return errors.Join(err, rel)
	}
	w.count.update(func(s *Stats) { s.Released++ })
	return err
}

// tally counts an outcome and logs it.
func (w *worker) tally(c *checkpoint.Claim, o outcome) {
	if c.Kind == yp.KindIndex {
		w.tallyIndex(c, o)
	}
	if o.event == yp.EventRelease {
		w.count.update(func(s *Stats) { s.Released++ })
		return
	}
	switch c.Kind {
	case yp.KindSearch:
		w.tallySearch(c, o)
	case yp.KindDetail:
		done := o.event == yp.EventLastPage
		w.count.update(func(s *Stats) {
			switch {
			case done:
				s.Details++
			case o.code == yp.CodeNoListings:
				s.DetailsMissing++
			default:
				s.DetailsFailed++
				if o.event == yp.EventBackOff {
					s.DetailsWaiting++
				}
			}
		})
		if done {
			w.logger.Debug().Str("listing", c.ListingID).Msg("details saved")
		} else {
			w.logFailure(zerolog.InfoLevel, c, o).Str("listing", c.ListingID).Msg("details failed")
		}
	}
}

func (w *worker) tallySearch(c *checkpoint.Claim, o outcome) {
	level, what := zerolog.WarnLevel, "target failed"
	w.count.update(func(s *Stats) {
		s.Targets++
		switch o.event {
		case yp.EventLastPage:
			level, what = zerolog.DebugLevel, "target done"
			s.Done++
			s.Dropped += int64(c.Dropped)
			if o.code == yp.CodeNoListings {
				s.Empty++
			}
		case yp.EventPark:
			what = "target parked"
			s.Parked++
		case yp.EventBackOff:
			level, what = zerolog.InfoLevel, "target will be tried again"
			s.Waiting++
		default:
			s.Failed++
		}
	})
	if level == zerolog.WarnLevel && w.cfg.Tolerant {
		level = zerolog.InfoLevel
	}
	w.logFailure(level, c, o).Int64("target", c.TargetID).Str("city", c.Place.City).Str("state", c.Place.State).
		Str("category", c.Place.Category).Int("pages", c.PageCurrent).Msg(what)
}

func (w *worker) tallyIndex(c *checkpoint.Claim, o outcome) {
	switch x := &o.index; o.event {
	case yp.EventRelease:
	case yp.EventLastPage:
		w.count.update(func(s *Stats) { s.Indexes++ })
		w.logger.Info().Str("state", c.Place.State).Int("cities", c.Seen).Int("new", c.Accepted).Int("removed", x.Removed).
			Int("targets_planned", x.Planned).Int("targets_retired", x.Retired).Msg("index of a state read")
	default:
		w.count.update(func(s *Stats) { s.IndexesFailed++ })
		w.logFailure(zerolog.WarnLevel, c, o).Str("state", c.Place.State).Int("page", c.PageCurrent+1).Int("pages", c.MaxPages).
			Msg("the index of a state failed: no city is marked as removed")
	}
}

// logFailure begins the log line of a target that failed.
func (w *worker) logFailure(level zerolog.Level, c *checkpoint.Claim, o outcome) *zerolog.Event {
	log := w.logger.WithLevel(level)
	if o.wait > 0 {
		log = log.Str("next_try_in", o.wait.Round(time.Second).String())
	}
	if c.Attempt.Proxy != "" {
		log = log.Str("proxy", c.Attempt.Proxy)
	}
	return log.Str("error_code", string(o.code)).Str("reason", o.reason)
}
