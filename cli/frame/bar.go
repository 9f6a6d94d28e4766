package frame

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// Snapshot is what a crawl tells of its progress at one moment.
type Snapshot struct {
	TargetsTotal  int64         // what this run is about, targets done before it included
	TargetsDone   int64         // of them, finished well
	TargetsFailed int64         // of them, failed, parked or stuck
	TargetsRest   int64         // of them, failed and tried again when their wait is over
	PagesDone     int64         // checkpointed pages
	Listings      int64         // listings kept
	Companies     int64         // companies they belong to
	Rate          float64       // pages of every kind a second over the last minute
	ETA           time.Duration // until all that is due is read, at the speed of the last minutes; 0 = not known
	Indexes       bool          // targets are indexes; else they are searches
	Waiting       string        // why nothing moves, if so: "until 14:05:33 UTC: held by the site (Retry-After)"
	Held          bool          // nothing will end before that wait does
	Workers       int           // at work
	Elapsed       time.Duration // since the run began
	Requests      int64         // that this run has made

	Details      int64 // listings' own pages finished, whatever the outcome
	DetailsTotal int64 // and those that are due: the second phase of a run that fetches them, or the only one
}

// fetchesDetails reports whether the first phase is over: no target is to be crawled any more.
func (s Snapshot) fetchesDetails() bool { return s.DetailsTotal > 0 && s.finished() == s.TargetsTotal }

// phase is how far the phase is that the crawl is in.
func (s Snapshot) phase() (done, total int64) {
	if s.fetchesDetails() {
		return min(s.Details, s.DetailsTotal), s.DetailsTotal
	}
	return s.finished(), s.TargetsTotal
}

// eta is the time left as text; empty when there is nothing left, or a wait says more.
func (s Snapshot) eta() string {
	switch {
	case s.finished() >= s.TargetsTotal && s.Details >= s.DetailsTotal || s.Held:
		return ""
	case s.ETA <= 0:
		return "unknown"
	}
	return yp.Lasting(s.ETA)
}

// finished returns the targets that need no more work, at most the total.
func (s Snapshot) finished() int64 {
	return min(s.TargetsDone+s.TargetsFailed, s.TargetsTotal)
}

// failed counts the targets whose last attempt failed, those too that are tried again.
func (s Snapshot) failed() int64 { return s.TargetsFailed + s.TargetsRest }

// displayConfig says how progress is shown.
type displayConfig struct {
	Out   io.Writer  // where progress and log lines go: stderr
	Live  bool       // draws a bar that moves; else a log line is written now and then
	Quiet bool       // shows no progress at all; log lines still go through Writer
	Width func() int // the terminal's columns, asked before each drawing

	// Front tells whether the terminal is this process's to draw on, asked before each drawing; nil = it always is.
	Front func() bool
}

const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = time.Minute
)

// Display shows the progress of a crawl on stderr: a bar on a terminal, a log
// line every minute elsewhere. Log lines written through Writer do not break the
// bar. In the background of its terminal it draws none: there somebody types. Its methods may be called from several goroutines.
type Display struct {
	cfg displayConfig

	mu     sync.Mutex
	last   *Snapshot // nil = nothing is shown
	bar    string    // is on the cursor's line; "" = nothing does
	broken bool      // a log line without its end is there instead
}

// newDisplay returns a display that shows nothing before Follow.
func newDisplay(cfg displayConfig) *Display { return &Display{cfg: cfg} }

// NewDisplay returns a display on stderr; --quiet shows no progress.
func (p *Invocation) NewDisplay(c *cli.Context) *Display {
	return newDisplay(displayConfig{
		Out: p.Err, Live: p.Live(p.Err), Quiet: c.Bool("quiet"), Width: func() int { return widthOf(p.Err) },
		Front: func() bool { return Foreground(p.Err) },
	})
}

// Writer returns where the logger writes while the display is in use: it takes
// the bar away, writes, and draws the bar again.
func (d *Display) Writer() io.Writer { return logWriter{d} }

type logWriter struct{ d *Display }

// Write implements io.Writer.
func (w logWriter) Write(p []byte) (int, error) {
	d := w.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	n, err := d.cfg.Out.Write(p)
	d.broken = len(p) > 0 && p[len(p)-1] != '\n'
	d.draw()
	return n, err
}

