package cli

import (
	"errors"
	"fmt"
	"strings"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// summary is what `run` ends with.
type summary struct {
	Outcome string `json:"outcome"` // done, interrupted, budget, error
	crawl.Stats
	Seconds float64           `json:"seconds"`
	Scope   checkpoint.Counts `json:"scope"` // the targets this run is about, as they stand now
	Error   string            `json:"error,omitempty"`
	Resume  string            `json:"resume,omitempty"` // the command that goes on
}

// report prints the summary and maps how the run ended to its exit code.
func (r *run) report(st crawl.Stats, runErr error) error {
	now, err := r.keeper.Count(r.c.Context, r.scope)
	if err != nil {
		now = r.before // the database is gone: say what is known
	}
	s := summary{Outcome: string(outcomeOf(runErr)), Stats: st, Seconds: st.Elapsed.Seconds(), Scope: now}
	if runErr != nil {
		s.Error = runErr.Error()
		s.Resume = r.p.commandLine()
	}
	if err := r.print(s); err != nil {
		return err
	}
	return r.ending(runErr, s)
}

func (r *run) ending(runErr error, s summary) error {
	troubled := s.Scope.Failed + s.Scope.Parked + s.Scope.Stuck
	switch {
	case errors.Is(runErr, crawl.ErrInterrupted):
		r.p.note("Interrupted. Everything committed is kept; go on with:\n  %s", s.Resume)
		return &exitError{code: ExitInterrupted}
	case errors.Is(runErr, crawl.ErrBudget):
		r.p.note("Stopped: %v. Go on with:\n  %s", runErr, s.Resume)
		return &exitError{code: ExitBudget}
	case runErr != nil:
		return runErr
	case troubled > 0:
		r.p.note("%s failed or parked: see `ypcrawl progress`, take them back with `ypcrawl reset`.", plural(troubled, "target"))
		return &exitError{code: ExitFailures}
	}
	return nil
}

func (r *run) print(s summary) error {
	if r.c.Bool("json") {
		return writeJSON(r.p.Out, s)
	}
	if r.c.Bool("quiet") {
		return nil
	}
	t := newTable("", "this run", "in all")
	t.row("targets done", s.Done, s.Scope.Done)
	t.row("targets failed", s.Failed, s.Scope.Failed)
	t.row("targets parked", s.Parked, s.Scope.Parked)
	if s.Scope.Stuck > 0 {
		t.row("targets stuck", "", s.Scope.Stuck)
	}
	t.row("targets to do", "", s.Scope.Planned+s.Scope.InProgress)
	t.row("pages", s.Pages, s.Scope.Pages)
	t.row("requests", s.Requests, "")
	t.row("listings new", s.New, "")
	t.row("listings changed", s.Changed, "")
	t.row("companies new", s.Companies, "")
	t.row("time", lasting(s.Elapsed), "")
	if s.Seconds > 0 {
		t.row("pages/s", fmt.Sprintf("%.1f", float64(s.Pages)/s.Seconds), "")
	}
	return t.flush(&r.p.Streams, r.p.Out)
}

// commandLine is what was typed, quoted for a shell, without secrets.
func (p *Program) commandLine() string {
	words := make([]string, len(p.args))
	for i, a := range p.args {
		words[i] = shellQuote(yp.Clean(redactURL(a)))
	}
	return strings.Join(words, " ")
}

// shellQuote quotes a word for sh unless it is plain.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
