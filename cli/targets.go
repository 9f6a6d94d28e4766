package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
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
				[]cli.Flag{&cli.BoolFlag{Name: "all", Usage: "every target, if no other flag selects some"}}, batchFlags()),
			Action: func(c *cli.Context) error { return p.operate(c, o) },
		}
	}
	return &cli.Command{
		Name:  "targets",
		Usage: "What is crawled (source × city × category): list, show, pause, enable",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List targets with their status, schedule and last error", Action: p.targetsList,
				Flags: append(append(chooseFlags(), formatFlags()...),
					list("kind", "only these: `KIND...` is search, detail, index", "search"),
					list("health", "only these: `HEALTH...` is active, degraded, paused, failed", "all"),
					list("schedule", "only these: `SCHEDULE...` is due, scheduled, degraded, paused, failed, needs_plan, not_scheduled", "all"),
					limitFlag()),
			},
			{
				Name: "show", Usage: "Show all that is known of targets, and when they are crawled next", ArgsUsage: "TARGET...", Args: true,
				Description: targetHelp, Flags: []cli.Flag{onlySourceFlag(), jsonFlag()}, Action: p.targetsShow,
			},
			operation(checkpoint.Pause, "Do not crawl targets until they are resumed", "A crawl of the target that is under way is finished."),
			operation(checkpoint.Resume, "Crawl paused targets again", "They are as they were before the pause: one that waits for its backoff still waits."),
			operation(checkpoint.Enable, "Enable targets, and clear what was set automatically",
				"Failures in a row and waiting times are cleared, also of targets that are enabled already. A dead letter\nwith a permanent cause stays one: use `ypcrawl dead requeue` for it."),
			operation(checkpoint.Disable, "Do not crawl targets until they are enabled", "A crawl of the target that is under way is finished."),
		},
	}
}

// chooseFlags select targets by what they are.
func chooseFlags() []cli.Flag {
	return []cli.Flag{
		statesFlag(),
		onlySourceFlag(),
		list("status", "only these: `STATUS...` is PLANNED, IN_PROGRESS, DONE, FAILED, STUCK, PARKED", "all"),
		&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only targets whose last error has this `CODE`, such as TIMEOUT"},
	}
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
	if f.Scope.Kinds, err = wordsOf(c, "kind", yp.ParseKind); err != nil {
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
		ask: func(k *database, scope store.Scope, limit int) ([]report.Target, error) {
			scope.Kinds = f.Scope.Kinds
			f.Scope = scope
			return k.Targets(c.Context, f, limit)
		},
		columns: []string{"id", "target", "status", "schedule", "health", "page", "failures", "next", "error"},
		least:   []string{"failures", "health", "page", "schedule", "next", "error"},
		cells: func(now time.Time, t report.Target) []any {
			return []any{idText(t.ID), t.Title(), string(t.Status), string(t.Schedule), healthOf(t), t.Page, t.Failures, nextOf(now, t), orDash(t.ErrorText())}
		},
		source: func(t report.Target) string { return t.Source },
	})
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
func targetIDs(c *cli.Context, k *database, source int64) (ids []int64, err error) {
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

func (p *Program) targetsShow(c *cli.Context) error {
	if !c.Args().Present() {
		return Usagef("name targets to show: an id, or city/category; `ypcrawl targets list` lists them all")
	}
	return p.with(c, reading, func(k *database, scope store.Scope) error {
		ids, err := targetIDs(c, k, scope.SourceID)
		if err != nil {
			return err
		}
		all := make([]*report.TargetDetail, len(ids))
		for i, id := range ids {
			if all[i], err = k.Target(c.Context, id); err != nil {
				return err
			}
		}
		return p.tell(c, all, func(w *sections) {
			for _, t := range all {
				w.table(targetFacts(k.DB().Now(), t))
			}
		})
	})
}

// targetFacts tells of a target line by line.
func targetFacts(now time.Time, t *report.TargetDetail) *table {
	var says, total, failures, lastError string
	foundName, found := "listings", fmt.Sprintf("%s accepted of %s, %s unreadable", thousands(int64(t.Accepted)), thousands(int64(t.Raw)), thousands(int64(t.Bad)))
	if t.Kind == yp.KindIndex {
		foundName, found = "cities", fmt.Sprintf("%s, %s new", thousands(int64(t.Raw)), thousands(int64(t.Accepted)))
	}
	if code := t.Target.ErrorText(); code != "" {
		lastError = code + ": " + report.Cause(t.Error)
	}
	if t.Status == yp.Done && t.ErrorCode == string(yp.CodeNoListings) {
		says = "no listings here"
	}
	if t.SiteTotal != nil {
		total = plural(*t.SiteTotal, "listing")
	}
	if t.Failures > 0 || t.BackoffLevel > 0 {
		failures = fmt.Sprintf("%d in a row, backoff level %d", t.Failures, t.BackoffLevel)
	}
	pages, again := fmt.Sprintf("%d done, all wanted", t.Page), "never"
	if t.MaxPages > 0 {
		pages = fmt.Sprintf("%d done of at most %d", t.Page, t.MaxPages)
	}
	if t.FrequencyMin > 0 {
		again = lasting(time.Duration(t.FrequencyMin) * time.Minute)
	}
	attempts := fmt.Sprintf("%s, %s succeeded", thousands(int64(t.Attempts)), thousands(int64(t.Successes)))
	if t.SuccessRate != nil {
		attempts += fmt.Sprintf(" (%.1f%%)", *t.SuccessRate)
	}
	since := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return ago(now, at)
	}
	return facts(
		fmt.Sprintf("target %d", t.ID), t.Target.Title(),
		"name", t.Name,
		"source", t.Source,
		"status", fmt.Sprintf("%s, %s, %s", t.Status, t.Schedule, healthOf(t.Target)),
		"next", t.Next.Text(now),
		"last error", lastError,
		"pages", pages,
		foundName, found,
		"the site says", says, "the site says", total,
		"attempts", attempts,
		"failures", failures,
		"crawl began", since(t.Started), "ended", since(t.Finished), "last success", since(t.LastSuccess), "heartbeat", since(t.Heartbeat), "planned", since(t.Created),
		"again after", again,
		"priority", fmt.Sprintf("%d (%s people)", t.Priority, thousands(int64(t.Population))),
	)
}

