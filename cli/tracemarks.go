package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

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
