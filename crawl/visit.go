package crawl

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// visit is the crawl of one claimed target by a worker, from the claim to its conclusion. It knows no kind of target: what
// differs between searches, indexes and listings' own pages is in its kind.
type visit struct {
	*worker
	claim  *checkpoint.Claim
	target *wal.Target // as the log names it
	kind   kind
}

// kind is what a visit leaves to the kind of its target: a *search, an *index or an *own. An error that a method
// returns ends the visit: see visit.judge.
type kind interface {
	// begin begins the crawl, or resumes it behind the pages that are committed.
	begin(ctx context.Context) error
	// last is the highest page that may be asked for, from 1; 0 = there is no limit.
	last() int
	// next brings a page, by as many requests as it takes. Its outcome is OK or NoListings.
	next(ctx context.Context, number int) (*answer, error)
	// ends is how the crawl ends with a page that is not stored, such as one without listings; false = it is stored.
	ends(ctx context.Context, a *answer) (o conclusion, ended bool)
	// prepare makes of a page what is stored, and says whether it is the last.
	prepare(ctx context.Context, a *answer) error
	// saved counts and tells a page that is committed.
	saved(ctx context.Context, a *answer, res *checkpoint.Committed) error
	// done is the conclusion of a crawl whose last page is committed.
	done(res *checkpoint.Committed) conclusion
	// ended counts and tells a conclusion that is durable.
	ended(ctx context.Context, o *conclusion) error
	// probeTask is the request for the first page, as a probe of a source that is quarantined: no crawl takes it.
	probeTask() *task
}

// visit returns the visit of a claimed target. Here, and in parserOf, a kind is chosen.
func (w *worker) visit(c *checkpoint.Claim) *visit {
	src := w.cfg.Source
	c.Place = src.Named(c.Place)
	v := &visit{worker: w, claim: c, target: &wal.Target{
		ID: c.TargetID, ClaimToken: c.Token, Crawl: c.Crawl, Kind: c.Kind, Source: src.Name(), Listing: c.ListingID, Place: c.Place,
		Priority: c.Priority, MaxPages: c.MaxPages,
	}}
	v.target.Country = abroad(src)
	if city, ok := src.City(c.Place); ok {
		v.target.OwnCity = &city
	}
	switch c.Kind {
	case yp.KindIndex:
		v.kind = newIndex(v)
	case yp.KindDetail:
		v.kind = &own{v}
	default:
		v.kind = newSearch(v)
	}
	return v
}

// parserOf returns what reads the pages of a target of a kind that are kept.
func parserOf(k yp.Kind, listing string) parser {
	if k == yp.KindDetail {
		return ownParser(listing)
	}
	return (*site.Source).ParsePage
}

// conclusion is how the visit of a target ended.
type conclusion struct {
	event   yp.Event            // EventLastPage, EventRelease, EventFail, EventPark
	anew    bool                // EventRelease: the target is crawled from its first page on
	saved   bool                // the last page's commit has done it already
	how     yp.Ending           // EventLastPage without a page: how the crawl came to its end,
	why     string              // and why, for people
	index   checkpoint.IndexEnd // of an index that was read to its end
	code    yp.ErrorCode
	reason  string
	wait    time.Duration // after a failure: until the target may be claimed again
	rest    time.Duration // of the worker, before its next target: see heldError
	missing string        // the address of a page that is just not there
	err     error         // the claim is lost, or the run can't go on
}

// released is the conclusion of a target that is handed back.
func released(reason string) conclusion { return conclusion{event: yp.EventRelease, reason: reason} }

// settled is the conclusion that the policy of a cause says.
func settled(cause yp.Cause, reason string) conclusion {
	p := cause.Policy()
	return conclusion{event: p.Final, code: p.Code, reason: reason}
}

// releaseError hands the target back.
type releaseError struct{ reason string }

func (e *releaseError) Error() string { return e.reason }

