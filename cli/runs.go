package cli

import (
	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/store/report"
)

func (p *Program) runsCommand() *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "What each run did: list, show",
		Subcommands: []*cli.Command{
			p.listCommand("runs list"),
			{
				Name: "show", Usage: "Show all that is known of a run: selection, pages, listings, attempts, errors, requests, waits",
				ArgsUsage: "RUN|last", Args: true,
				Description: "RUN is its number, or the first letters of its uuid. Requests are kept as long as the setting keep-requests says,\n" +
					"successful attempts for 30 days, all else of a run for 90 days. What was deleted is named, and is not counted as 0.",
				Flags: []cli.Flag{jsonFlag()}, Action: p.runsShow,
			},
		},
	}
}

func (p *Program) runsShow(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return Usagef("want one run: its number, the first letters of its uuid, or last; `ypcrawl runs list` lists them all")
	}
	return p.with(c, reading, func(k *database, _ store.Scope) error {
		id, err := runOf(c, k, c.Args().First())
		if err != nil {
			return err
		}
		r, err := k.Run(c.Context, id)
		if err != nil {
			return asUsage(err)
		}
		return p.show(c, k.DB().Now(), []*report.Record{r})
	})
}

// runOf finds the run that a word names.
func runOf(c *cli.Context, k *database, word string) (int64, error) {
	r, err := k.FindRun(c.Context, word)
	return r.ID, asUsage(err)
}
