package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"

	"ypcrawl/yp"
)

// Snapshot is what a crawl tells of its progress at one moment.
type Snapshot struct {
	TargetsTotal  int64         // what this run is about, targets done before it included
	TargetsDone   int64         // of them, finished well
	TargetsFailed int64         // of them, failed, parked or stuck
	PagesDone     int64         // checkpointed pages
	Listings      int64         // listings kept
	Companies     int64         // companies they belong to
	Rate          float64       // pages and details a second over the last minute
	ETA           time.Duration // until the end of the phase, at the speed of the last minutes; 0 = not known
	Waiting       string        // why nothing moves, if so: "until 14:05:33Z: the source is held: Retry-After"
	Held          bool          // nothing will end before that wait does
	Workers       int           // at work
	Elapsed       time.Duration // since the run began

	Details      int64 // listings' own pages brought to an outcome
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
	done, total := s.phase()
	switch {
	case done >= total || s.Held:
		return ""
	case s.ETA <= 0:
		return "unknown"
	}
	return lasting(s.ETA)
}

// finished returns the targets that need no more work, at most the total.
func (s Snapshot) finished() int64 {
	return min(s.TargetsDone+s.TargetsFailed, s.TargetsTotal)
}

// percentDone is that of the phase: 100 only when everything of it is finished, and when
// there is nothing to do.
func (s Snapshot) percentDone() int64 {
	done, total := s.phase()
	if total == 0 {
		return 100
	}
	return done * 100 / total
}

// View is what a Display shows.
type View interface {
	finished() int64                          // when it changes, it is drawn at once
	frame(width int) string                   // for a terminal: at most width-1 columns
	fields(log *zerolog.Event) *zerolog.Event // for a log line
}

// DisplayConfig says how progress is shown.
type DisplayConfig struct {
	// Out is where progress and log lines go: stderr. Required.
	Out io.Writer
	// Live draws a bar that moves; false writes a log line now and then.
	Live bool
	// Quiet shows no progress at all; log lines still go through Writer.
	Quiet bool
	// Width returns the terminal's columns, asked before each drawing. Nil: 80.
	Width func() int
	// Tick brings the moments to write a line when not Live. Nil: every 30 s.
	Tick <-chan time.Time
	// MinRedraw is the shortest time between two drawings, unless something
	// finished. 0: 100 ms; negative: none.
	MinRedraw time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

const (
	defaultTick   = 30 * time.Second
	defaultRedraw = 100 * time.Millisecond
)

// Display shows the progress of a crawl on stderr: a bar on a terminal, a log
// line every 30 s elsewhere. Log lines written through Writer do not break the
// bar. Its methods may be called from several goroutines.
type Display struct {
	cfg DisplayConfig

	mu     sync.Mutex
	last   View
	active bool      // between Start and Stop
	shown  bool      // the bar stands on the cursor's line
	drawn  time.Time // when it was drawn
	broken bool      // a log line without its end stands there instead

	logger zerolog.Logger
	stop   chan struct{}
	done   chan struct{}
}

// NewDisplay returns a display that shows nothing before Start.
func NewDisplay(cfg DisplayConfig) *Display {
	if cfg.Width == nil {
		cfg.Width = func() int { return defaultWidth }
	}
	if cfg.MinRedraw == 0 {
		cfg.MinRedraw = defaultRedraw
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Display{cfg: cfg}
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

// Start begins to show progress, from first on: a resumed crawl starts at what
// was done before. logger gets the lines where no bar can be shown; on a
// terminal it should write through Writer.
func (d *Display) Start(logger zerolog.Logger, first View) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active {
		return
	}
	d.active, d.logger, d.last = true, logger, first
	switch {
	case d.cfg.Quiet:
	case d.cfg.Live:
		d.draw()
	default:
		d.stop, d.done = make(chan struct{}), make(chan struct{})
		go d.report()
	}
}

// Update shows a newer state. It costs little when called more often than can
// be seen.
func (d *Display) Update(s View) {
	d.mu.Lock()
	defer d.mu.Unlock()
	moved := s.finished() != d.last.finished()
	d.last = s
	if moved || d.cfg.Now().Sub(d.drawn) >= d.cfg.MinRedraw {
		d.draw()
	}
}

// Stop shows the last state once more, leaves the bar standing above what
// follows, and ends the display. It may be called again without harm.
func (d *Display) Stop() {
	d.mu.Lock()
	if !d.active {
		d.mu.Unlock()
		return
	}
	d.draw()
	if d.shown {
		d.write("\r\n")
	}
	d.active, d.shown = false, false
	stop, done := d.stop, d.done
	d.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
		d.line()
	}
}

// redrawEvery is how often Follow looks.
const redrawEvery = 200 * time.Millisecond

// Follow shows what look returns until the function that it returns is called. A time
// shorter than that between two log lines has none: what follows says the same.
func (d *Display) Follow(logger zerolog.Logger, look func() View) (stop func()) {
	var brief atomic.Bool
	d.Start(logger.Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		if brief.Load() {
			e.Discard()
		}
	})), look())
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(redrawEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				d.Update(look())
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		brief.Store(time.Since(began) < defaultTick)
		d.Update(look())
		d.Stop()
	}
}

