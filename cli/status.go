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
		Usage: "Show the health of sources and searches: errors, waits, workers",
		Description: "Sources are rated by their requests of the last hour and day. Errors are counted by attempts of the last 7 days;\n" +
			"an attempt is one crawl of a search or of a listing's own page, and may take several requests.\n" +
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
			p.Note("Nothing has been planned or crawled yet. Start with `ypcrawl run`.")
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

// counted says what the figures of a part count.
var counted = map[string]string{
	"sources": "Requests, by source:",
	"errors":  "Attempts of the last 7 days, by error code (an attempt may make several requests):",
}

func (p *Program) statusText(w *frame.Sections, s *report.Status) {
	w.Lines(s.Sentence)
	for _, t := range s.Parts {
		if text := counted[t.Name]; text != "" && len(t.Rows) > 0 {
			w.Lines(text)
		}
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
		w.Lines("The database could not be written, so the figures of sources are as of the times shown.")
	}
}
