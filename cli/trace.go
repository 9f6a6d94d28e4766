package cli

import (
	"cmp"
	"fmt"
	"slices"
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

// traceMark is a line of a trace: something that happened at a time.
type traceMark struct {
	at   time.Time
	page int
	rank int // order of what bears the same time and page
	text string
}

// Ranks: what comes of a page in the order in which it must have happened.
const (
	rankBegun = iota
	rankWaited
	rankAsked
	rankAnswered
	rankStep
)

// marksOf merges the steps of an attempt with its requests, by time.
func marksOf(a *report.TraceAttempt) []traceMark {
	marks := []traceMark{{at: a.Started, rank: rankBegun, text: "claimed"}}
	for _, s := range a.Steps {
		if s.Event != "claimed" && s.Event != "ended" { // the attempt says as much itself
			marks = append(marks, stepMark(s, a.Started))
		}
	}
	for i := range a.Requests {
		marks = append(marks, requestMarks(&a.Requests[i])...)
	}
	slices.SortStableFunc(marks, func(x, y traceMark) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.page, y.page), cmp.Compare(x.rank, y.rank))
	})
	return marks
}

// stepMark is a step in words. One without a time that can be read stands at the
// attempt's start.
func stepMark(s store.Step, began time.Time) traceMark {
	m := traceMark{at: began, page: s.Page, rank: rankStep, text: s.Event}
	if at, err := time.Parse(time.RFC3339, s.At); err == nil {
		m.at = at
	}
	if s.Page > 0 {
		m.text = fmt.Sprintf("page %d %s", s.Page, s.Event)
	}
	if s.Detail != "" {
		m.text += ": " + s.Detail
	}
	return m
}

// requestMarks tell a request: what was waited for, what was asked, what came.
func requestMarks(r *report.TraceRequest) []traceMark {
	var marks []traceMark
	if r.WaitedMS > 0 {
		text := "waited " + millis(&r.WaitedMS)
		if r.WaitReason != "" {
			text += ": " + r.WaitReason
		}
		marks = append(marks, traceMark{r.Started, r.Page, rankWaited, text})
	}
	if r.Class == "rate_limited" { // our own deferral: nothing was asked
		return append(marks, traceMark{r.Started, r.Page, rankAsked, "not asked yet: " + cmp.Or(r.WaitReason, "the host's turn has not come")})
	}
	return append(marks,
		traceMark{r.Started, r.Page, rankAsked, askedText(r)},
		traceMark{r.Finished, r.Page, rankAnswered, answeredText(r)})
}

func askedText(r *report.TraceRequest) string {
	text := "asked GET " + r.URL
	if r.Retry > 0 {
		text += fmt.Sprintf(" again (%d)", r.Retry)
	}
	if r.Type != "listing" {
		text += " (" + r.Type + ")"
	}
	if r.Proxy != "" {
		text += " via " + r.Proxy
	}
	if r.Identity != "" && r.Via != "none" {
		text += " as " + r.Identity
	}
	return text
}

func answeredText(r *report.TraceRequest) string {
	text := "no answer"
	if r.HTTPStatus > 0 {
		text = fmt.Sprintf("answered %d", r.HTTPStatus)
	}
	text += " in " + millis(&r.LatencyMS)
	switch {
	case r.ProxyFailed:
		text += ": the proxy failed, " + r.Class
	case r.Class != "":
		text += ": " + r.Class
	case r.Results != nil:
		what := "listing"
		if r.Type == string(yp.RequestStateIndex) {
			what = "city"
		}
		text += ": " + plural(*r.Results, what)
	}
	return text
}
