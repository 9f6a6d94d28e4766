package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// listCommand is the command of a list: its row of report.Lists says all of it.
func (p *Program) listCommand(name string) *cli.Command {
	l := report.Find(name)
	return &cli.Command{
		Name: l.Name[strings.LastIndexByte(l.Name, ' ')+1:], Usage: l.Usage, Description: l.Help, Flags: frame.ListFlags(l),
		Action: func(c *cli.Context) error { return p.list(c, l) },
	}
}

// listAlone is the command of a list that has nothing beside it: "workers", or "hosts list".
func (p *Program) listAlone(l report.List) *cli.Command {
	cmd := p.listCommand(l.Name)
	if group, _, inner := strings.Cut(l.Name, " "); inner {
		return &cli.Command{Name: group, Usage: l.Usage, Subcommands: []*cli.Command{cmd}}
	}
	return cmd
}

// list shows a list: what the command line chooses of it, in the form that it asks for.
func (p *Program) list(c *cli.Context, l report.List) error {
	choice, err := frame.ChoiceOf(c, l)
	if err != nil {
		return err
	}
	how := reading
	if choice.Values["search"] != nil {
		how = indexing
	}
	return p.with(c, how, func(k *database, _ store.Scope) error {
		if how == indexing {
			if err := p.indexWords(c.Context, k); err != nil {
				return err
			}
		}
		return p.listTo(c, k, l, choice, p.RowsTo(c, k.DB().Now()))
	})
}

// listTo asks a list, and shows its rows.
func (p *Program) listTo(c *cli.Context, k *database, l report.List, choice report.Choice, to frame.Rows) error {
	if err := findNamed(c, k, l, choice.Values); err != nil {
		return err
	}
	most := max(0, choice.Limit-1)
	rows := frame.Limit(to, most)
	err := k.List(c.Context, l, choice, rows)
	if err == nil || errors.Is(err, frame.ErrEnough) {
		err = rows.End()
	}
	switch {
	case err != nil:
		return asUsage(err)
	case rows.None() && l.Headed && !c.IsSet("listing"):
	case rows.None() && !slices.ContainsFunc(l.Narrows(), func(f report.ListFilter) bool { return c.IsSet(f.Name) }):
		p.Note("%s", cmp.Or(l.None, "There is no "+l.Noun+"."))
	case rows.None():
		p.Note("No %s matches.", l.Noun)
	case rows.More():
		p.Note("%s shown; there are more: --limit 0 shows all.", plural(most, l.Noun))
	}
	return nil
}

// settled is the value of a filter that needs no more looking for.
type settled string

// findNamed puts what filters name into the place of its name: a moment, a run, a target.
func findNamed(c *cli.Context, k *database, l report.List, values map[string]any) (err error) {
	if _, given := values["states"]; given {
		var source int64
		if source, err = k.SourceID(c.Context, c.String("source")); err == nil {
			values["states"], err = statesIn(c, k, source)
		}
	}
	for _, f := range l.Narrows() {
		word, given := values[f.Name].(string)
		switch {
		case !given || err != nil:
			continue
		case f.Kind == report.Moment:
			var at since
			at, err = momentOf(c, k, f.Name)
			values[f.Name] = yp.FormatTime(at.at)
		case f.Name == "run":
			values[f.Name], err = runOf(c, k, word)
		case f.Name == "target":
			var source int64
			if source, err = k.SourceID(c.Context, c.String("source")); err == nil {
				values[f.Name], err = k.FindTarget(c.Context, word, source)
			}
			err = asUsage(err)
		default:
			continue
		}
		if err != nil && f.Kind != report.Moment { // which names its flag itself
			err = fmt.Errorf("--%s: %w", f.Name, err)
		}
	}
	return err
}
