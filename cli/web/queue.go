package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// How many rows of the queue are shown: of each group when all are, of one, and at most.
const (
	queueGlance = 8
	queueRows   = 100
	queueMost   = 1000
)

// queueAsks are the parameters of the queue: part is a report.QueueGroup.
func queueAsks(more ...string) []string {
	return append([]string{"part", "kind", "state", "status", "error"}, more...)
}

// queueViews are the queue and a target of it.
func (s *Server) queueViews() []View {
	return []View{
		s.view("/queue", "Queue", "Queue", s.queueForm(), s.queueGroups(), s.queue()),
		s.view("/targets/{id}", "", "Target", s.trace()),
	}
}

// queueFilter reads the filters; a word that means nothing is refused.
func (s *Server) queueFilter(q url.Values) (group report.QueueGroup, f report.Filter, err error) {
	f.Scope = s.cfg.Scope
	wrong := func(err error) (report.QueueGroup, report.Filter, error) {
		return "", f, &Refusal{http.StatusNotFound, "The queue has no such filter: " + err.Error() + ".", "Choose from the lists above the queue."}
	}
	if word := q.Get("part"); word != "" {
		if group, err = report.ParseQueueGroup(word); err != nil {
			return wrong(err)
		}
	}
	if word := q.Get("kind"); word != "" {
		kind, err := yp.ParseKind(word)
		if err != nil {
			return wrong(err)
		}
		f.Scope.Kinds = []yp.Kind{kind}
	}
	if word := q.Get("status"); word != "" {
		status, err := yp.ParseStatus(word)
		if err != nil {
			return wrong(err)
		}
		f.Statuses = []yp.Status{status}
	}
	if word := q.Get("error"); word != "" {
		if f.Error, err = yp.ParseErrorCode(word); err != nil {
			return wrong(err)
		}
	}
	if word := strings.ToUpper(strings.TrimSpace(q.Get("state"))); word != "" {
		if st, ok := yp.LookupState(word); ok {
			word = st.Code
		}
		if len(word) != 2 {
			return wrong(fmt.Errorf("%q is not a state", word))
		}
		f.Scope.States = []string{word}
	}
	return group, f, nil
}