// report writes a line at every tick until Stop.
func (d *Display) report() {
	defer close(d.done)
	tick := d.cfg.Tick
	if tick == nil {
		t := time.NewTicker(defaultTick)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-tick:
			d.line()
		case <-d.stop:
			return
		}
	}
}

// line logs the last state. The lock is not held while logging: the logger may
// write through Writer.
func (d *Display) line() {
	d.mu.Lock()
	s, logger := d.last, d.logger
	d.mu.Unlock()
	s.fields(logger.Info()).Msg("progress")
}

func (s Snapshot) fields(e *zerolog.Event) *zerolog.Event {
	e = e.Int64("percent", s.percentDone()).
		Int64("targets", s.finished()).Int64("targets_total", s.TargetsTotal).Int64("targets_failed", s.TargetsFailed).
		Int64("pages", s.PagesDone).Int64("listings", s.Listings).Int64("companies", s.Companies).
		Float64("pages_per_second", round1(s.Rate)).Str("elapsed", lasting(s.Elapsed)).Int("workers", s.Workers)
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

func round1(f float64) float64 { return float64(int64(f*10+0.5)) / 10 }

// draw puts the bar on the cursor's line.
func (d *Display) draw() {
	if !d.active || !d.cfg.Live || d.cfg.Quiet || d.broken {
		return
	}
	text := d.last.frame(d.cfg.Width())
	if text == "" {
		return
	}
	d.write(clearLine + text) // in one write
	d.shown, d.drawn = true, d.cfg.Now()
}

// clearLine goes to the line's start and empties it.
const clearLine = "\r\x1b[2K"

func (d *Display) clear() {
	if d.shown {
		d.write(clearLine)
		d.shown = false
	}
}

// write ignores errors: a crawl goes on when its terminal is gone.
func (d *Display) write(s string) { _, _ = io.WriteString(d.cfg.Out, s) }

// barFixed is what the library puts around the bar: "%4d% |" and "|  " + " ".
const barFixed = 10

const (
	barMin = 10 // columns of the bar itself
	barMax = 40
)

// frame draws the bar and what stands behind it, at most width-1 columns wide:
// a terminal wraps a full line, and a wrapped line can't be taken away. The
// library draws one frame and is thrown away, for it keeps a rate of its own
// that a resumed crawl would falsify, and can't go back from 100 %.
func (s Snapshot) frame(width int) string {
	text := fit(details(s), width-1-barFixed-barMin)
	size := min(max(width-1-barFixed-utf8.RuneCountInString(text), barMin), barMax)
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
	return strings.TrimRight(cut(strings.Trim(bar.String(), "\r"), width-1), " ")
}

// detail is one part of the text behind the bar. Where room is short, those of
// the highest rank go first.
type detail struct {
	rank int
	text string
}

func details(s Snapshot) []detail {
	targets := fmt.Sprintf("%s/%s targets", thousands(s.finished()), thousands(s.TargetsTotal))
	own := fmt.Sprintf("%s/%s details", thousands(s.Details), thousands(s.DetailsTotal))
	speed := detail{4, fmt.Sprintf("%.1f %s", s.Rate, speedUnit(s.Details+s.DetailsTotal > 0))}
	list, eta := []detail{
		{0, targets}, {3, plural(s.PagesDone, "page")}, {5, plural(s.Listings, "listing")}, {7, plural(s.Companies, "company")}, speed,
	}, "ETA "
	switch {
	case s.fetchesDetails():
		list = []detail{{0, own}, speed}
		if s.TargetsTotal > 0 {
			list = append(list, detail{5, targets})
		}
	case s.Details+s.DetailsTotal > 0:
		list, eta = slices.Insert(list, 1, detail{2, own}), "targets' ETA "
	}
	if s.TargetsFailed > 0 {
		list = slices.Insert(list, 1, detail{6, thousands(s.TargetsFailed) + " failed"})
	}
	if left := s.eta(); left != "" {
		list = append(list, detail{1, eta + left})
	}
	if s.Waiting != "" { // until when is worth more room than why
		when, why, _ := strings.Cut("waiting "+yp.Printable(s.Waiting), ": ")
		if list = append(list, detail{1, when}); why != "" {
			list = append(list, detail{2, why})
		}
	}
	return list
}

// speedUnit names what a run's speed counts.
func speedUnit(withDetails bool) string {
	if withDetails {
		return "pages and details/s"
	}
	return "pages/s"
}

// fit joins the details, leaving out the least important until they fit.
func fit(list []detail, width int) string {
	for len(list) > 1 && joinedWidth(list) > width {
		worst := 0
		for i, d := range list {
			if d.rank >= list[worst].rank {
				worst = i
			}
		}
		list = slices.Delete(list, worst, worst+1)
	}
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = d.text
	}
	return strings.Join(texts, separator)
}

const separator = " · "

func joinedWidth(list []detail) int {
	n := utf8.RuneCountInString(separator) * (len(list) - 1)
	for _, d := range list {
		n += utf8.RuneCountInString(d.text)
	}
	return n
}

// cut shortens s to width columns.
func cut(s string, width int) string {
	for utf8.RuneCountInString(s) > max(width, 0) {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
