package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

func (p *Program) progressCommand() *cli.Command {
	return &cli.Command{
		Name:  "progress",
		Usage: "Show how far the crawl is: overall, by state, workers alive, errors, speed",
		Flags: []cli.Flag{
			statesFlag(),
			&cli.StringFlag{Name: "source", Usage: "only this `SOURCE` (default: all)"},
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "show it again and again until Ctrl-C"},
			&cli.DurationFlag{Name: "every", Value: 2 * time.Second, Usage: "`TIME` between two looks with --watch"},
			jsonFlag(),
		},
		Action: p.progress,
	}
}

func (p *Program) progress(c *cli.Context) error {
	k, err := p.open(c, reading)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	scope, err := plainScope(c, k)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		return p.watchProgress(c, k, scope)
	}
	return p.showProgress(c, k, scope, p.Out)
}

// plainScope is a scope of --source and --states alone.
func plainScope(c *cli.Context, k *checkpoint.Keeper) (checkpoint.Scope, error) {
	codes, err := states(c)
	if err != nil {
		return checkpoint.Scope{}, err
	}
	scope := checkpoint.Scope{States: codes}
	if name := c.String("source"); name != "" {
		if scope.SourceID, err = k.SourceID(c.Context, name); err != nil {
			return scope, err
		}
		if scope.SourceID == 0 {
			return scope, Usagef("--source %q: the database has no such source; see `ypcrawl sources list`", name)
		}
	}
	return scope, nil
}

// watchProgress shows the progress until ctx ends: a screen that is redrawn on
// a terminal, one JSON object a line or one text a look elsewhere.
func (p *Program) watchProgress(c *cli.Context, k *checkpoint.Keeper, scope checkpoint.Scope) error {
	every := c.Duration("every")
	if every < 100*time.Millisecond {
		return Usagef("--every %s: want 100ms or more", every)
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		var screen bytes.Buffer
		if err := p.showProgress(c, k, scope, &screen); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		if p.live(p.Out) && !c.Bool("json") {
			if _, err := io.WriteString(p.Out, "\x1b[H\x1b[2J"); err != nil {
				return err
			}
		}
		if _, err := p.Out.Write(screen.Bytes()); err != nil {
			return err
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-t.C:
		}
	}
}

func (p *Program) showProgress(c *cli.Context, k *checkpoint.Keeper, scope checkpoint.Scope, w io.Writer) error {
	pr, err := k.Progress(c.Context, scope)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(w, pr)
	}
	return p.printProgress(pr, w)
}

func (p *Program) printProgress(pr *checkpoint.Progress, w io.Writer) error {
	t := newTable("state", "done %", "planned", "in progress", "done", "failed", "stuck", "parked", "pages", "listings", "companies")
	add := func(name string, c checkpoint.Counts) {
		t.row(name, percent(c.Percent), c.Planned, c.InProgress, c.Done, c.Failed, c.Stuck, c.Parked, c.Pages, c.Listings, c.Companies)
	}
	for _, s := range pr.States {
		add(s.State, s.Counts)
	}
	add("all", pr.Overall)
	if err := t.flush(&p.Streams, w); err != nil {
		return err
	}
	if err := p.printWorkers(pr, w); err != nil {
		return err
	}
	if err := p.printErrors(pr, w); err != nil {
		return err
	}
	return printSpeed(pr, w)
}

func (p *Program) printWorkers(pr *checkpoint.Progress, w io.Writer) error {
	if len(pr.Workers) == 0 {
		return nil
	}
	t := newTable("worker", "city", "category", "page", "heartbeat")
	for _, h := range pr.Workers {
		beat := "never"
		if h.AgeSec >= 0 {
			beat = ago(pr.Now, h.Heartbeat)
		}
		if !h.Alive {
			beat += " (not alive here)"
		}
		t.row(h.Worker, h.City+", "+h.State, h.Category, h.Page, beat)
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return t.flush(&p.Streams, w)
}

func (p *Program) printErrors(pr *checkpoint.Progress, w io.Writer) error {
	if len(pr.Errors) == 0 {
		return nil
	}
	t := newTable("error", "status", "targets", "for example")
	for _, e := range pr.Errors {
		t.row(e.Code, e.Status, e.Targets, short(e.Example, 80))
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return t.flush(&p.Streams, w)
}

func printSpeed(pr *checkpoint.Progress, w io.Writer) error {
	if pr.Rate == 0 {
		return nil
	}
	eta := "unknown"
	if pr.ETASec >= 0 {
		eta = lasting(time.Duration(pr.ETASec * float64(time.Second)))
	}
	_, err := fmt.Fprintf(w, "\n%.1f pages/s, done in %s\n", pr.Rate, eta)
	return err
}

// short cuts a text for a table, before its control characters are shown.
func short(s string, n int) string {
	runes := []rune(yp.Clean(s))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}
