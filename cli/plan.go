package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
)

func (p *Program) planCommand() *cli.Command {
	flags := append(sourceFlags(), selectFlags()...)
	return &cli.Command{
		Name:  "plan",
		Usage: "Plan searches (source × cities × categories) without crawling them",
		Description: "`run` plans, too. Planning again adds new searches and applies a higher --max-pages to old ones; finished\n" +
			"searches are not changed. Without --states all states of the source are planned.",
		Flags: append(flags,
			&cli.IntFlag{Name: "max-targets", DefaultText: "all", Usage: "plan at most this many `TARGETS`"},
			dryRunFlag(),
			delayFlag(), frame.JSONFlag(),
		),
		Action: p.plan,
	}
}

func (p *Program) plan(c *cli.Context) error {
	sel, err := selection(c)
	if err != nil {
		return err
	}
	src, err := p.source(c)
	if err != nil {
		return err
	}
	r, err := p.resolve(c, src, sel)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		p.noteSecrets(src)
		return p.dryRun(c, []dryRow{estimate(c, src, r, sel.MaxTargets)}, false)
	}
	k, err := p.open(c, create)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	began := time.Now()
	id, err := k.Register(c.Context, sourceRow(src))
	if err != nil {
		return err
	}
	out, err := k.Plan(c.Context, r.Plan(id, sel.MaxTargets))
	if err != nil {
		return err
	}
	if left, err := k.PlanLimit(c.Context, id); err == nil && left == 0 {
		p.Note("%s is in the sandbox, which has %d searches: `ypcrawl run --source %s` crawls them.", src.Name(),
			checkpoint.SandboxTargets, src.Name())
	}
	took := time.Since(began)
	return p.Answer(c, struct {
		checkpoint.Planned
		Seconds float64 `json:"seconds"`
	}{out, took.Seconds()}, "%s selected, %s new, %s deepened (%s)",
		plural(out.Selected, "target"), thousands(int64(out.Added)), thousands(int64(out.Deepened)), took.Round(time.Millisecond))
}

// pace is the delay in force: the one asked for, else the source's own.
func pace(c *cli.Context, src *site.Source) (shortest, longest time.Duration) {
	if !c.IsSet("delay") {
		d := src.DefaultDelay()
		return d, d + d/4 // jitter: a clockwork is conspicuous and hits the same instant again and again
	}
	return frame.DelayOf(c, "delay")
}

// dryRow is what the targets of a source would cost from the start.
type dryRow struct {
	Source     string `json:"source"`
	States     int    `json:"states"`
	Cities     int    `json:"cities"`
	Categories int    `json:"categories"`
	discover.Estimate
}

func estimate(c *cli.Context, src *site.Source, r *discover.Resolved, maxTargets int) dryRow {
	shortest, longest := pace(c, src)
	delay, onlyIndexes := (shortest+longest)/2, c.Command.Name == "discover"
	e := dryRow{Source: src.Name(), States: len(r.States), Cities: len(r.Cities), Categories: len(r.Categories)}
	if !onlyIndexes {
		e.Estimate = r.Estimate(extent(src), maxTargets, delay, c.Bool("details") && src.HasDetails())
	}
	if (onlyIndexes || c.Bool("discover")) && src.HasIndex() && e.Requests >= 0 {
		for _, state := range indexStates(src, r.States) {
			e.IndexPages += len(src.IndexRequests(state))
		}
		e.Requests += e.IndexPages
		e.Time += time.Duration(e.IndexPages) * delay
		e.Seconds = e.Time.Seconds()
	}
	return e
}

// facts tells of a source line by line.
func (e dryRow) facts() *frame.Table {
	some := func(n int) string {
		if n == 0 {
			return ""
		}
		return thousands(int64(n))
	}
	requests, took, disk := thousands(int64(e.Requests)), lasting(e.Time), ""
	switch {
	case e.Requests < 0:
		requests, took, disk = "unknown: all pages are requested", "unknown", "unknown"
	case e.Time == 0:
		took = "no delay: as fast as the source answers"
	}
	if e.Bytes > 0 {
		disk = bytesText(e.Bytes)
	}
	pages, details := "", ""
	if e.Details > 0 {
		pages, details = some(e.Pages), fmt.Sprintf("%s (%d per page of results)", some(e.Details), discover.PageCards)
	}
	return frame.Facts("would crawl", e.Source, "states", some(e.States), "cities", some(e.Cities), "categories",
		some(e.Categories), "searches", some(e.Targets),
		"pages of indexes", some(e.IndexPages), "pages of results, at most", pages, "own pages, at most", details,
		"requests, at most", requests, "time at this pace", took, "disk space, at most", disk)
}

// dryRun tells what `plan`, or a run, would cost.
func (p *Program) dryRun(c *cli.Context, rows []dryRow, several bool) error {
	if c.Bool("json") && several {
		return frame.WriteJSON(p.Out, rows)
	}
	targets := 0
	err := p.Tell(c, rows[0], func(w *frame.Sections) {
		for _, e := range rows {
			w.Table(e.facts())
			targets += e.Targets
		}
	})
	switch {
	case err != nil || c.Bool("json"):
		return err
	case several:
		p.Note("%s of %s, which are crawled side by side.", plural(targets, "search"), plural(len(rows), "source"))
	}
	p.Note("Nothing was written (--dry-run).")
	return nil
}

// dryRun tells what the run would cost.
func (r *run) dryRun() error {
	rows := make([]dryRow, len(r.sources))
	for i, s := range r.sources {
		rows[i] = estimate(r.c, s.src, s.resolved, r.sel.MaxTargets)
		r.p.noteSecrets(s.src)
	}
	return r.p.dryRun(r.c, rows, r.several())
}
