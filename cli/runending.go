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
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// ending is how the crawl of one source ended, and what is in the database then.
type ending struct {
	crawl.Result
	*sourceRun
	now     selected
	trouble report.Trouble // of the targets of every kind that the run was about
	unknown bool           // now could not be read
	is      store.Availability
}

// endings looks at every source. A database that can't be read tells nothing new.
func (r *run) endings(ctx context.Context, sources *crawl.Sources) []ending {
	ctx = context.WithoutCancel(ctx)
	all := make([]ending, len(r.sources))
	for i, result := range sources.Results() {
		e := ending{Result: result, sourceRun: r.sources[i], now: r.sources[i].before}
		scope := e.scope
		scope.Kinds = r.kinds(e.sourceRun)
		if t, err := r.keeper.Trouble(ctx, scope, r.began); err == nil {
			e.trouble = t
		}
		if is, err := r.keeper.Availability(ctx, e.scope.SourceID); err == nil {
			e.is = is
		}
		if r.onlyDetails || r.onlyIndexes { // what stands of targets is no business of this run
			all[i] = e
			continue
		}
		if now, err := r.keeper.Count(ctx, e.scope); err == nil {
			e.now = selectedOf(now)
		} else {
			e.unknown = true
		}
		if t, err := r.keeper.Trouble(ctx, e.scope, r.began); err == nil {
			e.now.Waiting = t.Waiting
		}
		if e.Stats.Targets == 0 && e.Stats.Pages == 0 {
			next, err := r.keeper.NextDue(ctx, e.scope, r.began.AddDate(100, 0, 0))
			if !e.open() && next.Before(e.is.Until) {
				next = e.is.Until
			}
			if err == nil && next.After(r.keeper.DB().Now()) && (e.open() || !e.is.Until.IsZero()) {
				e.now.NextDue.Time = next
			}
		}
		all[i] = e
	}
	return all
}

// closedCodes are the exit codes of a source that was left because it is closed, with work undone
// and with targets in trouble that are its own.
func closedCodes() map[checkpoint.RunOutcome]int {
	return map[checkpoint.RunOutcome]int{
		checkpoint.OutcomeLayout: ExitLayout, checkpoint.OutcomeNoProxies: ExitNoProxies, checkpoint.OutcomeBlocked: ExitBlocked,
	}
}

// open reports whether the source may be asked, as far as is known. A host that holds is no matter of more than minutes, as is the
// wait of a target.
func (e ending) open() bool {
	return e.is.State == "" || e.is.Open() || e.is.State == store.SourceHeld
}

func (e ending) closed() bool { return closedCodes()[outcomeOf(e.Err)] != 0 }

// worst is the error that says how the run ended: that which ended all of it, or else
// of the sources that were left the one that most needs somebody to look.
func worst(runErr error, all []ending) error {
	for _, o := range []checkpoint.RunOutcome{
		checkpoint.OutcomeError, checkpoint.OutcomeLayout, checkpoint.OutcomeNoProxies, checkpoint.OutcomeBlocked,
	} {
		for _, e := range all {
			if e.Err != nil && outcomeOf(e.Err) == o {
				runErr = cmp.Or(runErr, e.Err)
			}
		}
	}
	return runErr
}

// whose puts in the name of a source where there may be others.
func (r *run) whose(format string, e ending) string {
	if !r.several() {
		return ""
	}
	return fmt.Sprintf(format, yp.Printable(e.Source))
}

// noteClosed says which sources were left, and what opens them.
func (r *run) noteClosed(all []ending) {
	verb := "Stopped"
	if r.several() {
		verb = "Stopped early"
	}
	for _, e := range all {
		if !e.closed() {
			continue
		}
		text := yp.Printable(e.Err.Error())
		var blocked *crawl.BlockedError
		switch {
		case errors.As(e.Err, &blocked):
			text += ". " + r.opening(blocked)
		case errors.Is(e.Err, crawl.ErrLayout):
			text = fmt.Sprintf("%s%s.\nFix the definition (`ypcrawl sources show %s` prints it, `ypcrawl sources try FILE.yaml URL` shows what it reads), then run `ypcrawl sources enable %[3]s`.",
				r.whose("source %s: ", e), text, e.Source)
		default:
			text = fmt.Sprintf("%s%s. `ypcrawl proxies list` shows why. Add others or wait until their cooldown is over, then run this again.",
				r.whose("source %s: ", e), text)
		}
		r.p.Note("%s: %s", verb, text)
	}
}

