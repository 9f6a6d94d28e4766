package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
)

func (p *Program) runCommand() *cli.Command {
	flags := append(sourceFlags(), selectFlags()...)
	return &cli.Command{
		Name:  "run",
		Usage: "Crawl: plan what is new, go on where the last run ended, until all due work is done",
		Description: "Typing the same command again always resumes. Ctrl-C finishes the pages in hand and stops;\n" +
			"a second Ctrl-C ends at once, equally safe.",
		Flags: append(flags, runFlags()...),
		Action: func(c *cli.Context) error {
			r, err := p.newRun(c)
			if err != nil {
				return err
			}
			return r.do(c.Context)
		},
	}
}

func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "workers", Value: 5, Usage: "`WORKERS` that crawl at once"},
		delayFlag(),
		&cli.IntFlag{Name: "concurrency-per-host", Value: 5, Usage: "`REQUESTS` in flight to a host at most"},
		&cli.IntFlag{Name: "max-per-state", Value: 5, Usage: "`TARGETS` of a state in progress at once"},
		&cli.StringFlag{Name: "robots", Value: "obey", Usage: "robots.txt: obey or ignore"},
		&cli.StringFlag{Name: "user-agent", Value: "ypcrawl", Usage: "the User-Agent `TEXT`; say who you are"},
		&cli.DurationFlag{Name: "timeout", Value: fetch.DefaultTimeout, Usage: "`TIME` for one request, its body included"},
		&cli.GenericFlag{Name: "linger", Value: minutesValue(5 * time.Minute), Usage: "wait `MINUTES` for targets that fall due so soon; 0 for cron"},
		&cli.GenericFlag{Name: "max-duration", Value: minutesValue(0), Usage: "end after `MINUTES` (or 2h), resumable (default: none)"},
		&cli.Int64Flag{Name: "max-requests", Usage: "end after `REQUESTS` for pages, resumable (default: none)"},
		&cli.IntFlag{Name: "max-targets", Usage: "end after `TARGETS`, resumable (default: none)"},
		&cli.StringSliceFlag{Name: "allow-categories", Usage: "keep only listings that show one of these `CATEGORIES`"},
		&cli.StringSliceFlag{Name: "block-categories", Usage: "leave out listings that show one of these `CATEGORIES`"},
		&cli.StringSliceFlag{Name: "block-words", Usage: "leave out listings with one of these `WORDS` in their name"},
		&cli.IntFlag{Name: "min-score", Usage: "leave out listings less complete than `SCORE` (0-100)"},
		&cli.BoolFlag{Name: "include-sponsored", Usage: "keep ads too"},
		&cli.BoolFlag{Name: "exclusive", Usage: "be the only run on this database, or exit 11"},
		&cli.BoolFlag{Name: "dry-run", Usage: "write nothing, print what it would cost"},
		jsonFlag(),
	}
}

// run is one invocation of `run` in the making.
type run struct {
	p        *Program
	c        *cli.Context
	src      *site.Source
	sel      discover.Selection
	resolved *discover.Resolved
	display  *Display
	log      zerolog.Logger

	keeper *checkpoint.Keeper
	scope  checkpoint.Scope
	row    *checkpoint.Run
	before checkpoint.Counts
}

// newRun checks all that was typed, before anything is touched.
func (p *Program) newRun(c *cli.Context) (*run, error) {
	r := &run{p: p, c: c}
	r.display = NewDisplay(DisplayConfig{
		Out: p.Err, Live: p.live(p.Err), Quiet: c.Bool("quiet"), Width: func() int { return widthOf(p.Err) },
	})
	var err error
	if r.log, err = p.logger(c, r.display.Writer()); err != nil {
		return nil, err
	}
	if r.src, r.sel, err = p.wanted(c); err != nil {
		return nil, err
	}
	if err := checkRunFlags(c); err != nil {
		return nil, err
	}
	r.resolved, err = resolve(r.src, r.sel)
	return r, err
}

func checkRunFlags(c *cli.Context) error {
	for _, f := range []struct {
		name     string
		min, max int64
	}{
		{"workers", 1, 1024},
		{"concurrency-per-host", 1, 1024},
		{"max-per-state", 1, 1 << 20},
		{"max-requests", 0, 1 << 62},
		{"min-score", 0, 100},
	} {
		v := int64(c.Int(f.name))
		if f.name == "max-requests" {
			v = c.Int64(f.name)
		}
		if v < f.min || v > f.max {
			return Usagef("--%s %d: want a number from %d to %d", f.name, v, f.min, f.max)
		}
	}
	if r := c.String("robots"); r != "obey" && r != "ignore" {
		return Usagef("--robots %q: want obey or ignore", r)
	}
	return nil
}

func (r *run) do(ctx context.Context) (err error) {
	if r.c.Bool("dry-run") {
		return r.p.dryRun(r.c, r.src, r.resolved, r.sel.MaxTargets)
	}
	if r.keeper, err = r.p.open(r.c, create); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.keeper.DB().Close()) }()
	if err := quickCheck(ctx, r.keeper.DB()); err != nil {
		return err
	}
	stopDemo, err := r.startDemo(ctx)
	if err != nil {
		return err
	}
	defer stopDemo()
	if err := r.register(ctx); err != nil {
		return err
	}
	return r.crawl(ctx)
}

