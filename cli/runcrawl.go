package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/start"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// register enters the run, takes back what dead runs held, and prepares what is to be done.
func (r *run) register(ctx context.Context, prepare func(ctx context.Context, sources []int64) error) error {
	ids := make([]int64, len(r.sources))
	for i, c := range r.sources {
		var err error
		if ids[i], err = r.keeper.Register(ctx, sourceRow(c.src)); err != nil {
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

// tellSecrets says which secrets are sent where, before the first one is.
func (r *run) tellSecrets() {
	for _, c := range r.sources {
		for _, s := range c.src.Secrets() {
			r.log.Info().Str("source", c.src.Name()).Str("variable", s.Variable).Str("origin", originOf(c.src.SecretOrigin())).Msg(secretsText(c.src))
		}
	}
}

// tellDoubts says what may be wrong with a definition from a file.
func (r *run) tellDoubts() {
	if r.c.String("source-file") == "" {
		return
	}
	for _, c := range r.sources {
		if unsaid := c.src.EndsUnsaid(); unsaid != "" {
			r.log.Warn().Str("source", c.src.Name()).Msg(unsaid)
		}
	}
}

// takeBackDead takes back what dead runs held.
func (r *run) takeBackDead(ctx context.Context) error {
	r.began = r.keeper.DB().Now()
	rec, err := r.keeper.RecoverDead(ctx, store.Scope{})
	if err != nil {
		return err
	}
	if rec.Total() > 0 {
		r.log.Info().Int("targets", rec.Planned).Int("stuck", rec.Stuck).Int("dead_runs", rec.Dead).Msg("searches held by dead runs were released")
	}
	if rec.Unknown > 0 {
		r.log.Warn().Err(rec.Unseen).Int("runs", rec.Unknown).Msg("a silent run may still be alive: what it holds is left to it")
	}
	if err := r.keeper.SweepLocks(); err != nil {
		r.log.Warn().Err(err).Msg("old lock files could not be removed")
	}
	return nil
}

func (r *run) prepare(ctx context.Context, ids []int64) error {
	r.tellSecrets()
	r.tellDoubts()
	plan, err := r.plan(ctx, ids)
	if err != nil {
		return err
	}
	if len(r.sel.States)+len(r.sel.Cities) == 0 && plan.Added > 0 {
		r.log.Info().Int("targets", plan.Added).Msg("without --states all states of the source are crawled; Ctrl-C stops, --states CA limits it, --dry-run shows the cost")
	}
	if plan.Added+plan.Deepened > 0 {
		r.log.Info().Int("selected", plan.Selected).Int("new", plan.Added).Int("deepened", plan.Deepened).Msg("searches planned")
	}
	for _, c := range r.sources {
		r.before.add(c.before)
	}
	if left := r.before.toDo(); left > 0 && r.before.Pages > 0 {
		r.log.Info().Int64("targets_done", r.before.Done).Int64("to_do", left).Int64("pages", r.before.Pages).
			Msg("continuing where the last run ended")
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
			if err = r.keeper.AskByID(ctx, id, c.src.OwnByID()); err == nil {
				_, err = r.keeper.WantDetails(ctx, id, c.scope.States)
			}
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
		c.index = &crawl.Index{Plan: targets, MinPopulation: r.sel.MinPopulation, Gazetteer: c.places}
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
		r.log.Info().Str("begun", yp.Minute(pass.Began)).Msg("continuing the last --recrawl")
	} else if pass.Recrawl > 0 {
		r.log.Info().Int("targets", pass.Recrawl).Msg("planned again from page 1: --recrawl")
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
	r.p.checkUnusedSecrets(sources)
	known := map[string]*sourceRun{} // by extent: the places of a hundred sources are the same
	var last error
	leave := func(src *site.Source, err error) {
		if last = err; len(sources) > 1 {
			r.log.Warn().Str("source", src.Name()).Str("reason", err.Error()).Msg("a source is left out")
		}
	}
	for _, src := range sources {
		x := extent(src)
		key := fmt.Sprintf("%q %d %d", x.Categories, x.PlacesPerState, x.PageCap)
		if src.OwnPlaces() {
			key = src.Name()
		}
		one := known[key]
		if one == nil {
			if one, err = r.choose(src, sources); err != nil {
				leave(src, err)
				continue
			}
			known[key] = one
		}
		next := &sourceRun{src: src, resolved: one.resolved, places: one.places}
		if !r.c.Bool("dry-run") {
			if next.secrets, err = sourceSecrets(src); err != nil {
				leave(src, err)
				continue
			}
		}
		runs = append(runs, next)
	}
	if len(runs) == 0 {
		return nil, last
	}
	return runs, nil
}

// choose finds what is selected of a source. Of several sources each takes those of the named states that it has.
func (r *run) choose(src *site.Source, all []*site.Source) (*sourceRun, error) {
	sel := statesOf(r.c, src, r.sel)
	if len(all) > 1 && len(sel.States) > 0 {
		others := func(word string) bool {
			return !hasState(src, word) && slices.ContainsFunc(all, func(o *site.Source) bool { return hasState(o, word) })
		}
		if sel.States = slices.DeleteFunc(sel.States, others); len(sel.States) == 0 {
			return nil, fmt.Errorf("it has none of the states %s", strings.Join(r.sel.States, ", "))
		}
	}
	places, err := r.p.placesOf(r.c, src, sel)
	if err != nil {
		return nil, err
	}
	resolved, err := resolveIn(places, src, sel, r.onlyIndexes || r.onlyDetails || r.c.Bool("discover"))
	return &sourceRun{src: src, resolved: resolved, places: places}, err
}

// hasState reports whether a word names a state of a source.
func hasState(src *site.Source, word string) bool {
	_, err := src.States().Parse([]string{word})
	return err == nil
}

// loadSources loads the sources that --source means, and refuses flags that say two things.
func (r *run) loadSources() (all []*site.Source, err error) {
	names, every := r.p.sourceNames(r.c)
	if len(names) == 0 && !every {
		src, err := r.p.source(r.c)
		return []*site.Source{src}, err
	}
	if len(names) > 1 && every {
		return nil, frame.Usagef("--source %s: name sources or use all, not both", strings.Join(names, " "))
	}
	for _, name := range []string{"source-file", "base-url"} {
		if r.p.Typed(name) {
			return nil, frame.Usagef("--%s is for a single source: leave it out, or name one source with --source", name)
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
			p.Note("%s is left out because its definition is a file; crawl it with --source-file.", yp.Printable(s.Name))
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
		return nil, frame.Usagef("--source all: %s has no enabled source; add one with `ypcrawl sources add FILE.yaml`, or name them",
			c.String("db"))
	}
	return all, nil
}

// crawl runs the engines with the display beside them, and tells how it went.
func (r *run) crawl(ctx context.Context) error {
	going, err := start.New(ctx, r.startConfig())
	if err != nil {
		return errors.Join(err, r.row.Finish(ctx, checkpoint.OutcomeNoProxies, 0))
	}
	interrupted := context.AfterFunc(ctx, func() {
		r.log.Info().Msg("stopping after the current pages; Ctrl-C again ends at once")
		going.Stop(crawl.ErrInterrupted)
	})
	defer func() {
		going.Close()
		interrupted()
	}()
	stop := r.watch(going)
	unobserved := r.observe(ctx)
	err = going.Run(ctx)
	stop()
	ended := r.endings(ctx, going.Sources)
	err = errors.Join(err, going.Flush(context.WithoutCancel(ctx)))
	if errors.Is(err, crawl.ErrBudget) && r.nothingLeft(ended) {
		err = nil // the budget was just enough
	}
	stats := going.Stats()
	unobserved()
	outcome := outcomeOf(worst(err, ended))
	if ferr := r.row.Finish(ctx, outcome, stats.Requests); ferr != nil && err == nil {
		err = ferr
	}
	r.leavePage("the run has ended: " + report.OutcomeText(string(outcome)))
	r.judgeSandboxes(ctx)
	// Else the first search does it, and the page, which only reads, would find nothing till then.
	if (err == nil || errors.Is(err, crawl.ErrBudget)) && !r.onlyIndexes {
		if ierr := r.keeper.DB().IndexWords(ctx); ierr != nil && ctx.Err() == nil {
			r.log.Warn().Err(ierr).Msg("the index of words could not be updated: listings can't be searched by words yet")
		}
	}
	return r.report(stats, err, ended)
}

// nothingLeft tells whether nothing is left to do.
func (r *run) nothingLeft(all []ending) bool {
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

func outcomeOf(err error) checkpoint.RunOutcome {
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

// startConfig is what flags and settings say of the crawl.
func (r *run) startConfig() start.Config {
	c := r.c
	sources := make([]start.Source, len(r.sources))
	for i, s := range r.sources {
		shortest, longest := pace(c, s.src)
		sources[i] = start.Source{Source: s.src, Secrets: s.secrets, Scope: s.scope, Index: s.index, DelayMin: shortest, DelayMax: longest}
	}
	return start.Config{
		Engine: r.engineConfig(), Sources: sources, Egress: r.egress,
		UserAgent: c.String("user-agent"), PerHost: c.Int("concurrency-per-host"), IgnoreRobots: c.String("robots") == "ignore",
		Logs:  start.Logs{Folder: logDir(c), Database: r.id, Keep: frame.TimeOf(c, "keep-logs"), LoseSync: r.p.LoseSync},
		Pages: r.pagesConfig(),
	}
}

// engineConfig is what all engines have in common.
func (r *run) engineConfig() crawl.Config {
	c := r.c
	return crawl.Config{
		Keeper: r.keeper.Keeper, Monitor: r.monitor, Run: r.row, LazyLogs: c.String("wal-sync") == "interval",
		Workers: r.workers(), MaxPerState: c.Int("max-per-state"), Linger: frame.TimeOf(c, "linger"),
		Patience: max(frame.TimeOf(c, "patience"), crawl.NoPatience), Tolerant: c.IsSet("fail-above"),
		Watch: c.Bool("watch"), Keep: frame.TimeOf(c, "keep-requests"),
		Filter: keepFilter(c),
		Budget: crawl.Budget{
			Duration: frame.TimeOf(c, "max-duration"), Requests: c.Int64("max-requests"),
			Targets: int64(c.Int("max-targets")),
		}, Details: r.details(),
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
