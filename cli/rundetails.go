package cli

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// detailsFlags are those of `details` itself.
func detailsFlags() []cli.Flag {
	flags := []cli.Flag{
		statesFlag(),
		list("cities", "only of listings that the search of these `CITY...` found: \"Los Angeles, CA\"", "all"),
		list("categories", "only of listings that the search for these `CATEGORY...` found", "all"),
		&cli.BoolFlag{Name: "any-category", Usage: "take categories that are not known as they are typed"},
		&cli.IntFlag{Name: "min-population", Usage: "only of cities with so many `PEOPLE` or more"},
		detailsEveryFlag(),
		&cli.Int64Flag{Name: "limit", DefaultText: "no limit", Usage: "end after `PAGES`, resumable"},
	}
	flags = append(append(flags, paceFlags()...), egressFlags()...)
	flags = append(flags, budgetFlags()...)
	for _, f := range flags {
		if n, ok := f.(*cli.IntFlag); ok && (n.Name == "max-per-state" || n.Name == "max-targets") {
			n.Hidden = true // of targets
		}
	}
	return append(append(flags, databaseFlags()...), jsonFlag())
}

// runDetailFlags are what `run` adds for details.
func runDetailFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "discover", Usage: "first read the source's indexes of cities, of states where that was 7 days ago, and plan what they show"},
		&cli.BoolFlag{Name: "details", Usage: "then fetch the listings' own pages that are due: e-mail, hours, geo, payment, social links"},
		detailsEveryFlag(),
	}
}

func detailsEveryFlag() cli.Flag {
	return &cli.GenericFlag{Name: "details-every", Value: ageValue(checkpoint.DetailsEvery), DefaultText: "30d", Usage: "fetch a listing's own page again after `TIME`: 30d, 12h"}
}

// minEvery keeps a run from asking for the same page again and again.
const minEvery = time.Minute

// details is what the run is to do about the listings' own pages.
func (r *run) details() crawl.Details {
	return crawl.Details{Wanted: r.onlyDetails || r.c.Bool("details"), Only: r.onlyDetails, Every: timeOf(r.c, "details-every")}
}

// checkDetails refuses what can't be done, and says which sources have no such pages.
func (r *run) checkDetails() error {
	d := r.details()
	if d.Every < minEvery {
		return Usagef("--details-every %s: want 1m or more", d.Every)
	}
	if n := r.c.Int64("limit"); n < 0 {
		return Usagef("--limit %d: want a number from 1 up, or 0 for no limit", n)
	}
	if !d.Wanted {
		return nil
	}
	without := []string{}
	for _, c := range r.sources {
		if !c.src.HasDetails() {
			without = append(without, c.src.Name())
		}
	}
	names := strings.Join(without, ", ")
	if len(without) == len(r.sources) {
		return Usagef("%s does not say how to read the pages of its listings: its definition needs a `detail` section", names)
	}
	if len(without) > 0 {
		r.log.Warn().Str("sources", names).Msg("no details of sources whose definition has no detail section")
	}
	return nil
}

// fetchDetails is `details` itself.
func (p *Program) fetchDetails(c *cli.Context) error {
	if c.Args().Present() {
		return groupAction(c)
	}
	if err := beforeLeaf(c, p.settle); err != nil { // it has subcommands, so nobody else did this
		return err
	}
	r, err := p.newRunOf(c, true)
	if err != nil {
		return err
	}
	return r.do(c.Context)
}

// planDetails prepares a source whose details alone are fetched.
func (r *run) planDetails(ctx context.Context, c *sourceRun, id int64) error {
	var err error
	if c.scope, err = scopeOf(ctx, r.keeper, id, c.resolved, r.sel); err != nil || !c.src.HasDetails() {
		return err
	}
	_, err = r.keeper.WantDetails(ctx, id, c.scope.States, r.details().Every)
	return err
}

// remainderOfIndexes tells of the indexes of cities that could not be read: nothing is planned
// in their states, or as it was before. What is stuck never will be read by itself.
func (r *run) remainderOfIndexes(st crawl.Stats) error {
	stuck := int64(0)
	if r.c.Bool("discover") {
		stuck = r.stuck(yp.KindIndex)
	}
	if st.IndexesFailed+stuck == 0 {
		return nil
	}
	r.p.note("The index of cities of %s could not be read: `ypcrawl discover stats` tells why. Those that wait are read again by themselves; `ypcrawl reset --status FAILED STUCK PARKED` takes them back at once.",
		plural(st.IndexesFailed+stuck, "state"))
	return &exitError{code: ExitFailures}
}

// stuck counts the targets of a kind in the run's selection that are STUCK.
func (r *run) stuck(kind yp.Kind) (stuck int64) {
	for _, c := range r.sources {
		scope := c.scope
		scope.Kinds = []yp.Kind{kind}
		if n, err := r.keeper.CountReset(context.WithoutCancel(r.c.Context), checkpoint.Reset{Scope: scope, Statuses: []yp.Status{yp.Stuck}}); err == nil {
			stuck += int64(n)
		}
	}
	return stuck
}

// remainderOfDetails tells of the details of this run that failed, and of those that are stuck.
func (r *run) remainderOfDetails(st crawl.Stats) error {
	if st.DetailsMissing > 0 {
		r.p.note("%s not there any more: the source has no such page.", plural(st.DetailsMissing, "listing's page"))
	}
	if r.details().Wanted {
		if n := r.stuck(yp.KindDetail); n > 0 {
			r.p.note("%s stuck, for their workers died too often: `ypcrawl details retry --status STUCK` takes them back.", plural(n, "detail"))
			return &exitError{code: ExitFailures}
		}
	}
	if st.DetailsFailed == 0 {
		return nil
	}
	r.p.note("%s failed: those that are still to do are tried again by themselves, `ypcrawl details retry` takes the others back; `ypcrawl details stats` counts both.", plural(st.DetailsFailed, "detail"))
	return &exitError{code: ExitFailures}
}

// detailRows are the lines of the summary that tell of indexes and details.
func detailRows(t *table, st crawl.Stats) {
	for _, part := range []struct {
		name string
		n    int64
	}{{"pages of indexes", st.IndexPages}, {"indexes failed", st.IndexesFailed}, {"details", st.Details}, {"details failed", st.DetailsFailed}, {"details missing", st.DetailsMissing}} {
		if part.n > 0 {
			t.row(part.name, part.n, "")
		}
	}
}

// printDetailTable is the summary of a run that fetches details alone.
func (r *run) printDetailTable(s summary) error {
	t := newTable("", "this run")
	t.row("details", s.Details)
	if s.DetailsFailed > 0 {
		t.row("details failed", s.DetailsFailed)
	}
	if s.DetailsMissing > 0 {
		t.row("details missing", s.DetailsMissing)
	}
	t.row("requests", s.Requests)
	t.row("time", took(s.Elapsed))
	return t.flush(&r.p.Streams, r.p.Out)
}
