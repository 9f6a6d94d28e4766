package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// register enters the run, takes back what dead runs held, and prepares what is to be done.
func (r *run) register(ctx context.Context, prepare func(ctx context.Context, sources []int64) error) error {
	ids := make([]int64, len(r.sources))
	for i, c := range r.sources {
		var err error
		if ids[i], err = r.keeper.Source(ctx, c.src.Name(), c.src.BaseURL().String()); err != nil {
			return err
		}
	}
	id := ids[0]
	if len(ids) > 1 {
		id = 0
	}
	var err error
	if r.row, err = r.keeper.StartRun(ctx, id, r.p.CommandLine(), r.c.Bool("exclusive")); err != nil {
		return err
	}
	if err = r.takeBackDead(ctx); err == nil {
		err = prepare(ctx, ids)
	}
	if err != nil {
		outcome := checkpoint.OutcomeError
		if ctx.Err() != nil {
			outcome = checkpoint.OutcomeInterrupted
		}
		err = errors.Join(err, r.row.Finish(ctx, outcome, 0))
	}
	return err
}

// takeBackDead takes back what dead runs held.
func (r *run) takeBackDead(ctx context.Context) error {
	r.began = r.keeper.DB().Now()
	rec, err := r.keeper.RecoverDead(ctx, store.Scope{})
	if err != nil {
		return err
	}
	if rec.Total() > 0 {
		r.log.Info().Int("targets", rec.Planned).Int("stuck", rec.Stuck).Int("dead_runs", rec.Dead).Msg("recovered the targets of dead runs")
	}
	if rec.Unknown > 0 {
		r.log.Warn().Err(rec.Unseen).Int("runs", rec.Unknown).Msg("whether a run that is silent lives can't be told: what it holds is left to it")
	}
	if err := r.keeper.SweepLocks(); err != nil {
		r.log.Warn().Err(err).Msg("old lock files could not be removed")
	}
	return nil
}

func (r *run) prepare(ctx context.Context, ids []int64) error {
	plan, err := r.plan(ctx, ids)
	if err != nil {
		return err
	}
	if len(r.sel.States)+len(r.sel.Cities) == 0 && plan.Added > 0 {
		r.log.Info().Int("targets", plan.Added).Msg("no --states: all states of the source are crawled; Ctrl-C stops, --states CA narrows, --dry-run shows the cost")
	}
	if plan.Added+plan.Deepened > 0 {
		r.log.Info().Int("selected", plan.Selected).Int("new", plan.Added).Int("deepened", plan.Deepened).Msg("targets planned")
	}
	for _, c := range r.sources {
		r.before.add(c.before)
	}
	if left := r.before.toDo(); left > 0 && r.before.Pages > 0 {
		r.log.Info().Int64("targets_done", r.before.Done).Int64("to_do", left).Int64("pages", r.before.Pages).
			Msg("going on where the last run ended")
	}
	return nil
}

// plan plans the targets of all sources, and counts what is there of them.
func (r *run) plan(ctx context.Context, ids []int64) (all checkpoint.Planned, err error) {
	for i, id := range ids {
		p, err := r.planOne(ctx, r.sources[i], id)
		if err != nil {
			return all, err
		}
		all.Selected += p.Selected
		all.Added += p.Added
		all.Deepened += p.Deepened
	}
	return all, nil
}

