package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Targets and their attempts in words: commands and the page say the same.

// Title is a target in words.
func (t Target) Title() string {
	if t.Kind == yp.KindIndex {
		return "Index of " + t.State
	}
	return fmt.Sprintf("%s in %s, %s", t.Category, t.City, t.State)
}

// ErrorText is the code of a target's last error. One that is done because its site says
// that there is nothing has none.
func (t Target) ErrorText() string {
	if t.Status == yp.Done && t.ErrorCode == string(yp.CodeNoListings) {
		return ""
	}
	return t.ErrorCode
}

// Text says when a target is crawled next, why, and what would change that.
func (n Next) Text(now time.Time) string {
	text := ""
	switch n.When {
	case NextHeld:
		return "now claimed by " + string(n.Held)
	case NextNow:
		return "claimable now: " + n.Why
	case NextLater:
		text = "claimable at " + yp.Moment(now, n.At) + ": " + n.Why
	default:
		text = "never by itself: " + n.Why
	}
	if n.Remedy != "" {
		text += ". `ypcrawl " + n.Remedy + "` changes that"
	}
	return text
}

// Cause is an error's text without the address at its head: in a table of codes the cause
// counts, and it would be cut off.
func Cause(text string) string {
	if address, ok := strings.CutPrefix(text, "fetch http"); ok {
		if _, cause, ok := strings.Cut(address, ": "); ok {
			return strings.TrimPrefix(cause, string(yp.ClassUnknown)+": ") // what robots.txt forbids, say
		}
	}
	return text
}

// Running reports whether the attempt has not ended.
func (a *TraceAttempt) Running() bool { return a.Ended == endedRunning }

// endedRunning is how an attempt that is under way says it ended.
const endedRunning = "running"

// EndText says how an attempt ended, what it brought, and what follows.
func (a *TraceAttempt) EndText(kind yp.Kind) string {
	text := string(a.Ended)
	switch text {
	case endedRunning:
		return "still under way, or its process was killed and is not recovered yet"
	case "recovered":
		text = "recovered: its process had ended"
	case "released":
		text = "released"
	}
	switch {
	case text == string(store.EndedDone) && a.Code == string(yp.CodeNoListings):
		text += " (the site has no listings here)"
	case a.Code != "" && a.Code != string(yp.CodeSuccess):
		text += " " + a.Code
	}
	if a.DurationMS != nil {
		text += " after " + yp.Millis(a.DurationMS)
	}
	if a.Message != "" {
		text += ": " + Cause(a.Message)
	}
	if a.Pages != nil {
		text += "; " + yp.Plural(*a.Pages, "page")
	}
	if a.Listings != nil {
		text += ", " + foundText(*a.Listings, kind == yp.KindIndex)
	}
	if a.Changed != nil {
		text += fmt.Sprintf(", %s new or changed", yp.Thousands(*a.Changed))
	}
	if a.BackoffMS != nil && *a.BackoffMS > 0 && !a.Finished.IsZero() {
		again := a.Finished.Add(time.Duration(*a.BackoffMS) * time.Millisecond)
		text += "; next try at " + again.Format("2006-01-02 15:04:05Z")
	}
	return text
}

// TraceMark is a line of a trace: something that happened at a time.
type TraceMark struct {
	At   time.Time
	Text string
	page int
	rank int // order of what bears the same time and page
}

// Ranks: what comes of a page in the order in which it must have happened.
const (
	rankBegun = iota
	rankWaited
	rankAsked
	rankAnswered
	rankStep
)

// Marks merges the steps of an attempt with its requests, by time. A step without a time
// that can be read stands at the attempt's start.
func (a *TraceAttempt) Marks() []TraceMark {
	marks := []TraceMark{{At: a.Started, rank: rankBegun, Text: "claimed"}}
	for _, s := range a.Steps {
		if s.Event == "claimed" || s.Event == "ended" { // the attempt says as much itself
			continue
		}
		m := TraceMark{a.Started, s.Event, s.Page, rankStep}
		if at, err := time.Parse(time.RFC3339, s.At); err == nil {
			m.At = at
		}
		if s.Page > 0 {
			m.Text = fmt.Sprintf("page %d %s", s.Page, s.Event)
		}
		if s.Detail != "" {
			m.Text += ": " + s.Detail
		}
		marks = append(marks, m)
	}
	for i := range a.Requests {
		r := &a.Requests[i]
		if r.WaitedMS > 0 {
			text := strings.TrimSuffix("waited "+yp.Millis(&r.WaitedMS)+": "+r.WaitReason, ": ")
			marks = append(marks, TraceMark{r.Started, text, r.Page, rankWaited})
		}
		if r.Class == "rate_limited" { // our own deferral: nothing was asked
			text := "not asked yet: " + cmp.Or(r.WaitReason, "the host's turn has not come")
			marks = append(marks, TraceMark{r.Started, text, r.Page, rankAsked})
			continue
		}
		marks = append(marks,
			TraceMark{r.Started, askedText(r), r.Page, rankAsked},
			TraceMark{r.Finished, answeredText(r), r.Page, rankAnswered})
	}
	slices.SortStableFunc(marks, func(x, y TraceMark) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.page, y.page), cmp.Compare(x.rank, y.rank))
	})
	return marks
}

func askedText(r *TraceRequest) string {
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

func answeredText(r *TraceRequest) string {
	text := "no answer"
	if r.HTTPStatus > 0 {
		text = fmt.Sprintf("answered %d", r.HTTPStatus)
	}
	text += " in " + yp.Millis(&r.LatencyMS)
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
		return yp.Plural(n, "city")
	}
	return yp.Plural(n, "listing")
}
