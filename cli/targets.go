package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

const targetHelp = "A TARGET is an id, or city/category as in los-angeles-ca/plumbers; --source, or demo/ before it, chooses where several\nsources have it."

func (p *Program) targetsCommand() *cli.Command {
	operation := func(o checkpoint.Operation, usage, description string) *cli.Command {
		return &cli.Command{
			Name: string(o), Usage: usage, ArgsUsage: "[TARGET...]", Args: true,
			Description: description + "\nName targets, or choose them with flags; that shows how many there are and asks.\n" + targetHelp,
			Flags: append(chooseFlags(),
				&cli.BoolFlag{Name: "all", Usage: "every target there is, when no flag chooses"},
				&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
				&cli.BoolFlag{Name: "dry-run", Usage: "only count"},
				jsonFlag()),
			Action: func(c *cli.Context) error { return p.operate(c, o) },
		}
	}
	return &cli.Command{
		Name:  "targets",
		Usage: "What is crawled (source × city × category): list, look at, pause, enable",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List targets with their status, schedule and last error", Action: p.targetsList,
				Flags: append(append(chooseFlags(), formatFlags()...),
					list("health", "only these: `HEALTH...` is active, degraded, paused, failed", "all"),
					list("schedule", "only these: `SCHEDULE...` is due, scheduled, degraded, paused, failed, needs_plan, not_scheduled", "all"),
					limitFlag()),
			},
			{
				Name: "show", Usage: "Show all that is known of targets, and when they are crawled next", ArgsUsage: "TARGET...", Args: true,
				Description: targetHelp, Flags: []cli.Flag{onlySourceFlag(), jsonFlag()}, Action: p.targetsShow,
			},
			operation(checkpoint.Pause, "Leave targets alone until they are resumed", "A crawl that is under way is finished."),
			operation(checkpoint.Resume, "Let paused targets be crawled again", "They are as they were before the pause: one that rests goes on resting."),
			operation(checkpoint.Enable, "Enable targets, and clear what was set automatically",
				"Failures in a row and waiting times are forgotten, also of targets that are enabled. A dead letter for a\npermanent cause stays one: `ypcrawl dead requeue` is for those."),
			operation(checkpoint.Disable, "Leave targets alone until they are enabled", "A crawl that is under way is finished."),
		},
	}
}

// chooseFlags select targets by what they are.
func chooseFlags() []cli.Flag {
	return []cli.Flag{
		statesFlag(),
		onlySourceFlag(),
		list("status", "only these: `STATUS...` is PLANNED, IN_PROGRESS, DONE, FAILED, STUCK, PARKED", "all"),
		&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only targets whose last error has this `CODE`, TIMEOUT say"},
	}
}

func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Value: 50, Usage: "at most so many `ROWS`; 0 = all"}
}

// limitOf reads --limit.
func limitOf(c *cli.Context) (int, error) {
	if n := c.Int("limit"); n < 0 {
		return 0, Usagef("--limit %d: want a number from 0 up", n)
	}
	return c.Int("limit"), nil
}

// errorOf reads --error.
func errorOf(c *cli.Context) (code yp.ErrorCode, err error) {
	if word := c.String("error"); word != "" {
		if code, err = yp.ParseErrorCode(word); err != nil {
			return "", Usagef("--error: %w", err)
		}
	}
	return code, nil
}

// wordsOf reads a list flag whose words parse understands.
func wordsOf[T any](c *cli.Context, name string, parse func(string) (T, error)) (all []T, err error) {
	words := SplitList(c.StringSlice(name))
	if err := notEmpty(c, name, words); err != nil {
		return nil, err
	}
	for _, word := range words {
		v, err := parse(word)
		if err != nil {
			return nil, Usagef("--%s: %w", name, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func parseHealth(s string) (yp.Health, error) {
	h := yp.Health(strings.ToLower(s))
	if slices.Contains(yp.Healths(), h) {
		return h, nil
	}
	return "", fmt.Errorf("unknown health %q: want one of %v", s, yp.Healths())
}

func filterOf(c *cli.Context) (f report.Filter, err error) {
	if f.Statuses, err = wordsOf(c, "status", yp.ParseStatus); err != nil {
		return f, err
	}
	if f.Healths, err = wordsOf(c, "health", parseHealth); err != nil {
		return f, err
	}
	if f.Schedule, err = wordsOf(c, "schedule", report.ParseSchedule); err != nil {
		return f, err
	}
	f.Error, err = errorOf(c)
	return f, err
}

func (p *Program) targetsList(c *cli.Context) error {
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	return listRows(p, c, listing[report.Target]{
		noun: "target",
		ask: func(k *database, scope checkpoint.Scope, limit int) ([]report.Target, error) {
			f.Scope = scope
			return k.Targets(c.Context, f, limit)
		},
		columns: []string{"id", "target", "status", "schedule", "health", "page", "failures", "next", "error"},
		cells: func(now time.Time, t report.Target) []any {
			return []any{idText(t.ID), short(titleOf(t), 34), string(t.Status), string(t.Schedule), healthOf(t), t.Page, t.Failures, nextOf(now, t), orDash(errorText(t))}
		},
		source: func(t report.Target) string { return t.Source },
	})
}

func titleOf(t report.Target) string {
	if t.Kind == yp.KindIndex {
		return "Index of " + t.State
	}
	return fmt.Sprintf("%s in %s, %s", t.Category, t.City, t.State)
}

// errorText is the code of a target's last error. One that is done because its site says
// that there is nothing has none.
func errorText(t report.Target) string {
	if t.Status == yp.Done && t.ErrorCode == string(yp.CodeNoListings) {
		return ""
	}
	return codeText(t.ErrorCode, t.ByProxy)
}

// healthOf is a target's health; whether it is enabled counts more.
func healthOf(t report.Target) string {
	if !t.Enabled {
		return "disabled"
	}
	return string(t.Health)
}

// nextOf is the time that the target itself waits for.
func nextOf(now time.Time, t report.Target) string {
	at := t.NotBefore
	if at.IsZero() || t.Schedule == report.ScheduleNone { // done for good, or retired with its city
		return "-"
	}
	if d := at.Sub(now); d > 0 {
		return "in " + lasting(d)
	}
	return "now"
}

// targetIDs finds the targets that the arguments name.
func (p *Program) targetIDs(c *cli.Context, k *database, source int64) (ids []int64, err error) {
	for _, word := range SplitList(c.Args().Slice()) {
		id, err := k.FindTarget(c.Context, word, source)
		if err != nil {
			return nil, asUsage(err)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