// noteUnread says of which sources more than a tenth of the cards could not be read, for which reason most of them,
// and what shows them.
func (r *run) noteUnread(all []ending) {
	for _, e := range all {
		if !e.Stats.MuchUnread() {
			continue
		}
		n := e.Stats.Unread()
		n[site.PerhapsAds] = 0
		r.p.Note("%s of %s%s could not be read (%s). The log names the pages; `ypcrawl sources try FILE.yaml URL` lists the cards of a page that can't be read, and why; `ypcrawl sources show %s` prints the definition.",
			thousands(e.Stats.Bad-e.Stats.PerhapsAds), plural(e.Stats.Cards, "card"), r.whose(" of %s", e), mostText(&n), e.Source)
		if e.UnreadCard != "" {
			r.p.Note("The first one with %s: %s.", n.Most(), yp.Printable(e.UnreadCard))
		}
	}
}

// mostText is the reason of most cards: "9 no id, 2 for other reasons".
func mostText(n *site.UnreadCounts) string {
	most, others := n.Most(), 0
	for why, count := range n {
		if site.Unread(why) != most {
			others += count
		}
	}
	text := thousands(int64(n[most])) + " " + most.String()
	if others > 0 {
		text += fmt.Sprintf(", %s for other reasons", thousands(int64(others)))
	}
	return text
}

// opening is what opens a source again.
func (r *run) opening(b *crawl.BlockedError) string {
	switch {
	case b.Availability.State == store.SourceDisabled, b.Availability.Code == yp.CodeAuthFailed, b.Availability.Until.IsZero():
		return fmt.Sprintf("Once the cause is fixed, run `ypcrawl sources enable %s`.", b.Source)
	case b.Availability.State == store.SourceQuarantined:
		return "One page is requested then as a test; `ypcrawl status` shows the result. Run this again then, or keep it running with --watch."
	}
	return "Nothing is lost. Run this again then, or keep it running with --watch. `ypcrawl status` shows what it waits for."
}

// unfinished tells of what a run that came to its end could not do of the sources that are open,
// and reports whether something failed. What is tried again by itself, and what --fail-above
// allows, is not said with --quiet.
func (r *run) unfinished(open []ending) (failed bool) {
	var all report.Trouble
	var st crawl.Stats
	for _, e := range open {
		r.notePaused(e)
		if !e.open() {
			e.trouble.Waiting = 0 // it is not tried again before the source opens
		}
		all.Add(e.trouble)
		st.Add(e.Stats)
		failed = failed || mostlyRejected(e.Stats) || e.Stats.MuchUnread()
	}
	few := r.fewFailed(st, all.Since)
	if all.Gap > 0 {
		nothing := r.c.IsSet("recrawl") && idleRun(st)
		failed = failed || nothing
		r.tell(!nothing, "%s. Run this again at %s.", gapText(all),
			yp.ClockTime(r.keeper.DB().Now(), all.GapOver.Add(time.Second-time.Nanosecond).Truncate(time.Second)))
	}
	if st.DetailsMissing > 0 {
		r.tell(true, "%s no longer on the site.", wereOf(st.DetailsMissing, "own page", "is", "are"))
	}
	text, daily := all.Text(), all.Stuck == 0 && (few || st.Failed+st.Parked+st.IndexesFailed+st.DetailsFailed == st.DetailsWaiting)
	if all.Since == 0 && all.Stuck == 0 {
		text, daily = "From earlier runs: "+text, true
	}
	switch remedy := all.Remedy(); {
	case r.abandoned(open):
		r.p.Note("Some searches are held by a run on another machine that seems to be dead. Take them back with `ypcrawl recover --timeout 3`.")
		return true
	case all.Text() == "":
	case remedy != "":
		r.tell(daily, "%s. `ypcrawl progress` shows why. `ypcrawl %s` plans again what is not retried automatically.", text, remedy)
	default:
		r.tell(daily, "%s. `ypcrawl progress` shows why. The next run retries automatically.", text)
	}
	return failed || all.Since+all.Stuck > 0 && !few
}

