package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/store"
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
	if r.row, err = r.keeper.StartRun(ctx, id, r.p.commandLine(), r.c.Bool("exclusive")); err != nil {
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
	if rec.Total()+rec.Details > 0 {
		r.log.Info().Int("targets", rec.Planned).Int("stuck", rec.Stuck).Int("details", rec.Details).Int("dead_runs", rec.Dead).Msg("recovered the targets of dead runs")
	}
	if err := r.keeper.SweepLocks(); err != nil {
		r.log.Warn().Err(err).Msg("old lock files could not be removed")
	}
	return nil
}

func (r *run) prepare(ctx context.Context, ids []int64) error {
	if err := r.warnOfAll(ctx, ids); err != nil {
		return err
	}
	plan, err := r.plan(ctx, ids)
	if err != nil {
		return err
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

// planAtOnce is how many sources are planned side by side: their commits go together.
const planAtOnce = 8

// plan plans the targets of all sources, and counts what is there of them.
func (r *run) plan(ctx context.Context, ids []int64) (all checkpoint.Planned, err error) {
	plans := make([]checkpoint.Planned, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(planAtOnce)
	for i, id := range ids {
		g.Go(func() (err error) {
			plans[i], err = r.planOne(ctx, r.sources[i], id)
			return err
		})
	}
	err = g.Wait()
	for _, p := range plans {
		all.Selected += p.Selected
		all.Added += p.Added
		all.Deepened += p.Deepened
	}
	return all, err
}

func (r *run) planOne(ctx context.Context, c *sourceRun, id int64) (plan checkpoint.Planned, err error) {
	if r.onlyDetails {
		if c.scope, err = scopeOf(ctx, r.keeper, id, c.resolved, r.sel); err == nil && c.src.HasDetails() {
			_, err = r.keeper.WantDetails(ctx, id, c.scope.States, cmp.Or(c.src.DetailsEvery(), checkpoint.DetailsEvery))
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
		if _, err := r.keeper.SetFrequency(ctx, scope, timeOf(r.c, "every")); err != nil {
			return err
		}
	}
	var age *time.Duration
	if r.c.IsSet("recrawl") {
		age = new(timeOf(r.c, "recrawl"))
	}
	of := scope
	of.Kinds = slices.DeleteFunc(yp.Kinds(), func(kind yp.Kind) bool {
		return kind == yp.KindIndex && c.index == nil || kind == yp.KindDetail && !(r.details().Wanted && c.src.HasDetails())
	})
	pass, err := r.row.BeginPass(ctx, of, age)
	if err != nil || age == nil {
		return err
	}
	if pass.GoesOn {
		r.log.Info().Str("begun", minute(pass.Began)).Msg("going on with the last --recrawl")
	} else if pass.Recrawl > 0 {
		r.log.Info().Int("targets", pass.Recrawl).Msg("crawled again from page 1: --recrawl")
	}
	waiting, until, err := r.keeper.InGap(ctx, scope)
	if waiting > 0 {
		r.log.Info().Int64("targets", waiting).Str("until", moment(r.keeper.DB().Now(), until)).Msg("wait: " + gapReason)
	}
	return err
}

// gapReason is why a target that is due may have to wait all the same.
const gapReason = "two crawls of a target start at least 2 minutes apart"

// warnOfAll tells somebody who named no states what that means, before the
// first of those targets is planned.
func (r *run) warnOfAll(ctx context.Context, ids []int64) error {
	if len(r.sel.States) > 0 || len(r.sel.Cities) > 0 || r.onlyDetails || r.onlyIndexes {
		return nil
	}
	targets, there, states := 0, int64(0), 0
	took := estimate(r.c, r.sources[0].src, r.sources[0].resolved, 0).Time
	for i, c := range r.sources {
		e := estimate(r.c, c.src, c.resolved, 0)
		targets, states, took = targets+e.Targets, max(states, e.States), max(took, e.Time)
		n, err := r.keeper.Count(ctx, store.Scope{SourceID: ids[i]})
		if err != nil {
			return err
		}
		there += min(n.Targets, int64(e.Targets))
	}
	if there >= int64(targets) {
		return nil
	}
	log := r.log.Info().Int("targets", targets)
	if took > 0 {
		log = log.Str("at_this_pace", lasting(took))
	}
	log.Msgf("no --states: all %d states are crawled; Ctrl-C stops, --states CA narrows, --dry-run shows the cost", states)
	return nil
}
