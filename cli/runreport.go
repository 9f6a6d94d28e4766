package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
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

	Sources []sourceSummary `json:"sources,omitempty"` // where several were asked for

	Coverage *report.CoverageTotals `json:"coverage,omitempty"` // of this selection; absent = of details alone, or it could not be read
	Passes   []report.Pass          `json:"passes"`             // of its sources
}

// sourceSummary is one source of a summary.
type sourceSummary struct {
	Source  string `json:"source"`
	Outcome string `json:"outcome"`
	crawl.Stats
	Seconds float64  `json:"seconds"` // until it ended
	Scope   selected `json:"scope"`
	Error   string   `json:"error,omitempty"`
}

// selected are targets this run is about, as they stand at some time.
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

	InGap    int64     `json:"in_gap"`    // of the done: due, and waiting for the gap between two crawls
	GapUntil time.Time `json:"gap_until"` // when the last of them may be claimed
	NextDue  time.Time `json:"next_due"`  // when the first target falls due, of a run that had nothing to do

	rests []report.Rest // what waits or failed, by cause
}

func selectedOf(c report.Counts) selected {
	return selected{
		Targets: c.Targets, Planned: c.Planned, InProgress: c.InProgress, Done: c.Done, Failed: c.Failed,
		Stuck: c.Stuck, Parked: c.Parked, Percent: c.Percent, Pages: c.Pages,
	}
}

// add adds the targets of another source.
func (s *selected) add(o selected) {
	s.Targets += o.Targets
	s.Planned += o.Planned
	s.Waiting += o.Waiting
	s.InProgress += o.InProgress
	s.Done += o.Done
	s.Failed += o.Failed
	s.Stuck += o.Stuck
	s.Parked += o.Parked
	s.Pages += o.Pages
	s.InGap += o.InGap
	if s.Targets > 0 {
		s.Percent = 100 * float64(s.Done+s.Parked) / float64(s.Targets)
	}
	if o.GapUntil.After(s.GapUntil) {
		s.GapUntil = o.GapUntil
	}
	if s.NextDue.IsZero() || !o.NextDue.IsZero() && o.NextDue.Before(s.NextDue) {
		s.NextDue = o.NextDue
	}
	s.rests = append(s.rests, o.rests...)
}

func (s selected) toDo() int64     { return s.Planned + s.InProgress }
func (s selected) troubled() int64 { return s.Failed + s.Parked + s.Stuck }

// contained is all that the database holds, of this run and of others.
type contained struct {
	Path      string `json:"path"`
	Listings  int64  `json:"listings"`        // open and closed ones
	Closed    int64  `json:"listings_closed"` // of them: their source dropped them
	Companies int64  `json:"companies"`
}

// report prints the summary and maps how the run ended to its exit code. An interrupted run is
// still to be told where it stands; one whose database can't be read tells what is known.
func (r *run) report(st crawl.Stats, runErr error, ended []ending) error {
	left := worst(runErr, ended)
	s := summary{Outcome: string(outcomeOf(left)), Stats: st, Seconds: st.Elapsed.Seconds()}
	for _, e := range ended {
		s.Scope.add(e.now)
		if r.several() {
			o := sourceSummary{
				Source: e.Source, Outcome: string(outcomeOf(e.Err)), Stats: e.Stats, Seconds: e.Stats.Elapsed.Seconds(), Scope: e.now,
			}
			if e.Err != nil {
				o.Error = e.Err.Error()
			}
			s.Sources = append(s.Sources, o)
		}
	}
	s.Database.Path = r.keeper.DB().Path()
	if all, err := r.keeper.Overall(context.WithoutCancel(r.c.Context), store.Scope{}); err == nil {
		s.Database.Listings, s.Database.Closed, s.Database.Companies = all.Listings, all.Closed, all.Companies
	}
	r.figures(&s)
	if left != nil {
		s.Error = left.Error()
		s.Resume = r.p.commandLine()
	}
	r.sayFacts(s)
	r.tellEnd(r.c.Context, left, st, ended)
	if err := r.print(s, left); err != nil {
		return errors.Join(err, runErr)
	}
	for _, e := range ended {
		if mostlyRejected(e.Stats) {
			r.p.note("%s of %s%s were rejected: they break a rule of their source. The table staged_listings has them with the reasons; `ypcrawl changes --since 30d --kind rejected` shows when.",
				thousands(e.Stats.Rejected), plural(e.Stats.Rejected+e.Stats.Accepted, "listing"), r.whose(" of %s", e))
		}
	}
	switch code := closedCodes()[outcomeOf(left)]; {
	case errors.Is(left, crawl.ErrInterrupted):
		r.p.note("Interrupted. Everything committed is kept; go on with:\n  %s", s.Resume)
		return &exitError{code: ExitInterrupted}
	case errors.Is(left, crawl.ErrBudget):
		r.tell(true, "Stopped: %v. Go on with:\n  %s", left, s.Resume)
		return &exitError{code: ExitBudget}
	case left != nil && code == 0:
		return left
	default:
		r.noteClosed(ended)
		open := slices.DeleteFunc(ended, ending.closed)
		if len(open) > 0 && r.unfinished(open) { // what failed for another reason comes before the closed sources
			code = ExitFailures
		}
		if code != 0 {
			return &exitError{code: code}
		}
		return nil
	}
}

