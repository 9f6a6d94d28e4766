package cli

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// watcher feeds the display while the engine works.
type watcher struct {
	r       *run
	sources *crawl.Sources
	clients []*fetch.Client // of the sources
	base    Snapshot        // what was done before this run
	speed   speedometer
	targets ender
	details ender
	total   int64     // details that are due and those that were done, as last counted
	planned int64     // targets, likewise: indexes plan more
	read    int64     // pages of indexes when they were counted
	next    time.Time // when all of that is counted again
	ending  atomic.Bool
}

// watch shows how the engines get on until the function that it returns is called.
func (r *run) watch(sources *crawl.Sources, clients []*fetch.Client) (stop func()) {
	w := &watcher{r: r, sources: sources, clients: clients}
	b := r.before
	w.base = Snapshot{
		TargetsTotal: b.Targets, TargetsDone: b.Done, TargetsFailed: b.Failed + b.Parked + b.Stuck, PagesDone: b.Pages,
	}
	// All that the database holds: counted by state, a company moves from one
	// to another when its listings are merged, and the bar would jump back.
	if p, err := r.keeper.Progress(r.c.Context, store.Scope{}); err == nil {
		w.base.Listings, w.base.Companies = p.Overall.Listings, p.Overall.Companies
	}
	shown := r.display.Follow(r.log, func() View {
		if now := time.Now(); w.ending.Load() || !now.Before(w.next) {
			w.countTargets()
			w.countDetails()
			w.next = now.Add(max(countEvery, 20*time.Since(now)))
		}
		s := w.snapshot()
		r.manager.look(time.Now(), s)
		return s
	})
	return func() {
		w.ending.Store(true)
		shown()
	}
}

// countEvery is how often the details that are due are counted: pages add to them all the
// time. Where that takes long, it is done less often.
const countEvery = 2 * time.Second

// countDetails counts the details of this run, done and due. Where it fails, here and in
// countTargets, what was counted last stands.
func (w *watcher) countDetails() {
	if !w.r.details().Wanted {
		return
	}
	st := w.sources.Stats()
	total := st.Details + st.DetailsFailed + st.DetailsMissing
	for _, c := range w.r.sources {
		if !c.src.HasDetails() {
			continue
		}
		t, err := w.r.keeper.DetailTotals(context.WithoutCancel(w.r.c.Context), c.scope.SourceID, c.scope.States)
		if err != nil {
			return
		}
		total += t.Due + t.Held
	}
	if limit := w.r.c.Int64("limit"); limit > 0 {
		total = min(total, limit)
	}
	w.total = total
}

// countTargets counts the targets of the run where indexes may have planned more.
func (w *watcher) countTargets() {
	pages, total := w.sources.Stats().IndexPages, int64(0)
	if pages == w.read {
		return
	}
	for _, c := range w.r.sources {
		n, err := w.r.keeper.Count(context.WithoutCancel(w.r.c.Context), c.scope)
		if err != nil {
			return
		}
		total += n.Targets
	}
	w.planned, w.read = total, pages
}

func (w *watcher) snapshot() Snapshot {
	st, s := w.sources.Stats(), w.base
	s.TargetsTotal = max(s.TargetsTotal, w.planned)
	s.TargetsDone += st.Done
	s.TargetsFailed += st.Failed + st.Parked
	s.PagesDone += st.Pages
	s.Listings += st.New
	s.Companies += st.Companies
	s.Details = st.Details + st.DetailsFailed + st.DetailsMissing
	s.DetailsTotal = max(w.total, s.Details)
	if !w.r.details().Wanted {
		s.DetailsTotal = 0
	}
	s.Workers, s.Elapsed, s.Requests = int(st.Busy), st.Elapsed, st.Requests
	s.Rate = w.speed.rate(st.Elapsed, st.PagesRead())
	s.Waiting, s.Held = w.waiting()
	s.ETA = w.eta(s)
	return s
}

