package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "Look for what is wrong: disk, clock, database, logs, locks, sources, proxies; each finding with its fix",
		Description: "Nothing is written to the database. Large files are looked at in part: --full reads them whole.\n" +
			"--online asks directly, never through proxies, so it asks nothing where the settings require them\n" +
			"(`proxies test` asks through them); a source that is held, paused or in quarantine is not asked.\n" +
			"Exit code 0 when nothing is bad (warnings are not), 1 otherwise.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "full", Usage: "check the whole database and all logs, however large"},
			&cli.BoolFlag{Name: "online", Usage: "ask for robots.txt of each enabled source, directly"},
			&cli.GenericFlag{Name: "request-timeout", Value: ageValue(15 * time.Second), Usage: "`TIME` for one request with --online"},
			&cli.StringFlag{Name: "user-agent", Value: "ypcrawl", Usage: "the User-Agent `TEXT`; say who you are"},
			jsonFlag(),
		},
		Action: p.doctor,
	}
}

// severity says how bad a finding is.
type severity string

// The severities.
const (
	fine    severity = "ok"
	dubious severity = "warn" // to be looked at; nothing is lost
	broken  severity = "bad"
)

// finding is one thing that was looked at.
type finding struct {
	Check string   `json:"check"`
	Level severity `json:"level"`
	What  string   `json:"what"`
	Fix   string   `json:"fix,omitempty"` // a command, or what to do
}

// diagnosis collects findings.
type diagnosis struct {
	p        *Program
	c        *cli.Context
	k        *database // nil when the database can't be read
	findings []finding
}

func (d *diagnosis) add(check string, level severity, fix, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: check, Level: level, What: fmt.Sprintf(format, args...), Fix: fix})
}

// failed notes that a check itself could not be made.
func (d *diagnosis) failed(check string, err error) {
	fix := ""
	if store.Corrupt(err) {
		fix = d.p.rebuildCommand()
	}
	d.add(check, broken, fix, "could not be looked at: %v", err)
}

// command is a command of this program for the database in hand.
func (d *diagnosis) command(words ...string) string {
	all := []string{d.p.self()}
	if db := d.c.String("db"); db != defaultDB {
		all = append(all, "--db", db)
	}
	return shellLine(append(all, words...))
}

// defaultDB is the default of --db.
const defaultDB = "ypcrawl.db"

func (p *Program) doctor(c *cli.Context) error {
	if timeOf(c, "request-timeout") <= 0 {
		return Usagef("--request-timeout: want more than 0")
	}
	if err := checkUserAgent(c.String("user-agent")); err != nil {
		return err
	}
	d := &diagnosis{p: p, c: c}
	d.openDatabase()
	if d.k != nil {
		defer func() { _ = d.k.DB().Close() }()
	}
	d.examine(c.Context)
	if err := c.Context.Err(); err != nil {
		return err
	}
	return d.report()
}

func (d *diagnosis) examine(ctx context.Context) {
	d.disk()
	d.logFolder()
	d.permissions()
	d.logEnds(ctx)
	if d.k == nil {
		return
	}
	for _, check := range []func(context.Context){d.integrity, d.clock, d.holders, d.targets, d.sources, d.proxies} {
		check(ctx)
	}
	if d.c.Bool("online") {
		d.robots(ctx)
	}
}

// report prints the findings, the worst last, where the eye is.
func (d *diagnosis) report() error {
	bad := 0
	for _, f := range d.findings {
		if f.Level == broken {
			bad++
		}
	}
	if d.c.Bool("json") {
		if err := writeRows(d.p.Out, d.findings); err != nil {
			return err
		}
	} else if err := d.print(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%s", plural(bad, "bad finding"))
	}
	return nil
}

func (d *diagnosis) print() error {
	width := 0
	for _, f := range d.findings {
		width = max(width, len(f.Check))
	}
	order := []severity{fine, dubious, broken}
	slices.SortStableFunc(d.findings, func(a, b finding) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	for _, f := range d.findings {
		level := d.p.paint(d.p.Out, colorOf(f.Level), fmt.Sprintf("%-4s", f.Level))
		if _, err := fmt.Fprintf(d.p.Out, "%s  %-*s  %s\n", level, width, f.Check, yp.Printable(f.What)); err != nil {
			return err
		}
		if f.Fix == "" {
			continue
		}
		if _, err := fmt.Fprintf(d.p.Out, "%s%s\n", strings.Repeat(" ", width+8), yp.Printable("fix: "+f.Fix)); err != nil {
			return err
		}
	}
	return nil
}

func colorOf(s severity) style {
	switch s {
	case fine:
		return green
	case dubious:
		return yellow
	}
	return red
}
