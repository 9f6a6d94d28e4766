package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

func (p *Program) discoverCommand() *cli.Command {
	return &cli.Command{
		Name:        "discover",
		Usage:       "Find the cities of a source: read its index of each state, plan the targets of what is there",
		Description: discoverDescription,
		Flags:       discoverFlags(),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return groupAction(c)
			}
			if err := beforeLeaf(c, p.settle); err != nil {
				return err
			}
			t, err := p.newDiscovery(c)
			if err != nil {
				return err
			}
			return t.do(c.Context)
		},
		Subcommands: []*cli.Command{{
			Name: "stats", Usage: "Tell what was found in each state, and how the last crawl of its index fared",
			Flags: append(formatFlags(), onlySourceFlag(), statesFlag()), Action: p.discoverStats,
		}},
	}
}

const discoverDescription = `Every page of an index is kept as it comes: killed or stopped in the middle, the same command goes on
behind the last page, and does not walk again the states that it has done. An index that was begun more
than 24 hours ago starts over.

A city that is no longer in the index is marked as gone when the whole index was read, and its targets
are retired; nothing is deleted, and they come back with the city. An index that shows fewer than half of
the cities known before is not believed.

Exit codes: 0 all states walked · 3 some states failed · 5 the source is blocked, quarantined, paused or
disabled · 6 all proxies are gone · 11 another run holds the database (--exclusive) · 130 interrupted,
resumable · 1 error · 2 usage`

func discoverFlags() []cli.Flag {
	flags := append(sourceFlags(),
		list("states", "`STATE...` by code or name: --states CA TX", "none", "s"),
		&cli.BoolFlag{Name: "all", Usage: "all states"},
		list("categories", "plan these `CATEGORY...` in the cities found", "the source's own, or ten common ones"),
		&cli.BoolFlag{Name: "any-category", Usage: "take categories that are not known as they are typed"},
		&cli.IntFlag{Name: "min-population", Usage: "plan no targets in cities with fewer `PEOPLE`; those that the gazetteer does not know have 0"},
		&cli.GenericFlag{
			Name: "max-pages", Value: countValue("pages"), DefaultText: "3, 2 or 1 by the place's size",
			Usage: "plan so many `PAGES` of each target, or all",
		},
		delayFlag(),
		&cli.StringFlag{Name: "robots", Value: "obey", Usage: "`RULE` for robots.txt: obey or ignore"},
		&cli.StringFlag{Name: "user-agent", Value: "ypcrawl", Usage: "the User-Agent `TEXT`; say who you are"},
		&cli.GenericFlag{Name: "request-timeout", Value: ageValue(fetch.DefaultTimeout), Usage: "`TIME` for one request, its body included"},
		&cli.GenericFlag{
			Name: "patience", Value: minutesValue(crawl.DefaultPatience),
			Usage: "wait for a host that says when to come back, at most `MINUTES` (or 2h); then exit 5",
		},
	)
	flags = append(flags, egressFlags()...)
	return append(flags,
		&cli.BoolFlag{Name: "dry-run", Usage: "ask the site for nothing and write nothing, print what it would cost"},
		jsonFlag(),
	)
}

// discovery is one invocation of `discover`. What it has in common with a run, it has from it.
type discovery struct {
	run
	*sourceRun
	states []string
	plan   *discover.Resolved
	places *gazetteer.Gazetteer
	line   *discoverLine

	mu   sync.Mutex
	read []crawl.StateIndex // in the order in which they were begun
}

// newDiscovery checks all that was typed, before anything is touched.
func (p *Program) newDiscovery(c *cli.Context) (*discovery, error) {
	one := &sourceRun{}
	t := &discovery{run: run{p: p, c: c, sources: []*sourceRun{one}}, sourceRun: one, line: &discoverLine{
		out: p.Err, live: p.live(p.Err), quiet: c.Bool("quiet"), width: func() int { return widthOf(p.Err) - echoed }, waiting: func() string { return "" },
	}}
	var err error
	if t.log, err = p.logger(c, t.line); err != nil {
		return nil, err
	}
	if t.states, err = discoverStates(c); err != nil {
		return nil, err
	}
	t.line.states = len(t.states)
	if t.src, t.sel, err = p.wanted(c); err != nil {
		return nil, err
	}
	if !t.src.HasIndex() {
		return nil, Usagef("source %s has no index of states: `urls: state_index:` in its definition names one", t.src.Name())
	}
	if err := checkManners(c); err != nil {
		return nil, err
	}
	if t.egress, err = egressOf(c); err != nil {
		return nil, err
	}
	if t.places, err = gazetteer.Load(); err != nil {
		return nil, fmt.Errorf("load places: %w", err)
	}
	t.sel.States = t.states
	if t.plan, err = discover.Resolve(t.places, extent(t.src), t.sel); err != nil {
		return nil, Usagef("%w", err)
	}
	return t, nil
}