// operate pauses, resumes, enables or disables targets.
func (p *Program) operate(c *cli.Context, o checkpoint.Operation) error {
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	past := map[checkpoint.Operation]string{
		checkpoint.Pause: "paused", checkpoint.Resume: "resumed", checkpoint.Enable: "enabled", checkpoint.Disable: "disabled",
	}[o]
	return p.operateOn(c, o, checkpoint.Chosen{Statuses: f.Statuses, Error: f.Error}, batch{
		question: strings.ToUpper(string(o[:1])) + string(o[1:]) + " %s?", past: past,
	}, "No target matches that could be "+past+".")
}

// operateOn carries out an operation on the targets that arguments and flags choose.
func (p *Program) operateOn(c *cli.Context, o checkpoint.Operation, chosen checkpoint.Chosen, t batch, nothing string) error {
	chooses := c.Args().Present() // a forgotten argument must not mean everything
	for _, name := range []string{"states", "source", "status", "error", "older-than"} {
		chooses = chooses || c.IsSet(name)
	}
	switch {
	case !chooses && !c.Bool("all"):
		return Usagef("name targets or choose them with flags; --all means every target; see '%s --help'", c.Command.HelpName)
	case c.Args().Present() && c.Bool("all"):
		return Usagef("--all means every target: leave it out, or the names")
	}
	return p.with(c, existing, func(k *database, scope store.Scope) (err error) {
		chosen.Scope = scope
		if chosen.IDs, err = targetIDs(c, k, scope.SourceID); err != nil {
			return err
		}
		t.noun, t.named = "target", len(chosen.IDs) > 0
		t.count = func(ctx context.Context) (int, error) { return k.CountChosen(ctx, o, chosen) }
		t.do = func(ctx context.Context) (int, error) { return k.Operate(ctx, o, chosen) }
		t.nothing = func() error {
			p.note("%s", nothing)
			return nil
		}
		return p.apply(c, t)
	})
}

func (p *Program) deadCommand() *cli.Command {
	which := func() []cli.Flag {
		return []cli.Flag{
			statesFlag(),
			onlySourceFlag(),
			&cli.StringFlag{Name: "error", DefaultText: "any", Usage: "only those whose last error has this `CODE`, such as TIMEOUT"},
			&cli.GenericFlag{Name: "older-than", Value: ageValue(0), DefaultText: "any", Usage: "only those parked more than `TIME` ago: 2d, 36h"},
		}
	}
	return &cli.Command{
		Name:  "dead",
		Usage: "Dead letters: targets that no run crawls again automatically",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "List dead letters with their reasons, the newest first", Flags: append(append(which(), formatFlags()...), limitFlag()), Action: p.deadList},
			{
				Name: "requeue", Usage: "Plan dead letters again; their failures are cleared, pages done are kept", ArgsUsage: "[TARGET...]", Args: true,
				Description: "Name targets, or choose them with flags; with flags it shows how many there are and asks first.\n" + targetHelp,
				Flags: slices.Concat(which(), []cli.Flag{
					&cli.BoolFlag{Name: "from-page-1", Usage: "forget the pages done and crawl them again"},
					&cli.BoolFlag{Name: "all", Usage: "every dead letter, if no other flag selects some"},
				}, batchFlags()),
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
		least:   []string{"attempts", "page", "source", "parked", "reason"},
		cells: func(now time.Time, d report.DeadLetter) []any {
			title := report.Target{Kind: d.Kind, Category: d.Category, City: d.City, State: d.State}.Title()
			return []any{idText(d.ID), title, d.Source, ago(now, d.Parked), d.Attempts, d.Page, codeText(d.Code, d.ByProxy), report.Cause(d.Error)}
		},
	})
}

func (p *Program) deadRequeue(c *cli.Context) error {
	code, err := errorOf(c)
	if err != nil {
		return err
	}
	o, question := checkpoint.Requeue, "Plan %s again?"
	if c.Bool("from-page-1") {
		o, question = checkpoint.RequeueAnew, "Plan %s again from page 1?"
	}
	return p.operateOn(c, o, checkpoint.Chosen{Error: code, OlderThan: timeOf(c, "older-than")},
		batch{question: question, past: "requeued"}, "No dead letter matches.")
}