// figures reads how much was seen of the selection, and of which passes this run is a part.
func (r *run) figures(s *summary) {
	s.Passes = []report.Pass{}
	if r.onlyDetails || r.onlyIndexes {
		return
	}
	ctx := context.WithoutCancel(r.c.Context)
	all := &report.CoverageTotals{}
	for _, c := range r.sources {
		seen, err := r.keeper.CoverageTotals(ctx, c.scope)
		if err != nil {
			return
		}
		all.Add(seen)
		passes, err := r.keeper.Passes(ctx, store.Scope{SourceID: c.scope.SourceID})
		if err != nil {
			return
		}
		s.Passes = append(s.Passes, passes...)
	}
	s.Coverage = all
}

// sayFacts keeps the figures of a run for its last ping.
func (r *run) sayFacts(s summary) {
	r.out.say("outcome: %s", s.Outcome)
	switch {
	case r.onlyIndexes:
		r.out.say("indexes: %s read, %s failed", thousands(s.Indexes), thousands(s.IndexesFailed))
	case !r.onlyDetails:
		r.out.say("targets: %s done by this run; of the selection %s of %s done, %s to do, %s failed, %s parked, %s stuck", thousands(s.Done),
			thousands(s.Scope.Done), thousands(s.Scope.Targets), thousands(s.Scope.toDo()), thousands(s.Scope.Failed), thousands(s.Scope.Parked), thousands(s.Scope.Stuck))
		r.out.say("listings: %s new, %s changed, %s dropped, %s rejected", thousands(s.New), thousands(s.Changed), thousands(s.Dropped), thousands(s.Rejected))
	}
	details := ""
	if r.details().Wanted {
		details = fmt.Sprintf("%s, %s failed; ", plural(s.Details, "detail"), thousands(s.DetailsFailed))
	}
	r.out.say("%s%s, %s, in %s", details, plural(s.PagesRead(), "page"), plural(s.Requests, "request"), took(s.Elapsed))
	if s.Error != "" {
		r.out.say("error: %s", r.p.hideAll(s.Error))
	}
}

func (r *run) print(s summary, left error) error {
	details := s.Details + s.DetailsFailed + s.DetailsMissing
	var idle []string
	switch {
	case r.c.Bool("json"):
	case r.c.Bool("quiet"), s.Outcome == string(checkpoint.OutcomeError) && s.Pages == 0:
		return nil
	case left == nil && r.onlyDetails && details == 0:
		idle = []string{"Nothing left to do: no details are due."}
	case left == nil && !r.onlyIndexes && s.Targets+s.Pages+s.IndexPages+s.IndexesFailed+details == 0:
		idle = idleText(r.keeper.DB().Now(), s.Scope)
	}
	return r.p.tell(r.c, s, func(w *sections) {
		switch {
		case idle != nil:
			w.more(idle...)
		case r.onlyDetails:
			w.table(detailTable(s))
		case r.onlyIndexes:
			w.keep(r.showIndexes())
		case r.several():
			w.table(severalTable(s))
		default:
			w.table(runTable(s))
		}
		if s.Coverage != nil && s.Coverage.All() > 0 {
			w.more(s.Coverage.Line("this selection"))
			named := 0
			for _, pass := range s.Passes {
				if (pass.Runs > 1 || pass.Failed > 0) && named < mostNamed {
					w.more(pass.Sentence())
					named++
				}
			}
		}
		closed := ""
		if n := s.Database.Closed; n > 0 {
			closed = fmt.Sprintf(" (%s closed)", thousands(n))
		}
		w.more(fmt.Sprintf("%s holds %s%s of %s in all.", s.Database.Path, plural(s.Database.Listings, "listing"), closed, plural(s.Database.Companies, "company")))
	})
}

