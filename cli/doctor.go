package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/backup"
	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

func (p *Program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "Check the disk, database, locks and logs for problems, and say what to do about each",
		Description: "It reads the whole database and writes nothing to it. `ypcrawl status` shows what sources, searches and proxies wait for.\n" +
			"Exit code 1 when a finding is bad, else 0: a warning is not bad.",
		Flags:  []cli.Flag{frame.JSONFlag()},
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
	d.findings = append(d.findings, finding{Check: check, Level: level, What: d.p.Hints(fmt.Sprintf(format, args...)), Fix: d.p.Hints(fix)})
}

// failed notes that a check itself could not be made.
func (d *diagnosis) failed(check string, err error) {
	if d.denied(check, "could not be checked", err) {
		return
	}
	fix := ""
	if store.Corrupt(err) {
		fix = d.p.rebuildCommand()
	}
	d.add(check, broken, fix, "could not be checked: %v", err)
}

// denied notes that this user lacks the rights to what is to be checked.
func (d *diagnosis) denied(check, what string, err error) bool {
	denied, ok := errors.AsType[*folder.DeniedError](err)
	if ok {
		d.add(check, broken, denied.Fix, "%s: %s", what, denied.What())
	}
	return ok
}

func (p *Program) doctor(c *cli.Context) error {
	d := &diagnosis{p: p, c: c}
	d.openDatabase()
	d.disk()
	d.logFolder()
	if d.k != nil {
		defer func() { _ = d.k.DB().Close() }()
		for _, check := range []struct {
			name     string
			examines func(context.Context) error
		}{{"journal", d.journal}, {"logs", d.logs}, {"integrity", d.integrity}, {"runs", d.holders}} {
			if err := check.examines(c.Context); err != nil {
				d.failed(check.name, err)
			}
		}
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	return d.report()
}

// report shows the findings, the worst last, where the eye is.
func (d *diagnosis) report() error {
	order := []severity{fine, dubious, broken}
	slices.SortStableFunc(d.findings, func(a, b finding) int { return slices.Index(order, a.Level) - slices.Index(order, b.Level) })
	err := d.p.Tell(d.c, d.findings, func(w *frame.Sections) {
		for _, f := range d.findings {
			lead := fmt.Sprintf("%-4s  %-*s  ", f.Level, len("disk of logs"), f.Check) // the longest name
			w.Item(lead, f.What)
			if f.Fix != "" {
				w.Item(strings.Repeat(" ", len(lead)), "fix: "+f.Fix)
			}
		}
	})
	if bad := len(slices.DeleteFunc(d.findings, func(f finding) bool { return f.Level != broken })); bad > 0 && err == nil {
		return errors.New(plural(bad, "bad finding"))
	}
	return err
}

// openDatabase opens the database for reading, or finds out why it can't be.
func (d *diagnosis) openDatabase() {
	path := d.c.String("db")
	k, err := d.p.open(d.c, reading)
	var version *store.VersionError
	switch {
	case err == nil:
		d.k = k
		d.add("database", fine, "", "%s, schema version %d", path, store.SchemaVersion)
		if info, err := os.Stat(path); err == nil && yp.HardLinks(info) > 1 {
			d.add("database", dubious, "find / -samefile "+frame.ShellLine([]string{frame.Operand(path)})+
				", and keep one name; a copy is made by "+d.p.Command("backup", "COPY.db"),
				"%s has %d names (hard links), so nothing is written to it", path, yp.HardLinks(info))
		}
	case errors.As(err, new(*lostError)):
		d.add("database", broken, d.p.replayCommand(), "%v", err)
	case errors.Is(err, store.ErrNotFound):
		d.add("database", broken, d.p.Command("run"), "%s is missing or empty: nothing has been crawled yet, or --db names another file", path)
	case errors.As(err, &version) && version.Upgradable():
		d.add("database", broken, d.p.Command("recover"),
			"%s has schema version %d; every command that writes upgrades it to %d", path, version.Have, version.Max)
	case version != nil:
		d.add("database", broken, "use a newer ypcrawl, or name another file with --db", "%v", err)
	case store.Corrupt(err):
		d.add("database", broken, d.p.rebuildCommand(), "%v", err)
	case d.denied("database", "it can't be read", err):
	default:
		d.add("database", broken, "name another file with --db, or correct its permissions", "%v", err)
	}
}

// integrity has SQLite read the whole file.
func (d *diagnosis) integrity(ctx context.Context) error {
	if err := d.k.DB().QuickCheck(ctx); err != nil {
		return err
	}
	d.add("integrity", fine, "", "every page of the database can be read")
	return nil
}

// journal looks whether the database's journal is folded into it as it grows.
func (d *diagnosis) journal(ctx context.Context) error {
	j, err := d.k.DB().Journal(ctx)
	switch {
	case err != nil:
		return err
	case j.Held:
		d.add("journal", dubious, store.HeldFix, "%s", j.HeldText())
	case j.Bytes == 0:
		d.add("journal", fine, "", "the database has none now")
	default:
		d.add("journal", fine, "", "%s has %s", j.Name, bytesText(j.Bytes))
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
		text := fmt.Sprintf("process %d on %s, begun %s, with %s", r.PID, r.Host, ago(now, r.Started), plural(r.Held, "target"))
		switch {
		case r.Unseen != nil:
			d.add("runs", dubious, "run this as the user of that process, or as root, on its machine",
				"a run may be dead: it has sent no heartbeat for %s, and its lock can't be checked: %s: %s",
				lasting(now.Sub(r.Heartbeat)), text, yp.Printable(r.Unseen.Error()))
		case r.Dead:
			d.add("runs", dubious, d.p.Command("recover"), "the process of a run died: %s (the next run recovers its targets)", text)
		case !r.Alive:
			d.add("runs", fine, "", "a run on another machine, last heartbeat %s: %s", ago(now, r.Heartbeat), text)
		default:
			d.add("runs", fine, "", "a run is active: %s", text)
		}
	}
	if len(runs) == 0 {
		d.add("runs", fine, "", "no run is using the database")
	}
	return nil
}

// Bounds of free space: a crawl of one state brings about 1 GB, and a commit needs room for the journal.
const (
	littleSpace = 2_000_000_000
	noSpace     = 200_000_000
)

// disk looks at the space left where the database and the logs lie.
func (d *diagnosis) disk() {
	for _, place := range []struct{ check, path string }{{"disk", filepath.Dir(d.c.String("db"))}, {"disk of logs", logDir(d.c)}} {
		dir := existingFolder(place.path)
		free, err := freeSpace(dir)
		switch {
		case err != nil:
			d.failed(place.check, err)
		case free < noSpace:
			d.add(place.check, broken, "free some space; committed pages are safe",
				"%s free at %s: the next run will stop soon", bytesText(free), dir)
		case free < littleSpace:
			d.add(place.check, dubious, "free some space; "+d.p.Command("wal", "compress")+" shrinks old logs",
				"%s left at %s", bytesText(free), dir)
		default:
			d.add(place.check, fine, "", "%s left at %s", bytesText(free), dir)
		}
	}
}

// existingFolder is the folder, or the nearest above it that is there.
func existingFolder(dir string) string {
	info, err := os.Stat(dir)
	if up := filepath.Dir(dir); (err != nil || !info.IsDir()) && up != dir {
		return existingFolder(up)
	}
	return dir
}

// logFolder tries to write where the logs go.
func (d *diagnosis) logFolder() {
	dir := logDir(d.c)
	there := existingFolder(dir)
	if _, err := os.Stat(dir); d.denied("log folder", "it can't be read", folder.Denied(dir, err)) {
		return
	}
	if err := tryWrite(there); d.denied("log folder", "it can't be written", folder.Denied(there, err)) {
		return
	} else if err != nil {
		d.add("log folder", broken, "correct its permissions, or name another folder with --wal-dir", "%s can't be written: %v", there, err)
	} else if _, missing := os.Stat(dir); there != dir && missing == nil {
		d.add("log folder", broken, "name another folder with --wal-dir", "%s is not a folder", dir)
	} else {
		d.add("log folder", fine, "", "%s can be written", there)
	}
}

// logs looks whether the logs in the folder are those of the database.
func (d *diagnosis) logs(ctx context.Context) error {
	dir := logDir(d.c)
	own, err := d.k.DB().ID(ctx)
	if err != nil {
		return err
	}
	ids, err := wal.Writers(dir)
	if d.denied("logs", "they can't be read", err) {
		return nil
	}
	if err != nil || len(ids) == 0 {
		if untouched, err := d.k.DB().Untouched(ctx); err != nil || untouched { // whether the folder can be read is another check
			return err
		}
		d.add("logs", dubious, "name the folder of its logs with --wal-dir, and keep backups",
			"there are no logs in %s: the database could not be rebuilt from them", dir)
		return nil
	}
	if !slices.Contains(ids, own) {
		d.add("logs", dubious, "name the folder of its own logs with --wal-dir; to bring the other one back: "+d.p.rebuildCommand(),
			"the logs in %s belong to another database, %s: this one, %s, could not be rebuilt from them", dir, strings.Join(ids, ", "), own)
		return nil
	}
	lost, err := backup.LostLogs(d.k.DB().Reader(ctx), own, dir)
	switch {
	case err != nil:
		return err
	case lost.Pages > 0:
		d.add("logs", dubious, "put the files back if they were moved; otherwise keep backups, or crawl again: "+d.p.Command("run", "--recrawl", "0"),
			"the database could not be rebuilt from the logs in %s: %s", dir, lostText(&lost))
	default:
		d.add("logs", fine, "", "%s has the database's logs", dir)
	}
	return nil
}