// discoverStates reads --states and --all: one of the two.
func discoverStates(c *cli.Context) ([]string, error) {
	codes, err := states(c)
	switch {
	case err != nil:
		return nil, err
	case c.Bool("all") && len(codes) > 0:
		return nil, Usagef("--all and --states: want one of the two")
	case !c.Bool("all") && len(codes) == 0:
		return nil, Usagef("want --states, as in `ypcrawl discover --states AZ`, or --all")
	case len(codes) > 0:
		return codes, nil
	}
	for _, s := range yp.States() {
		codes = append(codes, s.Code)
	}
	return codes, nil
}

func (t *discovery) do(ctx context.Context) (err error) {
	if t.c.Bool("dry-run") {
		return t.estimate()
	}
	if t.keeper, err = t.p.open(t.c, create); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.keeper.DB().Close()) }()
	t.monitor = health.New(t.keeper.DB())
	if err := quickCheck(ctx, t.keeper.DB()); err != nil {
		return err
	}
	stopDemo, err := t.startDemo(ctx)
	if err != nil {
		return err
	}
	defer stopDemo()
	if t.id, err = t.keeper.DB().ID(ctx); err != nil {
		return err
	}
	id, err := t.keeper.Source(ctx, t.src.Name(), t.src.BaseURL().String())
	if err != nil {
		return err
	}
	t.scope = store.Scope{SourceID: id, States: t.states, Kinds: []yp.Kind{yp.KindIndex}}
	if t.row, err = t.keeper.StartRun(ctx, id, t.p.commandLine(), false); err != nil {
		return err
	}
	if err := t.prepare(ctx); err != nil {
		return errors.Join(err, t.row.Finish(ctx, checkpoint.OutcomeError, 0))
	}
	return t.readIndexes(ctx)
}

// prepare takes back what dead runs held and begins a pass over the indexes of the states,
// or goes on with the last one: a state that it has read is not read again. What failed is
// tried again: somebody has asked for it.
func (t *discovery) prepare(ctx context.Context) error {
	rec, err := t.keeper.RecoverDead(ctx, store.Scope{})
	if err != nil {
		return err
	}
	if rec.Total()+rec.Details > 0 {
		t.log.Info().Int("targets", rec.Planned).Int("stuck", rec.Stuck).Int("details", rec.Details).Int("dead_runs", rec.Dead).Msg("recovered what an ended run held")
	}
	if err := t.keeper.SweepLocks(); err != nil {
		t.log.Warn().Err(err).Msg("old lock files stay")
	}
	if _, err := t.keeper.ResetTargets(ctx, checkpoint.Reset{Scope: t.scope, Statuses: []yp.Status{yp.Failed, yp.Stuck}}); err != nil {
		return err
	}
	if err := t.keeper.PlanIndexes(ctx, t.scope.SourceID, indexesOf(t.src, t.states)); err != nil {
		return err
	}
	pass, err := t.row.BeginPass(ctx, t.scope, new(time.Duration))
	if err != nil {
		return err
	}
	if !pass.GoesOn {
		_, err = t.keeper.ResetTargets(ctx, checkpoint.Reset{Scope: t.scope, Statuses: []yp.Status{yp.Parked}, FromPage1: true})
	}
	if err != nil {
		return err
	}
	return t.skip(ctx)
}

// indexesOf are the indexes of the states of a source.
func indexesOf(src *site.Source, states []string) []checkpoint.StateIndex {
	all := make([]checkpoint.StateIndex, len(states))
	for i, state := range states {
		all[i] = checkpoint.StateIndex{State: state, Pages: len(src.IndexPages(state))}
	}
	return all
}

