package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ypcrawl/store/report"
)

// How much of a target's attempts is shown.
const (
	traceAttempts = 10
	traceSteps    = 200
)

// traceModel is a target with its attempts.
type traceModel struct {
	ID       any
	Title    string
	Next     string
	Facts    []report.Fact
	Earlier  int64
	Attempts []*traceAttempt // the newest first
}

type traceAttempt struct {
	Number any
	Token  any // of its claim
	Steps  []traceStep
	Cut    int
	Latest bool
	Class  string // of its end
	day    string // of its last step that has a time
}

type traceStep struct {
	At   *moment // nil = not known
	Day  string  // of the first step, and where it is another one
	Text string
}

// add adds a step.
func (a *traceAttempt) add(at any, what string) {
	step := traceStep{Text: what}
	if text, ok := at.(string); ok {
		step.At = parseMoment(text)
	}
	if step.At != nil && step.At.Day() != a.day {
		step.Day, a.day = step.At.Day(), step.At.Day()
	}
	a.Steps = append(a.Steps, step)
}

// End is its last step.
func (a *traceAttempt) End() traceStep { return a.Steps[len(a.Steps)-1] }

// trace shows what is known of a target and every step of its last attempts.
func (s *Server) trace() Part {
	return Part{Name: "trace", Asks: []string{"id"}, Read: func(ctx context.Context, k *report.Reader, q url.Values) (any, error) {
		id, err := strconv.ParseInt(q.Get("id"), 10, 64)
		if err != nil {
			return nil, &Refusal{
				http.StatusNotFound, fmt.Sprintf("There is no target %q.", q.Get("id")),
				"Choose one in the queue; `ypcrawl targets list` shows all.",
			}
		}
		if id, err = k.FindTarget(ctx, strconv.FormatInt(id, 10), s.cfg.Scope.SourceID); err != nil {
			return nil, err
		}
		r, err := k.Target(ctx, id, traceAttempts)
		if err != nil {
			return nil, err
		}
		if !s.inStates(r.Get("state")) {
			return nil, s.outOfScope("this target")
		}
		return traceOf(r, time.Now()), nil
	}}
}

func traceOf(r *report.Record, now time.Time) traceModel {
	m := traceModel{ID: r.Get("id"), Next: report.Cell(now, "next", r.Get("next")), Facts: r.Facts(now)}
	_, m.Title = r.Title()
	attempts, steps := r.Part("attempts"), r.Part("steps")
	m.Earlier = r.Int("attempts_kept") - int64(len(attempts.Rows))
	for i, row := range slices.Backward(attempts.Rows) {
		a := &traceAttempt{Number: attempts.Value(row, "attempt"), Token: attempts.Value(row, "claim_token"), Latest: i == len(attempts.Rows)-1}
		switch attempts.Value(row, "ended") {
		case "failed", "parked":
			a.Class = "bad"
		case "done":
			a.Class = "good"
		}
		for _, step := range steps.Rows {
			if steps.Value(step, "claim_token") == a.Token {
				a.add(steps.Value(step, "time"), report.Cell(now, "what", steps.Value(step, "what")))
			}
		}
		if a.Cut = max(0, len(a.Steps)-traceSteps); a.Cut > 0 {
			a.Steps = a.Steps[a.Cut:]
		}
		m.Attempts = append(m.Attempts, a)
	}
	return m
}
