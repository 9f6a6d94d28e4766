package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
)

func (p *Program) planCommand() *cli.Command {
	flags := append(sourceFlags(), selectFlags()...)
	return &cli.Command{
		Name:  "plan",
		Usage: "Plan targets (source × cities × categories) without crawling them",
		Description: "`run` also plans. Planning again adds new targets and deepens targets to --max-pages; finished\n" +
			"targets are not changed. Without --states all states of the source are planned.",
		Flags: append(flags,
			&cli.IntFlag{Name: "max-targets", DefaultText: "all", Usage: "plan at most so many `TARGETS`"},
			dryRunFlag(),
			delayFlag(), jsonFlag(),
		),
		Action: p.plan,
	}
}

func (p *Program) plan(c *cli.Context) error {
	src, sel, err := p.wanted(c)
	if err != nil {
		return err
	}
	r, err := resolve(src, sel)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return p.dryRun(c, estimate(c, src, r, sel.MaxTargets))
	}
	k, err := p.open(c, create)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	began := time.Now()
	id, err := k.Source(c.Context, src.Name(), src.BaseURL().String())
	if err != nil {
		return err
	}
	out, err := k.Plan(c.Context, r.Plan(id, sel.MaxTargets))
	if err != nil {
		return err
	}
	if left, err := k.PlanLimit(c.Context, id); err == nil && left == 0 {
		p.note("%s is in the sandbox, which has %d targets: `ypcrawl run --source %s` crawls them.", src.Name(), checkpoint.SandboxTargets, src.Name())
	}
	took := time.Since(began)
	return p.answer(c, struct {
		checkpoint.Planned
		Seconds float64 `json:"seconds"`
	}{out, took.Seconds()}, "%s selected, %s new, %s deepened (%s)",
		plural(out.Selected, "target"), thousands(int64(out.Added)), thousands(int64(out.Deepened)), took.Round(time.Millisecond))
}

// wanted reads the flags that `plan` and `run` share.
func (p *Program) wanted(c *cli.Context) (*site.Source, discover.Selection, error) {
	sel, err := selection(c)
	if err != nil {
		return nil, sel, err
	}
	src, err := p.source(c)
	return src, sel, err
}

// pace is the delay in force: the one asked for, else the source's own.
func pace(c *cli.Context, src *site.Source) (shortest, longest time.Duration) {
	if !c.IsSet("delay") {
		d := src.DefaultDelay()
		return d, d + d/4 // jitter: a clockwork is conspicuous and hits the same instant again and again
	}
	return delayOf(c, "delay")
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
	delay := (shortest + longest) / 2
	e := r.Estimate(extent(src), maxTargets, delay, c.Bool("details") && src.HasDetails())
	if c.Bool("discover") && src.HasIndex() && e.Requests >= 0 {
		for _, state := range r.States {
			e.IndexPages += len(src.IndexPages(state))
		}
		e.Requests += e.IndexPages
		e.Time += time.Duration(e.IndexPages) * delay
		e.Seconds = e.Time.Seconds()
	}
	return dryRow{src.Name(), len(r.States), len(r.Cities), len(r.Categories), e}
}

func (e dryRow) texts() (requests, took, disk string) {
	switch {
	case e.Requests < 0:
		return "unknown", "unknown", "unknown"
	case e.Time == 0:
		return thousands(int64(e.Requests)), "no delay", bytesText(e.Bytes)
	}
	return thousands(int64(e.Requests)), lasting(e.Time), bytesText(e.Bytes)
}

// dryRun tells what `plan` or a run over one source would cost.
func (p *Program) dryRun(c *cli.Context, e dryRow) error {
	if c.Bool("json") {
		return writeJSON(p.Out, e)
	}
	requests, took, disk := e.texts()
	if e.Requests < 0 {
		requests += ": all pages were requested"
	} else if e.Time == 0 {
		took += ": as fast as the source answers"
	}
	index, pages, details := "", "", ""
	if e.IndexPages > 0 {
		index = thousands(int64(e.IndexPages))
	}
	if e.Details > 0 {
		pages = thousands(int64(e.Pages))
		details = fmt.Sprintf("%s (%d a results page)", thousands(int64(e.Details)), discover.PageCards)
	}
	t := facts(
		"would crawl", e.Source,
		"states", thousands(int64(e.States)), "cities", thousands(int64(e.Cities)), "categories", thousands(int64(e.Categories)),
		"targets", thousands(int64(e.Targets)),
		"pages of indexes", index, "results pages at most", pages, "detail pages at most", details,
		"requests at most", requests, "time at this pace", took, "disk at most", disk,
	)
	if err := p.tell(c, e, func(w *sections) { w.table(t) }); err != nil {
		return err
	}
	p.note("Nothing was written (--dry-run).")
	return nil
}

// dryRun tells what the run would cost.
func (r *run) dryRun() error {
	rows, targets := []dryRow{}, 0
	for _, s := range r.sources {
		e := estimate(r.c, s.src, s.resolved, r.sel.MaxTargets)
		rows = append(rows, e)
		targets += e.Targets
	}
	switch {
	case !r.several():
		return r.p.dryRun(r.c, rows[0])
	case r.c.Bool("json"):
		return writeRows(r.p.Out, rows)
	}
	t := tableOf(rows, func(e dryRow) []any {
		requests, took, disk := e.texts()
		return []any{e.Source, e.Targets, requests, took, disk}
	}, "would crawl", "targets", "requests at most", "time at this pace", "disk at most")
	if err := r.p.tell(r.c, rows, func(w *sections) { w.table(t) }); err != nil {
		return err
	}
	r.p.note("%s of %s, which are crawled side by side. Nothing was written (--dry-run).", plural(int64(targets), "target"), plural(int64(len(rows)), "source"))
	return nil
}
