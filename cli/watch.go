package cli

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/start"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// watcher feeds the display while the engine works.
type watcher struct {
	r       *run
	sources *start.Crawl
	base    frame.Snapshot // what was done before this run
	speed   speedometer
	left    report.Left
	asked   time.Time // when the time left was asked for
	total   int64     // details that are due and those that were done, as last counted
	planned int64     // targets, likewise: indexes plan more
	read    int64     // pages of indexes when they were counted
	rest    int64     // targets that failed and wait for their next try, as last counted
	next    time.Time // when all of that is counted again
	ending  atomic.Bool
}

// watch shows how the engines get on until the function that it returns is called.
func (r *run) watch(sources *start.Crawl) (stop func()) {
	w := &watcher{r: r, sources: sources}
	b := r.before
	w.base = frame.Snapshot{
		TargetsTotal: b.Targets, TargetsDone: b.Done, TargetsFailed: b.Failed + b.Parked + b.Stuck, PagesDone: b.Pages,
	}
	// All that the database holds: counted by state, a company moves from one
	// to another when its listings are merged, and the bar would jump back.
	if all, err := r.keeper.Overall(r.c.Context, store.Scope{}); err == nil {
		w.base.Listings, w.base.Companies = all.Listings, *all.Companies
	}
	shown := r.display.Follow(r.log, func() frame.Snapshot {
		if now := time.Now(); w.ending.Load() || !now.Before(w.next) {
			w.countTargets()
			w.countResting()
			w.askTimeLeft()
			w.next = now.Add(max(countEvery, 20*time.Since(now)))
		}
		s := w.snapshot()
		return s
	})
	return func() {
		w.ending.Store(true)
		shown()
	}
}

// countEvery is how often what is due is counted: pages add details all the time. Where that takes long, it is done less often.
const countEvery = 2 * time.Second

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

// countResting counts the targets of the run that failed and wait for their next try.
func (w *watcher) countResting() {
	if w.r.onlyDetails || w.r.onlyIndexes {
		return
	}
	total := int64(0)
	for _, c := range w.r.sources {
		n, err := w.r.keeper.Waiting(context.WithoutCancel(w.r.c.Context), c.scope)
		if err != nil {
			return
		}
		total += n
	}
	w.rest = total
}

func (w *watcher) snapshot() frame.Snapshot {
	st, s := w.sources.Stats(), w.base
	s.TargetsTotal = max(s.TargetsTotal, w.planned)
	s.TargetsDone += st.Done
	s.TargetsFailed += st.Failed + st.Parked
	s.TargetsRest = w.rest
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
	if s.Indexes = w.r.onlyIndexes; s.Indexes {
		s.TargetsTotal, s.TargetsDone, s.TargetsFailed, s.PagesDone = w.r.indexes(), st.Indexes, st.IndexesFailed, st.IndexPages
	}
	if w.left.Seconds >= 0 && !w.asked.IsZero() {
		s.ETA = max(time.Duration(float64(w.left.Seconds)*float64(time.Second))-w.r.keeper.DB().Now().Sub(w.asked), time.Second)
	}
	return s
}

// askTimeLeft asks for the time left, as `progress` does, for what this run is about, and counts its details, done and due. Where it
// fails, here and in countTargets, what was known last stands.
func (w *watcher) askTimeLeft() {
	ctx, results, st := context.WithoutCancel(w.r.c.Context), w.sources.Results(), w.sources.Stats()
	total := st.Details + st.DetailsFailed + st.DetailsMissing
	var all []report.Work
	for i, c := range w.r.sources {
		st := results[i].Stats
		work, err := w.r.keeper.Work(ctx, c.scope, report.Rate{Of: st.New, In: st.Pages})
		if err != nil {
			return
		}
		for _, x := range work { // of one source
			if w.r.onlyIndexes {
				x.Searches = 0
			} else if c.index == nil { // else indexes plan more than there was
				x.Searches = min(x.Searches, max(c.before.toDo()-st.Done-st.Failed-st.Parked, 0))
				x.Indexes = 0
			}
			if !w.r.details().Wanted || !c.src.HasDetails() {
				x.Details, x.Brings = 0, report.Rate{}
			}
			total += x.Details
			all = append(all, x)
		}
	}
	w.total = total
	if left, err := w.r.keeper.TimeLeft(ctx, w.r.began, all); err == nil {
		w.left, w.asked = left, w.r.keeper.DB().Now()
	}
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
			why, stands = waitsAt(w.sources.Clients[i], w.r.sources[i].src.BaseURL().Host)
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
