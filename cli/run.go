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
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/wal"
)

func (p *Program) runCommand() *cli.Command {
	flags := append(sourceFlags(), selectFlags()...)
	return &cli.Command{
		Name:        "run",
		Usage:       "Crawl: plan what is new, go on where the last run ended, until all due work is done",
		Description: runDescription,
		Flags:       append(flags, runFlags()...),
		Action: func(c *cli.Context) error {
			r, err := p.newRun(c)
			if err != nil {
				return err
			}
			return r.do(c.Context)
		},
	}
}

const runDescription = `Typing the same command again always resumes. Ctrl-C finishes the pages in hand and stops;
a second Ctrl-C ends at once, equally safe.

Without --states all states of the source are meant. For yellowpages that is about 159,000
targets, a week's work at the default pace: --dry-run tells before anything is asked of a site.
Listings go into --db, and are logged in --wal-dir first.

A host that says when to come back is waited for (--patience); one that blocks rests longer with
every block. --watch stays when nothing is due and takes targets as they fall due.
Proxies (--proxy, --proxy-file, or "ypcrawl proxies add") and browser identities are your choice
and your responsibility; no challenge is ever solved.

Exit codes: 0 all due work done · 3 some targets failed or parked · 4 a budget is used up, resumable ·
5 the source is blocked, quarantined, paused or disabled · 6 all proxies are gone · 7 layout alarm ·
11 another run holds the database (--exclusive) · 130 interrupted, resumable · 1 error · 2 usage`

// run is one invocation of `run` in the making.
type run struct {
	p        *Program
	c        *cli.Context
	src      *site.Source
	sel      discover.Selection
	resolved *discover.Resolved
	ways     ways
	display  *Display
	log      zerolog.Logger

	keeper  *checkpoint.Keeper
	monitor *health.Monitor
	scores  scores
	scope   checkpoint.Scope
	row     *checkpoint.Run
	began   time.Time // by the database's clock
	before  checkpoint.Counts
}

// echoed is the room left behind the bar for the "^C" that a terminal shows: on
// a full line it would wrap, and the bar be drawn twice.
const echoed = 2

// newRun checks all that was typed, before anything is touched.
func (p *Program) newRun(c *cli.Context) (*run, error) {
	r := &run{p: p, c: c}
	r.display = NewDisplay(DisplayConfig{
		Out: p.Err, Live: p.live(p.Err), Quiet: c.Bool("quiet"), Width: func() int { return widthOf(p.Err) - echoed },
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
	if r.ways, err = waysOf(c); err != nil {
		return nil, err
	}
	r.resolved, err = resolve(r.src, r.sel)
	return r, err
}

func (r *run) do(ctx context.Context) (err error) {
	if r.c.Bool("dry-run") {
		return r.p.dryRun(r.c, r.src, r.resolved, r.sel.MaxTargets)
	}
	if err := checkLogFolder(r.c.String("wal-dir")); err != nil {
		return err
	}
	if r.keeper, err = r.p.open(r.c, create); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.keeper.DB().Close()) }()
	r.monitor = health.New(r.keeper.DB())
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

// checkLogFolder finds out before anything is planned or asked of a site
// whether the logs can be written.
func checkLogFolder(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = tryWrite(dir)
	}
	if err != nil {
		return fmt.Errorf("the folder of the write-ahead logs can't be written: %w: name another one with --wal-dir", err)
	}
	return nil
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
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
		outcome := checkpoint.OutcomeError
		if ctx.Err() != nil {
			outcome = checkpoint.OutcomeInterrupted
		}
		err = errors.Join(err, r.row.Finish(ctx, outcome, 0))
	}
	return err
}