// run brings the target to a conclusion, and makes that durable. Only an error that ends the run is returned.
func (v *visit) run(ctx context.Context) (o conclusion, err error) {
	c := v.claim
	v.cfg.Reached(PointClaimed)
	v.hand.Store(v)
	defer func() {
		v.hand.Store(nil)
		v.inHand(nil)
	}()
	if err := v.tell(&wal.Event{Type: wal.TargetStart, Target: v.target, Status: yp.InProgress, Behind: c.Behind}); err != nil {
		return o, v.abandon(ctx, err)
	}
	v.logger.Debug().Int64("target", c.TargetID).Str("kind", string(c.Kind)).Str("city", c.Place.City).Str("state", c.Place.State).
		Str("category", c.Place.Category).Int("page", c.PageCurrent+1).Msg("target claimed")
	o = v.guarded(ctx)
	err = v.conclude(ctx, &o)
	if err == nil {
		v.cfg.Reached(PointEnded)
		return o, nil
	}
	if !errors.Is(err, checkpoint.ErrClaimLost) {
		return o, err
	}
	// Somebody else has taken the target back. What was asked for it was asked all the same.
	v.count.update(func(s *Stats) { s.Lost++ })
	if err := v.cfg.Keeper.Record(context.WithoutCancel(ctx), c.Requests); err != nil {
		return o, fatalOrNil(err)
	}
	v.logger.Warn().Int64("target", c.TargetID).Msg("another worker or an operator has taken over the target")
	return o, v.tell(&wal.Event{Type: wal.ClaimLost, Target: v.target})
}

