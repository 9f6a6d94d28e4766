package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
)

func (p *Program) recoverCommand() *cli.Command {
	return &cli.Command{
		Name:  "recover",
		Usage: "Take back targets whose worker is dead or silent, so that the next run goes on with them",
		Description: "What dead processes of this machine held is taken back at once; beyond that, every target\n" +
			"whose heartbeat is older than --timeout. Pages done are kept.\n" +
			"A run of another machine, or under another host name, as every container has its own, counts as dead\n" +
			"when nobody holds its lock file and it has been silent for 3 minutes. Where machines share a file but\n" +
			"not its locks (some network file systems), a run that hangs that long loses what it holds: it notices,\n" +
			"writes nothing more of it, and the page in hand is done again.",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "timeout", Value: minutesValue(time.Hour), Usage: "age of a heartbeat in `MINUTES` (or 2h) from which its worker counts as gone"},
			statesFlag(),
			onlySourceFlag(),
			jsonFlag(),
		},
		Action: p.recover,
	}
}

func (p *Program) recover(c *cli.Context) error {
	timeout := timeOf(c, "timeout")
	if timeout <= 0 {
		return Usagef("--timeout: want more than 0 minutes; heartbeats come every 30 seconds")
	}
	k, scope, err := p.openScoped(c, existing)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	dead, err := k.RecoverDead(c.Context, scope)
	if err != nil {
		return err
	}
	stale, err := k.RecoverStale(c.Context, scope, timeout)
	if err != nil {
		return err
	}
	out := checkpoint.Recovered{Planned: dead.Planned + stale.Planned, Stuck: dead.Stuck + stale.Stuck, Dead: dead.Dead}
	out.Details, out.DetailsStuck = dead.Details+stale.Details, dead.DetailsStuck+stale.DetailsStuck
	text := plural(out.Planned, "target") + " recovered"
	if out.Stuck > 0 {
		text += fmt.Sprintf(", %d stuck after %d fruitless recoveries (see `ypcrawl reset --status STUCK`)", out.Stuck, yp.MaxRecoveries)
	}
	if out.Details > 0 {
		text += ", and " + plural(out.Details, "detail")
	}
	return p.answer(c, out, "%s", text)
}
