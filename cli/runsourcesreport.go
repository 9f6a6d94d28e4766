package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// ending is how the crawl of one source ended, and what stands in the database then.
type ending struct {
	crawl.Result
	before, now    report.Counts
	waiting, fresh int64 // targets that wait for a short backoff; in trouble since the run began
	rests          []report.Rest
	unknown        bool  // now could not be read
	inGap          int64 // targets that are due and wait for the gap between two crawls
	gapUntil       time.Time
	next           time.Time // when something falls due, if nothing was
}

// endings looks at every source. A database that is gone tells nothing new.
func (r *run) endings(ctx context.Context, fleet *crawl.Sources) []ending {
	ctx = context.WithoutCancel(ctx)
	all := make([]ending, len(r.sources))
	for i, result := range fleet.Results() {
		c, e := r.sources[i], ending{Result: result, before: r.sources[i].before, now: r.sources[i].before}
		if r.onlyDetails { // what stands of targets is no business of this run
			all[i] = e
			continue
		}
		if now, err := r.keeper.Count(ctx, c.scope); err == nil {
			e.now = now
		} else {
			e.unknown = true
		}
		if t, err := r.keeper.Trouble(ctx, c.scope, r.began); err == nil {
			e.waiting, e.fresh, e.rests = t.Waiting, t.Since, t.Rests
		}
		if n, until, err := r.keeper.InGap(ctx, c.scope); err == nil {
			e.inGap, e.gapUntil = n, until
		}
		if e.Stats.Targets == 0 && e.Stats.Pages == 0 {
			if next, err := r.keeper.NextDue(ctx, c.scope, r.began.AddDate(100, 0, 0)); err == nil && next.After(r.keeper.DB().Now()) {
				e.next = next
			}
		}
		all[i] = e
	}
	return all
}

// closed reports whether the source was left because it is closed: with work undone,
// and with targets in trouble that are its own.
func (e ending) closed() bool {
	o := outcomeOf(e.Err)
	return o == checkpoint.OutcomeLayout || o == checkpoint.OutcomeNoProxies || o == checkpoint.OutcomeBlocked
}

// worst is the error that says how the run ended: that which ended all of it, or else
// of the sources that were left the one that most needs somebody to look.
func worst(runErr error, all []ending) error {
	if runErr != nil {
		return runErr
	}
	for _, o := range []checkpoint.Outcome{checkpoint.OutcomeLayout, checkpoint.OutcomeNoProxies, checkpoint.OutcomeBlocked} {
		for _, e := range all {
			if e.Err != nil && outcomeOf(e.Err) == o {
				return e.Err
			}
		}
	}
	return nil
}

// sourceSummary is one source of a summary.
type sourceSummary struct {
	Source  string `json:"source"`
	Outcome string `json:"outcome"`
	crawl.Stats
	Seconds float64  `json:"seconds"` // until it ended
	Scope   selected `json:"scope"`
	Error   string   `json:"error,omitempty"`

	unexplained bool // troubled, and not because it is closed
}

func sourceSummaryOf(e ending) sourceSummary {
	s := sourceSummary{
		Source: e.Source, Outcome: string(outcomeOf(e.Err)), Stats: e.Stats, Seconds: e.Stats.Elapsed.Seconds(), Scope: selectedOf(e.now),
	}
	s.Scope.Waiting, s.Scope.InGap, s.Scope.GapUntil, s.Scope.NextDue = e.waiting, e.inGap, e.gapUntil, e.next
	s.unexplained = !e.closed() && e.fresh+e.now.Stuck > 0
	if e.Err != nil {
		s.Error = e.Err.Error()
	}
	return s
}

// printSources is the table of a run over several sources.
func (r *run) printSources(s summary) error {
	header := []string{"source", "ended", "done", "to do", "failed", "pages", "requests", "new"}
	all := fatesOf(s.Stats)
	for _, part := range all {
		if part.n > 0 {
			header = append(header, part.name)
		}
	}
	t := newTable(append(header, "time")...)
	add := func(name, outcome string, in selected, st crawl.Stats) {
		row := []any{name, outcome, in.Done, in.toDo(), in.troubled(), st.Pages, st.Requests, st.New}
		for i, part := range fatesOf(st) {
			if all[i].n > 0 {
				row = append(row, part.n)
			}
		}
		t.row(append(row, took(st.Elapsed))...)
	}
	for _, o := range s.Sources {
		add(o.Source, o.Outcome, o.Scope, o.Stats)
	}
	add("all", s.Outcome, s.Scope, s.Stats)
	return t.flush(&r.p.Streams, r.p.Out)
}

// mostNamed is how many sources are told of one by one.
const mostNamed = 10

// sourcesEnding maps how a run over several sources ended to its exit code: what failed
// for another reason than a closed source comes before the closed ones.
func (r *run) sourcesEnding(s summary, all []ending) error {
	closed := r.noteClosed(all)
	var rest summary // of the sources that are open
	rejected := false
	for i, e := range all {
		if e.closed() {
			continue
		}
		o := s.Sources[i].Scope
		rest.Scope.Failed += o.Failed
		rest.Scope.Parked += o.Parked
		rest.Scope.Stuck += o.Stuck
		rest.Scope.Waiting += o.Waiting
		rest.Scope.rests = append(rest.Scope.rests, e.rests...)
		rest.fresh += e.fresh
		rejected = rejected || mostlyRejected(e.Stats)
	}
	if err := cmp.Or(r.remainder(rest), remainderOfListings(rejected)); err != nil || closed == nil {
		return err
	}
	var blocked *crawl.BlockedError
	switch {
	case errors.Is(closed, crawl.ErrLayout):
		return &exitError{code: ExitLayout}
	case errors.Is(closed, crawl.ErrNoProxies):
		return &exitError{code: ExitNoProxies}
	case errors.As(closed, &blocked):
		return &exitError{code: ExitBlocked}
	}
	return closed
}

// noteClosed says which sources were left, and what opens them; it returns the worst.
func (r *run) noteClosed(all []ending) error {
	told := 0
	for _, e := range all {
		if !e.closed() {
			continue
		}
		if told++; told <= mostNamed {
			r.p.note("Left: %s", r.closedText(e))
		}
	}
	if told > mostNamed {
		r.p.note("Left: %s more; `ypcrawl sources list` shows them.", plural(int64(told-mostNamed), "source"))
	}
	return worst(nil, all)
}

func (r *run) closedText(e ending) string {
	text := yp.Printable(e.Err.Error())
	var blocked *crawl.BlockedError
	switch {
	case errors.As(e.Err, &blocked):
		return text + ". " + r.opening(blocked)
	case errors.Is(e.Err, crawl.ErrLayout):
		return fmt.Sprintf("source %s: %s. `ypcrawl sources samples %s` has its pages; when its definition is mended%s: `ypcrawl sources enable %s`.",
			e.Source, text, e.Source, r.mending(e.Source), e.Source)
	}
	return fmt.Sprintf("source %s: %s. `ypcrawl proxies list` tells why.", e.Source, text)
}
