package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) discoverCommand() *cli.Command {
	return &cli.Command{
		Name:        "discover",
		Usage:       "Find the cities of a source: read its index of each state and plan searches for the cities found",
		Description: discoverDescription,
		Flags:       discoverFlags(),
		Action: func(c *cli.Context) error {
			return p.announced(c, func(d *frame.Display, log zerolog.Logger, a *announcer) error {
				r := &run{p: p, c: c, display: d, log: log, out: a, onlyIndexes: true}
				if err := r.check(); err != nil {
					return err
				}
				if err := r.checkIndexes(); err != nil {
					return err
				}
				return r.do(c.Context)
			})
		},
		Subcommands: []*cli.Command{p.listCommand("discover stats")},
	}
}

const discoverDescription = `This is a run that reads only indexes. Every page is stored as it is read; after a kill or a stop, the same command
resumes after the last page and skips indexes that are complete. An index begun more than 24 hours ago starts over.

Once a whole index has been read, cities that are no longer in it are marked as removed, and their searches
are retired. Nothing is deleted, and they come back with the city. If an index lacks more than 3 of
the cities known before, and more than a tenth of them, none is removed until the next read
lacks them, too. An index that shows none of them removes none.

Exit codes: 0 all indexes read · 3 some states failed · 5 the source is blocked, quarantined, paused or
disabled · 6 no proxy is left · 11 an exclusive run holds the database · 130 interrupted,
resumable · 1 error · 2 usage`

func discoverFlags() []cli.Flag {
	flags := append(sourcesFlags(), &cli.BoolFlag{Name: "all", Usage: "all states"})
	for _, f := range selectFlags() { // of what is planned in the cities found
		if name := f.Names()[0]; name != "cities" && name != "max-cities" {
			flags = append(flags, f)
		}
	}
	for _, f := range append(paceFlags(), budgetFlags()...) {
		switch f := f.(type) {
		case *cli.IntFlag: // of searches, which are many
			f.Hidden = true
		case *cli.GenericFlag:
			if f.Name == "linger" {
				f.Value = frame.MinutesValue(0)
			}
		}
		flags = append(flags, f)
	}
	flags = append(append(flags, egressFlags()...), notifyFlags()...)
	flags = append(flags, &cli.BoolFlag{Name: "dry-run", Usage: "print the cost; request and write nothing"}, frame.JSONFlag())
	return append(flags, settingFlags()...)
}

// checkIndexes refuses what can't be read.
func (r *run) checkIndexes() error {
	switch all := r.c.Bool("all"); {
	case all && len(r.sel.States) > 0:
		return frame.Usagef("--all and --states: use one of the two")
	case !all && len(r.sel.States) == 0:
		return frame.Usagef("add --states, as in `ypcrawl discover --states AZ`, or --all")
	}
	for _, c := range r.sources {
		if !c.src.HasIndex() {
			return frame.Usagef("--source %s: it has no index of states; add `urls: state_index:` to its definition", c.src.Name())
		}
	}
	return nil
}

// planIndexes begins a pass over the indexes of a source, or goes on with the last one: an
// index that it has read is not read again. What failed is tried again: somebody has asked
// for it.
func (r *run) planIndexes(ctx context.Context, c *sourceRun, id int64) error {
	c.scope = store.Scope{SourceID: id, States: indexStates(c.src, c.resolved.States), Kinds: []yp.Kind{yp.KindIndex}}
	c.index = &crawl.Index{Only: true, Gazetteer: c.places, Plan: c.resolved.Plan(id, 0), MinPopulation: r.sel.MinPopulation}
	if _, err := r.keeper.Operate(ctx, checkpoint.Reset,
		checkpoint.Chosen{Scope: c.scope, Statuses: []yp.Status{yp.Failed, yp.Stuck}}); err != nil {
		return err
	}
	if err := r.keeper.PlanIndexes(ctx, id, indexesOf(c.src, c.scope.States)); err != nil {
		return err
	}
	pass, err := r.row.BeginPass(ctx, c.scope, new(time.Duration))
	if err == nil && !pass.GoesOn {
		_, err = r.keeper.Operate(ctx, checkpoint.ResetFromPage1, checkpoint.Chosen{Scope: c.scope, Statuses: []yp.Status{yp.Parked}})
	}
	if err == nil {
		_, err = r.keeper.Wake(ctx, c.scope)
	}
	return err
}

// indexStates are those whose indexes have the cities of some states of a source: "" where one has those of all.
func indexStates(src *site.Source, states []string) []string {
	if src.WholeIndex() {
		return []string{""}
	}
	return states
}

// indexesOf are the indexes of the states of a source.
func indexesOf(src *site.Source, states []string) []checkpoint.StateIndex {
	states = indexStates(src, states)
	all := make([]checkpoint.StateIndex, len(states))
	for i, state := range states {
		all[i] = checkpoint.StateIndex{State: state, Pages: len(src.IndexRequests(state))}
	}
	return all
}

// indexes counts the indexes of the run.
func (r *run) indexes() (n int64) {
	for _, c := range r.sources {
		n += int64(len(indexStates(c.src, c.resolved.States)))
	}
	return n
}

// showIndexes shows what the database has of the indexes of the run: `discover stats`.
func (r *run) showIndexes() error {
	var states []string
	for _, c := range r.sources {
		states = append(states, indexStates(c.src, c.resolved.States)...)
	}
	slices.Sort(states)
	choice := report.Choice{
		Values:  map[string]any{"states": slices.Compact(states)},
		Columns: strings.Fields("state status page pages cities new removed targets retired message source"),
	}
	if !r.several() {
		choice.Values["source"] = r.sources[0].src.Name()
	}
	rows := r.p.TableRows(r.keeper.DB().Now())
	if err := r.keeper.List(context.WithoutCancel(r.c.Context), report.Find("discover stats"), choice, rows); err != nil {
		return err
	}
	return rows.End()
}
