package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// selectFlags choose places, categories and pages.
func selectFlags() []cli.Flag {
	return []cli.Flag{
		frame.StatesFlag(),
		frame.WordsFlag("cities", "only these `CITY...`: --cities Austin \"El Paso\"", "all"),
		frame.WordsFlag("categories", "`CATEGORY...` to search for", "the source's own, or ten common ones"),
		anyCategoryFlag(),
		&cli.IntFlag{Name: "min-population", Usage: "leave out places with fewer `PEOPLE`"},
		&cli.IntFlag{Name: "max-cities", DefaultText: "all", Usage: "only the `N` largest places of each state"},
		&cli.GenericFlag{
			Name: "max-pages", Value: frame.CountValue("pages"), DefaultText: "3, 2 or 1 by the size of the place",
			Usage: "at most this many `PAGES` per search, or all",
		},
	}
}

func delayFlag() cli.Flag {
	return &cli.GenericFlag{
		Name: "delay", Value: frame.DelayValue(0), DefaultText: "the source's: 2s, none for the demo",
		Usage: "`TIME` between two requests to a host: 2s, 1s-3s or 0",
	}
}

func extent(src *site.Source) discover.Source {
	x := discover.Source{Categories: src.Categories(), PlacesPerState: src.PlacesPerState(), PageCap: src.PageCap()}
	if src.OwnPlaces() {
		x.States, x.Indexed, x.Whole = src.States(), src.HasIndex() && len(src.Cities()) == 0, src.WholeIndex()
	}
	return x
}

// selection reads selectFlags.
func selection(c *cli.Context) (discover.Selection, error) {
	sel := discover.Selection{
		States: frame.StateList(c.StringSlice("states"), usa()), Cities: frame.CityList(c.StringSlice("cities"), usa()),
		Categories:  frame.SplitList(c.StringSlice("categories")),
		AnyCategory: c.Bool("any-category"), MinPopulation: c.Int("min-population"), MaxPages: frame.CountOf(c, "max-pages"),
		MaxTargets: c.Int("max-targets"), MaxCities: c.Int("max-cities"),
	}
	for name, words := range map[string][]string{"states": sel.States, "cities": sel.Cities, "categories": sel.Categories} {
		if err := frame.NotEmpty(c, name, words); err != nil {
			return sel, err
		}
	}
	for _, name := range []string{"min-population", "max-targets", "max-cities"} {
		if c.Int(name) < 0 {
			return sel, frame.Usagef("--%s %d: want a number from 0 up", name, c.Int(name))
		}
	}
	return sel, nil
}

func usa() *yp.StateSet { return yp.StatesOf(yp.DefaultCountry) }

// statesOf are the words of --states and --cities by the states of a source.
func statesOf(c *cli.Context, src *site.Source, sel discover.Selection) discover.Selection {
	sel.States = frame.StateList(c.StringSlice("states"), src.States())
	sel.Cities = frame.CityList(c.StringSlice("cities"), src.States())
	return sel
}

// resolve finds what the flags select; words that mean nothing are usage errors.
func (p *Program) resolve(c *cli.Context, src *site.Source, sel discover.Selection) (*discover.Resolved, error) {
	g, err := p.placesOf(c, src, sel)
	if err != nil {
		return nil, err
	}
	return resolveIn(g, src, statesOf(c, src, sel), false)
}

// placesOf returns the places of a source: its own, those that its index has shown, or, in the USA, those of the states that were named.
func (p *Program) placesOf(c *cli.Context, src *site.Source, sel discover.Selection) (*gazetteer.Gazetteer, error) {
	if err := src.Usable(); err != nil {
		return nil, err
	}
	switch cities := src.Cities(); {
	case !src.OwnPlaces():
		return loadPlaces(sel.States)
	case len(cities) > 0:
		return gazetteer.New(cities), nil
	}
	how := existing
	if c.Bool("dry-run") {
		how = reading
	}
	k, err := p.open(c, how)
	if errors.Is(err, store.ErrNotFound) {
		return gazetteer.New(nil), nil
	}
	if err != nil {
		return nil, err
	}
	listed, err := k.ListedCities(c.Context, src.Name())
	return gazetteer.New(listed), errors.Join(err, k.DB().Close())
}

// resolveIn finds what is selected in places; reads says that the indexes of the sources are read first.
func resolveIn(g *gazetteer.Gazetteer, src *site.Source, sel discover.Selection, reads bool) (*discover.Resolved, error) {
	x := extent(src)
	if x.Indexed && len(g.All()) == 0 && (!reads || len(sel.Cities) > 0) {
		return nil, frame.Usagef("no city of %s is known yet; `ypcrawl run --discover` reads its index first", src.Name())
	}
	r, err := discover.Resolve(g, x, sel)
	if err != nil {
		return nil, frame.Usagef("%w", err)
	}
	if len(r.Cities) == 0 && !x.Indexed {
		return nil, frame.Usagef("the selection has no places: lower --min-population, or change --states")
	}
	return r, nil
}

// scopeOf is the selection as the condition under which targets are claimed.
func scopeOf(ctx context.Context, k *database, sourceID int64, r *discover.Resolved, sel discover.Selection) (store.Scope, error) {
	s := store.Scope{SourceID: sourceID, States: r.States, MinPopulation: sel.MinPopulation}
	if r.Whole && len(s.States) > 0 { // and the index
		s.States = append(slices.Clone(s.States), "")
	}
	var err error
	if r.ByCategory {
		if s.CategoryIDs, err = k.Categories(ctx, r.Categories); err != nil {
			return s, err
		}
	}
	if r.ByCity {
		s.CityIDs, err = k.CityIDs(ctx, r.Cities)
	}
	return s, err
}

func anyCategoryFlag() cli.Flag {
	return &cli.BoolFlag{Name: "any-category", Usage: "accept unknown categories as they are typed"}
}

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "print the cost of a crawl from the start (requests, time, disk); write nothing"}
}

// loadPlaces loads the places of the states that were named; of all when none was. What is no
// state is left to who resolves the selection.
func loadPlaces(states []string) (*gazetteer.Gazetteer, error) {
	codes, _ := yp.ParseStates(states)
	g, err := gazetteer.Load(codes...)
	if err != nil {
		return nil, fmt.Errorf("load places: %w", err)
	}
	return g, nil
}
