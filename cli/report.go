package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// summary is what `run` ends with.
type summary struct {
	Outcome string `json:"outcome"` // done, interrupted, budget, blocked, no_proxies, layout, error
	crawl.Stats
	Seconds  float64   `json:"seconds"`
	Scope    selected  `json:"scope"`
	Database contained `json:"database"`
	Error    string    `json:"error,omitempty"`
	Resume   string    `json:"resume,omitempty"` // the command that goes on

	Sources []sourceSummary `json:"sources,omitempty"` // of a run over several

	fresh int64 // targets in trouble since this run began
}

// selected are the targets this run is about, as they stand now.
type selected struct {
	Targets    int64   `json:"targets"`
	Planned    int64   `json:"planned"`
	Waiting    int64   `json:"waiting"` // of the planned: tried again when a short backoff is over
	InProgress int64   `json:"in_progress"`
	Done       int64   `json:"done"`
	Failed     int64   `json:"failed"`
	Stuck      int64   `json:"stuck"`
	Parked     int64   `json:"parked"`
	Percent    float64 `json:"percent"`
	Pages      int64   `json:"pages"`

	InGap    int64     `json:"in_gap"`             // of the done: due, and waiting for the gap between two crawls
	GapUntil time.Time `json:"gap_until,omitzero"` // when the last of them may be claimed
	NextDue  time.Time `json:"next_due,omitzero"`  // when the first target falls due, of a run that had nothing to do

	rests []report.Rest // what waits or failed, by cause
}

func selectedOf(c report.Counts) selected {
	return selected{
		Targets: c.Targets, Planned: c.Planned, InProgress: c.InProgress, Done: c.Done, Failed: c.Failed,
		Stuck: c.Stuck, Parked: c.Parked, Percent: c.Percent, Pages: c.Pages,
	}
}

func (s selected) toDo() int64     { return s.Planned + s.InProgress }
func (s selected) troubled() int64 { return s.Failed + s.Parked + s.Stuck }

// contained is all that the database holds, of this run and of others.
type contained struct {
	Path      string `json:"path"`
	Listings  int64  `json:"listings"`
	Companies int64  `json:"companies"`
}

// report prints the summary and maps how the run ended to its exit code.
func (r *run) report(st crawl.Stats, runErr error, ended []ending) error {
	left := worst(runErr, ended)
	s := summary{Outcome: string(outcomeOf(left)), Stats: st, Seconds: st.Elapsed.Seconds()}
	r.look(&s, ended)
	if left != nil {
		s.Error = left.Error()
		s.Resume = r.p.commandLine()
	}
	if err := r.print(s, left); err != nil {
		return errors.Join(err, runErr)
	}
	r.noteRejected(s)
	if runErr == nil && s.Scope.InGap > 0 {
		r.p.note("%s", inGapText(r.keeper.DB().Now(), s.Scope))
	}
	if runErr == nil && r.several() {
		return r.sourcesEnding(s, ended)
	}
	return r.ending(runErr, s)
}

// look counts what stands in the database now. An interrupted run is still to
// be told where it stands; one whose database is gone tells what is known.
func (r *run) look(s *summary, ended []ending) {
	ctx := context.WithoutCancel(r.c.Context)
	s.Database.Path = r.keeper.DB().Path()
	var all report.Counts
	var waiting, inGap int64
	var gapUntil, next time.Time
	var rests []report.Rest
	for _, e := range ended {
		all, waiting, s.fresh = sum(all, e.now), waiting+e.waiting, s.fresh+e.fresh
		inGap += e.inGap
		rests = append(rests, e.rests...)
		if !e.next.IsZero() && (next.IsZero() || e.next.Before(next)) {
			next = e.next
		}
		if e.gapUntil.After(gapUntil) {
			gapUntil = e.gapUntil
		}
		if r.several() {
			s.Sources = append(s.Sources, sourceSummaryOf(e))
		}
	}
	s.Scope = selectedOf(all)
	s.Scope.Waiting, s.Scope.InGap, s.Scope.GapUntil, s.Scope.NextDue, s.Scope.rests = waiting, inGap, gapUntil, next, rests
	if all, err := r.keeper.Progress(ctx, store.Scope{}); err == nil {
		s.Database.Listings, s.Database.Companies = all.Overall.Listings, all.Overall.Companies
	}
}

