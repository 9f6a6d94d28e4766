package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) resetCommand() *cli.Command {
	return &cli.Command{
		Name:        "reset",
		Usage:       "Take FAILED (or STUCK, PARKED) targets back to PLANNED; pages done are kept",
		Description: "Shows how many there are and asks before it does. The next run crawls them.",
		Flags: []cli.Flag{
			list("status", "`STATUS...` to take back: FAILED (with those that wait after a first failure), STUCK, PARKED", "FAILED"),
			&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only targets whose last error has this `CODE`, TIMEOUT say"},
			&cli.IntFlag{Name: "max-attempts", DefaultText: "any", Usage: "only targets with at most so many `ATTEMPTS`"},
			&cli.GenericFlag{Name: "older-than", Value: ageValue(0), DefaultText: "any", Usage: "only targets that ended longer than `TIME` ago: 2d, 36h"},
			&cli.BoolFlag{Name: "from-page-1", Usage: "forget the pages done and crawl them again"},
			statesFlag(),
			onlySourceFlag(),
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only count"},
			jsonFlag(),
		},
		Action: p.reset,
	}
}

func (p *Program) reset(c *cli.Context) error {
	r, err := resetOf(c, "targets")
	if err != nil {
		return err
	}
	k, scope, err := p.openScoped(c, existing)
	if err != nil {
		return err
	}
	defer func() { _ = k.DB().Close() }()
	r.Scope, r.Scope.Kinds = scope, []yp.Kind{yp.KindIndex, yp.KindSearch} // `details retry` is for the others
	return p.takeBack(c, k, r, "target")
}

// takeBack counts, asks, and takes targets back to PLANNED.
func (p *Program) takeBack(c *cli.Context, k *database, r checkpoint.Reset, noun string) error {
	n, err := k.CountReset(c.Context, r)
	if err != nil {
		return err
	}
	done, anew := 0, ""
	if r.FromPage1 {
		anew = " and crawl them again from page 1"
	}
	switch {
	case n == 0 && noun == "target":
		err = p.adviseReset(c, k, r)
	case n > 0 && !c.Bool("dry-run"):
		ok, err := p.confirm(c.Context, fmt.Sprintf("Take %s back to PLANNED%s?", plural(n, noun), anew), c.Bool("yes"))
		if err != nil {
			return err
		}
		if !ok {
			p.note("Nothing was changed.")
			return nil
		}
		if done, err = k.ResetTargets(c.Context, r); err != nil {
			return err
		}
	}
	return errors.Join(p.answer(c, struct {
		Selected int `json:"selected"`
		Reset    int `json:"reset"`
	}{n, done}, "%s selected, %d taken back", plural(n, noun), done), err)
}

// adviseReset tells somebody who selected nothing what there is to select.
func (p *Program) adviseReset(c *cli.Context, k *database, r checkpoint.Reset) error {
	now, err := k.Count(c.Context, r.Scope)
	if err != nil {
		return err
	}
	trouble, err := k.Trouble(c.Context, r.Scope, k.DB().Now())
	if err != nil {
		return err
	}
	hint, err := leftOut(c, k, r)
	if err != nil {
		return err
	}
	p.note("No target matches. There are %d FAILED, %d STUCK and %d PARKED ones, and %d that wait for a short backoff%s; %s.",
		now.Failed, now.Stuck, now.Parked, trouble.Waiting, within(r.Scope), hint)
	return nil
}

// leftOut names what has left the targets of the statuses out that were asked for.
func leftOut(c *cli.Context, k *database, r checkpoint.Reset) (string, error) {
	r.Error, r.MaxAttempts, r.OlderThan = "", nil, 0
	n, err := k.CountReset(c.Context, r)
	if err != nil || n == 0 {
		return "choose with --status", err
	}
	var flags []string
	for _, name := range []string{"error", "max-attempts", "older-than"} {
		if c.IsSet(name) {
			flags = append(flags, "--"+name)
		}
	}
	return fmt.Sprintf("%s left %d of them out", strings.Join(flags, " and "), n), nil
}

func within(s store.Scope) string {
	if len(s.States) == 0 && s.SourceID == 0 {
		return ""
	}
	return " in the states and the source named"
}

// resetOf reads the flags of what is taken back: "targets" or "details".
func resetOf(c *cli.Context, what string) (r checkpoint.Reset, err error) {
	for _, word := range SplitList(c.StringSlice("status")) {
		st, err := yp.ParseStatus(word)
		if err != nil {
			return r, Usagef("--status: %w", err)
		}
		if !st.Resettable() {
			return r, Usagef("--status %s: only FAILED, STUCK and PARKED %s can be taken back", st, what)
		}
		r.Statuses = append(r.Statuses, st)
	}
	if what == "details" { // which are chosen by nothing else
		return r, nil
	}
	if r.Error, err = errorOf(c); err != nil {
		return r, err
	}
	r.OlderThan, r.FromPage1 = timeOf(c, "older-than"), c.Bool("from-page-1")
	if c.IsSet("max-attempts") {
		r.MaxAttempts = new(c.Int("max-attempts"))
		if *r.MaxAttempts < 0 {
			return r, Usagef("--max-attempts %d: want a number from 0 up", *r.MaxAttempts)
		}
	}
	return r, nil
}
