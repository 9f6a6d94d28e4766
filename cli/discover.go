package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

func (p *Program) discoverCommand() *cli.Command {
	return &cli.Command{
		Name:        "discover",
		Usage:       "Find the cities of a source: read its index of each state and plan targets for the cities found",
		Description: discoverDescription,
		Flags:       discoverFlags(),
		Action: func(c *cli.Context) error {
			return p.announced(c, func(d *Display, log zerolog.Logger, a *announcer) error {
				t, err := p.newDiscovery(c, d, log, a)
				if err != nil {
					return err
				}
				return t.do(c.Context)
			})
		},
		Subcommands: []*cli.Command{p.listCommand("discover stats")},
	}
}

const discoverDescription = `Every page of an index is stored as it is read. When killed or stopped, the same command resumes after
the last page and skips indexes that are complete. An index begun more than 24 hours ago starts over.

When the whole index was read, cities that are no longer in it are marked as removed and their targets
are retired; nothing is deleted, and they come back with the city. An index that shows fewer than half of
the cities known before removes none.

Exit codes: 0 all indexes read · 3 some states failed · 5 the source is blocked, quarantined, paused or
disabled · 6 no proxy is left · 11 an exclusive run holds the database · 130 interrupted,
resumable · 1 error · 2 usage`

func discoverFlags() []cli.Flag {
	flags := append(sourceFlags(),
		list("states", "`STATE...` by code or name: --states CA TX", "none", "s"),
		&cli.BoolFlag{Name: "all", Usage: "all states"},
		list("categories", "plan these `CATEGORY...` in the cities found", "the source's own, or ten common ones"),
		anyCategoryFlag(),
		&cli.IntFlag{Name: "min-population", Usage: "plan no targets in cities with fewer `PEOPLE`; cities missing in the built-in list of places count as 0"},
		&cli.GenericFlag{
			Name: "max-pages", Value: countValue("pages"), DefaultText: "3, 2 or 1 by the place's size",
			Usage: "plan so many `PAGES` of each target, or all",
		},
		delayFlag(),
		robotsFlag(),
		userAgentFlag(),
		patienceFlag(),
	)
	flags = slices.Concat(flags, egressFlags(), notifyFlags())
	return append(flags,
		&cli.BoolFlag{Name: "dry-run", Usage: "request nothing, write nothing, print the cost"},
		jsonFlag(),
	)
}

// discovery is one invocation of `discover`. What it has in common with a run, it has from it.
type discovery struct {
	run
	*sourceRun
	states  []string
	plan    *discover.Resolved
	places  *gazetteer.Gazetteer
	waiting func() string // why nothing moves, if so

	mu    sync.Mutex
	read  []crawl.StateIndex // in the order in which they were begun
	now   crawl.StateIndex   // the last of which there was news
	ended int                // states
}

// newDiscovery checks all that was typed, before anything is touched.
func (p *Program) newDiscovery(c *cli.Context, d *Display, log zerolog.Logger, a *announcer) (*discovery, error) {
	one := &sourceRun{}
	t := &discovery{run: run{p: p, c: c, display: d, log: log, out: a, sources: []*sourceRun{one}}, sourceRun: one, waiting: func() string { return "" }}
	var err error
	if t.states, err = discoverStates(c); err != nil {
		return nil, err
	}
	if t.src, t.sel, err = p.wanted(c); err != nil {
		return nil, err
	}
	if !t.src.HasIndex() {
		return nil, Usagef("source %s has no index of states: add `urls: state_index:` to its definition", t.src.Name())
	}
	if err := checkManners(c); err != nil {
		return nil, err
	}
	if t.egress, err = egressOf(c); err != nil {
		return nil, err
	}
	if t.places, err = loadPlaces(t.states); err != nil {
		return nil, err
	}
	t.sel.States = t.states
	if t.plan, err = discover.Resolve(t.places, extent(t.src), t.sel); err != nil {
		return nil, Usagef("%w", err)
	}
	return t, nil
}