// ending maps how the run ended to its exit code, with the next step.
func (r *run) ending(runErr error, s summary) error {
	var blocked *crawl.BlockedError
	switch {
	case errors.Is(runErr, crawl.ErrInterrupted):
		r.p.note("Interrupted. Everything committed is kept; go on with:\n  %s", s.Resume)
		return &exitError{code: ExitInterrupted}
	case errors.Is(runErr, crawl.ErrBudget):
		r.p.note("Stopped: %v. Go on with:\n  %s", runErr, s.Resume)
		return &exitError{code: ExitBudget}
	case errors.As(runErr, &blocked):
		r.p.note("Stopped: %s. %s", yp.Printable(blocked.Error()), r.opening(blocked))
		return &exitError{code: ExitBlocked}
	case errors.Is(runErr, crawl.ErrNoProxies):
		r.p.note("Stopped: %s. `ypcrawl proxies list` tells why; add others or wait until they are rested, then type the same again.", yp.Printable(runErr.Error()))
		return &exitError{code: ExitNoProxies}
	case errors.Is(runErr, crawl.ErrLayout):
		name := r.sources[0].src.Name()
		r.p.note("Stopped: %s.\nThe pages are kept: `ypcrawl sources samples %s`. Mend the definition%s, then: `ypcrawl sources enable %s`.",
			yp.Printable(runErr.Error()), name, r.mending(name), name)
		return &exitError{code: ExitLayout}
	case runErr != nil:
		return runErr
	}
	return cmp.Or(r.remainder(s), r.remainderOfIndexes(s.Stats), r.remainderOfDetails(s.Stats), remainderOfListings(mostlyRejected(s.Stats)))
}

// mending tells where a source's definition is mended: one that the database holds is
// taken out of it and put back.
func (r *run) mending(name string) string {
	if isBuiltin(name) || !r.several() && r.c.String("source-file") != "" {
		return " (--source-file)"
	}
	return fmt.Sprintf(" (`ypcrawl sources show %s --yaml` prints it, `ypcrawl sources set %s --file FILE` puts it back)", name, name)
}

// opening is what opens a source again.
func (r *run) opening(b *crawl.BlockedError) string {
	switch {
	case b.Availability.State == store.SourceDisabled, b.Availability.Until.IsZero():
		return fmt.Sprintf("When it is in order again: `ypcrawl sources enable %s`.", b.Source)
	case b.Availability.State == store.SourceQuarantined:
		return "One page is asked for then, to see whether it answers; `ypcrawl status` shows it. Type the same again then, or stay with --watch."
	}
	return "Nothing is lost. Type the same again then, or stay with --watch; `ypcrawl status` shows what holds it."
}

// remainder tells of what a run that came to its end could not do.
func (r *run) remainder(s summary) error {
	switch {
	case r.abandoned():
		r.p.note("Some targets are held by a run that seems to be gone from another machine: take them back with `ypcrawl recover --timeout 3`.")
		return &exitError{code: ExitFailures}
	case s.fresh+s.Scope.Stuck > 0: // what is stuck is not done, and never will be by itself
		r.p.note("%s: `ypcrawl progress` tells why%s.", r.trouble(s.Scope), cure(r.keeper.DB().Now(), s.Scope))
		return &exitError{code: ExitFailures}
	case s.Scope.troubled()+s.Scope.Waiting > 0:
		r.p.note("From earlier runs: %s. `ypcrawl status` tells when they are tried again%s.", r.trouble(s.Scope), cure(r.keeper.DB().Now(), s.Scope))
	}
	return nil
}

// trouble counts what did not go well: "2 targets failed, 1 parked".
func (r *run) trouble(s selected) string {
	text := ""
	for _, part := range []struct {
		n    int64
		word string
	}{{s.Waiting, "to be tried again in minutes"}, {s.Failed, "failed"}, {s.Parked, "parked"}, {s.Stuck, "stuck"}} {
		switch {
		case part.n == 0:
		case text == "":
			text = plural(part.n, "target") + " " + part.word
		default:
			text += fmt.Sprintf(", %s %s", thousands(part.n), part.word)
		}
	}
	return text
}