// notePaused says of a source that was not left because it is closed, and is, what closes it and what opens it: its targets wait
// for that, and not for their own time. Of an earlier run's pause nothing is said with --quiet.
func (r *run) notePaused(e ending) {
	if e.open() {
		return
	}
	waiting := ""
	if n := e.trouble.Waiting; n > 0 {
		waiting = fmt.Sprintf("; %s for it", wereOf(n, e.trouble.Noun(), "waits", "wait"))
	}
	r.tell(e.trouble.Since == 0, "Source %s is %s%s. %s", yp.Printable(e.Source),
		yp.Printable(report.ClosedText(r.keeper.DB().Now(), e.is)), waiting,
		r.opening(&crawl.BlockedError{Source: e.Source, Availability: e.is}))
}

// tell writes a line; what happens on any day is not written with --quiet.
func (r *run) tell(daily bool, format string, args ...any) {
	if !daily || !r.c.Bool("quiet") {
		r.p.Note(format, args...)
	}
}

// fewFailed reports whether --fail-above was given, and no larger share of what the run
// attempted failed. Each target counts once, whatever its kind.
func (r *run) fewFailed(st crawl.Stats, bad int64) bool {
	all := bad + st.Done + st.Indexes + st.Details + st.DetailsMissing
	return r.c.IsSet("fail-above") && float64(bad) <= frame.Value[float64](r.c, "fail-above")*float64(all)
}

// abandoned reports whether targets of this run's scope are held by a run that
// no living process is seen behind: they are not done, and nobody does them.
func (r *run) abandoned(open []ending) bool {
	scope := open[0].scope
	if len(open) > 1 {
		scope.SourceID = 0
	}
	dead, err := r.keeper.Abandoned(context.WithoutCancel(r.c.Context), scope)
	return err == nil && dead
}

// summary is what `run` ends with.
type summary struct {
	Outcome string `json:"outcome"` // done, interrupted, budget, blocked, no_proxies, layout, error
	crawl.Stats
	Seconds  float64   `json:"seconds"`
	Scope    selected  `json:"scope"`
	Database contained `json:"database"`
	Error    string    `json:"error,omitempty"`
	Resume   string    `json:"resume,omitempty"` // the command that goes on

	ResumeWithout []string `json:"resume_without,omitempty"` // flags whose values are secret and left out there

	Sources []sourceSummary `json:"sources,omitempty"` // where several were asked for
	trouble report.Trouble
	closed  []string // which sources are closed that were not left because of it: "the source is paused until 14:30:00 UTC: HTTP 401"

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

	NextDue yp.Stamp `json:"next_due"` // when the first target falls due, of a run that had nothing to do
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
	if s.Targets > 0 {
		s.Percent = 100 * float64(s.Done+s.Parked) / float64(s.Targets)
	}
	if s.NextDue.IsZero() || !o.NextDue.IsZero() && o.NextDue.Before(s.NextDue.Time) {
		s.NextDue = o.NextDue
	}
}

func (s selected) toDo() int64     { return s.Planned + s.InProgress }
func (s selected) troubled() int64 { return s.Failed + s.Parked + s.Stuck }

// contained is all that the database holds, of this run and of others.
type contained struct {
	Path      string `json:"path"`
	Listings  int64  `json:"listings"`         // open and dropped ones
	Dropped   int64  `json:"listings_dropped"` // of them: their source no longer shows them
	Companies int64  `json:"companies"`
}