func (r *run) prepare(ctx context.Context, id int64) error {
	r.began = r.keeper.DB().Now()
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
	if err := r.warnOfAll(ctx, id); err != nil {
		return err
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
	if r.before, err = r.keeper.Count(ctx, r.scope); err != nil {
		return err
	}
	if left := r.before.Planned + r.before.InProgress; left > 0 && r.before.Pages > 0 {
		r.log.Info().Int64("targets_done", r.before.Done).Int64("to_do", left).Int64("pages", r.before.Pages).
			Msg("going on where the last run ended")
	}
	return nil
}

// warnOfAll tells somebody who named no states what that means, before the
// first of those targets is planned.
func (r *run) warnOfAll(ctx context.Context, sourceID int64) error {
	if len(r.sel.States) > 0 || len(r.sel.Cities) > 0 {
		return nil
	}
	shortest, longest := pace(r.c, r.src)
	e := r.resolved.Estimate(extent(r.src), 0, (shortest+longest)/2)
	there, err := r.keeper.Count(ctx, checkpoint.Scope{SourceID: sourceID})
	if err != nil || there.Targets >= int64(e.Targets) {
		return err
	}
	log := r.log.Info().Int("targets", e.Targets)
	if e.Time > 0 {
		log = log.Str("at_this_pace", lasting(e.Time))
	}
	log.Msgf("no --states: all %d states are crawled; Ctrl-C stops, --states CA narrows, --dry-run tells the cost", len(r.resolved.States))
	return nil
}

// crawl runs the engine with the display beside it, and tells how it went.
func (r *run) crawl(ctx context.Context) error {
	var engine *crawl.Engine
	client := fetch.New(r.fetchConfig(func(o fetch.Observation) { engine.Observed(o) }))
	defer client.Close()
	pool, err := r.ways.pool(ctx, r.monitor, client, &r.scores)
	if err != nil {
		return errors.Join(err, r.row.Finish(ctx, checkpoint.OutcomeNoProxies, 0))
	}
	engine = crawl.New(r.engineConfig(client, pool))

	interrupted := context.AfterFunc(ctx, func() {
		r.log.Info().Msg("stopping: pages in hand are finished first; once more ends at once")
		engine.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	packed := r.compressOld(ctx)
	defer packed()
	watch := newWatcher(r, engine, client)
	watch.start()
	written := r.scores.keep(ctx, r.monitor, pool, r.ways)
	err = engine.Run(context.WithoutCancel(ctx))
	written()
	watch.stop()
	err = errors.Join(err, r.scores.flush(context.WithoutCancel(ctx), r.monitor))
	if errors.Is(err, crawl.ErrBudget) && r.throughWith(ctx) {
		err = nil // the budget was just enough
	}
	stats := engine.Stats()
	if ferr := r.row.Finish(ctx, outcomeOf(err), stats.Requests); ferr != nil && err == nil {
		err = ferr
	}
	return r.report(stats, err)
}

// throughWith tells whether nothing is left to do.
func (r *run) throughWith(ctx context.Context) bool {
	now, err := r.keeper.Count(context.WithoutCancel(ctx), r.scope)
	return err == nil && now.Planned+now.InProgress == 0
}

func outcomeOf(err error) checkpoint.Outcome {
	switch {
	case err == nil:
		return checkpoint.OutcomeDone
	case errors.Is(err, crawl.ErrInterrupted):
		return checkpoint.OutcomeInterrupted
	case errors.Is(err, crawl.ErrBudget):
		return checkpoint.OutcomeBudget
	case errors.Is(err, crawl.ErrNoProxies):
		return checkpoint.OutcomeNoProxies
	case errors.Is(err, crawl.ErrLayout):
		return checkpoint.OutcomeLayout
	case errors.As(err, new(*crawl.BlockedError)):
		return checkpoint.OutcomeBlocked
	}
	return checkpoint.OutcomeError
}

func (r *run) fetchConfig(observe func(fetch.Observation)) fetch.Config {
	shortest, longest := pace(r.c, r.src)
	inFlight := r.c.Int("concurrency-per-host")
	return fetch.Config{
		UserAgent: r.c.String("user-agent"), DelayMin: shortest, DelayMax: longest, ConcurrencyPerHost: inFlight,
		Timeout: timeOf(r.c, "request-timeout"), IgnoreRobots: r.c.String("robots") == "ignore", Logger: r.log, Observe: observe,
	}
}

func (r *run) engineConfig(client *fetch.Client, pool *fetch.Pool) crawl.Config {
	c := r.c
	dir := c.String("wal-dir")
	shortest, _ := pace(c, r.src)
	return crawl.Config{
		Keeper: r.keeper, Monitor: r.monitor, Run: r.row, Pool: pool, Delay: shortest, Source: r.src, Scope: r.scope, Fetch: client,
		OpenLog: func(worker string) (crawl.Log, error) {
			cfg := wal.Config{Dir: dir, WorkerID: worker, Logger: r.log}
			log, err := wal.Create(cfg)
			if errors.Is(err, wal.ErrInUse) { // another container's process has the same number
				cfg.WorkerID += "_" + r.row.UUID
				log, err = wal.Create(cfg)
			}
			if err != nil {
				return nil, fmt.Errorf("open write-ahead log: %w", err)
			}
			return log, nil
		},
		Workers: c.Int("workers"), MaxPerState: c.Int("max-per-state"), Linger: timeOf(c, "linger"),
		Patience: timeOf(c, "patience"), Watch: c.Bool("watch"), Keep: time.Duration(c.Int("keep-requests")) * 24 * time.Hour,
		Beat: func(ctx context.Context) error { return r.scores.beat(ctx, r.monitor, pool, r.ways) },
		Filter: crawl.Filter{
			Allow: SplitList(c.StringSlice("allow-categories")), Block: SplitList(c.StringSlice("block-categories")),
			Words: SplitList(c.StringSlice("block-words")), MinScore: c.Int("min-score"), Sponsored: c.Bool("include-sponsored"),
		},
		Budget: crawl.Budget{Duration: timeOf(c, "max-duration"), Requests: c.Int64("max-requests"), Targets: int64(c.Int("max-targets"))},
		Logger: r.log, Reached: r.p.Reached,
	}
}
