package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// How much of a trace is shown.
const (
	traceAttempts = 10
	traceMarks    = 200
)

// traceModel is a target with its attempts.
type traceModel struct {
	ID       int64
	Title    string
	Next     string
	Facts    []report.Fact
	Earlier  int
	Attempts []traceAttempt
}

type traceAttempt struct {
	Number                        int
	ID, Started, Worker, Host     string
	From                          int
	Marks                         []traceMark
	Cut, Dropped                  int
	StepsLost, NoRequests, Latest bool
	End                           traceMark
	Class                         string // of its end
}

type traceMark struct{ Time, Text string }

func clockOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("15:04:05.000Z")
}

// trace shows what is known of a target and every step of its last attempts.
func (s *Server) trace() Part {
	return Part{Name: "trace", Asks: []string{"id"}, Read: func(ctx context.Context, q url.Values) (any, error) {
		id, err := strconv.ParseInt(q.Get("id"), 10, 64)
		if err != nil {
			return nil, &Refusal{http.StatusNotFound, fmt.Sprintf("There is no target %q.", q.Get("id")), "Choose one in the queue; `ypcrawl targets list` shows all."}
		}
		if id, err = s.cfg.Reader.FindTarget(ctx, strconv.FormatInt(id, 10), s.cfg.Scope.SourceID); err != nil {
			return nil, err
		}
		t, err := s.cfg.Reader.Trace(ctx, id, traceAttempts)
		if err != nil {
			return nil, err
		}
		return traceOf(t), nil
	}}
}

func traceOf(t *report.Trace) traceModel {
	m := traceModel{ID: t.ID, Title: t.Title(), Next: t.Next.Text(t.Now), Facts: t.Facts(t.Now), Earlier: t.Earlier}
	for i := len(t.Attempts) - 1; i >= 0; i-- { // the newest first
		m.Attempts = append(m.Attempts, attemptOf(t.Kind, &t.Attempts[i], i == len(t.Attempts)-1))
	}
	return m
}

func attemptOf(kind yp.Kind, a *report.TraceAttempt, latest bool) traceAttempt {
	out := traceAttempt{
		Number: a.Number, ID: fmt.Sprintf("attempt-%d", a.Token), Started: a.Started.Format("2006-01-02 15:04:05Z"), Worker: string(a.Name), Host: a.Host, From: a.PageBefore + 1,
		Dropped: a.Dropped, StepsLost: !a.HasSteps && !a.Running(), NoRequests: len(a.Requests) == 0, Latest: latest, End: traceMark{clockOf(a.Finished), a.EndText(kind)},
	}
	switch a.Ended {
	case "failed", "parked":
		out.Class = "bad"
	case "done":
		out.Class = "good"
	}
	marks := a.Marks()
	if out.Cut = max(0, len(marks)-traceMarks); out.Cut > 0 {
		marks = marks[out.Cut:]
	}
	for _, mark := range marks {
		out.Marks = append(out.Marks, traceMark{clockOf(mark.At), mark.Text})
	}
	return out
}
