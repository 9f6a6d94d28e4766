package cli

import (
	"context"
	"fmt"

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
		frame.WordsFlag("cities", "`CITY...` of those states only: --cities Austin \"El Paso\"", "all"),
		frame.WordsFlag("categories", "`CATEGORY...` to search for", "the source's own, or ten common ones"),
		anyCategoryFlag(),
		&cli.IntFlag{Name: "min-population", Usage: "leave out places with fewer `PEOPLE`"},
		&cli.IntFlag{Name: "max-cities", DefaultText: "all", Usage: "only the `N` largest places of each state"},
		&cli.GenericFlag{
			Name: "max-pages", Value: frame.CountValue("pages"), DefaultText: "3, 2 or 1 by the place's size",
			Usage: "`PAGES` of each target, or all",
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
	return discover.Source{Categories: src.Categories(), PlacesPerState: src.PlacesPerState(), PageCap: src.PageCap()}
}

// selection reads selectFlags.
func selection(c *cli.Context) (discover.Selection, error) {
	sel := discover.Selection{
		States: frame.StateList(c.StringSlice("states")), Cities: frame.CityList(c.StringSlice("cities")),
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

// resolve finds what the flags select; words that mean nothing are usage errors.
func resolve(src *site.Source, sel discover.Selection) (*discover.Resolved, error) {
	g, err := loadPlaces(sel.States)
	if err != nil {
		return nil, err
	}
	return resolveIn(g, src, sel)
}

func resolveIn(g *gazetteer.Gazetteer, src *site.Source, sel discover.Selection) (*discover.Resolved, error) {
	r, err := discover.Resolve(g, extent(src), sel)
	if err != nil {
		return nil, frame.Usagef("%w", err)
	}
	if len(r.Cities) == 0 {
		return nil, frame.Usagef("the selection has no places: lower --min-population or name other states")
	}
	return r, nil
}

// scopeOf is the selection as the condition under which targets are claimed.
func scopeOf(ctx context.Context, k *database, sourceID int64, r *discover.Resolved, sel discover.Selection) (store.Scope, error) {
	s := store.Scope{SourceID: sourceID, States: r.States, MinPopulation: sel.MinPopulation}
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
	return &cli.BoolFlag{Name: "any-category", Usage: "accept unknown categories as typed"}
}

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "write nothing, print the cost of a crawl from the start: requests, time, disk"}
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
