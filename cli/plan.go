package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
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
	if c.Bool("json") {
		return writeJSON(p.Out, struct {
			checkpoint.Planned
			Seconds float64 `json:"seconds"`
		}{out, took.Seconds()})
	}
	_, err := fmt.Fprintf(p.Out, "%s targets selected, %s new, %s deepened (%s)\n",
		thousands(int64(out.Selected)), thousands(int64(out.Added)), thousands(int64(out.Deepened)), took.Round(time.Millisecond))
	return err
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
	requests, took, room := thousands(int64(e.Requests)), lasting(e.Time), bytesText(e.Bytes)
	if e.Requests < 0 {
		requests, took, room = "unknown: all pages were asked for", "unknown", "unknown"
	} else if e.Time == 0 {
		took = "no delay: as fast as the source answers"
	}
	t := newTable("would crawl", yp.Printable(src.Name())) // texts, so that numbers and words line up
	t.row("states", thousands(int64(len(r.States))))
	t.row("cities", thousands(int64(len(r.Cities))))
	t.row("categories", thousands(int64(len(r.Categories))))
	t.row("targets", thousands(int64(e.Targets)))
	if e.IndexPages > 0 {
		t.row("pages of indexes", thousands(int64(e.IndexPages)))
	}
	if e.Details > 0 {
		t.row("results pages at most", thousands(int64(e.Pages)))
		t.row("detail pages at most", fmt.Sprintf("%s (%d a results page)", thousands(int64(e.Details)), discover.PageCards))
	}
	t.row("requests at most", requests)
	t.row("time at this pace", took)
	t.row("disk at most", room)
	if err := t.flush(&p.Streams, p.Out); err != nil {
		return err
	}
	p.note("Nothing was written (--dry-run).")
	return nil
}
