package crawl

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// BlockedError ends a run whose source is closed for longer than it waits, while
// there is work left.
type BlockedError struct {
	Source string
	Gate   checkpoint.Gate
}

// Error says what closes the source and until when.
func (e *BlockedError) Error() string {
	text := fmt.Sprintf("source %s is %s", e.Source, e.Gate.State)
	if e.Gate.Reason != "" {
		text += ": " + e.Gate.Reason
	}
	if !e.Gate.Until.IsZero() {
		text += ", until " + e.Gate.Until.Local().Format("2006-01-02 15:04:05")
	}
	return text
}

// barred waits for a closed source to open, or for its turn to probe it; more is
// false when that takes longer than this run waits, or nothing is there to do.
func (w *worker) barred(ctx context.Context, o checkpoint.Outlook) (more bool, err error) {
	if o.Ready == 0 && o.Next.IsZero() && !w.cfg.Watch {
		return false, nil
	}
	left, ends := w.cfg.Patience, !o.Gate.Until.IsZero()
	if ends {
		left = max(o.Gate.Until.Sub(w.cfg.Keeper.DB().Now()), 0)
	}
	switch over := o.Gate.State == checkpoint.GateQuarantined && left == 0; {
	case over && o.Ready > 0:
		return true, w.probe(ctx)
	case over: // there is nothing to probe it with
		return w.rest(ctx, w.until(o.Next)), nil
	}
	if !w.cfg.Watch && (!ends || left > w.cfg.Patience) {
		w.barredBy.Store(&BlockedError{Source: w.cfg.Source.Name(), Gate: o.Gate})
		return false, nil
	}
	w.count.wait(reasonOf(o.Gate, left, ends))
	return w.rest(ctx, min(max(left, 10*time.Millisecond), w.look)), nil
}

func reasonOf(g checkpoint.Gate, left time.Duration, ends bool) string {
	if !ends {
		return fmt.Sprintf("the source is %s: %s", g.State, g.Reason)
	}
	return fmt.Sprintf("waiting %s: the source is %s: %s", left.Round(time.Second), g.State, g.Reason)
}

// probe asks a quarantined source for one page, as the only one to do so: what it
// answers opens the source or closes it for longer.
func (w *worker) probe(ctx context.Context) error {
	mine, ok, err := w.cfg.Monitor.BeginProbe(ctx, w.cfg.Scope.SourceID)
	if err != nil || !ok {
		w.rest(ctx, w.look)
		return err
	}
	place, found, err := w.cfg.Keeper.Peek(ctx, w.cfg.Scope)
	if err != nil || !found {
		return err // what there was has gone meanwhile: no other page proves anything
	}
	address := w.cfg.Source.TargetURL(place, 1)
	t := w.task(nil, yp.RequestProbe, address, 1)
	w.logger.Info().Str("source", w.cfg.Source.Name()).Str("url", address).Msg("the quarantined source is probed")
	_, asked := w.ask(ctx, t)
	keep := context.WithoutCancel(ctx)
	if err := w.cfg.Keeper.Record(keep, t.rows); err != nil {
		return fatalOrNil(err)
	}
	if len(t.rows) == 0 {
		return nil // nothing was asked: the run stops, and the probe is another's when it runs out
	}
	p, err := w.cfg.Monitor.EndProbe(keep, mine, asked == nil, t.rows[len(t.rows)-1].Class)
	if err != nil {
		return fatalOrNil(err)
	}
	w.logger.Info().Str("source", w.cfg.Source.Name()).Str("status", string(p.Status)).Bool("answered", asked == nil).Msg("the probe is over")
	return nil
}
