package cli

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// sourcesFlags choose several sources for one run.
func sourcesFlags() []cli.Flag {
	return []cli.Flag{
		list("sources", "crawl several sources side by side: `SOURCE...`, instead of --source", "none"),
		&cli.BoolFlag{Name: "all-sources", Usage: "crawl every enabled source of the database side by side"},
	}
}

// sourceNames tells which sources go side by side: those that are named, or all. Settings
// that say one thing give way to a command line that says another.
func (p *Program) sourceNames(c *cli.Context) (names []string, all bool) {
	names, all = SplitList(c.StringSlice("sources")), c.Bool("all-sources")
	switch {
	case p.typed("sources"):
		return names, all && p.typed("all-sources")
	case all && p.typed("all-sources"):
		return nil, true
	case p.typed("source"), p.typed("source-file"), p.typed("base-url"):
		return nil, false
	}
	return names, all
}

// typed reports whether a flag stands on the command line: the library tells it from
// neither a variable nor the settings file.
func (p *Program) typed(flag string) bool {
	for _, arg := range p.args {
		if arg == "--" {
			return false
		}
		if isFlag(arg) {
			if name, _, _ := splitFlag(arg); name == flag {
				return true
			}
		}
	}
	return false
}

// several reports whether sources were asked for that go side by side: the summary has
// a line for each then, even if there is one.
func (r *run) several() bool {
	names, all := r.p.sourceNames(r.c)
	return len(names) > 0 || all
}

// checkSourcesFlags refuses flags that say two things.
func (r *run) checkSourcesFlags() error {
	if err := notEmpty(r.c, "sources", r.c.StringSlice("sources")); err != nil || !r.several() {
		return err
	}
	if names, all := r.p.sourceNames(r.c); len(names) > 0 && all {
		return Usagef("--sources and --all-sources: name the sources or take them all, not both")
	}
	for _, name := range []string{"source", "source-file", "base-url"} {
		if r.p.typed(name) {
			return Usagef("--%s is about one source: leave it out, or leave out --sources and --all-sources", name)
		}
	}
	return nil
}

// chooseSources finds the sources of the run and what is selected of each.
func (r *run) chooseSources() ([]*sourceRun, error) {
	if err := r.checkSourcesFlags(); err != nil {
		return nil, err
	}
	if !r.several() {
		src, err := r.p.source(r.c)
		if err != nil {
			return nil, err
		}
		resolved, err := resolve(src, r.sel)
		return []*sourceRun{{src: src, resolved: resolved}}, err
	}
	sources, err := r.p.manySources(r.c)
	if err != nil {
		return nil, err
	}
	return r.resolveSources(sources)
}

// resolveSources resolves the selection for every source. One that has nothing of it is left
// out with a word: others may have.
func (r *run) resolveSources(sources []*site.Source) (runs []*sourceRun, err error) {
	g, err := gazetteer.Load()
	if err != nil {
		return nil, fmt.Errorf("load places: %w", err)
	}
	known := map[string]*discover.Resolved{} // by extent: the places of a hundred sources are the same
	var last error
	for _, src := range sources {
		x := extent(src)
		key := fmt.Sprintf("%q %d %d", x.Categories, x.PlacesPerState, x.PageCap)
		if known[key] == nil {
			if known[key], err = resolveIn(g, src, r.sel); err != nil {
				r.log.Warn().Str("source", src.Name()).Str("reason", err.Error()).Msg("a source is left out")
				last = err
				delete(known, key)
				continue
			}
		}
		runs = append(runs, &sourceRun{src: src, resolved: known[key]})
	}
	if len(runs) == 0 {
		return nil, last
	}
	return runs, nil
}

// manySources loads the sources that --sources or --all-sources mean.
func (p *Program) manySources(c *cli.Context) ([]*site.Source, error) {
	stored, err := p.storedSources(c)
	if err != nil {
		return nil, err
	}
	names, every := p.sourceNames(c)
	if every {
		return p.allSources(c, stored)
	}
	var all []*site.Source
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		src, err := stored.load("--sources: ", name)
		if err != nil {
			return nil, err
		}
		all = append(all, src)
	}
	return all, nil
}

