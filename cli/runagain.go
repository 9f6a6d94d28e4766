package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
)

// againFlags say when what is done is crawled again.
func againFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{
			Name: "every", Value: ageValue(0), DefaultText: "as before: 7d for new targets",
			Usage: "crawl the selected targets again so long after their last crawl began, a tenth sooner: `TIME` like 1d, 12h; 0 = never by itself",
		},
		&cli.GenericFlag{
			Name: "recrawl", Value: ageValue(0), DefaultText: "only what is due",
			Usage: "crawl again what was done longer ago than `TIME`: 1d, 12h; 0 = all that is done, at the earliest 2 minutes after its last crawl began. The same again goes on with it until all is crawled",
		},
	}
}

// again applies againFlags to the targets of a source, and begins the pass over them.
func (r *run) again(ctx context.Context, scope store.Scope) error {
	if r.c.IsSet("every") {
		if _, err := r.keeper.SetFrequency(ctx, scope, timeOf(r.c, "every")); err != nil {
			return err
		}
	}
	var age *time.Duration
	if r.c.IsSet("recrawl") {
		age = new(timeOf(r.c, "recrawl"))
	}
	pass, err := r.row.BeginPass(ctx, scope, age)
	if err != nil || age == nil {
		return err
	}
	if pass.GoesOn {
		r.log.Info().Str("begun", minute(pass.Began)).Msg("going on with the last --recrawl")
	} else if pass.Recrawl > 0 {
		r.log.Info().Int("targets", pass.Recrawl).Msg("crawled again from page 1: --recrawl")
	}
	waiting, until, err := r.keeper.InGap(ctx, scope)
	if waiting > 0 {
		r.log.Info().Int64("targets", waiting).Str("until", moment(r.keeper.DB().Now(), until)).Msg("wait: " + gapReason)
	}
	return err
}

// gapReason is why a target that is due may have to wait all the same.
const gapReason = "two crawls of a target start at least 2 minutes apart"

// inGapText says how many of a run's targets wait for nothing else.
func inGapText(now time.Time, s selected) string {
	return fmt.Sprintf("%s due and waiting until %s: %s. Type the same again then.", plural(s.InGap, "target"), moment(now, s.GapUntil), gapReason)
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
