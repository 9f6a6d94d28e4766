package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/backup"
	"ypcrawl/crawl"
	"ypcrawl/store"
)

const backupHelp = `ypcrawl backup copies/                 copies/ypcrawl-2026-11-22T0300Z.db and its logs
ypcrawl backup copies/ --keep 7        and keeps the newest six older ones
ypcrawl backup /mnt/usb/ypcrawl.db     under a name of your own

A crawl may run at the same time: the copy is a state as after a kill at one instant, and a crawl resumes from it.
The copy is checked before it gets its name: every page of the database, the rows of the main tables, and with --full every index against its table.
Pages that ` + "`run --keep-pages`" + ` has kept are not copied, because they are large. To keep them, copy the folder ypcrawl.db.pages, too.`

func (p *Program) backupCommand() *cli.Command {
	return &cli.Command{
		Name: "backup", Usage: "Copy the database and its logs, also while a crawl runs; the copy is checked", ArgsUsage: "FILE.db|FOLDER/", Args: true,
		Description: backupHelp,
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "keep", Value: countValue("copies"), DefaultText: "all", Usage: "keep only the newest `COPIES` of this database in FOLDER, including this one"},
			&cli.BoolFlag{Name: "no-logs", Usage: "leave out the logs: without them a damaged copy can't be rebuilt"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace FILE, when the new copy is complete"},
			&cli.BoolFlag{Name: "full", Usage: "also check every index against its table: takes four times as long"},
			jsonFlag(),
		},
		Action: p.backup,
	}
}

func (p *Program) backup(c *cli.Context) error {
	cfg := backup.Config{
		DB: c.String("db"), Overwrite: c.Bool("overwrite"), Full: c.Bool("full"), Keep: countOf(c, "keep"),
		Free: freeSpace, Reached: p.reachedStep(),
	}
	if !c.Bool("no-logs") {
		cfg.Logs = logDir(c)
	}
	name, err := oneArgument(c, "the FILE.db or FOLDER/ that the copy goes to")
	if err != nil {
		return err
	}
	switch kind := placeOf(name); {
	case kind == "":
		return Usagef("%q: end the name in / for a folder, where copies are named by their time, or in .db for one file", name)
	case kind == "folder" && c.Bool("overwrite"):
		return Usagef("--overwrite needs a FILE: copies in a folder are named by their time and replace nothing")
	case kind == "file" && c.IsSet("keep"):
		return Usagef("--keep needs a FOLDER/: a FILE is only one copy")
	case kind == "file":
		cfg.File = name
	default:
		cfg.Folder = name
	}
	out, err := backup.Make(c.Context, cfg)
	if err != nil {
		return p.backupError(err)
	}
	for _, left := range out.Left {
		p.note("ypcrawl: not removed: %s", left)
	}
	if c.Bool("quiet") && !c.Bool("json") { // as cron wants it
		return nil
	}
	return p.tell(c, out, func(w *sections) {
		w.lines(fmt.Sprintf("%s: %s of %s", out.File, bytesText(out.Bytes), out.At.Format("2006-01-02 15:04:05Z")))
		if out.Logs != "" {
			w.more(fmt.Sprintf("%s: %s, %s", out.Logs, plural(out.LogFiles, "log"), bytesText(out.LogBytes)))
		}
		w.more(fmt.Sprintf("checked (%s): %s", out.Check, rowsText(out.Rows)))
		for _, old := range out.Removed {
			w.more("removed " + old)
		}
		w.more("Put it back with: " + p.command(c, "restore", out.File))
	})
}

// reachedStep tells crash tests of the steps.
func (p *Program) reachedStep() func(backup.Step) {
	if p.Reached == nil {
		return nil
	}
	return func(s backup.Step) { p.Reached(crawl.Point(s)) }
}

func oneArgument(c *cli.Context, what string) (string, error) {
	if c.Args().Len() != 1 || strings.TrimSpace(c.Args().First()) == "" {
		return "", Usagef("name %s; see '%s --help'", what, c.Command.HelpName)
	}
	return c.Args().First(), nil
}

// placeOf tells whether a name is that of a folder or of a file, "" = it does not say.
func placeOf(name string) string {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir(), strings.HasSuffix(filepath.ToSlash(name), "/"):
		return "folder"
	case err == nil, slices.Contains([]string{".db", ".sqlite", ".sqlite3"}, filepath.Ext(name)):
		return "file"
	}
	return ""
}

// command is a command of this program for the database in hand.
func (p *Program) command(c *cli.Context, words ...string) string {
	all := []string{p.self()}
	if db := c.String("db"); db != defaultDB {
		all = append(all, "--db", db)
	}
	return shellLine(append(all, words...))
}

func rowsText(rows map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if rows[name] > 0 {
			parts = append(parts, thousands(rows[name])+" "+strings.ReplaceAll(name, "_", " "))
		}
	}
	if len(parts) == 0 {
		return "no rows"
	}
	return strings.Join(parts, ", ")
}