// allSources loads every source of the database that is enabled and past review. One
// whose definition is a file of the operator's can't be had here.
func (p *Program) allSources(c *cli.Context, stored storedList) (all []*site.Source, err error) {
	for _, s := range stored {
		switch {
		case !s.Enabled || s.Stage == checkpoint.StageReview:
			continue
		case s.Definition == "" && !isBuiltin(s.Name):
			p.note("%s is left out: its definition is a file; crawl it with --source-file.", yp.Printable(s.Name))
			continue
		}
		src, err := stored.load("", s.Name)
		if err != nil {
			p.note("%s is left out: %s.", yp.Printable(s.Name), yp.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
			continue
		}
		all = append(all, src)
	}
	if len(all) == 0 {
		return nil, Usagef("--all-sources: %s has no enabled source; add one with `ypcrawl sources add URL`, or name them with --sources", c.String("db"))
	}
	return all, nil
}

// ownDemo is the run over the demo directory if this process has to serve it: its
// address was not given. Of several sources, it may be one that somebody else serves.
func (r *run) ownDemo() *sourceRun {
	for _, c := range r.sources {
		switch {
		case c.src.Name() != demoSource, !r.several() && (r.c.IsSet("base-url") || r.c.IsSet("source-file")):
		case r.several() && !isBuiltinPlace(c.src) && !vacant(c.src.BaseURL().Host):
		default:
			return c
		}
	}
	return nil
}

// isBuiltinPlace reports whether a source is where its definition says: nobody has
// ever crawled it elsewhere.
func isBuiltinPlace(src *site.Source) bool {
	b, err := site.Builtin(src.Name())
	return err == nil && b.BaseURL().Host == src.BaseURL().Host
}

// vacant reports whether an address of this machine is there to be served at.
func vacant(host string) bool {
	at, err := netip.ParseAddrPort(host)
	if err != nil || !at.Addr().IsLoopback() {
		return false
	}
	l, err := net.Listen("tcp", host) //nolint:noctx // it is closed at once
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// estimate is what the targets of the source would cost from the start.
func (c *sourceRun) estimate(ctx *cli.Context, maxTargets int) discover.Estimate {
	return estimate(ctx, c.src, c.resolved, maxTargets)
}

func estimate(ctx *cli.Context, src *site.Source, r *discover.Resolved, maxTargets int) discover.Estimate {
	shortest, longest := pace(ctx, src)
	delay := (shortest + longest) / 2
	e := r.Estimate(extent(src), maxTargets, delay, ctx.Bool("details") && src.HasDetails())
	if ctx.Bool("discover") && src.HasIndex() && e.Requests >= 0 {
		for _, state := range r.States {
			e.IndexPages += len(src.IndexPages(state))
		}
		e.Requests += e.IndexPages
		e.Time += time.Duration(e.IndexPages) * delay
		e.Seconds = e.Time.Seconds()
	}
	return e
}

// dryRun tells what the run would cost.
func (r *run) dryRun() error {
	if !r.several() {
		c := r.sources[0]
		return r.p.dryRun(r.c, c.src, c.resolved, r.sel.MaxTargets)
	}
	return r.dryRunSources()
}

// dryRow is what one source of several would cost.
type dryRow struct {
	Source     string `json:"source"`
	States     int    `json:"states"`
	Cities     int    `json:"cities"`
	Categories int    `json:"categories"`
	discover.Estimate
}

func (r *run) dryRunSources() error {
	rows, targets := []dryRow{}, 0
	for _, c := range r.sources {
		e := c.estimate(r.c, r.sel.MaxTargets)
		rows = append(rows, dryRow{c.src.Name(), len(c.resolved.States), len(c.resolved.Cities), len(c.resolved.Categories), e})
		targets += e.Targets
	}
	if r.c.Bool("json") {
		return writeRows(r.p.Out, rows)
	}
	t := tableOf(rows, func(e dryRow) []any {
		requests, took, disk := thousands(int64(e.Requests)), lasting(e.Time), bytesText(e.Bytes)
		switch {
		case e.Requests < 0:
			requests, took, disk = "unknown", "unknown", "unknown"
		case e.Time == 0:
			took = "no delay"
		}
		return []any{e.Source, e.Targets, requests, took, disk}
	}, "would crawl", "targets", "requests at most", "time at this pace", "disk at most")
	if err := t.flush(&r.p.Streams, r.p.Out); err != nil {
		return err
	}
	r.p.note("%s of %s, which are crawled side by side. Nothing was written (--dry-run).", plural(int64(targets), "target"), plural(int64(len(rows)), "source"))
	return nil
}
