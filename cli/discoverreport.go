package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// estimate prints what a discovery would ask for, without asking.
func (t *discovery) estimate() error {
	type row struct {
		State string `json:"state"`
		Pages int    `json:"pages"`
		First string `json:"first_page"`
	}
	shortest, longest := pace(t.c, t.src)
	rows, pages := []row{}, 0
	for _, state := range t.states {
		urls := t.src.IndexPages(state)
		rows, pages = append(rows, row{state, len(urls), urls[0]}), pages+len(urls)
	}
	took := time.Duration(pages) * (shortest + longest) / 2
	if t.c.Bool("json") {
		return writeJSON(t.p.Out, struct {
			Source  string  `json:"source"`
			Pages   int     `json:"pages"`
			Seconds float64 `json:"seconds"`
			States  []row   `json:"states"`
		}{t.src.Name(), pages, took.Seconds(), rows})
	}
	if err := tableOf(rows, func(r row) []any { return []any{r.State, r.Pages, r.First} }, "state", "pages", "first page").flush(&t.p.Streams, t.p.Out); err != nil {
		return err
	}
	text := "as fast as the source answers"
	if took > 0 {
		text = lasting(took) + " at this pace"
	}
	t.p.note("%s of %s would be asked for: %s. Nothing was asked or written (--dry-run).", plural(pages, "page"), plural(len(rows), "state"), text)
	return nil
}

// discovered is what `discover` ends with.
type discovered struct {
	Source   string             `json:"source"`
	Outcome  string             `json:"outcome"` // done, interrupted, blocked, no_proxies, error
	States   []crawl.StateIndex `json:"states"`
	Pages    int                `json:"pages"` // fetched by this process
	Requests int64              `json:"requests"`
	Seconds  float64            `json:"seconds"`
	Database string             `json:"database"`
	Error    string             `json:"error,omitempty"`
	Resume   string             `json:"resume,omitempty"` // the command that goes on

	failed    int // states
	forbidden int // of them by robots.txt
}

// forbidden reports whether robots.txt is the reason why a state failed: nothing that
// is typed again helps then.
func forbidden(reason string) bool { return strings.Contains(reason, fetch.ErrDisallowed.Error()) }

// plainReason drops a class of errors that says nothing beside what robots.txt says.
func plainReason(reason string) string {
	says := fetch.ErrDisallowed.Error()
	return strings.ReplaceAll(reason, string(yp.ClassUnknown)+": "+says, says)
}

// report prints how it went and maps it to the exit code.
func (t *discovery) report(states []crawl.StateIndex, requests int64, took time.Duration, err error) error {
	s := discovered{
		Source: t.src.Name(), Outcome: string(outcomeOf(err)), States: states, Requests: requests, Seconds: took.Seconds(), Database: t.keeper.DB().Path(),
	}
	if s.States == nil {
		s.States = []crawl.StateIndex{}
	}
	for i := range states {
		l := &states[i]
		s.Pages += l.Fetched
		if l.Status == crawl.IndexFailed {
			s.failed++
			if forbidden(l.Reason) {
				s.forbidden++
			}
		}
		l.Reason = plainReason(l.Reason)
	}
	if err != nil {
		s.Error, s.Resume = err.Error(), t.p.commandLine()
	}
	if perr := t.print(s); perr != nil {
		return errors.Join(perr, err)
	}
	return t.end(s, err)
}

func (t *discovery) print(s discovered) error {
	switch {
	case t.c.Bool("json"):
		return writeJSON(t.p.Out, s)
	case t.c.Bool("quiet") || len(s.States) == 0:
		return nil
	}
	return tableOf(s.States, func(x crawl.StateIndex) []any {
		return []any{x.State, string(x.Status), fmt.Sprintf("%d of %d", x.PagesDone, x.Pages), x.Cities, x.Added, x.Gone, x.Planned, x.Retired, orDash(x.Reason)}
	}, "state", "index", "pages", "cities", "new", "gone", "targets planned", "retired", "reason").flush(&t.p.Streams, t.p.Out)
}

// end maps how it ended to its exit code, with the next step.
func (t *discovery) end(s discovered, err error) error {
	var blocked *crawl.BlockedError
	switch {
	case errors.Is(err, crawl.ErrInterrupted):
		t.p.note("Interrupted. Every page that came is kept; go on with:\n  %s", s.Resume)
		return &exitError{code: ExitInterrupted}
	case errors.As(err, &blocked):
		t.p.note("Stopped: %s. %s", yp.Printable(blocked.Error()), t.remedy(blocked))
		return &exitError{code: ExitBlocked}
	case errors.Is(err, crawl.ErrNoProxies):
		t.p.note("Stopped: %s. `ypcrawl proxies list` tells why; add others or wait until they are rested, then type the same again.", yp.Printable(err.Error()))
		return &exitError{code: ExitNoProxies}
	case err != nil:
		return err
	case s.failed > 0:
		t.p.note("%s failed, and nothing was marked as gone there: `ypcrawl discover stats` tells why. %s", plural(s.failed, "state"), s.retry())
		return &exitError{code: ExitFailures}
	}
	return nil
}

// retry is what may help with the states that failed.
func (s *discovered) retry() string {
	const others = "robots.txt forbids the index: asked again it forbids it again. " +
		"Plan by the gazetteer (`ypcrawl plan`) or take another source; whether to go on with --robots ignore is for you to answer for."
	switch s.forbidden {
	case 0:
		return "Type the same again to go on with them."
	case s.failed:
		return others
	}
	return fmt.Sprintf("Type the same again to go on with them, but for %s: there %s", plural(s.forbidden, "state"), others)
}

// remedy is what opens a source again.
func (t *discovery) remedy(b *crawl.BlockedError) string {
	if b.Availability.State == store.SourceQuarantined {
		return fmt.Sprintf("`ypcrawl run` asks for one page when its time has come; `ypcrawl sources enable %s` opens it now.", b.Source)
	}
	if b.Availability.State == store.SourceDisabled || b.Availability.Until.IsZero() {
		return fmt.Sprintf("When it is in order again: `ypcrawl sources enable %s`.", b.Source)
	}
	return "Nothing is lost. Type the same again then; `ypcrawl status` shows what holds it."
}

func (p *Program) discoverStats(c *cli.Context) error {
	return listRows(p, c, listing[report.Discovery]{
		none: "No index was read yet: `ypcrawl discover --states AZ` reads one.",
		ask: func(k *database, scope store.Scope, _ int) ([]report.Discovery, error) {
			rows, err := k.Discoveries(c.Context, scope)
			for i := range rows {
				rows[i].Error = plainReason(rows[i].Error)
			}
			return rows, err
		},
		columns: []string{"source", "state", "cities", "new", "gone", "by slug", "by name", "unmatched", "targets", "retired", "last crawl", "pages", "complete", "error"},
		cells: func(now time.Time, d report.Discovery) []any {
			return []any{
				d.Source, d.State, d.Cities, d.New, d.Removed, d.BySlug, d.ByName, d.Unmatched, d.Targets, d.Retired,
				string(d.Status), fmt.Sprintf("%d of %d", d.PagesDone, d.Pages), ago(now, d.LastDone), orDash(d.Error),
			}
		},
	})
}

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
	state crawl.StateIndex
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
	t.state = l
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
	l, ended := t.state, t.ended
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
	if !t.live || t.quiet || t.state.State == "" {
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
	l := t.state
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