// cure ends the sentence on what is in trouble: what takes it back, or, where the site
// said no, when it is tried again. No command is offered for that: the site would only be
// asked too soon.
func cure(now time.Time, s selected) string {
	blocked, from := int64(0), time.Time{}
	var commands []string
	for _, x := range s.rests {
		if x.Blocked() {
			if blocked == 0 || x.From.Before(from) {
				from = x.From
			}
			blocked += x.Targets
			continue
		}
		command := "`ypcrawl reset --error " + string(x.Code) + "`"
		if x.Code != "" && !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	if blocked == 0 {
		return ", " + resetText([]statusCount{{s.Failed + s.Waiting, yp.Failed}, {s.Parked, yp.Parked}, {s.Stuck, yp.Stuck}}) + " takes them back"
	}
	text := fmt.Sprintf(". The next run tries %s again by itself, from %s on", plural(blocked, "blocked target"), yp.ClockTime(now, from))
	if s.Parked+s.Stuck > 0 {
		commands = append(commands, resetText([]statusCount{{s.Parked, yp.Parked}, {s.Stuck, yp.Stuck}}))
	}
	switch len(commands) {
	case 0:
		return text
	case 1:
		return text + "; " + commands[0] + " takes the others back"
	}
	return text + "; " + strings.Join(commands, " and ") + " take the others back"
}

type statusCount struct {
	n      int64
	status yp.Status
}

// resetText is the command that takes targets of the statuses back that have any.
func resetText(all []statusCount) string {
	statuses := ""
	for _, part := range all {
		if part.n > 0 {
			statuses += " " + string(part.status)
		}
	}
	if statuses == " "+string(yp.Failed) {
		return "`ypcrawl reset`"
	}
	return "`ypcrawl reset --status" + statuses + "`"
}

func (r *run) print(s summary, runErr error) error {
	switch {
	case r.c.Bool("json"):
		return writeJSON(r.p.Out, s)
	case r.c.Bool("quiet"), s.Outcome == string(checkpoint.OutcomeError) && s.Pages == 0:
		return nil
	case runErr == nil && r.onlyDetails && s.Details+s.DetailsFailed+s.DetailsMissing == 0:
		_, err := fmt.Fprintln(r.p.Out, "Nothing left to do: no details are due.")
		return errors.Join(err, r.printHolds(s.Database))
	case runErr == nil && s.Targets+s.Pages+s.IndexPages+s.IndexesFailed+s.Details+s.DetailsFailed+s.DetailsMissing == 0:
		_, err := fmt.Fprintln(r.p.Out, r.idle(s.Scope)+dueText(r.keeper.DB().Now(), s.Scope))
		return errors.Join(err, r.printHolds(s.Database))
	}
	printTable := r.printTable
	if r.several() {
		printTable = r.printSources
	}
	if r.onlyDetails {
		printTable = r.printDetailTable
	}
	if err := printTable(s); err != nil {
		return err
	}
	return r.printHolds(s.Database)
}

// idle is what a run says that found nothing it may crawl now.
func (r *run) idle(s selected) string {
	text := fmt.Sprintf("%s of %s done", thousands(s.Done), plural(s.Targets, "target"))
	if s.Done == s.Targets && s.InGap == 0 {
		return "Nothing left to do: " + text + "."
	}
	if s.InProgress > 0 {
		text += fmt.Sprintf("; %s in the hands of another run", thousands(s.InProgress))
	}
	if more := r.trouble(s); more != "" {
		text += "; " + more
	}
	return "Nothing may be crawled now: " + text + "."
}

// dueText says when something will be to do again.
func dueText(now time.Time, s selected) string {
	if s.NextDue.IsZero() {
		return ""
	}
	return fmt.Sprintf("\nThe next target falls due %s (in %s).", minute(s.NextDue), lasting(s.NextDue.Sub(now)))
}

func (r *run) printTable(s summary) error {
	t := newTable("", "this run", "this selection")
	t.row("targets done", s.Done, s.Scope.Done)
	for _, part := range []struct {
		name     string
		now, all int64
	}{{"targets to try again", s.Stats.Waiting, s.Scope.Waiting}, {"targets failed", s.Failed, s.Scope.Failed}, {"targets parked", s.Parked, s.Scope.Parked}} {
		if part.now+part.all > 0 {
			t.row(part.name, part.now, part.all)
		}
	}
	if s.Scope.Stuck > 0 {
		t.row("targets stuck", "", s.Scope.Stuck)
	}
	t.row("targets to do", "", s.Scope.toDo()-s.Scope.Waiting)
	t.row("pages", s.Pages, s.Scope.Pages)
	detailRows(t, s.Stats)
	t.row("requests", s.Requests, "")
	t.row("new listings", s.New, "")
	if s.Changed > 0 {
		t.row("changed listings", s.Changed, "")
	}
	for _, part := range fatesOf(s.Stats) {
		if part.n > 0 {
			t.row(part.name+" listings", part.n, "")
		}
	}
	t.row("new companies", s.Companies, "")
	leftOutRows(t, s.Stats)
	t.row("time", took(s.Elapsed), "")
	own := s.Details + s.DetailsFailed + s.DetailsMissing
	if s.Seconds > 0 && s.Pages+own > 0 {
		t.row(speedUnit(own > 0), fmt.Sprintf("%.1f", float64(s.Pages+own)/s.Seconds), "")
	}
	return t.flush(&r.p.Streams, r.p.Out)
}

// fate is how many listings something became of.
type fate struct {
	name string
	n    int64
}

// fatesOf are those that are told only where there are any.
func fatesOf(st crawl.Stats) []fate {
	return []fate{{"rejected", st.Rejected}, {"dropped", st.Dropped}, {"restored", st.Restored}}
}

// mostlyRejected reports whether a crawl was of little use: more than half of the
// listings that it was to keep break a rule of their source.
func mostlyRejected(st crawl.Stats) bool { return st.Rejected > st.Accepted }

// noteRejected says so, source by source.
func (r *run) noteRejected(s summary) {
	note := func(whose string, st crawl.Stats) {
		if mostlyRejected(st) {
			r.p.note("%s of %s%s were rejected: they break a rule of their source. The table staged_listings has them with the reasons; `ypcrawl changes --since 30d --kind rejected` tells when.",
				thousands(st.Rejected), plural(st.Rejected+st.Accepted, "listing"), whose)
		}
	}
	for _, o := range s.Sources {
		note(" of "+yp.Printable(o.Source), o.Stats)
	}
	if !r.several() {
		note("", s.Stats)
	}
}

// remainderOfListings is the exit code of a run that rejected most of what it found.
func remainderOfListings(rejected bool) error {
	if rejected {
		return &exitError{code: ExitFailures}
	}
	return nil
}

// leftOutRows tell what was on the pages and was neither kept nor followed.
func leftOutRows(t *table, st crawl.Stats) {
	if st.LeftOut > 0 {
		t.row("cards left out (more than 1,000 on a page)", st.LeftOut, "")
	}
	if st.Elsewhere > 0 {
		t.row("next links off the source, not followed", st.Elsewhere, "")
	}
}

func (r *run) printHolds(d contained) error {
	_, err := fmt.Fprintf(r.p.Out, "%s holds %s of %s in all.\n", yp.Printable(d.Path), plural(d.Listings, "listing"), plural(d.Companies, "company"))
	return err
}

// took writes how long something took; a short time with its tenths.
func took(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return lasting(d)
}

// abandoned reports whether targets of this run's scope are held by a run that
// no living process is seen behind: they are not done, and nobody does them.
func (r *run) abandoned() bool {
	scope := r.sources[0].scope
	if len(r.sources) > 1 {
		scope.SourceID = 0
	}
	pr, err := r.keeper.Progress(context.WithoutCancel(r.c.Context), scope)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(pr.Workers, func(h report.Holder) bool { return !h.Alive })
}