// idleText is what a run says that found nothing it may crawl now, and when something will be to do again.
func idleText(now time.Time, s selected) []string {
	var due []string
	if !s.NextDue.IsZero() {
		due = append(due, fmt.Sprintf("The next target falls due %s (in %s).", minute(s.NextDue), lasting(s.NextDue.Sub(now))))
	}
	text := fmt.Sprintf("%s of %s done", thousands(s.Done), plural(s.Targets, "target"))
	if s.Done == s.Targets && s.InGap == 0 {
		return append([]string{"Nothing left to do: " + text + "."}, due...)
	}
	if s.InProgress > 0 {
		text += fmt.Sprintf("; %s claimed by another run", thousands(s.InProgress))
	}
	if more := trouble(s); more != "" {
		text += "; " + more
	}
	return append([]string{"Nothing may be crawled now: " + text + "."}, due...)
}

// runTable is the summary of a run over one source. Most lines are there only where there is something to say.
func runTable(s summary) *table {
	t := newTable("", "this run", "this selection")
	some := func(name string, n int64) {
		if n > 0 {
			t.row(name, n, "")
		}
	}
	both := func(name string, n, all int64) {
		if n+all > 0 {
			t.row(name, n, all)
		}
	}
	t.row("targets done", s.Done, s.Scope.Done)
	both("targets to try again", s.Stats.Waiting, s.Scope.Waiting)
	both("targets failed", s.Failed, s.Scope.Failed)
	both("targets parked", s.Parked, s.Scope.Parked)
	if s.Scope.Stuck > 0 {
		t.row("targets stuck", "", s.Scope.Stuck)
	}
	t.row("targets to do", "", s.Scope.toDo()-s.Scope.Waiting)
	pages := "pages"
	if s.PagesRead() > s.Pages {
		pages = "pages of results"
	}
	t.row(pages, s.Pages, s.Scope.Pages)
	some("pages of indexes", s.IndexPages)
	some("indexes failed", s.IndexesFailed)
	some("details", s.Details)
	some("details failed", s.DetailsFailed)
	some("details missing", s.DetailsMissing)
	t.row("requests", s.Requests, "")
	t.row("new listings", s.New, "")
	some("changed listings", s.Changed)
	some("rejections (each page counts)", s.Rejected)
	some("dropped listings", s.Dropped)
	some("restored listings", s.Restored)
	t.row("new companies", s.Companies, "")
	some("cards left out (more than 1,000 on a page)", s.LeftOut)
	some("next links off the source, not followed", s.Elsewhere)
	t.row("time", took(s.Elapsed), "")
	s.speed(t)
	return t
}

// speed adds how many pages of every kind were read a second.
func (s *summary) speed(t *table) {
	if n := s.PagesRead(); s.Seconds > 0 && n > 0 {
		t.row("pages/s", fmt.Sprintf("%.1f", float64(n)/s.Seconds))
	}
}

// severalTable is the summary of a run over several sources, a line for each.
func severalTable(s summary) *table {
	header := []string{"source", "ended", "done", "to do", "failed", "pages", "requests", "new"}
	all := fatesOf(s.Stats)
	for _, part := range all {
		if part.n > 0 {
			header = append(header, part.name)
		}
	}
	total := sourceSummary{Source: "all", Outcome: s.Outcome, Scope: s.Scope, Stats: s.Stats}
	return tableOf(append(s.Sources, total), func(o sourceSummary) []any {
		row := []any{o.Source, o.Outcome, o.Scope.Done, o.Scope.toDo(), o.Scope.troubled(), o.Pages, o.Requests, o.New}
		for i, part := range fatesOf(o.Stats) {
			if all[i].n > 0 {
				row = append(row, part.n)
			}
		}
		return append(row, took(o.Elapsed))
	}, append(header, "time")...)
}

// detailTable is the summary of a run that fetches details alone.
func detailTable(s summary) *table {
	t := newTable("", "this run")
	t.row("details", s.Details)
	if s.DetailsFailed > 0 {
		t.row("details failed", s.DetailsFailed)
	}
	if s.DetailsMissing > 0 {
		t.row("details missing", s.DetailsMissing)
	}
	t.row("requests", s.Requests)
	t.row("time", took(s.Elapsed))
	s.speed(t)
	return t
}

// fate is how many listings something became of.
type fate struct {
	name string
	n    int64
}

// fatesOf are those that are told only where there are any. A rejection counts on each page that
// shows the listing; what `changes` calls rejected counts once.
func fatesOf(st crawl.Stats) []fate {
	return []fate{{"rejections", st.Rejected}, {"dropped", st.Dropped}, {"restored", st.Restored}}
}

// mostlyRejected reports whether a crawl was of little use: more than half of the
// listings that it was to keep break a rule of their source.
func mostlyRejected(st crawl.Stats) bool { return st.Rejected > st.Accepted }

// took writes how long something took; a short time with its tenths.
func took(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return lasting(d)
}
