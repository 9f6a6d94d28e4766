package crawl

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// The steps of a crawl, reported to people at info: what starts, each city as it is begun, each
// page of an index. However fast a crawl is, there is about a line a second.

const (
	stepEvery = time.Second
	aheadUpTo = 10_000 // targets are counted up to here as a run starts

	// mostReported is how many sources are reported on at info one by one as a run starts.
	mostReported = 10
)

// steps is what was reported of the steps of an engine.
type steps struct {
	every time.Duration

	mu     sync.Mutex
	last   time.Time
	cities map[string]bool // begun by this run
	of     int             // cities that were due when it started, 0 = not known
}

// due reports whether a line may be reported now, and counts it.
func (s *steps) due() bool {
	if time.Since(s.last) < s.every {
		return false
	}
	s.last = time.Now()
	return true
}

// tellStart says how many workers start for how many targets.
func (e *Engine) tellStart(ctx context.Context) error {
	level := zerolog.InfoLevel
	if len(e.shared.engines) > mostReported {
		level = zerolog.DebugLevel
	}
	if e.cfg.Logger.GetLevel() > level {
		return nil
	}
	a, err := e.cfg.Keeper.Ahead(ctx, e.scope(), aheadUpTo)
	if err != nil {
		return err
	}
	targets := yp.Plural(a.Due, "target")
	if a.Due >= aheadUpTo {
		targets += " or more"
	} else {
		e.steps.mu.Lock()
		e.steps.of = a.Cities
		e.steps.mu.Unlock()
	}
	e.cfg.Logger.WithLevel(level).Str("component", "crawl").Str("source", e.cfg.Source.Name()).Int("due", a.Due).Int("new", a.New).Int("resumed", a.Resumed).
		Msgf("starting %s for %s", yp.Plural(e.cfg.Workers, "worker"), targets)
	return nil
}

// tellCity says that a city is begun.
func (w *worker) tellCity(c *checkpoint.Claim) {
	if c.Kind != yp.KindSearch || w.logger.GetLevel() > zerolog.InfoLevel {
		return
	}
	s := &w.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	key := c.Place.State + " " + c.Place.CitySlug
	if s.cities[key] {
		return
	}
	s.cities[key] = true
	n := len(s.cities)
	if !s.due() {
		return
	}
	of := ""
	if n <= s.of { // else more were planned meanwhile
		of = fmt.Sprintf(" of %d", s.of)
	}
	w.logger.Info().Str("source", w.cfg.Source.Name()).Int64("target", c.TargetID).Str("state", c.Place.State).
		Msgf("city %d%s: %s", n, of, yp.Printable(c.Place.City))
}

// tellIndexPage says that a page of a state's index was read.
func (w *worker) tellIndexPage(c *checkpoint.Claim, page int) {
	s := &w.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.due() && page > 1 {
		return
	}
	w.logger.Info().Str("source", w.cfg.Source.Name()).Str("state", c.Place.State).Int("page", page).Int("pages", c.MaxPages).Int("cities", c.Seen).
		Msgf("page %d of the index of %s, %s so far", page, c.Place.State, yp.Plural(c.Seen, "city"))
}

// claimBusy says that the database was too busy for a claim, which is tried again.
func (w *worker) claimBusy(try, of int) {
	w.count.update(func(s *Stats) { s.BusyTries++ })
	w.logger.Debug().Int("try", try).Int("tries", of).Msgf("claim busy, try %d of %d", try, of)
}

// A database counts as too busy when claims needed so many tries more.
const (
	busyPercent = 20
	busyClaims  = 20 // of fewer claims it says nothing
)

// Busy reports whether so many tries more for so many claims are too many.
func Busy(claims, tries int64) bool {
	return claims >= busyClaims && tries*100 > claims*busyPercent
}

// busyShare is how many claims there were when somebody last looked.
type busyShare struct{ claims, tries int64 }

// warnBusy warns, with every roll-up, when claims needed too many tries since the last one: a
// line in minutes, however busy the database is.
func (s *Sources) warnBusy() {
	now := s.Stats()
	claims, tries := now.Claims-s.busy.claims, now.BusyTries-s.busy.tries
	if claims < busyClaims {
		return // they are counted with the next ones
	}
	s.busy = busyShare{now.Claims, now.BusyTries}
	if Busy(claims, tries) {
		s.cfg.Logger.Warn().Str("component", "crawl").Int64("claims", claims).Int64("retries", tries).
			Msgf("the database is often busy when a target is claimed: %d %% more tries; use fewer --workers or fewer programs on the file", tries*100/claims)
	}
}
