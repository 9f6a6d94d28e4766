package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// discoverLine shows on stderr how the reading of state indexes gets on: a line that is
// redrawn on a terminal, a log line every 30 s elsewhere. Log lines written through it
// do not break it. Its methods may be called from several goroutines.
type discoverLine struct {
	out     io.Writer
	live    bool
	quiet   bool
	width   func() int
	states  int           // to be walked
	waiting func() string // why nothing moves, if so

	mu    sync.Mutex
	leg   crawl.StateIndex
	ended int // states
	shown bool
	quit  chan struct{}
	done  chan struct{}
}

// Write implements io.Writer, for log lines.
func (t *discoverLine) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	n, err := t.out.Write(p)
	t.draw()
	return n, err
}

// start begins to show progress; log gets the lines where none can be redrawn.
func (t *discoverLine) start(log zerolog.Logger) {
	t.quit, t.done = make(chan struct{}), make(chan struct{})
	every := redrawEvery
	if !t.live {
		every = defaultTick
	}
	go func() {
		defer close(t.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.news(log)
			case <-t.quit:
				return
			}
		}
	}()
}

func (t *discoverLine) stop() {
	close(t.quit)
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	t.quiet = true
}

// hear takes news of a state.
func (t *discoverLine) hear(l crawl.StateIndex) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leg = l
	if l.Status != crawl.IndexReading {
		t.ended++
	}
}

func (t *discoverLine) news(log zerolog.Logger) {
	t.mu.Lock()
	if t.live {
		t.clear()
		t.draw()
		t.mu.Unlock()
		return
	}
	l, ended := t.leg, t.ended
	t.mu.Unlock() // the logger writes through t
	if t.quiet {
		return
	}
	e := log.Info().Int("states_done", ended).Int("states", t.states).Str("state", l.State).Int("page", l.PagesDone).Int("pages", l.Pages).Int("cities", l.Cities)
	if why := t.waiting(); why != "" {
		e = e.Str("waiting", why)
	}
	e.Msg("progress")
}

func (t *discoverLine) draw() {
	if !t.live || t.quiet || t.leg.State == "" {
		return
	}
	_, _ = io.WriteString(t.out, cut(t.text(), t.width()-1)) // the work goes on when its terminal is closed
	t.shown = true
}

func (t *discoverLine) clear() {
	if t.shown {
		_, _ = io.WriteString(t.out, clearLine)
		t.shown = false
	}
}

// barWidth is the number of columns of the bar.
const barWidth = 20

func (t *discoverLine) text() string {
	l := t.leg
	full := 0
	if l.Pages > 0 {
		full = barWidth * l.PagesDone / l.Pages
	}
	text := fmt.Sprintf("%s |%s%s| page %d of %d, %s, state %d of %d", l.State, strings.Repeat("█", full), strings.Repeat(" ", barWidth-full),
		l.PagesDone, l.Pages, plural(l.Cities, "city"), min(t.ended+1, t.states), t.states)
	if why := t.waiting(); why != "" {
		text += ", waiting " + yp.Printable(why)
	}
	return text
}
