package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// errNoSpace is what the operating system says when a log can't be written.
const errNoSpace = syscall.ENOSPC

// access says what a command does with the database.
type access int

const (
	create   access = iota // make the file if need be
	existing               // write to a file that must be there
	reading                // read only
)

// open opens the database that --db names.
func (p *Program) open(c *cli.Context, how access) (*checkpoint.Keeper, error) {
	cfg := store.Config{Path: c.String("db"), Schema: p.Schema, MustExist: how != create, ReadOnly: how == reading}
	if p.Reached != nil {
		cfg.BeforeCommit = func() { p.Reached(crawl.PointInTx) }
	}
	db, err := store.Open(c.Context, cfg)
	if err != nil {
		return nil, err
	}
	return checkpoint.New(db), nil
}

// logger writes to w, which is stderr or the display in front of it.
func (p *Program) logger(c *cli.Context, w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.String("log-level"))
	if err != nil || level < zerolog.TraceLevel || level > zerolog.ErrorLevel || c.String("log-level") == "" {
		return zerolog.Nop(), Usagef("--log-level %q: want trace, debug, info, warn or error", c.String("log-level"))
	}
	if c.Bool("quiet") {
		level = max(level, zerolog.WarnLevel)
	}
	switch c.String("log-format") {
	case "json":
	case "text":
		w = zerolog.ConsoleWriter{Out: w, NoColor: !p.color(p.Err), TimeFormat: "15:04:05"}
	default:
		return zerolog.Nop(), Usagef("--log-format %q: want text or json", c.String("log-format"))
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}

func statesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "states", Aliases: []string{"s"}, Usage: "`STATES` by code or name: --states CA TX (default: all)"}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}

// sourceFlags choose a source.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "source", Value: "yellowpages", Usage: "built-in `SOURCE`: " + strings.Join(site.Builtins(), ", ")},
		&cli.StringFlag{Name: "source-file", Usage: "definition `FILE` of a source of your own (YAML), instead of --source"},
		&cli.StringFlag{Name: "base-url", Usage: "`URL` of the source's site, instead of the one it names"},
	}
}

// selectFlags choose places, categories and pages.
func selectFlags() []cli.Flag {
	return []cli.Flag{
		statesFlag(),
		&cli.StringSliceFlag{Name: "cities", Usage: "`CITIES` of those states only: --cities Austin \"El Paso\" (default: all)"},
		&cli.StringSliceFlag{Name: "categories", Usage: "`CATEGORIES` to search for (default: the source's own, or ten common ones)"},
		&cli.BoolFlag{Name: "any-category", Usage: "take categories that are not known as they are typed"},
		&cli.IntFlag{Name: "min-population", Usage: "leave out places with fewer `PEOPLE`"},
		&cli.IntFlag{Name: "max-cities", Usage: "only the `N` largest places of each state (default: all)"},
		&cli.GenericFlag{Name: "max-pages", Value: &pagesValue{}, Usage: "`PAGES` of each target, or all (default: 3, 2 or 1 by the place's size)"},
	}
}

func delayFlag() cli.Flag {
	return &cli.GenericFlag{Name: "delay", Value: &delayValue{}, Usage: "`TIME` between two requests to a host: 2s, 1s-3s or 0 (default: the source's, 2s; none for the demo)"}
}

// source loads the source that the flags name.
func (p *Program) source(c *cli.Context) (*site.Source, error) {
	src, err := loadSource(c)
	if err != nil {
		return nil, err
	}
	raw := c.String("base-url")
	if raw == "" {
		return src, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, Usagef("--base-url %q: want a web address like https://www.example.com", yp.Printable(raw))
	}
	return src.WithBaseURL(u), nil
}

func loadSource(c *cli.Context) (*site.Source, error) {
	path := c.String("source-file")
	if path == "" {
		src, err := site.Builtin(c.String("source"))
		if err != nil {
			return nil, Usagef("--source: %w; a source of your own goes with --source-file", err)
		}
		return src, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read source definition: %w", err)
	}
	src, err := site.Parse(filepath.Base(path), text)
	if err != nil {
		return nil, &exitError{code: ExitUsage, err: err}
	}
	return src, nil
}

func extent(src *site.Source) discover.Source {
	return discover.Source{Categories: src.Categories(), PlacesPerState: src.PlacesPerState(), PageCap: src.PageCap()}
}

// selection reads selectFlags.
func selection(c *cli.Context) (discover.Selection, error) {
	sel := discover.Selection{
		States: c.StringSlice("states"), Cities: SplitList(c.StringSlice("cities")), Categories: SplitList(c.StringSlice("categories")),
		AnyCategory: c.Bool("any-category"), MinPopulation: c.Int("min-population"), MaxPages: pagesOf(c, "max-pages"),
		MaxTargets: c.Int("max-targets"), MaxCities: c.Int("max-cities"),
	}
	for _, name := range []string{"min-population", "max-targets", "max-cities"} {
		if c.Int(name) < 0 {
			return sel, Usagef("--%s %d: want a number from 0 up", name, c.Int(name))
		}
	}
	return sel, nil
}

// resolve finds what the flags select; words that mean nothing are usage errors.
func resolve(src *site.Source, sel discover.Selection) (*discover.Resolved, error) {
	g, err := gazetteer.Load()
	if err != nil {
		return nil, fmt.Errorf("load places: %w", err)
	}
	r, err := discover.Resolve(g, extent(src), sel)
	if err != nil {
		return nil, Usagef("%w", err)
	}
	if len(r.Cities) == 0 {
		return nil, Usagef("the selection has no places: lower --min-population or name other states")
	}
	return r, nil
}

// scopeOf is the selection as the condition under which targets are claimed.
func scopeOf(ctx context.Context, k *checkpoint.Keeper, sourceID int64, r *discover.Resolved, sel discover.Selection) (checkpoint.Scope, error) {
	s := checkpoint.Scope{SourceID: sourceID, States: r.States, MinPopulation: sel.MinPopulation}
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

// states reads --states as codes.
func states(c *cli.Context) ([]string, error) {
	codes, err := yp.ParseStates(c.StringSlice("states"))
	if err != nil {
		return nil, Usagef("--states: %w", err)
	}
	return codes, nil
}
