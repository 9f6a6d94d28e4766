package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

// ErrMissing is the cause of a stop because not one of the first pages that were asked for is there, of a source that
// never gave a listing: its definition asks at wrong addresses.
var ErrMissing = errors.New("no page that was asked for is there")

// mostMissing is of how many cities the first targets must all be missing until the source rests: of one city alone,
// the site may have no page.
const mostMissing = 5

// missing are the targets of a run that ended with a page that is not there, until one ends otherwise.
type missing struct {
	mu      sync.Mutex
	targets []int64
	cities  []string
	over    bool
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

// countMissing notes how a search ended. When the first of a run, of some cities, all end with a page that is not
// there, and the source never gave a listing, it rests for this run, and its targets stay planned.
func (w *worker) countMissing(ctx context.Context, c *checkpoint.Claim, o outcome) error {
	if c.Kind != yp.KindSearch || o.event == yp.EventRelease {
		return nil
	}
	all := w.missing.add(c.TargetID, c.Place.CitySlug, o.missing == "")
	if all == nil {
		return nil
	}
	keep := context.WithoutCancel(ctx)
	known, err := w.cfg.Keeper.HasListings(keep, c.SourceID)
	if err != nil || known {
		return err
	}
	w.stop(fmt.Errorf("%w: the first %s, of %d cities, ended with HTTP 404 or 410, the last at %s. Open it in a browser: urls.target of the definition is not right (`ypcrawl sources check FILE.yaml` prints an address)",
		ErrMissing, yp.Plural(len(all), "target"), mostMissing, o.missing))
	return w.cfg.Keeper.PlanMissing(keep, all)
}
