package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// BlockedError ends a run whose source is closed for longer than it waits, while
// there is work left.
type BlockedError struct {
	Source       string
	Availability store.Availability
}

// Error says what closes the source and until when.
func (e *BlockedError) Error() string {
	text := fmt.Sprintf("source %s is %s", e.Source, e.Availability.State)
	if e.Availability.Reason != "" {
		text += ": " + report.ReasonText(e.Availability.Reason)
	}
	if !e.Availability.Until.IsZero() {
		text += ", until " + e.Availability.Until.UTC().Format(yp.DayTime)
	}
	return text
}

// waitForSource waits for a closed source to open, or for its turn to probe it; more is
// false when that takes longer than this run waits, or nothing is there to do.
func (w *worker) waitForSource(ctx context.Context, o checkpoint.Outlook) (more bool, err error) {
	if o.Ready == 0 && o.Next.IsZero() && !w.cfg.Watch {
		return false, nil
	}
	left, ends := w.cfg.Patience, !o.Availability.Until.IsZero()
	if ends {
		left = max(o.Availability.Until.Sub(w.cfg.Keeper.DB().Now()), 0)
	}
	if o.Availability.State == store.SourceQuarantined && left == 0 {
		if o.Ready == 0 {
			return w.rest(ctx, w.until(o.Next)), nil
		}
		// It is probed, if nobody else does, with a page that is due. A probe that could not be
		// made, because robots.txt or the proxy is in the way, is nobody's for a while: a run waits
		// for that as long as for a host.
		if made, err := w.probe(ctx); err != nil || made {
			return true, err
		}
		if w.unprobed.IsZero() {
			w.unprobed = time.Now()
		}
		if !w.cfg.Watch && time.Since(w.unprobed) >= w.cfg.Patience {
			w.blockedBy.Store(&BlockedError{Source: w.cfg.Source.Name(), Availability: o.Availability})
			return false, nil
		}
		w.count.wait("the source is quarantined: one page is requested as a test")
		return w.rest(ctx, w.look), nil
	}
	if !w.cfg.Watch && (!ends || left > w.cfg.Patience) {
		w.blockedBy.Store(&BlockedError{Source: w.cfg.Source.Name(), Availability: o.Availability})
		return false, nil
	}
	w.count.wait(w.unavailableText(o.Availability))
	return w.rest(ctx, min(max(left, 10*time.Millisecond), w.look)), nil
}

// unavailableText tells people why and until when a source is closed.
func (e *Engine) unavailableText(g store.Availability) string {
	why := report.ReasonText(g.Reason)
	if g.State != store.SourceHeld || !strings.HasPrefix(g.Reason, report.Penalty) {
		why = fmt.Sprintf("the source is %s: %s", g.State, why)
	}
	if g.Until.IsZero() {
		return why
	}
	return fmt.Sprintf("waiting until %s: %s", yp.ClockTime(e.cfg.Keeper.DB().Now(), g.Until), why)
}

// probe asks a quarantined source for one page, as the only one to do so: what it
// answers opens the source or closes it for longer. made is false when somebody
// else's probe is under way, or nothing came of this one that says anything about
// the source.
func (w *worker) probe(ctx context.Context) (made bool, err error) {
	mine, ok, err := w.cfg.Monitor.BeginProbe(ctx, w.cfg.Scope.SourceID)
	if err != nil || !ok {
		return false, err
	}
	c, err := w.cfg.Keeper.Peek(ctx, w.scope())
	if err != nil || c == nil {
		return false, err // what was due is due no more: no other page proves anything
	}
	t := w.visit(c).kind.probeTask()
	w.logger.Info().Str("source", w.cfg.Source.Name()).Str("url", t.ask.Label()).Msg("a page of the quarantined source is requested as a test")
	_, asked := w.request(ctx, t)
	detached := context.WithoutCancel(ctx)
	if err := w.cfg.Keeper.Record(detached, t.rows); err != nil {
		return false, fatalOrNil(err)
	}
	class, telling := verdictOf(t.rows, asked)
	if !telling {
		return false, nil
	}
	p, err := w.cfg.Monitor.EndProbe(detached, mine, asked == nil, class)
	if err != nil {
		return true, fatalOrNil(err)
	}
	w.unprobed = time.Time{}
	w.logger.Info().Str("source", w.cfg.Source.Name()).Str("status", string(p.Status)).Bool("answered", asked == nil).Msg("the test of the quarantined source is over")
	return true, nil
}

// verdictOf is what a probe says about the source: nothing when it was not asked, or
// its proxy failed; a robots.txt that can't be had is an answer.
func verdictOf(rows []store.Request, err error) (class yp.ErrorClass, telling bool) {
	fe, ok := errors.AsType[*fetch.Error](err)
	switch {
	case ok && (fe.Proxy || errors.Is(err, fetch.ErrHeld)):
		return "", false
	case errors.Is(err, fetch.ErrRobotsUnavailable):
		return fe.Class, true
	case len(rows) == 0:
		return "", false
	}
	last := rows[len(rows)-1]
	return last.Class, !last.ProxyFailed && last.Class != yp.ClassRateLimited
}

// notRequested sees to a page that was not asked for: because its host is held, because of
// robots.txt, or because the run stops. It writes down a hold that only the fetcher knows
// of: one that came with robots.txt, or one that is over by the database's clock (after a
// suspend of the machine, say). Else the target that is handed back would be claimed again
// at once. One that an operator has just taken back is no longer in force, and not written.
func (w *worker) notRequested(ctx context.Context, t *task, a *answer, err error) error {
	fe, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return nil
	}
	if fe.Proxy || fe.Way != "" { // it failed at robots.txt, or was told there to come back later
		w.reportProxy(fe)
	}
	if fe.RetryAfter <= 0 || fe.Way != "" {
		return nil
	}
	host, held := "", errors.Is(err, fetch.ErrHeld)
	if u, err := url.Parse(fe.URL); err == nil {
		host = u.Host
	}
	if _, reason := w.cfg.Fetch.HeldUntil(host); held {
		t.note(w.row(t, fe.URL).Deferral(w.cfg.Keeper.DB().Now(), reason))
	}
	if err := w.hosts.Refresh(context.WithoutCancel(ctx)); err != nil {
		return fatalOrNil(err)
	}
	until, reason := w.cfg.Fetch.HeldUntil(host)
	source, err := w.cfg.Keeper.Availability(ctx, w.cfg.Scope.SourceID)
	if err != nil || !source.Open() || until.IsZero() {
		return fatalOrNil(err)
	}
	if held {
		a.rest = fe.RetryAfter
	}
	kind, _, _ := strings.Cut(reason, ":") // "penalty: 3 blocks in a row"
	return fatalOrNil(w.hosts.Held(ctx, host, fe.RetryAfter, kind))
}