// backupError gives the errors of package backup their next step and their exit code.
func (p *Program) backupError(err error) error {
	var space *backup.SpaceError
	switch {
	case errors.As(err, &space):
		return fmt.Errorf("nothing was copied: %s of free space is needed at %s, and only %s is free; remove files, or leave out the logs with --no-logs", bytesText(space.Need), space.Dir, bytesText(space.Left))
	case errors.Is(err, backup.ErrExists):
		return Usagef("%w: name another one, or replace it with --overwrite", err)
	case errors.Is(err, backup.ErrRunning):
		return &exitError{ExitLocked, fmt.Errorf("%w: wait for it to end", err)}
	case errors.Is(err, backup.ErrHeld):
		return &exitError{ExitLocked, fmt.Errorf("nothing was changed: %w; stop it (Ctrl-C or SIGTERM), then type the same command again", err)}
	case errors.Is(err, backup.ErrOpen):
		return &exitError{ExitLocked, fmt.Errorf("nothing was changed: %w (`progress --watch`, `dashboard`, another program); end it, then type the same command again", err)}
	}
	return err
}

const restoreHelp = `ypcrawl restore copies/ypcrawl-2026-11-22T0300Z.db
ypcrawl --db new.db restore copies/ypcrawl-2026-11-22T0300Z.db

The backup is checked first. What was there is kept under another name: the database beside it as
FILE.before-restore-TIME, its logs as FOLDER.before-restore-TIME. If it is killed, the old database is left, or a note that the
restore is not complete; then no other command opens the database until the same restore is typed again.`

func (p *Program) restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "Put a backup in the place of the database and its logs; what was there is kept", ArgsUsage: "BACKUP.db", Args: true,
		Description: restoreHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "no-logs", Usage: "restore the database alone; the logs that are there stay"},
			yesFlag(), jsonFlag(),
		},
		Action: p.restore,
	}
}

func (p *Program) restore(c *cli.Context) error {
	name, err := oneArgument(c, "the BACKUP.db that is to be put back")
	if err != nil {
		return err
	}
	db := c.String("db")
	if backup.Pending(db) == "" { // to end one, the backup is not needed any more
		if _, err := openRegularInfo(name); err != nil {
			return err
		}
	}
	if info, err := os.Stat(db); err == nil && info.Size() > 0 && backup.Pending(db) == "" {
		if ok, err := p.proceed(c, fmt.Sprintf("Replace %s by %s? It is kept under another name.", db, name), false); !ok {
			return err
		}
	}
	out, err := backup.Restore(c.Context, backup.RestoreConfig{
		Backup: name, DB: db, Logs: logDir(c), NoLogs: c.Bool("no-logs"), Free: freeSpace, Reached: p.reachedStep(),
	})
	if store.Corrupt(err) { // as text: the hint that goes with the error is about the database in use
		return fmt.Errorf("nothing was changed: the backup can't be used: %v; choose another one", err) //nolint:errorlint // see above
	}
	if err != nil {
		return p.backupError(err)
	}
	behind := p.behindAfterRestore(c)
	return p.tell(c, out, func(w *sections) {
		text := fmt.Sprintf("%s is restored from %s", out.DB, out.Backup)
		if out.At != "" {
			text += ", as it was at " + out.At
		}
		if out.Finished {
			text += " (this finished the interrupted restore)"
		}
		w.lines(text, rowsText(out.Rows))
		if out.LogFiles > 0 {
			w.more(fmt.Sprintf("%s in %s", plural(out.LogFiles, "log"), logDir(c)))
		}
		if out.Aside != "" {
			w.more("The database that was there is kept as " + out.Aside)
		}
		if out.LogsAside != "" {
			w.more("Its logs are kept in "+out.LogsAside+". To add what was crawled since the backup, type before the next run:",
				"  "+p.command(c, "wal", "replay", out.LogsAside))
		}
		if behind != "" {
			w.more(behind)
		}
	})
}

// openRegularInfo makes sure that a file that was named is there and can be read.
func openRegularInfo(name string) (os.FileInfo, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	return f.Stat()
}

// behindAfterRestore tells of logs that stayed where they are and say more than the database.
func (p *Program) behindAfterRestore(c *cli.Context) string {
	k, err := p.open(c, reading)
	if err != nil {
		return "" // of an older schema, which the next run upgrades
	}
	defer func() { _ = k.DB().Close() }()
	b, err := behindLogs(context.WithoutCancel(c.Context), k, logDir(c))
	if err != nil || b.events == 0 {
		return ""
	}
	return fmt.Sprintf("The logs in %s have pages that the database does not have. To add them, type before the next run:\n  %s", logDir(c), p.command(c, "wal", "replay"))
}
