package cli

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) resetCommand() *cli.Command {
	return &cli.Command{
		Name:      "reset",
		Usage:     "Plan FAILED (or STUCK, PARKED) targets again, but keep their finished pages",
		ArgsUsage: "[TARGET...]", Args: true,
		UsageText: `  ypcrawl reset                               everything that failed (asks first)
  ypcrawl reset --status PARKED --states TX   those given up in Texas
  ypcrawl reset 12 los-angeles-ca/plumbers    these, whatever went wrong`,
		Description: "Shows how many targets it would plan and asks first, unless you name targets. The next run crawls them.\n" +
			"Without a reset, failed targets wait for their next retry, and PARKED ones (given up) are never crawled.\n" + targetHelp,
		Flags: append([]cli.Flag{
			frame.WordsFlag("status", "`STATUS...` to plan again: FAILED (including those waiting for a first retry), STUCK, PARKED",
				"FAILED; all for named targets"),
			frame.WordsFlag("kind", "only these kinds: `KIND...` is search, index, detail (listings' own pages)", "search index"),
			&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only targets whose last error has this `CODE`, such as TIMEOUT"},
			&cli.IntFlag{Name: "max-attempts", DefaultText: "any", Usage: "only targets that had at most `ATTEMPTS`"},
			&cli.GenericFlag{
				Name: "older-than", Value: frame.AgeValue(0), DefaultText: "any",
				Usage: "only targets that ended more than `TIME` ago: 2d, 36h",
			},
			&cli.BoolFlag{Name: "from-page-1", Usage: "crawl finished pages again, from page 1 on"},
			frame.StatesFlag(),
			frame.OnlySourceFlag(),
		}, batchFlags()...),
		Action: p.reset,
	}
}

func (p *Program) reset(c *cli.Context) error {
	r, err := resetOf(c)
	if err != nil {
		return err
	}
	return p.with(c, existing, func(k *database, scope store.Scope) error {
		kinds := r.Scope.Kinds
		r.Scope, r.Scope.Kinds = scope, kinds
		if r.IDs, err = targetIDs(c, k, scope.SourceID); err != nil {
			return err
		}
		named := len(r.IDs) > 0
		if named && len(r.Statuses) == 0 {
			r.Statuses = []yp.Status{yp.Failed, yp.Stuck, yp.Parked}
		}
		if !named && len(kinds) == 0 {
			r.Scope.Kinds = []yp.Kind{yp.KindIndex, yp.KindSearch}
		}
		b := batch{
			Operation: checkpoint.Reset, Chosen: r, effect: "This plans %s again.", past: "planned again", key: "reset",
			nothing: func() error { return p.adviseReset(c, k, r) },
		}
		if err := p.adviseDone(c, k, r.IDs); err != nil {
			return err
		}
		if c.Bool("from-page-1") {
			b.effect, b.Operation = "This plans %s again from page 1.", checkpoint.ResetFromPage1
		}
		return p.apply(c, k, b)
	})
}

// adviseReset tells somebody who selected nothing what there is to select.
func (p *Program) adviseReset(c *cli.Context, k *database, r checkpoint.Chosen) error {
	trouble, err := k.Trouble(c.Context, r.Scope, k.DB().Now())
	if err != nil {
		return err
	}
	if text := trouble.Text(); text != "" {
		p.Note("No target matches: %s. Choose another --status, or fewer filters.", text)
	} else {
		p.Note("None of these targets failed, is stuck or was given up.")
	}
	return nil
}

// adviseDone says what crawls targets again that were named and are DONE: reset is for what failed.
func (p *Program) adviseDone(c *cli.Context, k *database, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	done, err := k.DoneSearches(c.Context, ids)
	for i, d := range done {
		if i == mostAdvised {
			p.Note("%s more are done, too.", thousands(int64(len(done)-i)))
			break
		}
		words := []string{"run", "--source", d.Source, "--cities", inState(d.City, d.State), "--categories", d.Category, "--recrawl", "0"}
		p.Note("Target %d, %s, is DONE. To crawl it again: `ypcrawl %s`.", d.ID, yp.Printable(d.Target), frame.ShellLine(words))
	}
	return err
}