// discoverStates reads --states and --all: one of the two.
func discoverStates(c *cli.Context) ([]string, error) {
	codes, err := states(c)
	switch {
	case err != nil:
		return nil, err
	case c.Bool("all") && len(codes) > 0:
		return nil, Usagef("--all and --states: want one of the two")
	case !c.Bool("all") && len(codes) == 0:
		return nil, Usagef("want --states, as in `ypcrawl discover --states AZ`, or --all")
	case len(codes) > 0:
		return codes, nil
	}
	for _, s := range yp.States() {
		codes = append(codes, s.Code)
	}
	return codes, nil
}

func (t *discovery) do(ctx context.Context) error {
	if t.c.Bool("dry-run") {
		return t.estimate()
	}
	return t.open(ctx, func() error {
		if err := t.register(ctx, t.prepare); err != nil {
			return err
		}
		return t.readIndexes(ctx)
	})
}

// prepare begins a pass over the indexes of the states, or goes on with the last one: an
// index that it has read is not read again. What failed is tried again: somebody has asked
// for it.
func (t *discovery) prepare(ctx context.Context, sources []int64) error {
	t.scope = store.Scope{SourceID: sources[0], States: t.states, Kinds: []yp.Kind{yp.KindIndex}}
	if _, err := t.keeper.ResetTargets(ctx, checkpoint.Reset{Scope: t.scope, Statuses: []yp.Status{yp.Failed, yp.Stuck}}); err != nil {
		return err
	}
	if err := t.keeper.PlanIndexes(ctx, t.scope.SourceID, indexesOf(t.src, t.states)); err != nil {
		return err
	}
	pass, err := t.row.BeginPass(ctx, t.scope, new(time.Duration))
	if err != nil {
		return err
	}
	if !pass.GoesOn {
		_, err = t.keeper.ResetTargets(ctx, checkpoint.Reset{Scope: t.scope, Statuses: []yp.Status{yp.Parked}, FromPage1: true})
	}
	if err != nil {
		return err
	}
	return t.skip(ctx)
}

// indexesOf are the indexes of the states of a source.
func indexesOf(src *site.Source, states []string) []checkpoint.StateIndex {
	all := make([]checkpoint.StateIndex, len(states))
	for i, state := range states {
		all[i] = checkpoint.StateIndex{State: state, Pages: len(src.IndexPages(state))}
	}
	return all
}

// skip tells of the states that are not read now.
func (t *discovery) skip(ctx context.Context) error {
	if _, err := t.keeper.Wake(ctx, t.scope); err != nil {
		return err
	}
	known, err := t.keeper.Discoveries(ctx, t.scope)
	if err != nil {
		return err
	}
	for _, d := range known {
		why := map[yp.Status]string{yp.Done: "already read in this pass", yp.InProgress: "another process is reading it"}[d.Status]
		if why == "" {
			continue
		}
		t.log.Info().Str("state", d.State).Str("reason", why).Msg("state skipped")
		t.hear(crawl.StateIndex{State: d.State, Status: crawl.IndexSkipped, Pages: d.Pages, PagesDone: d.PagesDone, Cities: int(d.Cities), Reason: why})
	}
	return nil
}

// hear keeps the news of a state and shows them.
func (t *discovery) hear(x crawl.StateIndex) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.read, func(o crawl.StateIndex) bool { return o.State == x.State })
	if i < 0 {
		t.read = append(t.read, x)
	} else {
		t.read[i] = x
	}
	if t.now = x; x.Status != crawl.IndexReading {
		t.ended++
	}
}

// look is how far the discovery is.
func (t *discovery) look() View {
	why := t.waiting()
	t.mu.Lock()
	defer t.mu.Unlock()
	return indexView{t.now, t.ended, len(t.states), why}
}

