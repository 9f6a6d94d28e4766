package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
)

// watcher feeds the display while the engine works.
type watcher struct {
	r       *run
	fleet   *crawl.Fleet
	clients []*fetch.Client // of the crews
	base    Snapshot        // what was done before this run
	pace    pacemaker
	quit    chan struct{}
	done    chan struct{}
	brief   atomic.Bool // the run is over before its first line of progress was due
}

func newWatcher(r *run, fleet *crawl.Fleet, clients []*fetch.Client) *watcher {
	w := &watcher{r: r, fleet: fleet, clients: clients, quit: make(chan struct{}), done: make(chan struct{})}
	b := r.before
	w.base = Snapshot{
		TargetsTotal: b.Targets, TargetsDone: b.Done, TargetsFailed: b.Failed + b.Parked + b.Stuck, PagesDone: b.Pages,
	}
	// All that the database holds: counted by state, a company moves from one
	// to another when its listings are merged, and the bar would jump back.
	if p, err := r.keeper.Progress(r.c.Context, checkpoint.Scope{}); err == nil {
		w.base.Listings, w.base.Companies = p.Overall.Listings, p.Overall.Companies
	}
	for _, c := range r.crews {
		w.base.DetailsTotal += c.detailsDue
	}
	if n := r.c.Int64("limit"); n > 0 {
		w.base.DetailsTotal = min(w.base.DetailsTotal, n)
	}
	return w
}

// redrawEvery is how often the display is given news.
const redrawEvery = 200 * time.Millisecond

func (w *watcher) start() {
	w.r.display.Start(w.progressLog(), w.snapshot())
	go func() {
		defer close(w.done)
		t := time.NewTicker(redrawEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				w.r.display.Update(w.snapshot())
			case <-w.quit:
				return
			}
		}
	}()
}

// progressLog is where lines of progress go. A run shorter than the time
// between two of them has its summary, which says the same.
func (w *watcher) progressLog() zerolog.Logger {
	return w.r.log.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if w.brief.Load() {
			e.Discard()
		}
	}))
}

func (w *watcher) stop() {
	close(w.quit)
	<-w.done
	last := w.snapshot()
	w.brief.Store(last.Elapsed < defaultTick)
	w.r.display.Update(last)
	w.r.display.Stop()
}

func (w *watcher) snapshot() Snapshot {
	st, s := w.fleet.Stats(), w.base
	s.TargetsDone += st.Done
	s.TargetsFailed += st.Failed + st.Parked
	s.PagesDone += st.Pages
	s.Listings += st.New
	s.Companies += st.Companies
	s.Details = st.Details + st.DetailsFailed + st.DetailsMissing
	s.Workers, s.Elapsed = int(st.Busy), st.Elapsed
	w.pace.mark(st.Elapsed, st.Pages, st.Targets)
	pages, targets := w.pace.rates()
	s.Rate = pages
	if left := s.TargetsTotal - s.TargetsDone - s.TargetsFailed; left > 0 && targets > 0 {
		s.ETA = time.Duration(float64(left) / targets * float64(time.Second))
	}
	s.Waiting = w.waiting()
	return s
}

// waiting names what holds the whole run up for a noticeable time: nothing does while
// one of its sources works.
func (w *watcher) waiting() string {
	first, others := "", 0
	for i, c := range w.fleet.Results() {
		if c.Ended {
			continue
		}
		why := w.holdUp(i, c)
		switch {
		case why == "":
			return ""
		case first == "":
			first = why
		default:
			others++
		}
	}
	if others > 0 {
		first += fmt.Sprintf(", and %d more", others)
	}
	return first
}

// holdUp names what holds one source up.
func (w *watcher) holdUp(i int, c crawl.Result) string {
	why := strings.TrimPrefix(c.Waiting, "waiting ") // the display says that word itself
	if why == "" {
		d, reason := w.clients[i].Waiting(w.r.crews[i].src.BaseURL().Host)
		if d < 3*time.Second {
			return ""
		}
		why = fmt.Sprintf("%s: %s", lasting(d.Round(time.Second)), reason)
	}
	if w.r.several() {
		why = c.Source + " " + why
	}
	return why
}

// pacemaker measures the speed of the last minute.
type pacemaker struct{ marks []mark }

type mark struct {
	at             time.Duration
	pages, targets int64
}

const paceWindow = time.Minute

func (p *pacemaker) mark(at time.Duration, pages, targets int64) {
	if n := len(p.marks); n > 0 && at-p.marks[n-1].at < time.Second/2 {
		return
	}
	p.marks = append(p.marks, mark{at, pages, targets})
	for len(p.marks) > 2 && at-p.marks[1].at > paceWindow {
		p.marks = p.marks[1:]
	}
}

// rates returns pages and targets a second.
func (p *pacemaker) rates() (pages, targets float64) {
	if len(p.marks) < 2 {
		return 0, 0
	}
	a, b := p.marks[0], p.marks[len(p.marks)-1]
	secs := (b.at - a.at).Seconds()
	return float64(b.pages-a.pages) / secs, float64(b.targets-a.targets) / secs
}
