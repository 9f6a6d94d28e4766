package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) progressCommand() *cli.Command {
	return &cli.Command{
		Name:  "progress",
		Usage: "Show how far the crawl has got: overall and by state, with workers, errors and speed",
		Flags: []cli.Flag{
			frame.StatesFlag(),
			frame.OnlySourceFlag(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "repeat until Ctrl-C"},
			&cli.GenericFlag{Name: "every", Value: frame.AgeValue(2 * time.Second), Usage: "`TIME` between two updates with --watch"},
			frame.JSONFlag(),
		},
		Action: p.progress,
	}
}

func (p *Program) progress(c *cli.Context) error {
	every := frame.TimeOf(c, "every")
	if every < 100*time.Millisecond {
		return frame.Usagef("--every %s: want 100ms or more", every)
	}
	how := reading
	if c.Bool("watch") {
		how = watching
	}
	return p.with(c, how, func(k *database, scope store.Scope) error {
		if c.Bool("watch") {
			return p.watchProgress(c, k, scope, every)
		}
		pr, err := k.Progress(c.Context, scope)
		if err == nil {
			pr.Figures, err = k.Figures(c.Context, scope)
		}
		if err != nil {
			return err
		}
		return p.Tell(c, pr, func(w *frame.Sections) { p.progressText(w, pr) })
	})
}

// watchProgress shows the progress until ctx ends: a screen that is redrawn on
// a terminal, one JSON object a line or one text a look elsewhere.
func (p *Program) watchProgress(c *cli.Context, k *database, scope store.Scope, every time.Duration) error {
	t := time.NewTicker(every)
	defer t.Stop()
	var figures *report.Figures
	var again time.Time // when they are to be read again: that takes at most 2 % of the time
	for {
		var pr *report.Progress
		err := k.Snapshot(c.Context, func(k *report.Reader) (err error) {
			pr, err = k.Progress(c.Context, scope)
			if began := time.Now(); err == nil && !began.Before(again) {
				figures, err = k.Figures(c.Context, scope)
				again = time.Now().Add(50 * time.Since(began))
			}
			return err
		})
		if err == nil {
			pr.Figures = figures
			err = p.look(c, pr)
		}
		if c.Context.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-t.C:
		}
	}
}

// look writes one look of --watch: over the last one on a terminal that can move its cursor, below it elsewhere.
func (p *Program) look(c *cli.Context, pr *report.Progress) error {
	var text bytes.Buffer
	w := p.SectionsTo(&text)
	p.progressText(w, pr)
	switch {
	case w.Err() != nil:
		return w.Err()
	case c.Bool("json"):
		return frame.WriteJSON(p.Out, pr)
	case p.Live(p.Out) && !frame.Foreground(p.Out):
		return nil // somebody types there
	case p.Live(p.Out):
		lines := fitHeight(strings.Split(strings.TrimRight(text.String(), "\n"), "\n"), len(pr.States.Rows), frame.HeightOf(p.Out)-1)
		_, err := fmt.Fprintf(p.Out, "\x1b[H%s\x1b[K\r\n\x1b[J",
			strings.Join(lines, "\x1b[K\r\n")) // over what is there, so that nothing flickers
		return err
	}
	_, err := fmt.Fprintf(p.Out, "%s\n", &text)
	return err
}

// fitHeight leaves lines out that a terminal has no room for: of the states, which follow the first line, before
// anything else. A longer text would push the top out, and fill what can be scrolled back to with every look.
func fitHeight(lines []string, states, height int) []string {
	if over := len(lines) - height; over > 0 && states > 0 {
		left := min(over+1, states) // and a line that says so
		lines = slices.Replace(lines, 1+states-left, 1+states, fmt.Sprintf("+%d more", left))
	}
	return lines[:min(len(lines), max(height, 1))]
}

func (p *Program) progressText(w *frame.Sections, pr *report.Progress) {
	if len(pr.States.Rows) > 0 || !pr.Staged() {
		w.Part(pr.Now.Time, pr.StatesShown())
	}
	if pr.Staged() {
		w.Part(pr.Now.Time, pr.Stages)
	}
	if pr.Figures != nil {
		w.More(figuresText(pr)...)
	}
	if d := pr.Details; d != nil {
		w.More(fmt.Sprintf("own pages: %s due · %s in progress · %s read or waiting", thousands(d.Due), thousands(d.Held), thousands(d.Later)))
	}
	if pr.WaitingFor == "" { // else that is said below
		w.Lines(whatToDo(pr.Now.Time, pr.Closed)...)
	}
	if pr.Live > 0 {
		w.Lines(slices.Concat([]string{pr.Pacing(), pr.Failures()}, pr.PaceLines(), pr.Reasons())...)
	}
	if why := pr.Unsure(); why != "" {
		w.Lines("A run may be active: " + why + ".")
	}
	w.Part(pr.Now.Time, pr.Workers)
	w.Part(pr.Now.Time, pr.ErrorsShown())
}

// whatToDo says which of the sources are closed, and what is to be done about it.
func whatToDo(now time.Time, sources []report.SourceStatus) (lines []string) {
	for i := range sources {
		if text := sources[i].WhatToDo(now); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// figuresText says how much was seen, which pass it is, and what it brought.
func figuresText(pr *report.Progress) (lines []string) {
	of := pr.Of
	if age := pr.Now.Sub(pr.At.Time); age >= time.Second {
		of += ", " + lasting(age) + " ago"
	}
	lines = append(lines, pr.Coverage.Line(of))
	if o := pr.Overall; o.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("%s of the %s found are closed; exports leave them out unless --dropped yes is given.",
			thousands(o.Dropped), plural(o.Listings, "listing")))
	}
	return append(lines, report.PassLines(pr.Passes)...)
}

func (p *Program) coverageCommand() *cli.Command {
	cmd := p.listCommand("coverage")
	cmd.Action = p.coverage
	return cmd
}

// coverage shows the totals, then the targets of which the least was seen.
func (p *Program) coverage(c *cli.Context) error {
	l := report.Find("coverage")
	choice, err := frame.ChoiceOf(c, l)
	if err != nil {
		return err
	}
	return p.with(c, reading, func(k *database, scope store.Scope) error {
		if scope, err = k.SearchScope(c.Context, scope, nil, frame.SplitList(c.StringSlice("categories"))); err != nil {
			return err
		}
		totals, err := k.CoverageTotals(c.Context, scope)
		if err != nil {
			return err
		}
		of, rows := report.OfScope(scope), p.RowsTo(c, k.DB().Now())
		if j, ok := rows.(*frame.JSONRows); ok {
			j.Around(`{"totals_of":`+store.JSON(of)+`,"totals":`+store.JSON(totals)+`,"targets":`, "}")
		} else if !c.Bool("csv") {
			err = p.Tell(c, nil, func(w *frame.Sections) { w.More(totals.Lines(of)...) })
		}
		return cmp.Or(err, p.listTo(c, k, l, choice, rows))
	})
}
