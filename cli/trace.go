package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func (p *Program) traceCommand() *cli.Command {
	return &cli.Command{
		Name: "trace", Usage: "Show every step of a target's attempts: requests, answers, waits with their reasons, and what comes next",
		ArgsUsage: "TARGET", Args: true,
		Description: targetHelp + "\nRequests are kept for some days, steps for as long as the attempt; a killed process leaves no steps.",
		Flags: []cli.Flag{
			onlySourceFlag(),
			&cli.IntFlag{Name: "attempts", Value: 5, Usage: "the last so many `ATTEMPTS`; 0 = all"},
			jsonFlag(),
		},
		Action: p.trace,
	}
}

func (p *Program) trace(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("name one target: an id, or city/category like los-angeles-ca/plumbers; `ypcrawl targets list` lists them all")
	}
	if c.Int("attempts") < 0 {
		return Usagef("--attempts %d: want a number from 0 up", c.Int("attempts"))
	}
	return p.with(c, reading, func(k *database, scope store.Scope) error {
		ids, err := targetIDs(c, k, scope.SourceID)
		if err != nil {
			return err
		}
		if len(ids) != 1 {
			return Usagef("want one target, got %d", len(ids))
		}
		t, err := k.Trace(c.Context, ids[0], c.Int("attempts"))
		if err != nil {
			return err
		}
		return p.tell(c, t, func(w *sections) { traceText(w, t) })
	})
}

func traceText(w *sections, t *report.Trace) {
	x := t.Target
	of := x.Source
	if x.Name != "" {
		of += " (" + x.Name + ")"
	}
	w.lines(fmt.Sprintf("%s: target %d of %s, %s", x.Title(), x.ID, of, x.Status))
	if t.Earlier > 0 {
		w.more(fmt.Sprintf("%s before these: --attempts 0 shows all", plural(t.Earlier, "attempt")))
	}
	if len(t.Attempts) == 0 {
		w.lines("It was never crawled.")
	}
	for i := range t.Attempts {
		attemptText(w, x.Kind, &t.Attempts[i])
	}
	w.lines("Next: " + x.Next.Text(t.Now) + ".")
}

// attemptText tells of an attempt: who and how it ended, then its steps.
func attemptText(w *sections, kind yp.Kind, a *report.TraceAttempt) {
	w.lines(fmt.Sprintf("Attempt %d, %s, by %s on %s, from page %d",
		a.Number, a.Started.Format("2006-01-02 15:04:05Z"), a.Name, a.Host, a.PageBefore+1))
	if a.UserAgent != "" {
		w.item("  as ", a.Identity+": "+a.UserAgent)
	}
	for _, m := range a.Marks() {
		w.item("  "+clockTime(m.At)+"  ", m.Text)
	}
	if a.Dropped > 0 {
		w.item("  ", plural(a.Dropped, "step")+" more were not kept")
	}
	if !a.HasSteps && !a.Running() {
		w.item("  ", "its steps are not known: the process ended before it could write them")
	}
	if len(a.Requests) == 0 {
		w.item("  ", "no requests are kept of it: none was made, they were deleted as too old, or the process was killed first")
	}
	w.item("  "+clockTime(a.Finished)+"  ", a.EndText(kind))
}

// clockTime is the time of a step; an attempt that has not ended has none yet.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "             "
	}
	return t.UTC().Format("15:04:05.000Z")
}