// checkUpTo is the size up to which a database is checked at every start; a
// larger one takes too long, and `sqlite3 … 'PRAGMA quick_check'` does the same.
const checkUpTo = 64 << 20

func quickCheck(ctx context.Context, db *store.DB) error {
	info, err := os.Stat(db.Path())
	if err != nil || info.Size() > checkUpTo {
		return err
	}
	if err := db.QuickCheck(ctx); err != nil {
		return fmt.Errorf("database %s: %w", db.Path(), err)
	}
	return nil
}

// register enters the run, takes back what dead runs held, and plans.
func (r *run) register(ctx context.Context) error {
	id, err := r.keeper.Source(ctx, r.src.Name(), r.src.BaseURL().String())
	if err != nil {
		return err
	}
	if r.row, err = r.keeper.StartRun(ctx, id, r.p.commandLine(), r.c.Bool("exclusive")); err != nil {
		return err
	}
	err = r.prepare(ctx, id)
	if err != nil {
		err = errors.Join(err, r.row.Finish(ctx, checkpoint.OutcomeError, 0))
	}
	return err
}

func (r *run) prepare(ctx context.Context, id int64) error {
	rec, err := r.keeper.RecoverDead(ctx, checkpoint.Scope{})
	if err != nil {
		return err
	}
	if rec.Total() > 0 {
		r.log.Info().Int("targets", rec.Planned).Int("stuck", rec.Stuck).Int("dead_runs", rec.Dead).Msg("recovered what an ended run held")
	}
	if err := r.keeper.SweepLocks(); err != nil {
		r.log.Warn().Err(err).Msg("old lock files stay")
	}
	plan, err := r.keeper.Plan(ctx, r.resolved.Plan(id, 0))
	if err != nil {
		return err
	}
	if plan.Added+plan.Deepened > 0 {
		r.log.Info().Int("selected", plan.Selected).Int("new", plan.Added).Int("deepened", plan.Deepened).Msg("targets planned")
	}
	if r.scope, err = scopeOf(ctx, r.keeper, id, r.resolved, r.sel); err != nil {
		return err
	}
	if _, err := r.keeper.Wake(ctx, r.scope); err != nil {
		return err
	}
	r.before, err = r.keeper.Count(ctx, r.scope)
	return err
}

// crawl runs the engine with the display beside it, and tells how it went.
func (r *run) crawl(ctx context.Context) error {
	var engine *crawl.Engine
	client := fetch.New(r.fetchConfig(func(o fetch.Observation) { engine.Observed(o.WireBytes) }))
	defer client.Close()
	engine = crawl.New(r.engineConfig(client))

	interrupted := context.AfterFunc(ctx, func() {
		r.log.Info().Msg("stopping: pages in hand are finished first; once more ends at once")
		engine.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	watch := newWatcher(r, engine, client)
	watch.start()
	err := engine.Run(context.WithoutCancel(ctx))
	watch.stop()
	stats := engine.Stats()
	if ferr := r.row.Finish(ctx, outcomeOf(err), stats.Requests); ferr != nil && err == nil {
		err = ferr
	}
	return r.report(stats, err)
}

func outcomeOf(err error) checkpoint.Outcome {
	switch {
	case err == nil:
		return checkpoint.OutcomeDone
	case errors.Is(err, crawl.ErrInterrupted):
		return checkpoint.OutcomeInterrupted
	case errors.Is(err, crawl.ErrBudget):
		return checkpoint.OutcomeBudget
	}
	return checkpoint.OutcomeError
}

func (r *run) fetchConfig(observe func(fetch.Observation)) fetch.Config {
	shortest, longest := pace(r.c, r.src)
	inFlight := r.c.Int("concurrency-per-host")
	return fetch.Config{
		UserAgent: r.c.String("user-agent"), DelayMin: shortest, DelayMax: longest, ConcurrencyPerHost: inFlight,
		Timeout: r.c.Duration("timeout"), IgnoreRobots: r.c.String("robots") == "ignore", Logger: r.log, Observe: observe,
	}
}

func (r *run) engineConfig(client *fetch.Client) crawl.Config {
	c := r.c
	dir := c.String("wal-dir")
	return crawl.Config{
		Keeper: r.keeper, Run: r.row, Source: r.src, Scope: r.scope, Fetch: client,
		OpenLog: func(worker string) (crawl.Log, error) {
			log, err := wal.Create(wal.Config{Dir: dir, WorkerID: worker, Logger: r.log})
			if err != nil {
				return nil, fmt.Errorf("open write-ahead log: %w", err)
			}
			return log, nil
		},
		Workers: c.Int("workers"), MaxPerState: c.Int("max-per-state"), Linger: timeOf(c, "linger"),
		Filter: crawl.Filter{
			Allow: SplitList(c.StringSlice("allow-categories")), Block: SplitList(c.StringSlice("block-categories")),
			Words: SplitList(c.StringSlice("block-words")), MinScore: c.Int("min-score"), Sponsored: c.Bool("include-sponsored"),
		},
		Budget: crawl.Budget{Duration: timeOf(c, "max-duration"), Requests: c.Int64("max-requests"), Targets: int64(c.Int("max-targets"))},
		Logger: r.log, Reached: r.p.Reached,
	}
}
