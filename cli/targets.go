package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const targetHelp = "A TARGET is an id, or city/category as in los-angeles-ca/plumbers; --source, or demo/ before it, selects the source if several\nsources have it."

func (p *Program) targetsCommand() *cli.Command {
	operation := func(o checkpoint.Operation, usage, description string) *cli.Command {
		return &cli.Command{
			Name: string(o), Usage: usage, ArgsUsage: "[TARGET...]", Args: true,
			Description: description + "\nName targets, or choose them with flags; with flags it shows how many there are and asks first.\n" + targetHelp,
			Flags: slices.Concat(chooseFlags(),
				[]cli.Flag{&cli.BoolFlag{Name: "all", Usage: "every target (if no other flag selects some)"}}, batchFlags()),
			Action: func(c *cli.Context) error { return p.operate(c, o) },
		}
	}
	return &cli.Command{
		Name:  "targets",
		Usage: "What is crawled (searches: source × city × category, indexes, own pages): list, show, pause, enable",
		Subcommands: []*cli.Command{
			p.listCommand("targets list"),
			p.showCommand("Show everything known of targets: every step of their attempts, and when they are crawled next", "TARGET",
				"name the targets to show: an id, or city/category like los-angeles-ca/plumbers; `ypcrawl targets list` lists them",
				targetHelp+"\nRequests are kept for some days, steps as long as their attempt; a killed process leaves no steps.", p.showTarget,
				frame.OnlySourceFlag(), &cli.IntFlag{Name: "attempts", Value: 5, Usage: "the last `ATTEMPTS`; 0 = all"}),
			operation(checkpoint.Pause, "Do not crawl targets until they are resumed", "A crawl in progress is finished first."),
			operation(checkpoint.Resume, "Crawl paused targets again",
				"They are as they were before the pause: one that waits for its retry still waits."),
			operation(checkpoint.Enable, "Enable targets, and clear what was set automatically",
				"This clears failures in a row and waiting times, even of targets that are already enabled. A target that was given up (PARKED)\nfor a permanent cause stays so; `ypcrawl reset` plans it again."),
			operation(checkpoint.Disable, "Do not crawl targets until they are enabled", "A crawl in progress is finished first."),
		},
	}
}

// chooseFlags select targets by what they are.
func chooseFlags() []cli.Flag {
	return []cli.Flag{
		frame.StatesFlag(),
		frame.OnlySourceFlag(),
		frame.WordsFlag("status", "only with these: `STATUS...` is PLANNED, IN_PROGRESS, DONE, FAILED, STUCK, PARKED", "all"),
		&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only targets whose last error has this `CODE`, such as TIMEOUT"},
	}
}

// targetIDs finds the targets that the arguments name.
func targetIDs(c *cli.Context, k *database, source int64) (ids []int64, err error) {
	for _, word := range frame.SplitList(c.Args().Slice()) {
		id, err := k.FindTarget(c.Context, word, source)
		if err != nil {
			return nil, asUsage(err)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if c.Args().Present() && len(ids) == 0 { // an empty variable of a shell must not mean everything
		return nil, frame.Usagef("name targets by id, or by city/category")
	}
	return ids, nil
}

func (p *Program) showTarget(c *cli.Context, k *database, scope store.Scope, word string) (*report.Record, error) {
	n := c.Int("attempts")
	if n < 0 {
		return nil, frame.Usagef("--attempts %d: want a number from 0 up", n)
	}
	id, err := k.FindTarget(c.Context, word, scope.SourceID)
	if err != nil {
		return nil, err
	}
	r, err := k.Target(c.Context, id, n)
	if err != nil {
		return nil, err
	}
	if earlier := r.Int("attempts_kept") - int64(len(r.Part("attempts").Rows)); earlier > 0 {
		p.Note("%s of target %d before these; --attempts 0 shows all.", plural(earlier, "attempt"), id)
	}
	return r, nil
}

// operate pauses, resumes, enables or disables targets.
func (p *Program) operate(c *cli.Context, o checkpoint.Operation) error {
	var chosen checkpoint.Chosen
	var err error
	if chosen.Statuses, err = frame.WordsOf(c, "status", yp.ParseStatus); err != nil {
		return err
	}
	if chosen.Error, err = frame.ErrorOf(c); err != nil {
		return err
	}
	past := map[checkpoint.Operation]string{
		checkpoint.Pause: "paused", checkpoint.Resume: "resumed", checkpoint.Enable: "enabled", checkpoint.Disable: "disabled",
	}[o]
	chooses := c.Args().Present() // a forgotten argument must not mean everything
	for _, name := range []string{"states", "source", "status", "error"} {
		chooses = chooses || c.IsSet(name)
	}
	switch {
	case !chooses && !c.Bool("all"):
		return frame.Usagef("name targets or choose them with flags, or add --all for every target; see '%s --help'", c.Command.HelpName)
	case c.Args().Present() && c.Bool("all"):
		return frame.Usagef("--all means every target; leave it out, or the names")
	}
	return p.with(c, existing, func(k *database, scope store.Scope) (err error) {
		chosen.Scope = scope
		if chosen.IDs, err = targetIDs(c, k, scope.SourceID); err != nil {
			return err
		}
		return p.apply(c, k, batch{
			Operation: o, Chosen: chosen, effect: "This " + string(o) + "s %s.", past: past, key: "changed",
			nothing: func() error {
				p.Note("No target matches that can be %s.", past)
				return nil
			},
		})
	})
}
