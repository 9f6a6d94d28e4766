package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/yp"
)

func (p *Program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "Check for problems: disk, clock, database, logs, locks, sources, proxies; each finding with its fix",
		Description: "Nothing is written to the database. Large files are checked in part: --full reads them completely.\n" +
			"--online sends requests directly, never through proxies, so it sends none if the settings require proxies\n" +
			"(`proxies test` uses them); a source that is held, paused or in quarantine gets no request.\n" +
			"Exit code 1 when a finding is bad, else 0: a warning is not bad.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "full", Usage: "check the whole database and all logs, however large"},
			&cli.BoolFlag{Name: "online", Usage: "request robots.txt of each enabled source, directly"},
			&cli.GenericFlag{Name: "request-timeout", Value: ageValue(15 * time.Second), Usage: "`TIME` for one request with --online"},
			userAgentFlag(),
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
	noWAL    bool // the database had no journal beside it before it was opened here
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
	d.add(check, broken, fix, "could not be checked: %v", err)
}

// command is a command of this program for the database in hand.
func (d *diagnosis) command(words ...string) string {
	return d.p.command(d.c, words...)
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
	for _, check := range []struct {
		name     string
		wanted   bool // else it is about a database that can't be read
		examines func(context.Context) error
	}{
		{"disk", true, d.disk},
		{"log folder", true, d.logFolder},
		{"permissions", true, d.permissions},
		{"logs", true, d.logs},
		{"integrity", d.k != nil, d.integrity},
		{"copy", d.k != nil, d.copied},
		{"growth", d.k != nil, d.growth},
		{"clock", d.k != nil, d.clock},
		{"runs", d.k != nil, d.holders},
		{"targets", d.k != nil, d.targets},
		{"sources", d.k != nil, d.sources},
		{"proxies", d.k != nil, d.proxies},
		{"robots.txt", d.k != nil && c.Bool("online"), d.robots},
	} {
		if !check.wanted {
			continue
		}
		if err := check.examines(c.Context); err != nil {
			d.failed(check.name, err)
		}
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	return d.report()
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
	colors := map[severity]style{fine: green, dubious: yellow, broken: red}
	for _, f := range d.findings {
		level := fmt.Sprintf("%-4s", f.Level)
		text := fold(d.p.Out, fmt.Sprintf("%s  %-*s  ", level, width, f.Check), yp.Printable(f.What)) + "\n"
		if f.Fix != "" {
			text += fold(d.p.Out, strings.Repeat(" ", width+8), yp.Printable("fix: "+f.Fix)) + "\n"
		}
		if _, err := fmt.Fprint(d.p.Out, strings.Replace(text, level, d.p.paint(d.p.Out, colors[f.Level], level), 1)); err != nil {
			return err
		}
	}
	return nil
}

// openDatabase opens the database for reading, or finds out why it can't be.
func (d *diagnosis) openDatabase() {
	path := d.c.String("db")
	info, noWAL := os.Stat(path + "-wal")
	d.noWAL = noWAL != nil || info.Size() == 0
	k, err := d.p.open(d.c, reading)
	var version *store.VersionError
	switch {
	case err == nil:
		d.k = k
		size := "of unknown size"
		if info, err := os.Stat(path); err == nil {
			size = bytesText(info.Size())
		}
		d.add("database", fine, "", "%s, schema version %d, %s", path, store.SchemaVersion, size)
	case errors.Is(err, store.ErrNotFound):
		d.add("database", broken, d.command("run"), "%s is not there: nothing was crawled yet, or --db names another file", path)
	case errors.As(err, &version) && version.Development():
		d.add("database", broken, d.p.rebuildCommand(), "%v", err)
	case errors.As(err, &version) && version.Upgradable():
		d.add("database", broken, d.command("recover"), "%s has schema version %d; every command that writes upgrades it to %d", path, version.Have, version.Max)
	case store.Corrupt(err):
		d.add("database", broken, d.p.rebuildCommand(), "%v", err)
	default:
		d.add("database", broken, "name another file with --db, or correct its permissions", "%v", err)
	}
}

// integrity checks the whole file where that is quick, or with --full.
func (d *diagnosis) integrity(ctx context.Context) error {
	path := d.c.String("db")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > checkUpTo && !d.c.Bool("full") {
		d.add("integrity", fine, d.command("doctor", "--full"), "not checked: %s takes a while", bytesText(info.Size()))
	} else if err := d.k.DB().IntegrityCheck(ctx); err != nil {
		d.add("integrity", broken, d.p.rebuildCommand(), "%v", err)
	} else {
		d.add("integrity", fine, "", "every table and index is sound")
	}
	return nil
}

// clock looks for rows that bear a time to come.
func (d *diagnosis) clock(ctx context.Context) error {
	future, err := d.k.FutureRows(ctx)
	if err != nil {
		return err
	}
	for _, f := range future {
		fix, what := "set the clock (timedatectl status); nothing is lost, but waiting times may be wrong until then", " later than now"
		if f.Column != "" { // it waits for longer than anything may, and holds nothing up
			fix, what = "nothing to do: such a time counts as past", " with a "+f.Column+" that is too late for ypcrawl to have set it"
			if f.Table == "hosts" {
				fix = "nothing to do: the next run cuts it to an hour at most"
			}
		}
		d.add("clock", dubious, fix, "%s of %s%s, the last by %s: the clock was set back, or another machine's is ahead",
			plural(f.Rows, "row"), f.Table, what, lasting(f.Latest.Sub(d.k.DB().Now())))
	}
	if len(future) == 0 {
		d.add("clock", fine, "", "no row is later than now")
	}
	return nil
}

// holders tells who holds the database, and who died while he did.
func (d *diagnosis) holders(ctx context.Context) error {
	runs, err := d.k.RunHolders(ctx)
	if err != nil {
		return err
	}
	now := d.k.DB().Now()
	for _, r := range runs {
		text := fmt.Sprintf("process %d on %s, begun %s, with %s", r.PID, r.Host, ago(now, r.Started), plural(r.Targets, "target"))
		switch {
		case r.Dead():
			d.add("runs", dubious, d.command("recover"), "the process of a run died: %s (the next run recovers its targets)", text)
		case !r.Alive:
			d.add("runs", fine, "", "a run of another machine, last heartbeat %s: %s", ago(now, r.Heartbeat), text)
		default:
			d.add("runs", fine, "", "a run is under way: %s", text)
		}
	}
	if len(runs) == 0 {
		d.add("runs", fine, "", "no run uses the database")
	}
	return nil
}

// targets counts those that need an operator.
func (d *diagnosis) targets(ctx context.Context) error {
	pr, err := d.k.Progress(ctx, store.Scope{})
	if err != nil {
		return err
	}
	all := pr.Overall
	if all.Stuck > 0 {
		d.add("targets", dubious, d.command("reset", "--status", "STUCK"), "%s stuck: their workers died too often", plural(all.Stuck, "target"))
	}
	if all.Parked > 0 {
		d.add("targets", dubious, d.command("dead", "list"), "%s: no run crawls them again automatically", plural(all.Parked, "dead letter"))
	}
	if all.Stuck+all.Parked == 0 {
		d.add("targets", fine, "", "%s, none stuck or dead", plural(all.Targets, "target"))
	}
	return nil
}

// sources tells which are closed or fail.
func (d *diagnosis) sources(ctx context.Context) error {
	all, err := d.k.Sources(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		text, fix := closedSourceText(d.k.DB().Now(), s), ""
		switch {
		case s.Remedy != "":
			if fix = d.command(strings.SplitN(s.Remedy, " ", 3)...); s.Availability == store.SourcePaused {
				fix = "when that is fixed: " + fix
			}
		case text != "":
			fix = waitText(d.k.DB().Now(), s)
		}
		switch {
		case s.Availability == store.SourceDisabled:
			d.add("sources", fine, fix, "%s is disabled by an operator", s.Name)
		case text != "":
			d.add("sources", dubious, fix, "%s", text)
		case s.Profile.Status == string(health.Failing):
			d.add("sources", dubious, d.command("status", "--source", s.Name), "%s is failing (%s)", s.Name, causeOf(s.Profile))
		default:
			text := orDash(s.Profile.Status)
			if cause := causeOf(s.Profile); cause != "" {
				text += " (" + cause + ")"
			}
			d.add("sources", fine, "", "%s is open, %s", s.Name, text)
		}
	}
	return nil
}

// proxies counts those that can be used.
func (d *diagnosis) proxies(ctx context.Context) error {
	all, err := health.New(d.k.DB()).Proxies(ctx)
	if err != nil {
		return err
	}
	active, resting := 0, 0
	for _, x := range all {
		switch {
		case !x.Enabled:
		case x.CooldownUntil.After(d.k.DB().Now()):
			resting++
		default:
			active++
		}
	}
	text := fmt.Sprintf("%d active, %d in cooldown, %d disabled", active, resting, len(all)-active-resting)
	switch {
	case len(all) == 0:
		d.add("proxies", fine, "", "there are none")
	case active == 0:
		d.add("proxies", dubious, d.command("proxies", "test"), "%s: no run starts with --proxy-policy require", text)
	default:
		d.add("proxies", fine, "", "%s", text)
	}
	return nil
}