// mostAdvised is of how many targets a command is printed.
const mostAdvised = 3

// resetOf reads the flags of reset.
func resetOf(c *cli.Context) (r checkpoint.Chosen, err error) {
	if r.Statuses, err = frame.WordsOf(c, "status", yp.ParseStatus); err != nil {
		return r, err
	}
	for _, st := range r.Statuses {
		if !st.Resettable() {
			hint := ""
			if st == yp.Done {
				hint = "; `ypcrawl run --recrawl 0` crawls finished ones again"
			}
			return r, frame.Usagef("--status %s: only FAILED, STUCK and PARKED targets can be planned again%s", st, hint)
		}
	}
	if r.Scope.Kinds, err = frame.WordsOf(c, "kind", yp.ParseKind); err != nil {
		return r, err
	}
	if r.Error, err = frame.ErrorOf(c); err != nil {
		return r, err
	}
	r.OlderThan = frame.TimeOf(c, "older-than")
	if c.IsSet("max-attempts") {
		r.MaxAttempts = new(c.Int("max-attempts"))
		if *r.MaxAttempts < 0 {
			return r, frame.Usagef("--max-attempts %d: want a number from 0 up", *r.MaxAttempts)
		}
	}
	return r, nil
}

func (p *Program) recoverCommand() *cli.Command {
	return &cli.Command{
		Name:  "recover",
		Usage: "Release targets held by a dead or silent worker, so that the next run crawls them",
		Description: "Targets held by dead processes on this machine are released at once, others when the worker's\n" +
			"heartbeat is older than --timeout. Finished pages are kept.\n" +
			"A run on another machine, or under another host name (every container has its own), counts as dead\n" +
			"when nobody holds its lock file and it has been silent for 3 minutes. Where machines share a file but\n" +
			"not its locks (some network file systems), a run that hangs for 3 minutes loses the targets that it holds.\n" +
			"It notices this, writes nothing more for them, and their current pages are read again.",
		Flags: append([]cli.Flag{pingFlag()},
			&cli.GenericFlag{
				Name: "timeout", Value: frame.MinutesValue(time.Hour),
				Usage: "a worker counts as dead once its heartbeat is this many `MINUTES` old (or 2h)",
			},
			frame.StatesFlag(),
			frame.OnlySourceFlag(),
			frame.JSONFlag(),
		),
		Action: func(c *cli.Context) error {
			return p.announced(c, func(_ *frame.Display, _ zerolog.Logger, a *announcer) error { return p.recover(c, a) })
		},
	}
}

func (p *Program) recover(c *cli.Context, a *announcer) error {
	timeout := frame.TimeOf(c, "timeout")
	if timeout <= 0 {
		return frame.Usagef("--timeout: want more than 0 minutes; heartbeats come every 30 seconds")
	}
	return p.with(c, existing, func(k *database, scope store.Scope) error {
		dead, err := k.RecoverDead(c.Context, scope)
		if err != nil {
			return err
		}
		stale, err := k.RecoverStale(c.Context, scope, timeout)
		if err != nil {
			return err
		}
		out := checkpoint.Recovered{
			Planned: dead.Planned + stale.Planned, Stuck: dead.Stuck + stale.Stuck, Dead: dead.Dead,
			Unknown: dead.Unknown,
		}
		text := plural(out.Planned, "target") + " recovered"
		if out.Stuck > 0 {
			text += fmt.Sprintf(", %d stuck after %d recoveries without a new page (see `ypcrawl reset --status STUCK`)",
				out.Stuck, yp.MaxRecoveries)
		}
		if out.Unknown > 0 {
			text += fmt.Sprintf(", %s left alone: its process may still be alive (%s): see `ypcrawl doctor`",
				plural(out.Unknown, "run"), yp.Printable(dead.Unseen.Error()))
		}
		a.say("%s", text)
		if c.Bool("quiet") && !c.Bool("json") && out.Stuck+out.Unknown == 0 {
			return nil // the next run goes on with them: nothing to do
		}
		return p.Answer(c, out, "%s", text)
	})
}