// readIndexes reads the indexes with its line beside it, and tells how it went.
func (t *discovery) readIndexes(ctx context.Context) error {
	began := time.Now()
	var engine *crawl.Engine
	client := fetch.New(t.fetchConfig(t.src.BaseURL().Host, func(o fetch.Observation) { engine.Observed(o) }))
	defer client.Close()
	t.mentionProxies(ctx)
	pool, err := t.egress.pool(ctx, t.monitor, client, &t.scores)
	if err != nil {
		return errors.Join(err, t.row.Finish(ctx, checkpoint.OutcomeNoProxies, 0))
	}
	shortest, _ := pace(t.c, t.src)
	engine = crawl.New(crawl.Config{
		Keeper: t.keeper.Keeper, Monitor: t.monitor, Run: t.row, Pool: pool, Delay: shortest, Source: t.src, Scope: t.scope, Fetch: client,
		Index: &crawl.Index{
			Only: true, Gazetteer: t.places, Plan: t.plan.Plan(t.scope.SourceID, 0), MinPopulation: t.sel.MinPopulation, Heard: t.hear,
		},
		OpenLog: t.openLog, Workers: 1, Patience: timeOf(t.c, "patience"), Logger: t.log, Reached: t.p.Reached,
		Beat: func(ctx context.Context) error { return t.scores.beat(ctx, t.monitor, []*fetch.Pool{pool}, t.egress) },
	})
	interrupted := context.AfterFunc(ctx, func() {
		t.log.Info().Msg("stopping after the current page; Ctrl-C again ends at once")
		engine.Stop(crawl.ErrInterrupted)
	})
	defer interrupted()
	t.waiting = func() string {
		if why := engine.Waiting(); why != "" {
			return strings.TrimPrefix(why, "waiting ") // the line says that word itself
		}
		why, _ := waitsAt(client, t.src.BaseURL().Host)
		return why
	}
	stop := t.display.Follow(t.log, t.look)
	written := t.scores.keep(ctx, t.monitor, []*fetch.Pool{pool}, t.egress)
	keep := context.WithoutCancel(ctx)
	unobserved := t.observe(ctx)
	err = engine.Run(keep)
	written()
	stop()
	err = errors.Join(err, t.scores.flush(keep, t.monitor))
	unobserved()
	st := engine.Stats()
	err = errors.Join(err, t.row.Finish(ctx, outcomeOf(err), st.Requests))
	return t.report(t.read, st, time.Since(began), err)
}

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
	err := t.p.tell(t.c, struct {
		Source  string  `json:"source"`
		Pages   int     `json:"pages"`
		Seconds float64 `json:"seconds"`
		States  []row   `json:"states"`
	}{t.src.Name(), pages, took.Seconds(), rows}, func(w *sections) {
		w.table(tableOf(rows, func(r row) []any { return []any{r.State, r.Pages, r.First} }, "state", "pages", "first page"))
	})
	if err != nil || t.c.Bool("json") {
		return err
	}
	text := "as fast as the source answers"
	if took > 0 {
		text = lasting(took) + " at this pace"
	}
	t.p.note("%s of %s to request: %s. Nothing was requested or written (--dry-run).", plural(pages, "page"), plural(len(rows), "state"), text)
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

// plainReason drops a class of errors that says nothing beside what robots.txt says.
func plainReason(reason string) string {
	says := fetch.ErrDisallowed.Error()
	return strings.ReplaceAll(reason, string(yp.ClassUnknown)+": "+says, says)
}

// report prints how it went and maps it to the exit code.
func (t *discovery) report(states []crawl.StateIndex, st crawl.Stats, took time.Duration, err error) error {
	s := discovered{
		Source: t.src.Name(), Outcome: string(outcomeOf(err)), States: append([]crawl.StateIndex{}, states...),
		Requests: st.Requests, Seconds: took.Seconds(), Database: t.keeper.DB().Path(),
	}
	for i := range s.States {
		l := &s.States[i]
		s.Pages += l.Fetched
		if l.Status == crawl.IndexFailed {
			s.failed++
			if strings.Contains(l.Reason, fetch.ErrDisallowed.Error()) { // nothing that is typed again helps then
				s.forbidden++
			}
		}
		l.Reason = plainReason(l.Reason)
	}
	if err != nil {
		s.Error, s.Resume = err.Error(), t.p.commandLine()
	}
	t.out.say("outcome: %s; %s read, %s failed; %s", s.Outcome, plural(s.Pages, "page"), plural(s.failed, "state"), plural(s.Requests, "request"))
	t.tellEnd(t.c.Context, err, st, nil)
	perr := t.p.tell(t.c, s, func(w *sections) {
		if t.c.Bool("quiet") {
			return
		}
		w.table(tableOf(s.States, func(x crawl.StateIndex) []any {
			return []any{
				x.State, string(x.Status), fmt.Sprintf("%d of %d", x.PagesDone, x.Pages), x.Cities, x.Added, x.Removed, x.Planned, x.Retired, orDash(x.Reason),
			}
		}, "state", "index", "pages", "cities", "new", "removed", "targets planned", "retired", "reason"))
	})
	if perr != nil {
		return errors.Join(perr, err)
	}
	return t.end(s, err)
}