// Follow shows what look returns until stop is called, which leaves the bar standing above what
// follows. logger gets the lines where no bar can be shown; on a terminal it should write through
// Writer. What ends before the first line was due has none: what follows says the same.
func (d *Display) Follow(logger zerolog.Logger, look func() Snapshot) (stop func()) {
	line := func() {
		if !d.cfg.Live && !d.cfg.Quiet {
			look().fields(logger.Info()).Msg("progress")
		}
	}
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	d.show(look())
	go func() {
		defer close(done)
		redraw, lines := time.NewTicker(redrawEvery), time.NewTicker(lineEvery)
		defer redraw.Stop()
		defer lines.Stop()
		for {
			select {
			case <-redraw.C:
				d.show(look())
			case <-lines.C:
				line()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		d.show(look())
		d.end()
		if time.Since(began) >= lineEvery {
			line()
		}
	}
}

// show draws a newer state.
func (d *Display) show(s Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = &s
	d.draw()
}

// end ends the line of the bar, and draws it no more.
func (d *Display) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != "" && d.front() {
		d.write(clearBar + unwrapped + d.bar + wrapped + "\n")
	}
	d.last, d.bar = nil, ""
}

func (s Snapshot) fields(e *zerolog.Event) *zerolog.Event {
	percent := int64(100) // of the phase: only when everything of it is finished, and when there is nothing to do
	if done, total := s.phase(); total > 0 {
		percent = done * 100 / total
	}
	e = e.Int64("percent", percent).
		Int64("targets", s.finished()).Int64("targets_total", s.TargetsTotal).Int64("targets_failed", s.failed()).
		Int64("pages", s.PagesDone).Int64("listings", s.Listings).Int64("companies", s.Companies).
		Float64("pages_per_second", math.Round(10*s.Rate)/10).Str("elapsed", yp.Lasting(s.Elapsed)).Int("workers", s.Workers)
	if s.Details+s.DetailsTotal > 0 {
		e = e.Int64("details", s.Details).Int64("details_total", s.DetailsTotal)
	}
	if eta := s.eta(); eta != "" {
		e = e.Str("eta", eta)
	}
	if s.Waiting != "" {
		e = e.Str("waiting", s.Waiting)
	}
	return e
}

// draw puts the bar on the cursor's line.
func (d *Display) draw() {
	if d.last == nil || !d.cfg.Live || d.cfg.Quiet || d.broken {
		return
	}
	if !d.front() {
		d.bar = "" // what was drawn before is the terminal's
		return
	}
	if d.bar = d.last.frame(d.cfg.Width()); d.bar != "" {
		d.write(clearBar + unwrapped + d.bar + wrapped) // in one write
	}
}

// The cursor waits at the start of the bar. A terminal that becomes narrower breaks the bar into several lines, with the
// cursor at the start of the first still, and they are emptied together; one that has become narrower, and does not say so
// yet, must not break what is written then.
const (
	clearBar  = "\r\x1b[J"        // empties the screen from the start of the line
	unwrapped = "\x1b[?7l"        // what is too long is cut
	wrapped   = "\x1b[?7h" + "\r" // and goes on in the next line
)

func (d *Display) clear() {
	if d.bar != "" && d.front() {
		d.write(clearBar)
	}
	d.bar = ""
}

func (d *Display) front() bool { return d.cfg.Front == nil || d.cfg.Front() }

// write ignores errors: a crawl goes on when its terminal is gone.
func (d *Display) write(s string) { _, _ = io.WriteString(d.cfg.Out, s) }

// barFixed is what the library puts around the bar: "%4d% |" and "|  " + " ".
const barFixed = 10

const (
	barMin = 10 // columns of the bar itself
	barMax = 40
)

// frame draws the bar and what is behind it, at most width-1 columns wide:
// a terminal wraps a full line, and a wrapped line can't be taken away. The
// library draws one frame and is thrown away, for it keeps a rate of its own
// that a resumed crawl would falsify, and can't go back from 100 %.
func (s Snapshot) frame(width int) string {
	text := fit(s.parts(), width-1-barFixed-barMin)
	size := min(max(width-1-barFixed-yp.Columns(text), barMin), barMax)
	done, total := s.phase()
	if total == 0 { // nothing to do is all done; the library refuses a total of 0
		total, done = 1, 1
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(size),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetDescription(text),
	)
	err := bar.Set64(done)
	if err == nil && bar.String() == "" { // 0 % is drawn on demand only
		err = bar.RenderBlank()
	}
	if err != nil { // io.Discard never fails and done <= total
		return text
	}
	return strings.TrimRight(yp.Cut(strings.Trim(bar.String(), "\r"), width-1), " ")
}

// part is one part of the text behind the bar. Where there is little width, those of
// the highest rank go first.
type part struct {
	rank int
	text string
}

func (s Snapshot) parts() []part {
	noun := "searches"
	if s.Indexes {
		noun = "indexes"
	}
	targets := fmt.Sprintf("%s/%s %s", yp.Thousands(s.finished()), yp.Thousands(s.TargetsTotal), noun)
	own := fmt.Sprintf("%s/%s own pages", yp.Thousands(s.Details), yp.Thousands(s.DetailsTotal))
	speed := part{4, fmt.Sprintf("%.1f pages/s", s.Rate)}
	list := []part{
		{0, targets}, {3, yp.Plural(s.PagesDone, "page")}, {5, yp.Plural(s.Listings, "listing")}, {7, yp.Plural(s.Companies, "company")}, speed,
	}
	switch {
	case s.fetchesDetails():
		list = []part{{0, own}, speed}
		if s.TargetsTotal > 0 {
			list = append(list, part{5, targets})
		}
	case s.Details+s.DetailsTotal > 0:
		list = slices.Insert(list, 1, part{2, own})
	}
	if n := s.failed(); n > 0 {
		list = slices.Insert(list, 1, part{6, yp.Thousands(n) + " failed"})
	}
	if left := s.eta(); left != "" {
		list = append(list, part{1, "ETA " + left})
	}
	if s.Waiting != "" { // until when is worth more than why
		when, why, _ := strings.Cut("waiting "+yp.Printable(s.Waiting), ": ")
		if list = append(list, part{1, when}); why != "" {
			list = append(list, part{2, why})
		}
	}
	return list
}

// fit joins the parts, leaving out the least important until they fit.
func fit(list []part, width int) string {
	for {
		texts, worst := make([]string, len(list)), 0
		for i, p := range list {
			if texts[i] = p.text; p.rank >= list[worst].rank {
				worst = i
			}
		}
		if text := strings.Join(texts, " · "); len(list) <= 1 || yp.Columns(text) <= width {
			return text
		}
		list = slices.Delete(list, worst, worst+1)
	}
}
