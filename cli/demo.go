package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/selftest"
	"ypcrawl/crawl/demo"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

const demoSource = "demo"

// startDemo serves the demo directory in this process when the run asks for it
// without saying where it is. It listens where it did last time if it can, so
// that a resumed crawl finds its pages at the same address; what is there already is
// the one that a run over several sources crawls.
func (r *run) startDemo(ctx context.Context) (stop func(), err error) {
	stop = func() {}
	i := slices.IndexFunc(r.sources, func(c *sourceRun) bool { return c.src.Name() == demoSource })
	if i < 0 || !r.several() && (r.c.IsSet("base-url") || r.c.IsSet("source-file")) {
		return stop, nil
	}
	dir, err := newDirectory(demo.Config{Logger: r.log})
	if err != nil {
		return nil, err
	}
	stored, _, err := r.keeper.StoredSource(ctx, demoSource)
	if err != nil {
		return nil, err
	}
	detached := context.WithoutCancel(ctx) // an interrupted crawl finishes its pages
	u, err := url.Parse(stored.BaseURL)
	var server *demo.Server
	if err == nil && u.Hostname() == "127.0.0.1" && u.Port() != "" {
		server, err = demo.Serve(detached, "127.0.0.1:"+u.Port(), dir)
	}
	if stored.BaseURL != "" && r.several() && (err != nil || u.Hostname() != "127.0.0.1") {
		return stop, nil
	}
	if server == nil {
		if server, err = demo.Serve(detached, "127.0.0.1:0", dir); err != nil {
			return nil, fmt.Errorf("start the demo directory: %w", err)
		}
	}
	base, err := url.Parse(server.URL())
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	r.sources[i].src = r.sources[i].src.WithBaseURL(base)
	r.log.Info().Str("url", server.URL()).Msg("the demo directory is served by this process")
	return func() { _ = server.Close() }, nil
}

func newDirectory(cfg demo.Config) (*demo.Directory, error) {
	g, err := loadPlaces(nil)
	if err != nil {
		return nil, err
	}
	dir, err := demo.New(cfg, g)
	if err != nil {
		err = frame.Usagef("%w", err)
	}
	return dir, err
}

func (p *Program) demoCommand() *cli.Command {
	directory := func() []cli.Flag {
		return []cli.Flag{
			&cli.Int64Flag{Name: "seed", Usage: "`NUMBER` that the content is made from"},
			&cli.IntFlag{Name: "epoch", Usage: fmt.Sprintf("the directory after `N` steps of change, up to %d: businesses open, close and change, cities enter and leave the index", demo.MaxEpoch)},
			&cli.GenericFlag{
				Name: "places", Value: frame.CountValue("places"), DefaultText: "40",
				Usage: "the `N` largest places of each state, or all",
			},
		}
	}
	return &cli.Command{
		Name:  "demo",
		Usage: "A made-up directory to try things on: serve it, and check that a crawl found all of it",
		Subcommands: []*cli.Command{
			{
				Name:  "serve",
				Usage: "Serve the demo directory; its base URL is printed once it listens",
				Description: "The same data is there as JSON, by offset under /api/stores?city=austin-tx&category=plumbers&from=0&n=20,\n" +
					"and as GraphQL under /graphql, with the operations Cities and Stores. docs/adding-a-site.md crawls all three.",
				Flags: append(directory(),
					&cli.StringFlag{Name: "addr", Value: "127.0.0.1:0", Usage: "`ADDRESS` to listen on; port 0 takes a free one"},
					&cli.GenericFlag{Name: "latency", Value: frame.AgeValue(0), DefaultText: "none", Usage: "`TIME` before every answer: 150ms, 2s"},
					frame.WordsFlag("fail", "`SHARES...` of the requests that fail: 429=0.05,503=0.02,challenge=0.01,timeout=0.01,truncate=0.01,cut=0.01,layout=0.01", "none"),
				),
				Action: p.demoServe,
			},
			{
				Name: "check", Usage: "Compare a crawl of the demo directory with the truth: missing, doubled, different or unfinished",
				ArgsUsage: "[FILE.db]", Args: true,
				Description: "It expects the searches that the database has, as they were planned.\n" +
					"Repeat the --seed, --epoch and --places of `demo serve` here. Exit code 1 when anything differs.",
				Flags: slices.Concat(directory(), []cli.Flag{
					&cli.BoolFlag{Name: "include-sponsored", Usage: "the crawl kept ads, too"},
					frame.WordsFlag("since", "these `EPOCH...` were crawled before --epoch, in this order", "none"),
					frame.JSONFlag(),
				}),
				Action: p.demoCheck,
			},
		},
	}
}