// report prints the summary and maps how the run ended to its exit code. An interrupted run is
// still to be told where it stands; one whose database can't be read tells what is known.
func (r *run) report(st crawl.Stats, runErr error, ended []ending) error {
	left := worst(runErr, ended)
	s := summary{Outcome: string(outcomeOf(left)), Stats: st, Seconds: st.Elapsed.Seconds()}
	for _, e := range ended {
		s.Scope.add(e.now)
		if !e.open() && !e.closed() {
			s.closed = append(s.closed, cmp.Or(r.whose("source %s", e), "the source")+" is "+report.ClosedText(r.keeper.DB().Now(), e.is))
			e.trouble.Waiting = 0
		}
		s.trouble.Add(e.trouble)
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
		s.Database.Listings, s.Database.Dropped, s.Database.Companies = all.Listings, all.Dropped, *all.Companies
	}
	r.figures(&s)
	if left != nil {
		s.Error = left.Error()
		s.Resume, s.ResumeWithout = r.p.resumeLine()
	}
	r.sayFacts(s)
	r.tellEnd(r.c.Context, left, st, ended)
	if err := r.print(s, left); err != nil {
		return errors.Join(err, runErr)
	}
	for _, e := range ended {
		if mostlyRejected(e.Stats) {
			r.p.Note("%s of %s%s were rejected because they break a rule of their source. The table staged_listings has them with the reasons; `ypcrawl changes --since 30d --kind rejected` shows when.",
				thousands(e.Stats.Rejected), plural(e.Stats.Rejected+e.Stats.Accepted, "listing"), r.whose(" of %s", e))
		}
	}
	r.noteUnread(ended)
	switch code := closedCodes()[outcomeOf(left)]; {
	case errors.Is(left, crawl.ErrInterrupted):
		r.p.Note("Interrupted. Everything committed is kept. Continue with:\n%s", r.resumeText())
		return &exitError{code: ExitInterrupted}
	case errors.Is(left, crawl.ErrBudget):
		r.tell(true, "Stopped: %v. Continue with:\n%s", left, r.resumeText())
		return &exitError{code: ExitBudget}
	case (errors.Is(left, crawl.ErrElsewhere) || errors.Is(left, crawl.ErrMissing)) && st.PagesRead() > 0:
		r.p.Note("Stopped: %s.", yp.Printable(left.Error()))
		return &exitError{code: ExitFailures}
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

// sayFacts keeps the summary of a run for its last ping.
func (r *run) sayFacts(s summary) {
	r.out.say("outcome: %s", s.Outcome)
	for _, row := range runTable(s, r.onlyDetails || r.onlyIndexes).Rows {
		of := ""
		if len(row) > 2 && row[2] != "" {
			of = " (of the selection: " + row[2] + ")"
		}
		r.out.say("%s: %s%s", row[0], orDash(row[1]), of)
	}
	if s.Error != "" {
		r.out.say("error: %s", r.p.HideAll(s.Error))
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
		idle = []string{"No listing's own page is due right now."}
	case left == nil && !r.onlyIndexes && idleRun(s.Stats):
		idle = idleText(r.keeper.DB().Now(), s.Scope, s.trouble, s.closed)
	}
	return r.p.Tell(r.c, s, func(w *frame.Sections) {
		switch {
		case idle != nil:
			w.More(idle...)
		case r.onlyDetails:
			w.Table(runTable(s, true))
		case r.onlyIndexes:
			w.Keep(r.showIndexes())
		case r.several():
			w.Part(time.Time{}, severalTable(s))
		default:
			w.Table(runTable(s, false))
		}
		if s.Coverage != nil && s.Coverage.All() > 0 {
			w.More(s.Coverage.Line("this selection"))
			w.More(report.PassLines(slices.DeleteFunc(slices.Clone(s.Passes), func(p report.Pass) bool { return p.Runs == 1 && p.Failed == 0 }))...)
		}
		dropped := ""
		if n := s.Database.Dropped; n > 0 {
			dropped = fmt.Sprintf(" (%s of them closed)", thousands(n))
		}
		w.More(fmt.Sprintf("%s holds %s%s of %s.", s.Database.Path, plural(s.Database.Listings, "listing"), dropped,
			plural(s.Database.Companies, "company")))
	})
}

// runTable is the summary of a run over one source, or of one that fetches details alone. Most lines are there only where there is
// something to say.
func runTable(s summary, onlyDetails bool) *frame.Table {
	t := frame.NewTable("", "this run", "this selection")
	line := func(always bool, name string, n int64, all ...any) {
		if always || n > 0 || len(all) > 0 && all[0] != int64(0) {
			t.Row(append([]any{name, n}, all...)...)
		}
	}
	count := func(always bool, name string, n int64) { // of the selection alone
		if always || n > 0 {
			t.Row(name, "", n)
		}
	}
	searches, pages := !onlyDetails, "pages"
	if s.PagesRead() > s.Pages {
		pages = "pages of results"
	}
	if searches {
		line(true, "searches done", s.Done, s.Scope.Done)
		line(false, "searches without listings", s.Empty) // of those that are done
		line(false, "searches to retry", s.Stats.Waiting, s.Scope.Waiting)
		line(false, "searches failed", s.Failed, s.Scope.Failed)
		line(false, "searches given up", s.Parked, s.Scope.Parked)
		count(false, "searches stuck", s.Scope.Stuck)
		count(true, "searches to do", s.Scope.toDo()-s.Scope.Waiting)
		line(true, pages, s.Pages, s.Scope.Pages)
	}
	line(false, "pages of indexes", s.IndexPages)
	line(false, "indexes failed", s.IndexesFailed)
	line(onlyDetails, "own pages", s.Details)
	line(false, "own pages failed", s.DetailsFailed)
	line(false, "own pages missing", s.DetailsMissing)
	line(true, "requests", s.Requests)
	line(searches, "new listings", s.New)
	line(false, "changed listings", s.Changed)
	unread := s.Unread()
	line(false, "unreadable cards ("+unread.Text()+")", s.Bad)
	line(false, "rejections (once per page)", s.Rejected)
	line(false, "closed listings", s.Dropped)
	line(false, "restored listings", s.Restored)
	line(searches, "new companies", s.Companies)
	line(false, "cards left out (over 1,000 on a page)", s.LeftOut)
	line(false, "links to other sites, not followed", s.Elsewhere)
	t.Row("time", yp.Millis(s.Elapsed.Milliseconds()))
	if n := s.PagesRead(); s.Seconds > 0 && n > 0 {
		t.Row("pages/s", fmt.Sprintf("%.1f", float64(n)/s.Seconds))
	}
	if onlyDetails {
		t.Remove(2) // of the selection
	}
	return t
}

// severalTable is the summary of a run over several sources, a line for each. A rejection counts on each page that shows the listing;
// what `changes` calls rejected counts once.
func severalTable(s summary) *report.Table {
	t := &report.Table{Part: report.Part{Show: "source ended done empty to_try_again to_do failed pages requests new unreadable rejections dropped restored time_ms", Zeros: "empty to_try_again unreadable rejections dropped restored"}}
	t.Columns = strings.Fields(t.Show)
	for _, o := range append(s.Sources, sourceSummary{Source: "all", Outcome: s.Outcome, Scope: s.Scope, Stats: s.Stats}) {
		t.Rows = append(t.Rows, []any{
			o.Source, o.Outcome, o.Scope.Done, o.Empty, o.Scope.Waiting, o.Scope.toDo() - o.Scope.Waiting, o.Scope.troubled(),
			o.Pages, o.Requests, o.New, o.Bad, o.Rejected, o.Dropped, o.Restored, o.Elapsed.Milliseconds(),
		})
	}
	return t
}

// mostlyRejected reports whether a crawl was of little use: more than half of the
// listings that it was to keep break a rule of their source.
func mostlyRejected(st crawl.Stats) bool { return st.Rejected > st.Accepted }