// guarded is pages, but for a bug: one target must not take the whole run down.
func (v *visit) guarded(ctx context.Context) (o conclusion) {
	defer func() {
		if p := recover(); p != nil {
			v.logger.Error().Int64("target", v.claim.TargetID).Any("panic", p).Bytes("stack", debug.Stack()).
				Msg("internal error: please report it")
			o = conclusion{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return v.pages(ctx)
}

// pages crawls the pages of the target, from the one after the last committed.
func (v *visit) pages(ctx context.Context) conclusion {
	if err := v.kind.begin(ctx); err != nil {
		return v.judge(ctx, err)
	}
	for {
		number, last := v.claim.PageCurrent+1, v.kind.last()
		if last > 0 && number > last {
			return conclusion{event: yp.EventLastPage, how: yp.EndLimit, why: "the limit of pages"}
		}
		if v.stopCtx.Err() != nil || ctx.Err() != nil {
			return released("the run stops")
		}
		a, err := v.kind.next(ctx, number)
		if err != nil {
			return v.judge(ctx, err)
		}
		if o, ended := v.kind.ends(ctx, a); ended {
			return o
		}
		res, err := v.commit(ctx, a, number)
		switch {
		case err != nil:
			return v.judge(ctx, err)
		case res.Done:
			return v.kind.done(res)
		}
	}
}

// commit makes of a page what is to be stored, and saves it.
func (v *visit) commit(ctx context.Context, a *answer, number int) (*checkpoint.Committed, error) {
	a.Number = number
	if err := v.kind.prepare(ctx, a); err != nil {
		return nil, err
	}
	res, err := v.save(ctx, &a.Page.Page)
	if err != nil {
		return nil, err
	}
	return &res, v.kind.saved(ctx, a, &res)
}

// judge turns an error into the conclusion.
func (v *visit) judge(ctx context.Context, err error) conclusion {
	if errors.As(err, new(fatalError)) || errors.Is(err, checkpoint.ErrClaimLost) {
		return conclusion{err: err}
	}
	if attempt, ok := errors.AsType[*attemptError](err); ok {
		return v.judgeAttempt(attempt, err)
	}
	if back, ok := errors.AsType[*releaseError](err); ok {
		return released(back.reason)
	}
	if over, ok := errors.AsType[*startOverError](err); ok {
		o := released(over.reason)
		o.anew = true
		return o
	}
	if held, ok := errors.AsType[*heldError](err); ok {
		o := released(err.Error())
		o.rest = held.rest
		return o
	}
	if errors.Is(err, errStopped) || ctx.Err() != nil {
		return released("the run stops")
	}
	// A page that the database refuses fails its target alone; a database that refuses
	// everything ends the run.
	if store.Fatal(err) || errors.Is(err, store.ErrBusy) || errors.Is(err, context.Canceled) {
		return conclusion{err: err}
	}
	return conclusion{event: yp.EventFail, code: yp.CodeUnknown, reason: fmt.Sprintf("the page could not be saved: %v", err)}
}

// judgeAttempt is the conclusion of an attempt whose retries are used up.
func (v *visit) judgeAttempt(attempt *attemptError, err error) conclusion {
	o := settled(attempt.cause, err.Error())
	if o.event == yp.EventRelease {
		v.logger.Debug().Err(err).Msg("the proxy failed; its targets are released, and no failure counts for the source") // the pool warns, once
		return released(err.Error())
	}
	if page, ok := errors.AsType[*pageError](err); ok && page.missing() {
		o.missing = page.url
	}
	return o
}

// conclude makes the conclusion durable, then counts and logs it, for a failure with what
// becomes of the target.
func (v *visit) conclude(ctx context.Context, o *conclusion) error {
	if o.err != nil {
		return v.abandon(ctx, o.err)
	}
	c, e := v.claim, &wal.Event{Type: wal.TargetError, Target: v.target, ErrorCode: o.code, Error: o.reason}
	if err := v.finish(context.WithoutCancel(ctx), o, e); err != nil {
		return err
	}
	if !o.saved {
		e.Ended, e.Timestamp = c.Ended, c.EndedAt
	}
	if o.event == yp.EventRelease {
		v.count.update(func(s *Stats) { s.Released++ })
	}
	err := v.kind.ended(ctx, o)
	return errors.Join(v.tell(e), err)
}

// finish writes the conclusion to the database, unless the commit of a page has, and to the event of the log.
func (v *visit) finish(ctx context.Context, o *conclusion, e *wal.Event) (err error) {
	c, k := v.claim, v.cfg.Keeper
	switch {
	case o.event == yp.EventLastPage:
		e.Type, e.Status = wal.TargetComplete, yp.Done
		if !o.saved {
			e.How, e.Why = o.how, o.why
			err = k.Complete(ctx, c, o.code, o.reason, checkpoint.End{How: o.how, Why: o.why})
		}
	case o.saved:
	case o.event == yp.EventRelease:
		e.Type, e.Status = wal.Stop, yp.Planned
		if o.anew {
			err = k.StartOver(ctx, c, o.reason)
		} else {
			err = k.Release(ctx, c, o.reason)
		}
	case o.event == yp.EventPark:
		e.Status = yp.Parked
		err = k.Park(ctx, c, o.code, o.reason)
	default:
		var set yp.Setback
		set, err = k.Fail(ctx, c, o.code, o.reason)
		o.event, o.wait = set.Event, set.Wait
		e.Status, _ = yp.InProgress.Next(set.Event)
	}
	return err
}

// abandon hands the target back before the run ends with err; what can't be
// handed back any more is recovered by the next start.
func (v *visit) abandon(ctx context.Context, err error) error {
	if errors.Is(err, checkpoint.ErrClaimLost) || store.Fatal(err) {
		return err
	}
	if rel := v.cfg.Keeper.Release(context.WithoutCancel(ctx), v.claim, err.Error()); rel != nil {
		return errors.Join(err, rel)
	}
	v.count.update(func(s *Stats) { s.Released++ })
	return err
}

// logFailure begins the log line of a target that failed.
func (v *visit) logFailure(level zerolog.Level, o *conclusion) *zerolog.Event {
	log := v.logger.WithLevel(level)
	if o.wait > 0 {
		log = log.Str("next_try_in", o.wait.Round(time.Second).String())
	}
	if proxy := v.claim.Attempt.Proxy; proxy != "" {
		log = log.Str("proxy", proxy)
	}
	return log.Str("error_code", string(o.code)).Str("reason", o.reason)
}

// note notes in the attempt's trace what was done and why.
func (v *visit) note(event string, number int, text string) {
	v.claim.Attempt.Trace.Add(v.cfg.Keeper.DB().Now(), event, number, text)
}

// task begins the fetch of a page of the target.
func (v *visit) task(kind yp.RequestType, ask site.Request, number int) *task {
	t := v.worker.task(kind, ask, number)
	t.claim, t.target = v.claim, v.target
	return t
}
