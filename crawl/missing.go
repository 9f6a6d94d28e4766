package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// ErrMissing is the cause of a stop because not one of the first pages that were asked for is there, of a source that
// never gave a listing: its definition asks at wrong addresses.
var ErrMissing = errors.New("no requested page exists")

// mostMissing is of how many cities the first targets must all be missing until the source rests: of one city alone,
// the site may have no page.
const mostMissing = 5

// missing are the targets of a run that ended with a page that is not there, until one ends otherwise.
type missing struct {
	mu      sync.Mutex
	targets []int64
	cities  []string
	over    bool
	parked  []string // cities, as long as each first target is parked: the site itself says that it has no such page
	told    bool     // of these
	next    []int64  // cities that are asked for next, since of the others it is known by now
}

// add notes how a target ended, and returns all of them when they are of enough cities.
func (m *missing) add(target int64, city string, there bool) []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over = m.over || there; m.over {
		return nil
	}
	m.targets = append(m.targets, target)
	if !slices.Contains(m.cities, city) {
		m.cities = append(m.cities, city)
	}
	if len(m.cities) < mostMissing {
		return nil
	}
	m.over = true
	return m.targets
}

// noPage notes a target that is parked because the site has no page for it, and reports once that the first of enough
// cities all are.
func (m *missing) noPage(city string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.parked, city) {
		m.parked = append(m.parked, city)
	}
	if m.told || len(m.parked) < mostMissing {
		return false
	}
	m.told = true
	return true
}

// there notes that a page was there.
func (m *missing) there() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = true // nothing is to be told any more
}

// take returns a city of which a page is to be asked for next, false = whatever comes next will do.
func (m *missing) take() (city int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || len(m.next) == 0 {
		return 0, false
	}
	city, m.next = m.next[0], m.next[1:]
	return city, true
}

// first returns the targets when there is but one, so far: then others are to be asked for.
func (m *missing) first() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || len(m.targets) != 1 {
		return nil
	}
	return slices.Clone(m.targets)
}

func (m *missing) ask(cities []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = cities
}

// claimTarget claims a target of the scope, where a page was not there one of a city that was not asked for yet: all
// categories of one city would prove little, and take long.
func (w *worker) claimTarget(ctx context.Context, scope store.Scope) (*checkpoint.Claim, error) {
	for scope.Has(yp.KindSearch) {
		city, ok := w.missing.take()
		if !ok {
			break
		}
		of := scope
		of.Kinds, of.CityIDs = []yp.Kind{yp.KindSearch}, []int64{city}
		if c, err := w.cfg.Keeper.Claim(ctx, w.me, of, w.cfg.MaxPerState); !errors.Is(err, checkpoint.ErrNothing) {
			return c, err
		}
	}
	return w.cfg.Keeper.Claim(ctx, w.me, scope, w.cfg.MaxPerState)
}

// countMissing notes how a search ended. When the first of a run, of some cities, all end with a page that is not
// there, and the source never gave a listing, it rests for this run, and its targets stay planned.
func (s *search) countMissing(ctx context.Context, o *conclusion) error {
	switch o.code {
	case yp.CodeTimeout, yp.CodeNetworkError, yp.CodeRateLimited:
		return nil // no page came: it says nothing of the address
	}
	if err := s.countNoPage(ctx, o); err != nil {
		return err
	}
	all := s.missing.add(s.claim.TargetID, s.claim.Place.CitySlug, o.missing == "")
	detached := context.WithoutCancel(ctx)
	if first := s.missing.first(); first != nil {
		cities, err := s.cfg.Keeper.OtherCities(detached, s.scope(), first, mostMissing-1)
		if err != nil {
			return err
		}
		s.missing.ask(cities)
	}
	if all == nil {
		return nil
	}
	known, err := s.cfg.Keeper.HasListings(detached, s.claim.SourceID)
	if err != nil || known {
		return err
	}
	s.stop(fmt.Errorf("%w: the first %s, of %d cities, ended with HTTP 404 or 410, the last at %s. Open it in a browser: urls.target of the definition is probably wrong (`ypcrawl sources check FILE.yaml` prints an address)",
		ErrMissing, yp.Plural(len(all), "target"), mostMissing, o.missing))
	return s.cfg.Keeper.PlanMissing(detached, all)
}

// countNoPage warns when the site says of the first of some cities that it has no such page, and the source never gave a
// listing: it may be so, and the targets are parked as they are; more likely its definition asks at wrong addresses.
func (s *search) countNoPage(ctx context.Context, o *conclusion) error {
	if o.event != yp.EventPark || o.code != yp.CodeNoListings {
		if o.missing == "" {
			s.missing.there()
		}
		return nil
	}
	if !s.missing.noPage(s.claim.Place.CitySlug) {
		return nil
	}
	known, err := s.cfg.Keeper.HasListings(context.WithoutCancel(ctx), s.claim.SourceID)
	if err != nil || known {
		return err
	}
	s.logger.Warn().Str("source", s.cfg.Source.Name()).Str("url", s.askFor(1).Label()).
		Msgf("the site has no page for the first %d cities: compare the address with urls.target of the definition; `ypcrawl reset --status PARKED` plans them again", mostMissing)
	return nil
}