// end maps how it ended to its exit code, with the next step.
func (t *discovery) end(s discovered, err error) error {
	var blocked *crawl.BlockedError
	switch {
	case errors.Is(err, crawl.ErrInterrupted):
		t.p.note("Interrupted. Every page that was read is kept; go on with:\n  %s", s.Resume)
		return &exitError{code: ExitInterrupted}
	case errors.As(err, &blocked):
		t.p.note("Stopped: %s. %s", yp.Printable(blocked.Error()), t.remedy(blocked))
		return &exitError{code: ExitBlocked}
	case errors.Is(err, crawl.ErrNoProxies):
		t.p.note("Stopped: %s. `ypcrawl proxies list` shows why; add others or wait for the end of their cooldown, then type the same command again.", yp.Printable(err.Error()))
		return &exitError{code: ExitNoProxies}
	case err != nil:
		return err
	case s.failed > 0:
		t.p.note("%s failed, and no city was marked as removed there: `ypcrawl discover stats` shows why. %s", plural(s.failed, "state"), s.retry())
		return &exitError{code: ExitFailures}
	}
	return nil
}

// retry is what may help with the states that failed.
func (s *discovered) retry() string {
	const others = "robots.txt forbids the index, and asking again does not change that. " +
		"Plan from the built-in list of places (`ypcrawl plan`) or use another source; --robots ignore is your own responsibility."
	switch s.forbidden {
	case 0:
		return "Type the same command again to go on with them."
	case s.failed:
		return others
	}
	return fmt.Sprintf("Type the same command again to go on with them, except for %s: there %s", plural(s.forbidden, "state"), others)
}

// remedy is what opens a source again.
func (t *discovery) remedy(b *crawl.BlockedError) string {
	if b.Availability.State == store.SourceQuarantined {
		return fmt.Sprintf("`ypcrawl run` requests one page when the cooldown is over; `ypcrawl sources enable %s` opens it now.", b.Source)
	}
	if b.Availability.State == store.SourceDisabled || b.Availability.Until.IsZero() {
		return fmt.Sprintf("When its cause is fixed: `ypcrawl sources enable %s`.", b.Source)
	}
	return "Nothing is lost. Type the same command again then; `ypcrawl status` shows what it waits for."
}

// indexView is how far the reading of indexes is.
type indexView struct {
	crawl.StateIndex
	ended, states int
	waiting       string
}

// barWidth is the number of columns of the bar.
const barWidth = 20

func (x indexView) frame(width int) string {
	if x.State == "" {
		return ""
	}
	full := 0
	if x.Pages > 0 {
		full = barWidth * x.PagesDone / x.Pages
	}
	text := fmt.Sprintf("%s |%s%s| page %d of %d, %s, state %d of %d", x.State, strings.Repeat("█", full), strings.Repeat(" ", barWidth-full),
		x.PagesDone, x.Pages, plural(x.Cities, "city"), min(x.ended+1, x.states), x.states)
	if x.waiting != "" {
		text += ", waiting " + yp.Printable(x.waiting)
	}
	return yp.Cut(text, width-1)
}

func (x indexView) fields(e *zerolog.Event) *zerolog.Event {
	e = e.Int("states_done", x.ended).Int("states", x.states).
		Str("state", x.State).Int("page", x.PagesDone).Int("pages", x.Pages).Int("cities", x.Cities)
	if x.waiting != "" {
		e = e.Str("waiting", x.waiting)
	}
	return e
}
