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
		Name: "trace", Usage: "Show every step of a target's attempts: asked, answered, waited and why, and what comes next",
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
		return Usagef("want one target: an id, or city/category like los-angeles-ca/plumbers; `ypcrawl targets list` shows those there are")
	}
	if c.Int("attempts") < 0 {
		return Usagef("--attempts %d: want a number from 0 up", c.Int("attempts"))
	}
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	source, err := knownSource(c, k)
	if err != nil {
		return err
	}
	ids, err := p.targetIDs(c, k, source)
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
	if c.Bool("json") {
		return writeJSON(p.Out, t)
	}
	return p.printTrace(t)
}

func (p *Program) printTrace(t *report.Trace) error {
	w := &sections{w: p.Out}
	x := t.Target
	of := x.Source
	if x.Name != "" {
		of += " (" + x.Name + ")"
	}
	head := []string{fmt.Sprintf("%s: target %d of %s, %s", titleOf(x.Target), x.ID, of, x.Status)}
	if t.Earlier > 0 {
		head = append(head, fmt.Sprintf("%s before these: --attempts 0 shows all", plural(t.Earlier, "attempt")))
	}
	if err := w.lines(head...); err != nil {
		return err
	}
	if len(t.Attempts) == 0 {
		if err := w.lines("It was never crawled."); err != nil {
			return err
		}
	}
	for i := range t.Attempts {
		if err := w.lines(attemptLines(x.Kind, &t.Attempts[i])...); err != nil {
			return err
		}
	}
	return w.lines("Next: " + p.nextText(t.Now, x.Next) + ".")
}

// attemptLines tell an attempt: who and how it ended, then its steps.
func attemptLines(kind yp.Kind, a *report.TraceAttempt) []string {
	lines := []string{attemptHead(a)}
	for _, m := range marksOf(a) {
		lines = append(lines, "  "+clockTime(m.at)+"  "+m.text)
	}
	if a.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("  %s more were not kept", plural(a.Dropped, "step")))
	}
	if !a.HasSteps && a.Ended != endedRunning {
		lines = append(lines, "  its steps are not known: the process ended before it could write them")
	}
	if len(a.Requests) == 0 {
		lines = append(lines, "  no requests are kept of it: none was made, they are older than the days they are kept, or the process was killed first")
	}
	return append(lines, "  "+clockTime(a.Finished)+"  "+endText(kind, a))
}

// endedRunning is how an attempt that is under way says it ended.
const endedRunning = "running"

func attemptHead(a *report.TraceAttempt) string {
	return fmt.Sprintf("Attempt %d, %s, by %s on %s, from page %d", a.Number, a.Started.Format("2006-01-02 15:04:05Z"), a.Worker, a.Host, a.PageBefore+1)
}

// clockTime is the time of a step; an attempt that has not ended has none yet.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "             "
	}
	return t.UTC().Format("15:04:05.000Z")
}

// endText says how an attempt ended, what it brought, and what follows.
func endText(kind yp.Kind, a *report.TraceAttempt) string {
	text := string(a.Ended)
	switch text {
	case endedRunning:
		return "still under way, or its process was killed and not yet recovered"
	case "recovered":
		text = "recovered: its process is gone"
	case "released":
		text = "handed back"
	}
	switch {
	case text == string(store.EndedDone) && a.Code == string(yp.CodeNoListings):
		text += " (the site has no listings here)"
	case a.Code != "" && a.Code != string(yp.CodeSuccess):
		text += " " + codeText(a.Code, a.Proxy != "")
	}
	if a.DurationMS != nil {
		text += " after " + millis(a.DurationMS)
	}
	if a.Message != "" {
		text += ": " + reason(a.Message)
	}
	if a.Pages != nil {
		text += "; " + plural(*a.Pages, "page")
	}
	if a.Listings != nil {
		what := "listing"
		if kind == yp.KindIndex {
			what = "city"
		}
		text += ", " + plural(*a.Listings, what)
	}
	if a.Changed != nil {
		text += fmt.Sprintf(", %s new or changed", thousands(*a.Changed))
	}
	if a.BackoffMS != nil && *a.BackoffMS > 0 && !a.Finished.IsZero() {
		again := a.Finished.Add(time.Duration(*a.BackoffMS) * time.Millisecond)
		text += "; next try at " + again.Format("2006-01-02 15:04:05Z")
	}
	return text
}
