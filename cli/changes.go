package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) changesCommand() *cli.Command {
	cmd := p.listCommand("changes")
	cmd.Flags = append(cmd.Flags, &cli.BoolFlag{
		Name:  "summary",
		Usage: "only the counts, their passes, and the share of the sites' listings that was seen",
	})
	cmd.Action = p.changes
	return cmd
}

// changes shows the counts, what they are of and what they can't tell, then the changes.
func (p *Program) changes(c *cli.Context) error {
	l := report.Find("changes")
	choice, err := frame.ChoiceOf(c, l)
	if err != nil {
		return err
	}
	if c.IsSet("listing") {
		for _, other := range []string{"since", "run", "source", "states", "kind", "lasting", "summary"} {
			if c.IsSet(other) {
				return frame.Usagef("--listing shows the whole history of one listing; leave out --%s", other)
			}
		}
		if strings.HasPrefix(c.String("listing"), "/") {
			return frame.Usagef("--listing %q: want SOURCE/ID, as `ypcrawl changes` shows them", c.String("listing"))
		}
		return p.with(c, reading, func(k *database, _ store.Scope) error {
			if choice.Values["listing"], err = historyOf(c, k); err != nil {
				return err
			}
			return p.listTo(c, k, l, choice, p.RowsTo(c, k.DB().Now()))
		})
	}
	if c.Bool("summary") && c.Bool("csv") {
		return frame.Usagef("--summary and --csv: a summary has no rows; use --json or leave out one")
	}
	return p.with(c, reading, func(k *database, scope store.Scope) error {
		from, err := sinceOf(c, k, scope)
		if c.IsSet("run") {
			from, err = byRun(c, k)
		}
		if err != nil {
			return err
		}
		choice.Values["since"] = settled(report.ChangesSince(from.at, from.passes))
		if c.Bool("summary") || !c.Bool("json") && !c.Bool("csv") {
			filter := report.ChangeFilter{Scope: scope, Since: from.at, Run: from.run, Lasting: c.Bool("lasting")}
			for _, kind := range frame.SplitList(c.StringSlice("kind")) {
				filter.Kinds = append(filter.Kinds, store.Event(strings.ToLower(kind)))
			}
			about, err := aboutChanges(c, k, filter, from)
			if err != nil {
				return err
			}
			if err := p.Tell(c, about, about.head); err != nil || c.Bool("summary") {
				return err
			}
		}
		return p.listTo(c, k, l, choice, p.RowsTo(c, k.DB().Now()))
	})
}

// historyOf finds the listing of --listing.
func historyOf(c *cli.Context, k *database) (any, error) {
	word := c.String("listing")
	source, id, of := strings.Cut(word, "/")
	known, err := k.SourceID(c.Context, source)
	if err != nil {
		return nil, err
	}
	if !of || known == 0 { // an id may hold a slash itself
		l, err := listingOf(c.Context, k, 0, word)
		switch {
		case err == nil:
			source, id = l.Source, l.ID
		case !of:
			return nil, fmt.Errorf("--listing: %w", err)
		}
	}
	history, err := k.History(c.Context, source, id)
	if err != nil {
		return nil, asUsage(fmt.Errorf("--listing: %w", err))
	}
	return settled(history), nil
}

// changeSummary says what a list of changes is of, and what it can't tell.
type changeSummary struct {
	Since    yp.Stamp              `json:"since"`  // of several sources the first; absent = the beginning
	Passes   []report.Pass         `json:"passes"` // whose changes they are; none = those since a time or a run
	Counts   map[store.Event]int64 `json:"counts"` // of this selection
	Of       string                `json:"coverage_of"`
	Coverage report.CoverageTotals `json:"coverage"`

	text string
	some bool // only some kinds were asked for
}

