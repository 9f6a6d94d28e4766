package crawl

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

// The steps of a crawl, reported to people at info: what starts, the cities that are begun, the
// pages of an index. However fast a crawl is, there is about a line a second.

const (
	stepEvery = time.Second
	aheadUpTo = 10_000 // targets are counted up to here as a run starts

	// mostReported is how many sources are reported on at info one by one as a run starts.
	mostReported = 10
)

// tellStart says how many workers start for how many targets.
func (e *Engine) tellStart(ctx context.Context) error {
	level := zerolog.InfoLevel
	if len(e.shared.engines) > mostReported {
		level = zerolog.DebugLevel
	}
	o, err := e.offers(ctx, aheadUpTo, 0)
	if err != nil {
		return err
	}
	targets := yp.Plural(o.Ready, "target")
	if o.Ready >= aheadUpTo {
		targets += " or more"
	}
	e.cfg.Logger.WithLevel(level).Str("component", "crawl").Str("source", e.cfg.Source.Name()).Int("due", o.Ready).
		Msgf("starting %s for %s", yp.Plural(e.cfg.Workers, "worker"), targets)
	return nil
}

// claimBusy says that the database was too busy for a claim, which is tried again.
func (w *worker) claimBusy(try, of int) {
	w.count.update(func(s *Stats) { s.BusyTries++ })
	w.logger.Debug().Int("try", try).Int("tries", of).Msgf("claim busy, try %d of %d", try, of)
}