func (r *run) planOne(ctx context.Context, c *sourceRun, id int64) (plan checkpoint.Planned, err error) {
	if r.onlyDetails {
		if c.scope, err = scopeOf(ctx, r.keeper, id, c.resolved, r.sel); err == nil && c.src.HasDetails() {
			_, err = r.keeper.WantDetails(ctx, id, c.scope.States)
		}
		return plan, err
	}
	if r.onlyIndexes {
		return plan, r.planIndexes(ctx, c, id)
	}
	targets := c.resolved.Plan(id, 0)
	if r.c.Bool("discover") && c.src.HasIndex() {
		if err := r.keeper.PlanIndexes(ctx, id, indexesOf(c.src, c.resolved.States)); err != nil {
			return plan, err
		}
		if targets.Listed != nil {
			targets.Listed.Only = true
		}
		c.index = &crawl.Index{Plan: targets, MinPopulation: r.sel.MinPopulation, Gazetteer: r.places}
		if targets.Listed == nil {
			c.index.Plan.Categories = nil // cities were named, and are planned already
		}
	}
	if plan, err = r.keeper.Plan(ctx, targets); err != nil {
		return plan, err
	}
	if c.scope, err = scopeOf(ctx, r.keeper, id, c.resolved, r.sel); err != nil {
		return plan, err
	}
	if err = r.again(ctx, c); err != nil {
		return plan, err
	}
	if _, err := r.keeper.Wake(ctx, c.scope); err != nil {
		return plan, err
	}
	before, err := r.keeper.Count(ctx, c.scope)
	c.before = selectedOf(before)
	return plan, err
}

// again applies --every and --recrawl to the targets of a source, and begins the pass over them.
func (r *run) again(ctx context.Context, c *sourceRun) error {
	scope := c.scope
	if r.c.IsSet("every") {
		if _, err := r.keeper.SetFrequency(ctx, scope, frame.TimeOf(r.c, "every")); err != nil {
			return err
		}
	}
	var age *time.Duration
	if r.c.IsSet("recrawl") {
		age = new(frame.TimeOf(r.c, "recrawl"))
	}
	of := scope
	of.Kinds = r.kinds(c)
	pass, err := r.row.BeginPass(ctx, of, age)
	if err != nil || age == nil {
		return err
	}
	if pass.GoesOn {
		r.log.Info().Str("begun", minute(pass.Began)).Msg("going on with the last --recrawl")
	} else if pass.Recrawl > 0 {
		r.log.Info().Int("targets", pass.Recrawl).Msg("crawled again from page 1: --recrawl")
	}
	return nil
}

// kinds are those of the targets of a source that the run is about.
func (r *run) kinds(c *sourceRun) []yp.Kind {
	return slices.DeleteFunc(yp.Kinds(), func(kind yp.Kind) bool {
		switch kind {
		case yp.KindIndex:
			return c.index == nil
		case yp.KindDetail:
			return !r.onlyDetails && !(r.details().Wanted && c.src.HasDetails())
		}
		return r.onlyDetails || r.onlyIndexes
	})
}

// sourceNames tells which sources go side by side: those that are named, of which there are several, or
// all of the database. Settings that name several give way to a command line that has one definition.
func (p *Program) sourceNames(c *cli.Context) (names []string, all bool) {
	for _, name := range frame.SplitList(c.StringSlice("source")) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	all = slices.Contains(names, frame.AllSources)
	if len(names) < 2 && !all || p.Typed("source-file") && !p.Typed("source") {
		return nil, false
	}
	return names, all
}

// several reports whether sources were asked for that go side by side: the summary has
// a line for each then, even if there is one.
func (r *run) several() bool {
	names, all := r.p.sourceNames(r.c)
	return len(names) > 0 || all
}

// chooseSources finds the sources of the run and what is selected of each. One that has
// nothing of it is left out with a word: others may have.
func (r *run) chooseSources() (runs []*sourceRun, err error) {
	sources, err := r.loadSources()
	if err != nil {
		return nil, err
	}
	if r.places, err = loadPlaces(r.sel.States); err != nil {
		return nil, err
	}
	known := map[string]*discover.Resolved{} // by extent: the places of a hundred sources are the same
	var last error
	for _, src := range sources {
		x := extent(src)
		key := fmt.Sprintf("%q %d %d", x.Categories, x.PlacesPerState, x.PageCap)
		resolved := known[key]
		if resolved == nil {
			if resolved, last = resolveIn(r.places, src, r.sel); last != nil {
				if len(sources) > 1 {
					r.log.Warn().Str("source", src.Name()).Str("reason", last.Error()).Msg("a source is left out")
				}
				continue
			}
			known[key] = resolved
		}
		runs = append(runs, &sourceRun{src: src, resolved: resolved})
	}
	if len(runs) == 0 {
		return nil, last
	}
	return runs, nil
}