func aboutChanges(c *cli.Context, k *database, filter report.ChangeFilter, from since) (*changeSummary, error) {
	if len(from.passes) > 0 {
		filter = report.SincePasses(from.passes, filter)
	}
	counts, err := k.CountChanges(c.Context, filter)
	if err != nil {
		return nil, err
	}
	s := &changeSummary{
		Since: yp.Stamp{Time: from.at}, Passes: from.passes, Counts: map[store.Event]int64{},
		Of: report.OfScope(filter.Scope), text: "since " + from.text, some: len(filter.Kinds) > 0,
	}
	if from.run != 0 {
		s.text = from.text
	}
	if s.Passes == nil {
		s.Passes = []report.Pass{}
	}
	for _, kind := range report.ChangeKinds() {
		if len(filter.Kinds) == 0 || slices.Contains(filter.Kinds, kind) {
			s.Counts[kind] = counts[kind]
		}
	}
	if c.Bool("summary") && len(s.Passes) > 0 {
		if s.Passes, err = k.Passes(c.Context, filter.Scope); err != nil {
			return nil, err
		}
	}
	s.Coverage, err = k.CoverageTotals(c.Context, filter.Scope)
	return s, err
}

// head writes the counts, what they are of, and what they can't tell.
func (s *changeSummary) head(w *frame.Sections) {
	var head []string
	for _, kind := range report.ChangeKinds() {
		if !s.some || s.Counts[kind] > 0 {
			head = append(head, thousands(s.Counts[kind])+" "+report.EventWord(kind))
		}
	}
	w.Lines(cmp.Or(strings.Join(head, ", "), "nothing") + " " + s.text)
	w.More(report.PassLines(s.Passes)...)
	w.More(s.Coverage.Line(s.Of))
}

// since is a moment from which on something is told, and how to say it.
type since struct {
	at     time.Time     // zero = from the beginning
	run    int64         // what it found alone; 0 = all
	passes []report.Pass // what began then, where it is the last pass of each source
	text   string
}

// sinceOf reads --since: as momentOf, or last-pass.
func sinceOf(c *cli.Context, k *database, scope store.Scope) (since, error) {
	word := strings.TrimSpace(c.String("since"))
	if word == "" && !c.IsSet("since") || strings.EqualFold(word, "last-pass") {
		passes, err := k.LastPasses(c.Context, scope)
		switch {
		case err != nil:
			return since{}, err
		case len(passes) == 0:
			return since{text: "the beginning"}, nil
		}
		return since{at: report.MarkOf(passes).At, passes: passes, text: "the last pass began"}, nil
	}
	return momentOf(c, k, "since")
}

// momentOf reads a flag that is an age, a date or time (read as UTC), or a run.
func momentOf(c *cli.Context, k *database, flag string) (since, error) {
	word := strings.TrimSpace(c.String(flag))
	if word == "" {
		return since{}, frame.Usagef("--%s is empty: want an age like 7d, a date, or a run", flag)
	}
	if age, err := frame.ParseAge(word); err == nil {
		at := k.DB().Now().Add(-age)
		return since{at: at, text: yp.Minute(at)}, nil
	}
	for _, layout := range []string{
		time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339, yp.TimeLayout,
	} {
		if at, err := time.Parse(layout, word); err == nil {
			return since{at: at, text: yp.Minute(at)}, nil
		}
	}
	r, err := k.FindRun(c.Context, word)
	if unknown, ok := errors.AsType[*report.NotFoundError](err); ok {
		return since{}, frame.Usagef("--%s %q is not an age (7d, 36h), a date (2026-11-20) or a run: %s", flag, word, unknown.Hint)
	}
	return since{at: r.Started, text: fmt.Sprintf("run %d (begun %s)", r.ID, yp.Minute(r.Started))}, err
}

// byRun is what the run of --run found.
func byRun(c *cli.Context, k *database) (since, error) {
	if c.IsSet("since") {
		return since{}, frame.Usagef("--run and --since: use one of them; --since RUN means everything since that run began")
	}
	id, err := runOf(c, k, c.String("run"))
	if err != nil {
		return since{}, err
	}
	return since{run: id, text: fmt.Sprintf("by run %d", id)}, nil
}
