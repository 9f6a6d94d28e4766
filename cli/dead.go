package cli

import (
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) deadCommand() *cli.Command {
	which := func() []cli.Flag {
		return []cli.Flag{
			statesFlag(),
			onlySourceFlag(),
			&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only those whose last error has this `CODE`, TIMEOUT say"},
			&cli.GenericFlag{Name: "older-than", Value: ageValue(0), DefaultText: "any", Usage: "only those parked longer than `TIME` ago: 2d, 36h"},
		}
	}
	return &cli.Command{
		Name:  "dead",
		Usage: "Dead letters: targets that no crawl takes again by itself",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "List dead letters with their reasons, the newest first", Flags: append(append(which(), formatFlags()...), limitFlag()), Action: p.deadList},
			{
				Name: "requeue", Usage: "Plan dead letters again; their failures are forgotten, pages done are kept", ArgsUsage: "[TARGET...]", Args: true,
				Description: "Name targets, or choose them with flags; that shows how many there are and asks.\n" + targetHelp,
				Flags: append(which(),
					&cli.BoolFlag{Name: "from-page-1", Usage: "forget the pages done and crawl them again"},
					&cli.BoolFlag{Name: "all", Usage: "every dead letter, when no flag chooses"},
					&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
					&cli.BoolFlag{Name: "dry-run", Usage: "only count"},
					jsonFlag()),
				Action: p.deadRequeue,
			},
		},
	}
}

func (p *Program) deadList(c *cli.Context) error {
	code, err := errorOf(c)
	if err != nil {
		return err
	}
	return listRows(p, c, listing[report.DeadLetter]{
		noun: "dead letter",
		ask: func(k *database, scope store.Scope, limit int) ([]report.DeadLetter, error) {
			return k.DeadLetters(c.Context, report.DeadLetterFilter{Scope: scope, Error: code, OlderThan: timeOf(c, "older-than")}, limit)
		},
		columns: []string{"id", "target", "source", "parked", "attempts", "page", "error", "reason"},
		cells: func(now time.Time, d report.DeadLetter) []any {
			title := titleOf(report.Target{Kind: d.Kind, Category: d.Category, City: d.City, State: d.State})
			return []any{idText(d.ID), short(title, 30), d.Source, ago(now, d.Parked), d.Attempts, d.Page, codeText(d.Code, d.ByProxy), short(reason(d.Error), p.widthLeft(92))}
		},
	})
}

func (p *Program) deadRequeue(c *cli.Context) error {
	code, err := errorOf(c)
	if err != nil {
		return err
	}
	if err := needsAll(c); err != nil {
		return err
	}
	k, scope, err := p.openScoped(c, existing)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	chosen := checkpoint.Chosen{Scope: scope, Error: code, OlderThan: timeOf(c, "older-than")}
	if chosen.IDs, err = p.targetIDs(c, k, scope.SourceID); err != nil {
		return err
	}
	t := task{
		operation: checkpoint.Requeue, chosen: chosen, question: "Take %s back to PLANNED?",
		nothing: "No dead letter matches.", past: past(checkpoint.Requeue),
	}
	if c.Bool("from-page-1") {
		t.operation, t.question = checkpoint.RequeueAnew, "Take %s back to PLANNED and crawl them again from page 1?"
	}
	return p.carryOut(c, k, t)
}
