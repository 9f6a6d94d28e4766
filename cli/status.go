package cli

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "Show the health of sources and targets: errors, what waits and until when, workers",
		Description: "Sources are rated by the requests of the last hour and day, errors are those of 7 days.\n" +
			"--states limits targets, waits and workers; sources and errors are always those of the whole file.\n\n" + checkDescription,
		Flags: slices.Concat([]cli.Flag{frame.StatesFlag(), frame.OnlySourceFlag()}, checkFlags(),
			[]cli.Flag{metricsOnceFlag(), frame.JSONFlag()}),
		Action: p.status,
	}
}

func (p *Program) status(c *cli.Context) error {
	switch {
	case c.Bool("check"):
		return p.asUnknown(p.check(c)) // also where the environment or the settings say it
	case c.String("metrics-file") != "":
		return p.writeMetrics(c)
	}
	show := func(k *database, scope store.Scope) error {
		_, stale := health.New(k.DB()).RollUp(c.Context) // a file that is read-only or busy is shown as it is
		if stale != nil && !errors.Is(stale, store.ErrReadOnly) {
			p.Note("The health of the sources could not be updated: %s", yp.Printable(stale.Error()))
		}
		s, err := k.Status(c.Context, scope)
		if err != nil {
			return err
		}
		if len(s.Sources) == 0 && !c.Bool("json") {
			p.Note("Nothing was planned or crawled yet: start with `ypcrawl run`.")
			return nil
		}
		s.RolledUp = stale == nil
		return p.Tell(c, s, func(w *frame.Sections) { p.statusText(w, s) })
	}
	err := p.with(c, existing, show)
	if errors.Is(err, store.ErrReadOnly) {
		return p.with(c, reading, show)
	}
	return err
}

func (p *Program) statusText(w *frame.Sections, s *report.Status) {
	w.Lines(s.Sentence)
	for _, t := range s.Parts {
		w.Part(s.Now, t)
		if t.Name == "sources" {
			w.Lines(append(whatToDo(s.Now, s.Sources), s.PaceLines()...)...)
		}
	}
	var lines []string
	if s.Left != nil {
		lines = append(lines, "Time left: "+s.Left.Text()+".")
	}
	w.Lines(append(lines, report.PassLines(s.Passes)...)...)
	for _, line := range s.JournalLines() {
		w.Lines(p.Hints(line))
	}
	if !s.RolledUp {
		w.Lines("The database could not be written: the figures of sources are not updated, see their times.")
	}
}
