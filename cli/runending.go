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
	"ypcrawl/yp"
)

// ending is how the crawl of one source ended, and what stands in the database then.
type ending struct {
	crawl.Result
	*sourceRun
	now     selected
	fresh   int64 // targets in trouble since the run began
	unknown bool  // now could not be read
}

// endings looks at every source. A database that can't be read tells nothing new.
func (r *run) endings(ctx context.Context, sources *crawl.Sources) []ending {
	ctx = context.WithoutCancel(ctx)
	all := make([]ending, len(r.sources))
	for i, result := range sources.Results() {
		e := ending{Result: result, sourceRun: r.sources[i], now: r.sources[i].before}
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
			e.now.Waiting, e.fresh, e.now.rests = t.Waiting, t.Since, t.Rests
		}
		if n, until, err := r.keeper.InGap(ctx, e.scope); err == nil {
			e.now.InGap, e.now.GapUntil = n, until
		}
		if e.Stats.Targets == 0 && e.Stats.Pages == 0 {
			next, err := r.keeper.NextDue(ctx, e.scope, r.began.AddDate(100, 0, 0))
			if err == nil && next.After(r.keeper.DB().Now()) {
				e.now.NextDue = next
			}
		}
		all[i] = e
	}
	return all
}

// closedCodes are the exit codes of a source that was left because it is closed, with work undone
// and with targets in trouble that are its own.
func closedCodes() map[checkpoint.Outcome]int {
	return map[checkpoint.Outcome]int{
		checkpoint.OutcomeLayout: ExitLayout, checkpoint.OutcomeNoProxies: ExitNoProxies, checkpoint.OutcomeBlocked: ExitBlocked,
	}
}

func (e ending) closed() bool { return closedCodes()[outcomeOf(e.Err)] != 0 }

