package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	w.lines(fmt.Sprintf("%s: target %d of %s, %s", titleOf(x.Target), x.ID, of, x.Status))
	if t.Earlier > 0 {
		w.more(fmt.Sprintf("%s before these: --attempts 0 shows all", plural(t.Earlier, "attempt")))
	}
	if len(t.Attempts) == 0 {
		w.lines("It was never crawled.")
	}
	for i := range t.Attempts {
		w.lines(attemptLines(x.Kind, &t.Attempts[i])...)
	}
	w.lines("Next: " + nextText(t.Now, x.Next) + ".")
}

// attemptLines tell an attempt: who and how it ended, then its steps.
func attemptLines(kind yp.Kind, a *report.TraceAttempt) []string {
	lines := []string{fmt.Sprintf("Attempt %d, %s, by %s on %s, from page %d",
		a.Number, a.Started.Format("2006-01-02 15:04:05Z"), a.Worker, a.Host, a.PageBefore+1)}
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
		text += ", " + foundText(*a.Listings, kind == yp.KindIndex)
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

// marksOf merges the steps of an attempt with its requests, by time. A step without a time
// that can be read stands at the attempt's start.
func marksOf(a *report.TraceAttempt) []traceMark {
	marks := []traceMark{{at: a.Started, rank: rankBegun, text: "claimed"}}
	for _, s := range a.Steps {
		if s.Event == "claimed" || s.Event == "ended" { // the attempt says as much itself
			continue
		}
		m := traceMark{a.Started, s.Page, rankStep, s.Event}
		if at, err := time.Parse(time.RFC3339, s.At); err == nil {
			m.at = at
		}
		if s.Page > 0 {
			m.text = fmt.Sprintf("page %d %s", s.Page, s.Event)
		}
		if s.Detail != "" {
			m.text += ": " + s.Detail
		}
		marks = append(marks, m)
	}
	for i := range a.Requests {
		r := &a.Requests[i]
		if r.WaitedMS > 0 {
			text := strings.TrimSuffix("waited "+millis(&r.WaitedMS)+": "+r.WaitReason, ": ")
			marks = append(marks, traceMark{r.Started, r.Page, rankWaited, text})
		}
		if r.Class == "rate_limited" { // our own deferral: nothing was asked
			text := "not asked yet: " + cmp.Or(r.WaitReason, "the host's turn has not come")
			marks = append(marks, traceMark{r.Started, r.Page, rankAsked, text})
			continue
		}
		marks = append(marks,
			traceMark{r.Started, r.Page, rankAsked, askedText(r)},
			traceMark{r.Finished, r.Page, rankAnswered, answeredText(r)})
	}
	slices.SortStableFunc(marks, func(x, y traceMark) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.page, y.page), cmp.Compare(x.rank, y.rank))
	})
	return marks
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
		text += ": " + foundText(*r.Results, r.Type == string(yp.RequestStateIndex))
	}
	return text
}

// foundText is what pages brought: an index has cities, all others listings.
func foundText(n int64, index bool) string {
	if index {
		return plural(n, "city")
	}
	return plural(n, "listing")
}
