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
			p.showCommand("Show everything known of runs: selection, pages, listings, attempts, errors, requests, waits", "RUN",
				"name a run by its number, or last; `ypcrawl runs list` lists them",
				"RUN is its number, or last. Requests are kept for as long as the setting keep-requests says,\n"+
					"successful attempts for 30 days, everything else for 90 days. What was deleted is named, and not counted as 0.",
				func(c *cli.Context, k *database, _ store.Scope, word string) (*report.Record, error) {
					r, err := k.FindRun(c.Context, word)
					if err != nil {
						return nil, err
					}
					return k.Run(c.Context, r.ID)
				}),
		},
	}
}

// runOf finds the run that a word names.
func runOf(c *cli.Context, k *database, word string) (int64, error) {
	r, err := k.FindRun(c.Context, word)
	return r.ID, asUsage(err)
}