// worst is the error that says how the run ended: that which ended all of it, or else
// of the sources that were left the one that most needs somebody to look.
func worst(runErr error, all []ending) error {
	for _, o := range []checkpoint.Outcome{
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

// mostNamed is how many sources are named one by one.
const mostNamed = 10

// noteClosed says which sources were left, and what opens them.
func (r *run) noteClosed(all []ending) {
	verb, named := "Stopped", 0
	if r.several() {
		verb = "Left"
	}
	for _, e := range all {
		if !e.closed() {
			continue
		}
		if named++; named > mostNamed {
			continue
		}
		text := yp.Printable(e.Err.Error())
		var blocked *crawl.BlockedError
		switch {
		case errors.As(e.Err, &blocked):
			text += ". " + r.opening(blocked)
		case errors.Is(e.Err, crawl.ErrLayout):
			text = fmt.Sprintf("%s%s.\nFix the definition%s, then: `ypcrawl sources enable %s`.",
				r.whose("source %s: ", e), text, r.mending(e.Source), e.Source)
		default:
			text = fmt.Sprintf("%s%s. `ypcrawl proxies list` shows why; add others or wait for the end of their cooldown, then type the same command again.",
				r.whose("source %s: ", e), text)
		}
		r.p.note("%s: %s", verb, text)
	}
	if named > mostNamed {
		r.p.note("Left: %s; `ypcrawl sources list` shows them.", plural(int64(named-mostNamed), "more source"))
	}
}

// mending tells where a source's definition is mended: one that the database holds is
// taken out of it and put back.
func (r *run) mending(name string) string {
	if isBuiltin(name) || !r.several() && r.c.String("source-file") != "" {
		return " (--source-file)"
	}
	return fmt.Sprintf(" (`ypcrawl sources show %s --yaml` prints it, `ypcrawl sources try FILE.yaml URL` says what it reads, `ypcrawl sources add FILE.yaml` replaces it)", name)
}

// opening is what opens a source again.
func (r *run) opening(b *crawl.BlockedError) string {
	switch {
	case b.Availability.State == store.SourceDisabled, b.Availability.Until.IsZero():
		return fmt.Sprintf("When its cause is fixed: `ypcrawl sources enable %s`.", b.Source)
	case b.Availability.State == store.SourceQuarantined:
		return "One page is requested then, to see whether it answers; `ypcrawl status` shows it. Type the same command again then, or keep it running with --watch."
	}
	return "Nothing is lost. Type the same command again then, or keep it running with --watch; `ypcrawl status` shows what it waits for."
}

// unfinished tells of what a run that came to its end could not do of the sources that are open,
// and reports whether something failed. What is tried again by itself, and what --fail-above
// allows, is not said with --quiet.
func (r *run) unfinished(open []ending) (failed bool) {
	var all selected
	var fresh, stuckIndexes, stuckDetails int64
	var st crawl.Stats
	for _, e := range open {
		all.add(e.now)
		fresh += e.fresh
		st.Add(e.Stats)
		if r.c.Bool("discover") || r.onlyIndexes {
			stuckIndexes += r.stuck(e.scope, yp.KindIndex)
		}
		if r.details().Wanted {
			stuckDetails += r.stuck(e.scope, yp.KindDetail)
		}
		failed = failed || mostlyRejected(e.Stats)
	}
	few := r.fewFailed(st, fresh)
	fails := func(mends bool, format string, args ...any) {
		if r.tell(mends || few, format, args...); !few {
			failed = true
		}
	}
	now := r.keeper.DB().Now()
	if all.InGap > 0 {
		r.tell(true, "%s due and waiting until %s: %s. Type the same command again then.", plural(all.InGap, "target"), moment(now, all.GapUntil), gapReason)
	}
	switch {
	case r.abandoned(open):
		failed = true
		r.p.note("Some targets are held by a run of another machine that seems to be dead: recover them with `ypcrawl recover --timeout 3`.")
	case all.Stuck > 0: // it is not done, and never will be by itself
		r.p.note("%s: `ypcrawl progress` shows why%s.", trouble(all), cure(now, all))
		failed = failed || !few
	case fresh > 0:
		fails(st.Failed+st.Parked == 0, "%s: `ypcrawl progress` shows why%s.", trouble(all), cure(now, all))
	case all.Failed+all.Waiting == 0 && all.Parked > 0:
		r.tell(true, "From earlier runs: %s. Dead letters are not tried again by themselves%s.", trouble(all), cure(now, all))
	case all.troubled()+all.Waiting > 0:
		r.tell(true, "From earlier runs: %s. `ypcrawl status` shows when those that failed are tried again%s.", trouble(all), cure(now, all))
	}
	if n := st.IndexesFailed + stuckIndexes; n > 0 { // nothing is planned in their states, or as it was before
		fails(false, "The index of cities of %s could not be read: `ypcrawl discover stats` shows why. Those that wait are read again automatically; `ypcrawl reset --kind index` plans them again at once.",
			plural(n, "state"))
	}
	if st.DetailsMissing > 0 {
		r.tell(true, "%s missing: the source no longer has it.", plural(st.DetailsMissing, "listing's page"))
	}
	switch {
	case stuckDetails > 0:
		r.p.note("%s stuck: their workers died too often. `ypcrawl reset --kind detail --status STUCK` plans them again.", plural(stuckDetails, "detail"))
		failed = failed || !few
	case st.DetailsFailed > 0:
		fails(st.DetailsFailed == st.DetailsWaiting, "%s failed: some are tried again automatically, `ypcrawl reset --kind detail` plans the others again; `ypcrawl details stats` counts both.", plural(st.DetailsFailed, "detail"))
	}
	return failed
}

// tell writes a line; what happens on any day is not written with --quiet.
func (r *run) tell(daily bool, format string, args ...any) {
	if !daily || !r.c.Bool("quiet") {
		r.p.note(format, args...)
	}
}

// fewFailed reports whether --fail-above was given, and no larger share of what the run
// attempted failed. Each target counts once, whatever its kind.
func (r *run) fewFailed(st crawl.Stats, fresh int64) bool {
	if !r.c.IsSet("fail-above") {
		return false
	}
	bad := fresh + st.IndexesFailed + st.DetailsFailed
	all := bad + st.Done + st.Indexes + st.Details + st.DetailsMissing
	return float64(bad) <= flagValue[float64](r.c, "fail-above")*float64(all)
}

// stuck counts the targets of a kind that are STUCK.
func (r *run) stuck(scope store.Scope, kind yp.Kind) int64 {
	scope.Kinds = []yp.Kind{kind}
	n, err := r.keeper.CountReset(context.WithoutCancel(r.c.Context), checkpoint.Reset{Scope: scope, Statuses: []yp.Status{yp.Stuck}})
	if err != nil {
		return 0
	}
	return int64(n)
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

// trouble counts what did not go well: "2 targets failed, 1 parked".
func trouble(s selected) string {
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
		return ", " + resetText([]statusCount{{s.Failed + s.Waiting, yp.Failed}, {s.Parked, yp.Parked}, {s.Stuck, yp.Stuck}}) + " plans them again"
	}
	text := fmt.Sprintf(". The next run tries %s again automatically, from %s on", plural(blocked, "blocked target"), yp.ClockTime(now, from))
	if s.Parked+s.Stuck > 0 {
		commands = append(commands, resetText([]statusCount{{s.Parked, yp.Parked}, {s.Stuck, yp.Stuck}}))
	}
	switch len(commands) {
	case 0:
		return text
	case 1:
		return text + "; " + commands[0] + " plans the others again"
	}
	return text + "; " + strings.Join(commands, " and ") + " plan the others again"
}

type statusCount struct {
	n      int64
	status yp.Status
}

// resetText is the command that takes targets of the statuses back that have any.
func resetText(all []statusCount) string {
	text := ""
	for _, part := range all {
		if part.n > 0 {
			text += " " + string(part.status)
		}
	}
	if text == " FAILED" { // which is what it takes by itself
		return "`ypcrawl reset`"
	}
	return "`ypcrawl reset --status" + text + "`"
}