// queueLink is the address of the queue with the same filters and others.
func queueLink(q url.Values, pairs ...string) string {
	to := url.Values{}
	for _, name := range queueAsks() {
		if v := q.Get(name); v != "" {
			to.Set(name, v)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if to.Del(pairs[i]); pairs[i+1] != "" {
			to.Set(pairs[i], pairs[i+1])
		}
	}
	if len(to) == 0 {
		return "/queue"
	}
	return "/queue?" + to.Encode()
}

// pick is a choice of a form.
type pick struct {
	Value, Word string
	Here        bool
}

func picks[T ~string](all []T, here, none string) []pick {
	out := []pick{{"", none, here == ""}}
	for _, v := range all {
		out = append(out, pick{string(v), strings.ToLower(strings.ReplaceAll(string(v), "_", " ")), string(v) == here})
	}
	return out
}

// queueForm are the filters. It changes with its address alone, so that nothing replaces a
// form in which somebody chooses.
func (s *Server) queueForm() Part {
	return Part{Name: "queueform", Asks: queueAsks(), Read: func(_ context.Context, q url.Values) (any, error) {
		group, f, err := s.queueFilter(q)
		if err != nil {
			return nil, err
		}
		var codes []yp.ErrorCode
		for _, code := range yp.ErrorCodes() {
			if code != yp.CodeSuccess {
				codes = append(codes, code)
			}
		}
		kind, status := "", ""
		if len(f.Scope.Kinds) > 0 {
			kind = string(f.Scope.Kinds[0])
		}
		if len(f.Statuses) > 0 {
			status = string(f.Statuses[0])
		}
		return map[string]any{
			"Part": string(group), "State": q.Get("state"), "Filtered": queueLink(q) != queueLink(nil, "part", string(group)), "Plain": queueLink(nil, "part", string(group)),
			"Kinds": picks(yp.Kinds(), kind, "all kinds"), "Statuses": picks(yp.Statuses(), status, "any status"), "Codes": picks(codes, string(f.Error), "any last error"),
		}, nil
	}}
}

// queueGroup is a group of the queue as a link with a count.
type queueGroup struct {
	Word, About, Path, Count string
	Here                     bool
}

func groupAbout(g report.QueueGroup) string {
	return map[report.QueueGroup]string{
		report.QueueRunning: "claimed by a worker", report.QueueDue: "may be claimed now", report.QueueHeld: "due, but their source is closed",
		report.QueueResting: "waiting after a failure, until the time shown", report.QueueScheduled: "done, and due again at the time shown",
		report.QueuePaused: "paused or disabled by an operator", report.QueueDead: "no run crawls them again automatically",
	}[g]
}

// queueGroups counts the groups.
func (s *Server) queueGroups() Part {
	return Part{Name: "queuegroups", Asks: queueAsks(), Read: func(ctx context.Context, q url.Values) (any, error) {
		group, f, err := s.queueFilter(q)
		if err != nil {
			return nil, err
		}
		counts, err := s.cfg.Reader.QueueCounts(ctx, f)
		if err != nil {
			return nil, err
		}
		all := []queueGroup{{Word: "at a glance", Path: queueLink(q, "part", ""), Here: group == ""}}
		for _, c := range counts {
			g := queueGroup{Word: string(c.Group), About: groupAbout(c.Group), Path: queueLink(q, "part", string(c.Group)), Count: yp.Thousands(c.Targets), Here: c.Group == group}
			if c.More {
				g.Count = "over " + g.Count
			}
			all = append(all, g)
		}
		return all, nil
	}}
}

// queueSection is a group with its first targets.
type queueSection struct {
	Group, About, Last string // Last: the head of the column that says when
	Rows               []queueRow
	All                string // the address of the group; "" = here it is
	More               string // the address of the same with more rows
	Most               bool   // there are more, and no page shows them
}

type queueRow struct {
	ID                                       int64
	Title, Source, Kind, Status, When, Error string
	Page, Failures                           int
}

// queue lists the targets.
func (s *Server) queue() Part {
	return Part{Name: "queue", Asks: queueAsks("rows"), Read: func(ctx context.Context, q url.Values) (any, error) {
		group, f, err := s.queueFilter(q)
		if err != nil {
			return nil, err
		}
		if group != "" {
			rows := queueRows
			if n, err := strconv.Atoi(q.Get("rows")); err == nil {
				rows = min(max(n, 1), queueMost)
			}
			section, err := s.queueSection(ctx, group, f, rows)
			if section != nil && section.More != "" {
				if section.More = queueLink(q, "rows", strconv.Itoa(min(4*rows, queueMost))); rows == queueMost {
					section.More, section.Most = "", true
				}
			}
			return []*queueSection{section}, err
		}
		var all []*queueSection
		for _, g := range report.QueueGroups() {
			section, err := s.queueSection(ctx, g, f, queueGlance)
			if err != nil {
				return nil, err
			}
			if len(section.Rows) > 0 {
				section.All = queueLink(q, "part", string(g))
				all = append(all, section)
			}
		}
		return all, nil
	}}
}

func (s *Server) queueSection(ctx context.Context, group report.QueueGroup, f report.Filter, limit int) (*queueSection, error) {
	targets, more, err := s.cfg.Reader.Queue(ctx, group, f, limit)
	if err != nil {
		return nil, err
	}
	section := &queueSection{Group: string(group), About: groupAbout(group), Last: "When"}
	if group == report.QueueRunning {
		section.Last = "Worker, heartbeat"
	}
	if more {
		section.More = "more"
	}
	now := time.Now()
	for i := range targets {
		t := &targets[i]
		section.Rows = append(section.Rows, queueRow{
			ID: t.ID, Title: t.Title(), Source: t.Source, Kind: string(t.Kind), Status: string(t.Status), Page: t.Page, Failures: t.Failures,
			When: whenOf(now, group, t), Error: cmp.Or(strings.TrimSpace(t.ErrorText()), "-"),
		})
	}
	return section, nil
}

// whenOf says of a target what its group is about.
func whenOf(now time.Time, group report.QueueGroup, t *report.Target) string {
	switch group {
	case report.QueueRunning:
		return string(t.ClaimedBy) + ", " + yp.Ago(now, t.Heartbeat)
	case report.QueueResting, report.QueueScheduled:
		return yp.Moment(now, t.NotBefore)
	case report.QueuePaused:
		if !t.Enabled {
			return "disabled"
		}
		return "paused"
	case report.QueueDead:
		return "since " + yp.Ago(now, t.Finished)
	case report.QueueHeld:
		return "when its source opens"
	}
	return "now"
}

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
