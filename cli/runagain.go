package cli

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
)

// againFlags say when what is done is crawled again.
func againFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{
			Name: "every", Value: ageValue(0), DefaultText: "as before: 7d for new targets",
			Usage: "crawl the selected targets again so long after their last crawl: `TIME` like 1d, 12h; 0 = never by itself",
		},
		&cli.GenericFlag{
			Name: "recrawl", Value: ageValue(0), DefaultText: "only what is due",
			Usage: "crawl again now what was done longer ago than `TIME`: 1d, 12h; 0 = all that is done",
		},
	}
}

// again applies againFlags to the targets of a crew.
func (r *run) again(ctx context.Context, scope checkpoint.Scope) error {
	if r.c.IsSet("every") {
		if _, err := r.keeper.SetFrequency(ctx, scope, timeOf(r.c, "every")); err != nil {
			return err
		}
	}
	if !r.c.IsSet("recrawl") {
		return nil
	}
	n, err := r.keeper.Recrawl(ctx, scope, timeOf(r.c, "recrawl"))
	if n > 0 {
		r.log.Info().Int("targets", n).Msg("crawled again from page 1: --recrawl")
	}
	return err
}

// checkAgain refuses frequencies that can't be kept to.
func checkAgain(c *cli.Context) error {
	if !c.IsSet("every") { // `details` has no such flag
		return nil
	}
	if every := timeOf(c, "every"); every != 0 && every < 5*time.Minute {
		return Usagef("--every %s: want 5m or more, or 0 for once only", every)
	}
	return nil
}
