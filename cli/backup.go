package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/backup"
	"ypcrawl/cli/export"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/yp"
)

const backupExamples = `  ypcrawl backup copies/monday.db                one file: database and logs
  ypcrawl backup copies/monday.db --overwrite    replaces the existing one`

const backupHelp = `A crawl may run at the same time: the copy is what a kill at one instant would leave, and a crawl can resume from it.
Every page of the copy is checked before the copy gets its name. Pages kept by ` + "`run --keep-pages`" + ` are not copied.`

func (p *Program) backupCommand() *cli.Command {
	return &cli.Command{
		Name: "backup", Usage: "Copy the database and its logs into one file, even while a crawl runs, and check the copy",
		ArgsUsage: "FILE.db", Args: true,
		UsageText: backupExamples, Description: backupHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "overwrite", Usage: "replace FILE once the new copy is complete"},
			frame.JSONFlag(),
		},
		Action: p.backup,
	}
}

func (p *Program) backup(c *cli.Context) error {
	name, err := oneArgument(c, "the FILE.db to copy to")
	if err != nil {
		return err
	}
	if info, err := os.Stat(name); !slices.Contains([]string{".db", ".sqlite", ".sqlite3"}, filepath.Ext(name)) || err == nil && info.IsDir() {
		return frame.Usagef("%q: want a file whose name ends in .db", name)
	}
	if absent, err := store.Absent(c.String("db")); err == nil && absent {
		if err := p.lost(c, ""); err != nil {
			return err
		}
	}
	out, err := backup.Make(c.Context,
		backup.Config{DB: c.String("db"), Logs: logDir(c), File: name, Overwrite: c.Bool("overwrite"), Reached: p.reachedStep})
	if errors.Is(err, export.ErrExists) {
		return frame.Usagef("%w: name another file, or replace it with --overwrite", err)
	}
	if err != nil {
		return err
	}
	if out.Lost != nil {
		p.Note("ypcrawl: the copy is complete, but could not be rebuilt from the logs in it: %s", lostText(out.Lost))
	}
	if c.Bool("quiet") && !c.Bool("json") { // as cron wants it
		return nil
	}
	return p.Tell(c, out, func(w *frame.Sections) {
		w.Lines(fmt.Sprintf("%s: %s of %s, with %s of %s", out.File, bytesText(out.Bytes), out.At.UTC().Format(yp.DayTime),
			plural(out.LogFiles, "log"), bytesText(out.LogBytes)))
		w.More("Restore it with: " + p.Command("restore", frame.Operand(out.File)))
	})
}

// lostText says what the logs lack.
func lostText(l *backup.Lost) string {
	return fmt.Sprintf("they lack %s with %s (%s)", plural(l.Pages, "page"), plural(l.Listings, "listing"), l.Files())
}

// reachedStep tells crash tests of the steps.
func (p *Program) reachedStep(step string) {
	if p.Reached != nil {
		p.Reached(crawl.Point(step))
	}
}

func oneArgument(c *cli.Context, what string) (string, error) {
	if c.Args().Len() != 1 || strings.TrimSpace(c.Args().First()) == "" {
		return "", frame.Usagef("name %s; see '%s --help'", what, c.Command.HelpName)
	}
	return c.Args().First(), nil
}

const restoreExamples = `  ypcrawl restore copies/monday.db
  ypcrawl --db new.db restore copies/monday.db`

const restoreHelp = `The backup is first copied beside the database and checked. The old database is kept as FILE.before-restore, its logs in
a folder of that name within their own. If a restore is killed, either nothing has changed, or a note says that it is not
complete; then no other command opens the database until you run the same restore again.`

func (p *Program) restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "Replace the database and its logs with a backup; the old ones are kept",
		ArgsUsage: "BACKUP.db", Args: true,
		UsageText: restoreExamples, Description: restoreHelp, Flags: []cli.Flag{frame.YesFlag(), frame.JSONFlag()}, Action: p.restore,
	}
}

func (p *Program) restore(c *cli.Context) error {
	name, err := oneArgument(c, "the BACKUP.db to restore")
	if err != nil {
		return err
	}
	db := c.String("db")
	pending, err := backup.Pending(db)
	if err != nil {
		return err
	}
	if pending.Backup == "" { // to end one, the backup is not needed any more
		f, err := frame.OpenRegular(name)
		if err != nil {
			return err
		}
		_ = f.Close() // only read
		if info, err := os.Stat(db); err == nil && info.Size() > 0 {
			if ok, err := p.Proceed(c, fmt.Sprintf("This replaces %s (the old file is kept).", db), false); !ok {
				return err
			}
		}
	}
	out, resumed, err := backup.Restore(c.Context, backup.Config{File: name, DB: db, Logs: logDir(c), Reached: p.reachedStep})
	if store.Corrupt(err) { // as text: the hint that goes with the error is about the database in use
		return fmt.Errorf("the backup can't be used: %v. Nothing was changed; choose another backup", err) //nolint:errorlint // see above
	}
	switch {
	case errors.Is(err, store.ErrLocked):
		return &exitError{ExitLocked, errors.New("a run is using this database. Nothing was changed; stop the run (Ctrl-C or SIGTERM), then run this again")}
	case errors.Is(err, store.ErrBusy):
		return &exitError{ExitLocked, errors.New("another process has this database open (`ypcrawl progress --watch`, `ypcrawl dashboard`, another program). Nothing was changed; end that process, then run this again")}
	case err != nil:
		return err
	}
	return p.Tell(c, out, func(w *frame.Sections) {
		text := fmt.Sprintf("%s was restored from %s", out.DB, out.Backup)
		if at, err := yp.ParseTime(out.At); err == nil {
			text += ", as it was at " + at.UTC().Format(yp.DayTime)
		}
		if resumed {
			text += " (this finished the interrupted restore)"
		}
		w.Lines(text)
		if out.LogFiles > 0 {
			w.More(fmt.Sprintf("%s in %s", plural(out.LogFiles, "log"), logDir(c)))
		}
		if out.Aside != "" {
			w.More("The old database is kept as " + out.Aside)
		}
		if out.LogsAside != "" {
			w.More("Its logs are kept in "+out.LogsAside+". To add what was crawled since the backup, run this before the next crawl:",
				"  "+p.Command("wal", "replay", frame.Operand(out.LogsAside)))
		}
	})
}
