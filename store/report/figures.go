package report

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"ypcrawl/store"
)

// Figures are what progress tells beside its counters: they are read from the rows themselves,
// a second or so over a million listings.
type Figures struct {
	At       time.Time      `json:"figures_at"` // when they were read
	Of       string         `json:"figures_of"` // what of the file they count
	Coverage CoverageTotals `json:"coverage"`
	Passes   []Pass         `json:"passes"`
	Found    int64          `json:"listings_found"`  // different ones, by the searches of the selection
	Closed   int64          `json:"listings_closed"` // of them: their source dropped them

	found map[string]int64 // by the searches of each state
}

const (
	// A listing that searches of two states show counts in both.
	foundByState = `SELECT t.state, count(DISTINCT g.listing) ` + foundBy + ` GROUP BY t.state`
	foundAtAll   = `SELECT '', count(DISTINCT g.listing) ` + foundBy
	storedAtAll  = `SELECT '', ifnull(sum(listings), 0) FROM listing_totals WHERE ` + places
	foundBy      = `FROM targets t CROSS JOIN sightings g ON g.target_id = t.id WHERE t.kind = 'search' AND ` + placesOn + ` AND ` + kept
	kept         = `g.since < 0x7FFFFFFFFFFFFFFF` // no mere ad, not filtered out
	countClosed  = `
	SELECT count(*) FROM listings l WHERE l.dropped_at IS NOT NULL AND (?1 = 0 OR l.source_id = ?1) AND (?2 = '[]' OR EXISTS (
		SELECT 1 FROM sightings g CROSS JOIN targets t ON t.id = g.target_id
		WHERE g.listing = l.id AND t.kind = 'search' AND t.state IN (SELECT value FROM json_each(?2)) AND ` + kept + `))`
)

// Figures reads them side by side. Of the scope, source and states count.
func (k *Reader) Figures(ctx context.Context, scope store.Scope) (*Figures, error) {
	f := &Figures{At: k.db.Now(), Of: OfScope(scope)}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		f.Coverage, err = k.CoverageTotals(ctx, scope)
		return err
	})
	g.Go(func() (err error) {
		f.Passes, err = k.Passes(ctx, scope)
		return err
	})
	g.Go(func() error { return k.countFound(ctx, f, scope) })
	g.Go(func() (err error) {
		f.Closed, err = k.Closed(ctx, scope)
		return err
	})
	return f, g.Wait()
}

func (k *Reader) countFound(ctx context.Context, f *Figures, scope store.Scope) error {
	type found struct {
		state    string
		listings int64
	}
	into := func(x *found) []any { return []any{&x.state, &x.listings} }
	states, err := list(ctx, k, "count the listings of states", foundByState, placesOf(scope), into)
	if err != nil {
		return err
	}
	f.found = map[string]int64{}
	for _, x := range states {
		f.found[x.state], f.Found = x.listings, x.listings
	}
	if len(states) < 2 {
		return nil
	}
	query := foundAtAll
	if len(scope.States) == 0 { // each listing was found by some search
		query = storedAtAll
	}
	all, err := list(ctx, k, "count listings", query, placesOf(scope), into)
	if err == nil {
		f.Found = all[0].listings
	}
	return err
}

// Closed counts the listings that their source has dropped, of those that searches of the scope
// have found. Of the scope, source and states count.
func (k *Reader) Closed(ctx context.Context, scope store.Scope) (n int64, err error) {
	_, err = k.one(ctx, "count closed listings", countClosed, placesOf(scope), &n)
	return n, err
}

// AddFigures adds figures that were read now or earlier: at least what is there was found, whatever they say.
func (p *Progress) AddFigures(f *Figures) {
	p.Figures = f
	for i := range p.States {
		s := &p.States[i]
		s.Found = new(max(f.found[s.State], s.Listings))
	}
	p.Overall.Found = new(max(f.Found, p.Overall.Listings))
}

// OfScope says what figures of a scope count.
func OfScope(s store.Scope) string {
	if s.SourceID == 0 && len(s.States)+len(s.CategoryIDs)+len(s.CityIDs)+s.MinPopulation == 0 {
		return "the whole file"
	}
	return "this selection"
}
