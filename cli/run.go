package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

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

Exit codes: 0 all due work done · 3 some targets failed or parked · 4 a budget is used up, resumable ·
11 another run holds the database (--exclusive) · 130 interrupted, resumable · 1 error · 2 usage`

func runFlags() []cli.Flag {
	flags := paceFlags()
	flags = append(flags, budgetFlags()...)
	flags = append(flags, keepFlags()...)
	return append(
		flags,
		&cli.BoolFlag{Name: "exclusive", Usage: "be the only run on this database, or exit 11"},
		&cli.BoolFlag{Name: "dry-run", Usage: "write nothing, print what it would cost"},
		jsonFlag(),
	)
}

// paceFlags say how fast and under which name a site is asked.
func paceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "workers", Value: 5, Usage: "`WORKERS` that crawl at once"},
		delayFlag(),
		&cli.IntFlag{Name: "concurrency-per-host", Value: 5, Usage: "`REQUESTS` in flight to a host at most"},
		&cli.IntFlag{Name: "max-per-state", Value: 5, Usage: "`TARGETS` of a state in progress at once"},
		&cli.StringFlag{Name: "robots", Value: "obey", Usage: "`RULE` for robots.txt: obey or ignore"},
		&cli.StringFlag{Name: "user-agent", Value: "ypcrawl", Usage: "the User-Agent `TEXT`; say who you are"},
		&cli.GenericFlag{Name: "request-timeout", Value: ageValue(fetch.DefaultTimeout), Usage: "`TIME` for one request, its body included"},
		&cli.GenericFlag{
			Name: "linger", Value: minutesValue(5 * time.Minute),
			Usage: "wait for failed targets that fall due within `MINUTES` (or 2h); 0 for cron",
		},
	}
}

// budgetFlags end a run early.
func budgetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "max-duration", Value: minutesValue(0), DefaultText: "no limit", Usage: "end after `MINUTES` (or 2h), resumable"},
		&cli.Int64Flag{Name: "max-requests", DefaultText: "no limit", Usage: "end after `REQUESTS` for pages, resumable"},
		&cli.IntFlag{Name: "max-targets", DefaultText: "no limit", Usage: "end after `TARGETS`, resumable"},
	}
}

// keepFlags choose the listings that are kept.
func keepFlags() []cli.Flag {
	return []cli.Flag{
		list("allow-categories", "keep only listings that show one of these: `CATEGORY...`", "all"),
		list("block-categories", "leave out listings that show one of these: `CATEGORY...`", "none"),
		list("block-words", "leave out listings with one of these in their name: `WORD...`", "none"),
		&cli.IntFlag{Name: "min-score", Usage: "leave out listings less complete than `SCORE` (0 to 100)"},
		&cli.BoolFlag{Name: "include-sponsored", Usage: "keep ads too"},
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
	r.resolved, err = resolve(r.src, r.sel)
	return r, err
}

func checkRunFlags(c *cli.Context) error {
	for _, f := range []struct {
		name     string
		min, max int
	}{
		{"workers", 1, 1024},
		{"concurrency-per-host", 1, 1024},
		{"max-per-state", 1, 1_000_000},
		{"min-score", 0, 100},
	} {
		if v := c.Int(f.name); v < f.min || v > f.max {
			return Usagef("--%s %d: want a number from %s to %s", f.name, v, thousands(int64(f.min)), thousands(int64(f.max)))
		}
	}
	if v := c.Int64("max-requests"); v < 0 {
		return Usagef("--max-requests %d: want a number from 1 up, or 0 for no limit", v)
	}
	if timeOf(c, "request-timeout") <= 0 {
		return Usagef("--request-timeout: want more than 0, 30s say: a site that never answers would hold a worker for ever")
	}
	if r := c.String("robots"); r != "obey" && r != "ignore" {
		return Usagef("--robots %q: want obey or ignore", r)
	}
	return checkUserAgent(c.String("user-agent"))
}

// checkUserAgent refuses what no request can carry.
func checkUserAgent(s string) error {
	if strings.TrimSpace(s) == "" {
		return Usagef("--user-agent is empty: say who you are, \"acme-research (+https://acme.example/crawling)\" say")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return Usagef("--user-agent %q: a header can't hold control characters", s)
	}
	return nil
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
	client := fetch.New(r.fetchConfig(func(o fetch.Observation) { engine.Observed(o.WireBytes) }))
	defer client.Close()
	engine = crawl.New(r.engineConfig(client))

	interrupted := context.AfterFunc(ctx, func() {
		r.log.Info().Msg("stopping: pages in hand are finished first; once more ends at once")
		engine.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	packed := r.compressOld(ctx)
	defer packed()
	watch := newWatcher(r, engine, client)
	watch.start()
	err := engine.Run(context.WithoutCancel(ctx))
	watch.stop()
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

func (r *run) engineConfig(client *fetch.Client) crawl.Config {
	c := r.c
	dir := c.String("wal-dir")
	return crawl.Config{
		Keeper: r.keeper, Run: r.row, Source: r.src, Scope: r.scope, Fetch: client,
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
		Filter: crawl.Filter{
			Allow: SplitList(c.StringSlice("allow-categories")), Block: SplitList(c.StringSlice("block-categories")),
			Words: SplitList(c.StringSlice("block-words")), MinScore: c.Int("min-score"), Sponsored: c.Bool("include-sponsored"),
		},
		Budget: crawl.Budget{Duration: timeOf(c, "max-duration"), Requests: c.Int64("max-requests"), Targets: int64(c.Int("max-targets"))},
		Logger: r.log, Reached: r.p.Reached,
	}
}