// eta is the time left in the phase. What is held begins to count anew afterwards.
func (w *watcher) eta(s Snapshot) time.Duration {
	e, other := &w.targets, &w.details
	if s.fetchesDetails() {
		e, other = other, e
	}
	other.restart()
	if s.Held {
		e.restart()
		return 0
	}
	done, total := s.phase()
	return e.left(s.Elapsed, done, total-done)
}

// waiting names what holds the whole run up for a noticeable time, and whether that is more
// than the pace: nothing does while one of its sources works.
func (w *watcher) waiting() (first string, held bool) {
	others := 0
	held = true
	for i, c := range w.sources.Results() {
		if c.Ended {
			continue
		}
		why, stands := strings.TrimPrefix(c.Waiting, "waiting "), true // the display says that word itself
		if why == "" {
			why, stands = waitsAt(w.clients[i], w.r.sources[i].src.BaseURL().Host)
		}
		if why == "" {
			return "", false
		}
		if held = held && stands; first != "" {
			others++
			continue
		}
		if first = why; w.r.several() {
			first = c.Source + " " + why
		}
	}
	if others > 0 {
		first += fmt.Sprintf(", and %d more", others)
	}
	return first, held && first != ""
}

// noticeable is how long a wait is before it is told.
const noticeable = 3 * time.Second

// waitsAt tells what a host has requests wait for: a hold until when, or its pace how long.
func waitsAt(client *fetch.Client, host string) (why string, held bool) {
	d, reason := client.Waiting(host)
	if d < noticeable {
		return "", false
	}
	if until, what := client.HeldUntil(host); !until.IsZero() {
		return fmt.Sprintf("until %s: %s", yp.ClockTime(time.Now(), until), report.ReasonText(what)), true
	}
	return fmt.Sprintf("%s: %s", lasting(d.Round(time.Second)), reason), false
}

// speedometer measures the speed of the last minute.
type speedometer struct{ marks []mark }

// mark is how many there were at a time.
type mark struct {
	at time.Duration
	n  int64
}

const paceWindow = time.Minute

// rate takes note of n at a time and returns how many a second there were of late.
func (p *speedometer) rate(at time.Duration, n int64) float64 {
	if last := len(p.marks) - 1; last < 0 || at-p.marks[last].at >= time.Second/2 {
		p.marks = append(p.marks, mark{at, n})
	}
	for len(p.marks) > 2 && at-p.marks[1].at > paceWindow {
		p.marks = p.marks[1:]
	}
	a, b := p.marks[0], p.marks[len(p.marks)-1]
	if a.at == b.at {
		return 0
	}
	return float64(b.n-a.n) / (b.at - a.at).Seconds()
}

// ender tells the time left from when the last of many things ended: from as many ends as
// `progress` does, and no further back.
type ender struct {
	marks []mark // when something had ended; the first is where it began to count
	n     int64  // that had ended when it was last asked
	cold  bool   // it begins to count when the next one ends: nobody knows when that was begun
}

// left takes note that n have ended at a time and returns the time for the rest; 0 = unknown.
// After a silence it counts anew: what comes then has nothing to do with what was before.
func (e *ender) left(at time.Duration, n, rest int64) time.Duration {
	ended := n != e.n
	e.n = n
	if ended || len(e.marks) == 0 && !e.cold {
		e.marks, e.cold = append(e.marks, mark{at, n}), false
	}
	if len(e.marks) == 0 {
		return 0
	}
	b := e.marks[len(e.marks)-1]
	for len(e.marks) > 2 && (at-e.marks[1].at > report.LookBack || b.n-e.marks[1].n >= report.SpeedEnds) {
		e.marks = e.marks[1:]
	}
	a := e.marks[0]
	d, ok := report.TimeLeft(b.n-a.n, rest, b.at-a.at, at-b.at)
	switch {
	case ok:
		return max(d, time.Second)
	case at-b.at > report.Silence:
		e.restart()
	}
	return 0
}

// restart forgets what was.
func (e *ender) restart() { e.marks, e.cold = nil, true }