// directoryConfig reads the flags that both commands have.
func directoryConfig(c *cli.Context) demo.Config {
	return demo.Config{Seed: c.Int64("seed"), Epoch: c.Int("epoch"), Places: frame.CountOf(c, "places")}
}

func (p *Program) demoServe(c *cli.Context) error {
	var err error
	cfg := directoryConfig(c)
	cfg.Latency, cfg.Fail = frame.TimeOf(c, "latency"), map[string]float64{}
	for _, item := range frame.SplitList(c.StringSlice("fail")) {
		kind, share, _ := strings.Cut(item, "=")
		if cfg.Fail[kind], err = strconv.ParseFloat(share, 64); err != nil || !(cfg.Fail[kind] >= 0 && cfg.Fail[kind] <= 1) {
			return frame.Usagef("--fail %q: want a kind and a share from 0 to 1, like 429=0.05", item)
		}
	}
	if cfg.Logger, err = p.logger(c, p.Err); err != nil {
		return err
	}
	dir, err := newDirectory(cfg)
	if err != nil {
		return err
	}
	server, err := demo.Serve(context.WithoutCancel(c.Context), c.String("addr"), dir)
	if err != nil {
		return fmt.Errorf("%w: choose another --addr; port 0 takes a free one", err)
	}
	// Of all addresses, the one under which this machine reaches it.
	address := strings.NewReplacer("//[::]:", "//127.0.0.1:", "//0.0.0.0:", "//127.0.0.1:").Replace(server.URL())
	if _, err := fmt.Fprintln(p.Out, address); err != nil { // once it listens
		return errors.Join(err, server.Close())
	}
	p.Note("Serving until Ctrl-C. Crawl it:  %s", p.Command("run", "--source", "demo", "--base-url", address, "--states", "CA", "TX"))
	<-c.Context.Done()
	return server.Close()
}

func (p *Program) demoCheck(c *cli.Context) error {
	if c.NArg() > 1 {
		return frame.Usagef("demo check takes one database, not %d", c.NArg())
	}
	path := cmp.Or(c.Args().First(), c.String("db"))
	p.Database = path
	db, err := store.Open(c.Context, store.Config{Path: path, Schema: p.Schema, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // opened for reading only
	truth, err := checkedTruth(c, db)
	if err != nil {
		return err
	}
	found, err := selftest.Compare(c.Context, db, demoSource, truth)
	if err != nil {
		return err
	}
	verdict := "the database holds exactly that"
	if len(found) > 0 {
		verdict = "the database differs"
	}
	searches, listings, details, cities := len(truth.Searches), len(truth.Listings), len(truth.Details), len(truth.Cities)
	err = p.Tell(c, report.Object{
		{Name: "database", Value: path},
		{Name: "targets", Value: searches},
		{Name: "listings", Value: listings},
		{Name: "details", Value: details},
		{Name: "cities", Value: cities},
		{Name: "differences", Value: append([]string{}, found...)},
	}, func(w *frame.Sections) {
		w.Lines(fmt.Sprintf("A complete crawl ends with %s, %s, %s, %s: %s", plural(searches, "target"),
			plural(listings, "listing"), plural(details, "detail page"), plural(cities, "city"), verdict))
		w.More(found[:min(len(found), mostDifferences)]...)
	})
	if err != nil || len(found) == 0 {
		return err
	}
	return fmt.Errorf("%s from the truth. If the crawl is not finished, run it again and check again. If the directory was served with --seed, --epoch or --places, or the crawl kept ads, check with the same flags. Otherwise please report it, with %s and its logs", plural(len(found), "difference"), path)
}

// checkedTruth is the truth of what the database was to crawl.
func checkedTruth(c *cli.Context, db *store.DB) (*demo.Truth, error) {
	crawled, err := selftest.CrawledOf(c.Context, db, demoSource)
	if err != nil {
		return nil, err
	}
	base, err := baseURL(crawled.BaseURL)
	if err != nil {
		return nil, err
	}
	since, err := frame.WordsOf(c, "since", strconv.Atoi)
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory(directoryConfig(c))
	if err != nil {
		return nil, err
	}
	want := demo.Selection{Searches: crawled.Searches, IncludeSponsored: c.Bool("include-sponsored")}
	truth := dir.Truth(base, want)
	truth.Searches = dir.Searches(want)
	if len(since) > 0 {
		changes, err := dir.Changes(want, since...)
		if err != nil {
			return nil, frame.Usagef("--since: %w", err)
		}
		truth.Changes = &changes
	} else if crawled.Details { // those that were read in earlier epochs are not known
		truth.Details = dir.Details(base, want)
	}
	if len(crawled.States) > 0 {
		truth.Cities = dir.Cities(crawled.States...)
	}
	return &truth, nil
}

// mostDifferences is how many differences are printed for people; --json has all.
const mostDifferences = 20