// loadSources loads the sources that --source means, and refuses flags that say two things.
func (r *run) loadSources() (all []*site.Source, err error) {
	names, every := r.p.sourceNames(r.c)
	if len(names) == 0 && !every {
		src, err := r.p.source(r.c)
		return []*site.Source{src}, err
	}
	if len(names) > 1 && every {
		return nil, frame.Usagef("--source %s: name sources or say all, not both", strings.Join(names, " "))
	}
	for _, name := range []string{"source-file", "base-url"} {
		if r.p.Typed(name) {
			return nil, frame.Usagef("--%s is about one source: leave it out, or name one source with --source", name)
		}
	}
	stored, err := r.p.storedSources(r.c)
	if err != nil {
		return nil, err
	}
	if every {
		return r.p.allSources(r.c, stored)
	}
	for _, name := range names {
		src, err := stored.load("--source: ", name)
		if err != nil {
			return nil, err
		}
		all = append(all, src)
	}
	return all, nil
}

// allSources loads every source of the database that is enabled and past review. One
// whose definition is a file of the operator's can't be had here.
func (p *Program) allSources(c *cli.Context, stored storedList) (all []*site.Source, err error) {
	for _, s := range stored {
		switch {
		case !s.Enabled:
			continue
		case s.Definition == "" && !isBuiltin(s.Name):
			p.Note("%s is left out: its definition is a file; crawl it with --source-file.", yp.Printable(s.Name))
			continue
		}
		src, err := stored.load("", s.Name)
		if err != nil {
			p.Note("%s is left out: %s.", yp.Printable(s.Name), yp.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
			continue
		}
		all = append(all, src)
	}
	if len(all) == 0 {
		return nil, frame.Usagef("--source all: %s has no enabled source; add one with `ypcrawl sources add FILE.yaml`, or name them", c.String("db"))
	}
	return all, nil
}

// crawl runs the engines with the display beside them, and tells how it went.
func (r *run) crawl(ctx context.Context) error {
	defer r.raiseMemory()()
	var sources *crawl.Sources
	r.mentionProxies(ctx)
	clients, pools, err := r.clients(ctx, func(i int, o fetch.Observation) { sources.Observed(i, o) })
	defer func() {
		for _, c := range clients { // a shared one twice, which is harmless
			c.Close()
		}
	}()
	if err != nil {
		return errors.Join(err, r.row.Finish(ctx, checkpoint.OutcomeNoProxies, 0))
	}
	configs := make([]crawl.SourceConfig, len(r.sources))
	for i, c := range r.sources {
		shortest, _ := pace(r.c, c.src)
		configs[i] = crawl.SourceConfig{Source: c.src, Scope: c.scope, Fetch: clients[i], Pool: pools[i], Delay: shortest, Index: c.index}
	}
	config := r.engineConfig(pools)
	if pages := r.keepPages(); pages != nil {
		config.Pages = pages
		defer func() { _ = pages.Close() }() // what is kept is nobody's truth
	}
	sources = crawl.NewSources(config, configs)

	interrupted := context.AfterFunc(ctx, func() {
		r.log.Info().Msg("stopping after the current pages; Ctrl-C again ends at once")
		sources.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	tidied := r.tidyLogs(ctx)
	defer tidied()
	stop := r.watch(sources, clients)
	unobserved := r.observe(ctx)
	err = sources.Run(context.WithoutCancel(ctx))
	err = cmp.Or(r.row.InPlace(), err)
	stop()
	ended := r.endings(ctx, sources)
	err = errors.Join(err, r.scores.flush(context.WithoutCancel(ctx), r.monitor))
	if errors.Is(err, crawl.ErrBudget) && r.throughWith(ended) {
		err = nil // the budget was just enough
	}
	stats := sources.Stats()
	unobserved()
	outcome := outcomeOf(worst(err, ended))
	if ferr := r.row.Finish(ctx, outcome, stats.Requests); ferr != nil && err == nil {
		err = ferr
	}
	r.leavePage("the run has ended: " + report.OutcomeText(string(outcome)))
	r.judgeSandboxes(ctx)
	if (err == nil || errors.Is(err, crawl.ErrBudget)) && !r.onlyIndexes { // else the first search does it, and the page, which only reads, would find nothing till then
		if ierr := r.keeper.DB().IndexWords(ctx); ierr != nil && ctx.Err() == nil {
			r.log.Warn().Err(ierr).Msg("listings can't be searched for by words yet")
		}
	}
	return r.report(stats, err, ended)
}

// throughWith tells whether nothing is left to do.
func (r *run) throughWith(all []ending) bool {
	if r.details().Wanted || r.onlyIndexes {
		return false // the engines have looked: what was left may have been no search
	}
	for _, e := range all {
		if e.now.toDo() > 0 || e.unknown {
			return false
		}
	}
	return true
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

// clients makes a fetch client for every source, so that each has a pace and a robots.txt of its
// own, with its pool of proxies, which is nil where it is direct. Sources at one host share both: a
// host is not asked twice as fast because two definitions speak of it.
func (r *run) clients(ctx context.Context, observe func(i int, o fetch.Observation)) ([]*fetch.Client, []*fetch.Pool, error) {
	var clients []*fetch.Client
	var pools []*fetch.Pool
	at := map[string]int{}
	for i, c := range r.sources {
		host := c.src.BaseURL().Host
		if first, shared := at[host]; shared {
			clients, pools = append(clients, clients[first]), append(pools, pools[first])
			continue
		}
		at[host] = i
		client := fetch.New(r.fetchConfig(host, func(o fetch.Observation) { observe(i, o) }))
		clients = append(clients, client)
		pool, err := r.egress.pool(ctx, r.monitor, client, &r.scores)
		if err != nil {
			return clients, nil, err
		}
		pools = append(pools, pool)
	}
	return clients, pools, nil
}

// fetchConfig is for the sources at a host: the longest of their delays and times for a request count.
func (r *run) fetchConfig(host string, observe func(fetch.Observation)) fetch.Config {
	var shortest, longest, timeout time.Duration
	for _, c := range r.sources {
		if c.src.BaseURL().Host == host {
			lo, hi := pace(r.c, c.src)
			shortest, longest, timeout = max(shortest, lo), max(longest, hi), max(timeout, cmp.Or(c.src.RequestTimeout(), fetch.DefaultTimeout))
		}
	}
	return fetch.Config{
		UserAgent: r.c.String("user-agent"), DelayMin: shortest, DelayMax: longest, ConcurrencyPerHost: r.c.Int("concurrency-per-host"), Turns: r.monitor,
		Timeout: timeout, IgnoreRobots: r.c.String("robots") == "ignore", Logger: r.log, Observe: observe,
	}
}

// mentionProxies says once that there are proxies which this run does not use: nobody is
// to think that he is hidden behind them.
func (r *run) mentionProxies(ctx context.Context) {
	if r.egress.policy != fetch.PolicyOff {
		return
	}
	known, err := r.monitor.Proxies(ctx)
	n := len(slices.DeleteFunc(known, func(p health.Proxy) bool { return !p.Enabled }))
	switch {
	case err != nil:
		r.log.Warn().Err(err).Msg("the stored proxies could not be read")
	case n > 0:
		r.log.Info().Int("proxies", n).Msg("requests go out directly: stored proxies are used only with --proxy-policy prefer or require")
	}
}

// engineConfig is what all engines have in common.
func (r *run) engineConfig(pools []*fetch.Pool) crawl.Config {
	c := r.c
	return crawl.Config{
		Keeper: r.keeper.Keeper, Monitor: r.monitor, Run: r.row, OpenLog: r.openLog, LazyLogs: c.String("wal-sync") == "interval",
		Workers: r.workers(), MaxPerState: c.Int("max-per-state"), Linger: frame.TimeOf(c, "linger"),
		Patience: max(frame.TimeOf(c, "patience"), crawl.NoPatience), Tolerant: c.IsSet("fail-above"), Watch: c.Bool("watch"), Keep: frame.TimeOf(c, "keep-requests"),
		Refresh: func(ctx context.Context) error { return r.scores.refresh(ctx, r.monitor, pools, r.egress) },
		Filter:  keepFilter(c),
		Budget:  crawl.Budget{Duration: frame.TimeOf(c, "max-duration"), Requests: c.Int64("max-requests"), Targets: int64(c.Int("max-targets"))}, Details: r.details(),
		Logger: r.log, Reached: r.p.Reached,
	}
}

// workers is how many there are for each source: of several, one unless more were
// asked for, and for indexes. They are polite to their hosts one by one, and fast all together.
func (r *run) workers() int {
	if (len(r.sources) > 1 || r.onlyIndexes) && !r.c.IsSet("workers") {
		return 1
	}
	return r.c.Int("workers")
}

// openLog opens the write-ahead log of a worker.
func (r *run) openLog(worker string) (crawl.Log, error) {
	log, err := wal.Create(wal.Config{Dir: logDir(r.c), WorkerID: worker, Database: r.id, RunID: r.row.ID, Logger: r.log})
	if err != nil {
		return nil, fmt.Errorf("open write-ahead log: %w", err)
	}
	return &countedLog{Log: log, logger: r.log, loseSync: r.p.LoseSync}, nil
}

// What the collector may spend before it works harder (main sets it for one source): a
// source has its connection, its buffers and a page in hand. Measured with 120 of them:
// within 48 MiB the collector takes more than the crawl. The most is half of a small VPS.
const (
	memoryOfSource = 1 << 20
	mostMemory     = 256 << 20
)

// raiseMemory raises the soft limit of memory for several sources, until restore is called.
// GOMEMLIMIT wins, and a limit that is higher already, or none, stays.
func (r *run) raiseMemory() (restore func()) {
	before := debug.SetMemoryLimit(-1)
	limit := min(before+int64(len(r.sources)-1)*memoryOfSource, mostMemory)
	if os.Getenv("GOMEMLIMIT") != "" || limit <= before || before == math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}

// plainFor is how long the logs of a run that has ended stay plain, for jq and other programs.
const plainFor = 24 * time.Hour

// tidyLogs compresses, beside the crawl, the logs that ended runs left a day ago, and removes those
// that are older than keep-logs and say nothing that the database does not have. The
// function that it returns waits for that; an interrupt cuts it short. What
// fails is only logged: a log that stays as it is can be read all the same.
func (r *run) tidyLogs(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		alive, err := r.keeper.AlivePIDs(ctx)
		if err != nil {
			r.log.Warn().Err(err).Msg("old logs are not compressed or removed")
			return
		}
		isLive := func(worker string) bool {
			pid, ok := yp.WorkerPID(worker)
			return ok && alive[pid]
		}
		dir := logDir(r.c)
		if _, err := wal.CompressOld(ctx, dir, isLive, time.Now().Add(-plainFor)); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs could not be compressed")
		}
		if err := r.pruneLogs(ctx, dir, isLive); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("old logs could not be removed")
		}
	}()
	return func() { <-done }
}

func (r *run) pruneLogs(ctx context.Context, dir string, isLive func(string) bool) error {
	age := frame.TimeOf(r.c, "keep-logs")
	if age == 0 {
		return nil
	}
	now, err := r.keeper.LaterBound(ctx, r.row.ID)
	if err != nil || now.IsZero() {
		return err
	}
	pruned, err := wal.Prune(ctx, dir, wal.PruneConfig{
		Before: now.Add(-age), IsLive: isLive,
		Held: func(e *wal.Event) (bool, error) {
			if e.Database != "" && e.Database != r.id {
				return false, nil // of another database that shares the folder
			}
			return r.keeper.Holds(ctx, e)
		},
	})
	if pruned.Files > 0 {
		r.log.Info().Int("files", pruned.Files).Int64("bytes", pruned.Bytes).Str("older_than", frame.ShortTime(age)).Msg("removed old logs; the database has all their pages")
	}
	if pruned.Kept > 0 {
		r.log.Debug().Int("files", pruned.Kept).Msg("old logs are kept: they have pages that the database does not have")
	}
	return err
}
