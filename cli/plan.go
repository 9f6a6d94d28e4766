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
		Description: "`run` plans by itself. Planning again adds what is new, deepens what --max-pages asks for, and\n" +
			"never disturbs what is done. Without --states all states of the source are meant.",
		Flags: append(flags,
			&cli.IntFlag{Name: "max-targets", DefaultText: "all", Usage: "plan at most so many `TARGETS`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "write nothing, print what it would cost from the start: requests, time, disk"},
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
		return p.dryRun(c, src, r, sel.MaxTargets)
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
	if room, err := k.PlanLimit(c.Context, id); err == nil && room == 0 {
		p.note("%s is in the sandbox, which has %d targets: `ypcrawl run --source %s` crawls them.", src.Name(), checkpoint.SandboxTargets, src.Name())
	}
	return p.printPlan(c, out, time.Since(began))
}

func (p *Program) printPlan(c *cli.Context, out checkpoint.Planned, took time.Duration) error {
	return p.answer(c, struct {
		checkpoint.Planned
		Seconds float64 `json:"seconds"`
	}{out, took.Seconds()}, "%s targets selected, %s new, %s deepened (%s)",
		thousands(int64(out.Selected)), thousands(int64(out.Added)), thousands(int64(out.Deepened)), took.Round(time.Millisecond))
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

func (p *Program) dryRun(c *cli.Context, src *site.Source, r *discover.Resolved, maxTargets int) error {
	e := estimate(c, src, r, maxTargets)
	if c.Bool("json") {
		return writeJSON(p.Out, struct {
			Source     string `json:"source"`
			States     int    `json:"states"`
			Cities     int    `json:"cities"`
			Categories int    `json:"categories"`
			discover.Estimate
		}{src.Name(), len(r.States), len(r.Cities), len(r.Categories), e})
	}
	requests, took, disk := thousands(int64(e.Requests)), lasting(e.Time), bytesText(e.Bytes)
	if e.Requests < 0 {
		requests, took, disk = "unknown: all pages were asked for", "unknown", "unknown"
	} else if e.Time == 0 {
		took = "no delay: as fast as the source answers"
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
		"would crawl", src.Name(),
		"states", thousands(int64(len(r.States))), "cities", thousands(int64(len(r.Cities))), "categories", thousands(int64(len(r.Categories))),
		"targets", thousands(int64(e.Targets)),
		"pages of indexes", index, "results pages at most", pages, "detail pages at most", details,
		"requests at most", requests, "time at this pace", took, "disk at most", disk,
	)
	if err := t.flush(&p.Streams, p.Out); err != nil {
		return err
	}
	p.note("Nothing was written (--dry-run).")
	return nil
}