// skip tells of the states that are not read now.
func (t *discovery) skip(ctx context.Context) error {
	if _, err := t.keeper.Wake(ctx, t.scope); err != nil {
		return err
	}
	known, err := t.keeper.Discoveries(ctx, t.scope)
	if err != nil {
		return err
	}
	for _, d := range known {
		why := ""
		switch d.Status {
		case yp.Done:
			why = "read already, by the pass that goes on now"
		case yp.InProgress:
			why = "another process reads it"
		default:
			continue
		}
		t.log.Info().Str("state", d.State).Str("reason", why).Msg("state skipped")
		t.hear(crawl.StateIndex{State: d.State, Status: crawl.IndexSkipped, Pages: d.Pages, PagesDone: d.PagesDone, Cities: int(d.Cities), Reason: why})
	}
	return nil
}

// hear keeps the news of a state and shows them.
func (t *discovery) hear(x crawl.StateIndex) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.read, func(o crawl.StateIndex) bool { return o.State == x.State })
	if i < 0 {
		t.read = append(t.read, x)
	} else {
		t.read[i] = x
	}
	t.line.hear(x)
}

// readIndexes reads the indexes with its line beside it, and tells how it went.
func (t *discovery) readIndexes(ctx context.Context) error {
	began := time.Now()
	var engine *crawl.Engine
	client := fetch.New(t.manners(func(o fetch.Observation) { engine.Observed(o) }))
	defer client.Close()
	t.mentionProxies(ctx)
	pool, err := t.egress.pool(ctx, t.monitor, client, &t.scores)
	if err != nil {
		return errors.Join(err, t.row.Finish(ctx, checkpoint.OutcomeNoProxies, 0))
	}
	engine = crawl.New(t.config(client, pool))
	interrupted := context.AfterFunc(ctx, func() {
		t.log.Info().Msg("stopping: the page in hand is finished first; once more ends at once")
		engine.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	t.line.waiting = func() string { return t.waitsFor(engine, client) }
	t.line.start(t.log)
	written := t.scores.keep(ctx, t.monitor, used([]*fetch.Pool{pool}), t.egress)
	keep := context.WithoutCancel(ctx)
	err = engine.Run(keep)
	written()
	t.line.stop()
	err = errors.Join(err, t.scores.flush(keep, t.monitor))
	requests := engine.Stats().Requests
	err = errors.Join(err, t.row.Finish(ctx, outcomeOf(err), requests))
	return t.report(t.read, requests, time.Since(began), err)
}

// waitsFor names what holds it up for a noticeable time.
func (t *discovery) waitsFor(engine *crawl.Engine, client *fetch.Client) string {
	if why := engine.Waiting(); why != "" {
		return strings.TrimPrefix(why, "waiting ") // the line says that word itself
	}
	why, _ := waitsAt(client, t.src.BaseURL().Host)
	return why
}

// manners are how the site is asked.
func (t *discovery) manners(observe func(fetch.Observation)) fetch.Config {
	shortest, longest := pace(t.c, t.src)
	return fetch.Config{
		UserAgent: t.c.String("user-agent"), DelayMin: shortest, DelayMax: longest, Turns: t.monitor, Timeout: timeOf(t.c, "request-timeout"),
		IgnoreRobots: t.c.String("robots") == "ignore", Logger: t.log, Observe: observe,
	}
}

func (t *discovery) config(client *fetch.Client, pool *fetch.Pool) crawl.Config {
	shortest, _ := pace(t.c, t.src)
	return crawl.Config{
		Keeper: t.keeper.Keeper, Monitor: t.monitor, Run: t.row, Pool: pool, Delay: shortest, Source: t.src, Scope: t.scope, Fetch: client,
		Index:   &crawl.Index{Only: true, Gazetteer: t.places, Plan: t.plan.Plan(t.scope.SourceID, 0), MinPopulation: t.sel.MinPopulation, Heard: t.hear},
		OpenLog: t.openLog, Workers: 1, Patience: timeOf(t.c, "patience"), Logger: t.log, Reached: t.p.Reached,
		Beat: func(ctx context.Context) error {
			return t.scores.beat(ctx, t.monitor, used([]*fetch.Pool{pool}), t.egress)
		},
	}
}
