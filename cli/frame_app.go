package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/backup"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// Exit codes, as `help exit-codes` tells them.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitFailures    = 3
	ExitBudget      = 4
	ExitBlocked     = 5 // the source is closed for longer than the run waits
	ExitNoProxies   = 6
	ExitLayout      = 7
	ExitLocked      = 11
	ExitInterrupted = 130
)

// Program is one invocation: what main hands to the commands.
type Program struct {
	Streams
	Schema string // the text of schema.sql

	// Faults that crash tests plant; nil in the program.
	Reached    func(crawl.Point)             // see crawl.Config
	LoseCommit func() bool                   // see store.Config
	LoseSync   func() bool                   // with true a log is not synced, and says that it was
	Rewrite    func(statement string) string // see store.Config

	args     []string
	db, logs string // the database and the log folder of the running command, for hints
	secrets  []string
	lasts    atomic.Bool // see outlive
	printed  printed
}

// Run runs the command line args (args[0] is the program's name) and returns
// the exit code. When ctx ends, a crawl finishes its pages and stops.
func (p *Program) Run(ctx context.Context, args []string) int {
	p.args = args
	app := p.app()
	if len(args) == 2 && (args[1] == "--version" || args[1] == "-v") {
		args = []string{args[0], "version"} // what every other program calls it
	}
	prepared, err := Prepare(app, args)
	if err == nil {
		err = app.RunContext(ctx, prepared)
	}
	if p.judges() {
		err = p.asUnknown(err)
	}
	return p.exit(ctx, err)
}

func (p *Program) app() *cli.App {
	app := &cli.App{
		Name:      "ypcrawl",
		Usage:     "crawl business directories into a local SQLite file; kill it at any time, type the same again, and it goes on",
		Writer:    p.Out,
		ErrWriter: p.Err,
		Reader:    p.In,
		Flags:     globalFlags(),
		Before: func(c *cli.Context) error {
			p.NoColor = c.Bool("no-color")
			return nil
		},
		Commands: []*cli.Command{
			p.runCommand(), p.planCommand(), p.discoverCommand(), p.progressCommand(), p.recoverCommand(), p.resetCommand(),
			p.statusCommand(), p.targetsCommand(), p.detailsCommand(), p.queryCommand(),
			p.changesCommand(), p.coverageCommand(), p.companiesCommand(), p.listingsCommand(), p.exportCommand(), p.runsCommand(),
			p.dashboardCommand(), p.walCommand(), p.sourcesCommand(), p.reparseCommand(), p.proxiesCommand(), p.doctorCommand(), p.scheduleCommand(),
			p.backupCommand(), p.restoreCommand(), p.selftestCommand(), p.demoCommand(), versionCommand(), completionCommand(),
		},
	}
	for _, l := range report.Lists {
		if l.Under != "" {
			app.Commands = append(app.Commands, p.listAlone(l))
		}
	}
	eachCommand(app.Commands, func(cmd *cli.Command) { cmd.Before = p.settle })
	return app
}

// settle takes over what the settings file may have said.
func (p *Program) settle(c *cli.Context) error {
	p.NoColor = c.Bool("no-color")
	p.db, p.logs, p.secrets = operand(c.String("db")), operand(logDir(c)), secretsOf(c, p.args)
	return nil
}

const defaultLogs = "logs/yp_wal"

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "db", TakesFile: true, Value: "ypcrawl.db", Usage: "SQLite database `FILE`"},
		&cli.StringFlag{Name: "wal-dir", TakesFile: true, DefaultText: defaultLogs + " beside --db, and in it texas for texas.db", Usage: "`FOLDER` of the write-ahead logs"},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "least `LEVEL` to log: trace, debug, info, warn or error"},
		&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORM` of log lines: text or json"},
		&cli.BoolFlag{Name: "quiet", Usage: "no progress; only warnings and errors"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colours (NO_COLOR works as well)"},
		&cli.StringFlag{Name: "config", TakesFile: true, Value: "ypcrawl.yaml", Usage: "settings `FILE`"},
	}
}

// exitError carries an exit code of its own to the top. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// exit maps an error to the exit code, once, and prints it, one line a cause, with its next step.
func (p *Program) exit(ctx context.Context, err error) int {
	code, hint := p.verdict(ctx, err)
	if err != nil && err.Error() != "" && code != ExitInterrupted {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			p.noteLine(p.paint(p.Err, red, "ypcrawl:") + " " + yp.Printable(p.hideAll(p.hints(line)))) // a word that was typed may be a proxy
		}
	}
	if hint != "" {
		p.note("%s", hint)
	}
	return code
}

func (p *Program) verdict(ctx context.Context, err error) (code int, hint string) {
	var coded *exitError
	switch {
	case err == nil:
		return ExitOK, ""
	case store.Corrupt(err) && p.rebuildCommand() == noLogs:
		return ExitError, "There are no logs in " + p.logs + ": " + noLogs + "."
	case store.Corrupt(err):
		return ExitError, "Move the file to another place and rebuild it from the logs:\n  " + p.rebuildCommand()
	case errors.As(err, new(*lostError)):
		return ExitError, "To bring it back from them:\n  " + p.replayCommand() + "\n" + lostElse
	case errors.As(err, &coded):
		return coded.code, ""
	case errors.As(err, new(*UsageError)):
		return ExitUsage, ""
	case errors.Is(err, store.ErrRestoring):
		pending, _ := backup.Pending(p.db)
		return ExitError, "To finish the restore:\n  " + shellLine([]string{p.self(), "--db", p.db, "restore", operand(cmp.Or(pending.Backup, "BACKUP.db"))})
	case errors.Is(err, checkpoint.ErrExclusive):
		return ExitLocked, "Wait until the other run has ended, or run without `exclusive`: two runs can share a database."
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted, "Interrupted. Nothing is lost: type the same command again."
	case errors.Is(err, store.ErrDiskFull), errors.Is(err, errNoSpace):
		return ExitError, "Every committed page is safe. Free some disk space, then type the same command again."
	case errors.Is(err, store.ErrLinked), errors.As(err, new(*folder.DeniedError)): // says what to do
		return ExitError, ""
	case errors.Is(err, store.ErrReadOnly):
		return ExitError, "Check the permissions of the file and its folder, or name another file with --db."
	case errors.Is(err, store.ErrBusy):
		return ExitError, "Another program keeps the database locked. Close it, then type the same command again."
	}
	return ExitError, ""
}

// noLogs is what to do about a damaged database whose logs were not found.
const noLogs = "put a backup back with `ypcrawl restore`, or name the folder of its logs with --wal-dir"

// rebuildCommand makes a new database beside the one that is damaged; noLogs where there is nothing to make it from.
func (p *Program) rebuildCommand() string {
	from, ext := rebuildFrom(p.db, p.logs), filepath.Ext(p.db)
	if from == nil {
		return noLogs
	}
	return shellLine(append([]string{p.self(), "--db", strings.TrimSuffix(p.db, ext) + "-rebuilt" + ext, "wal", "replay"}, from...))
}

// replayCommand brings a database that is gone back from its logs.
func (p *Program) replayCommand() string {
	words := []string{p.self(), "--db", p.db}
	if filepath.Clean(p.logs) != filepath.Clean(logsOf(p.db)) {
		words = append(words, "--wal-dir", p.logs)
	}
	return shellLine(append(append(words, "wal", "replay"), rebuildFrom(p.db, p.logs)...))
}

// lostElse is what to do where nobody wants a lost database back.
const lostElse = "To begin a new one instead, move those logs to another place, or name another --db or --wal-dir."

// Standard returns a program on the process's own streams.
func Standard(schema string) *Program {
	return &Program{Streams: Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, Schema: schema}
}

// Prepare gives every command of a freshly built app what all of them share,
// and returns the command line to run it with:
//
//   - help flags of its own: the library's are global variables that it writes
//     to, so two apps in one process would race;
//   - errors instead of printed help for wrong flags, unknown commands and
//     stray arguments, as UsageErrors;
//   - settings from YPCRAWL_* and from the settings file (a string flag named
//     "config" and a bool flag "quiet" are the app's to declare);
//   - shell completion;
//   - several values after one flag (Expand).
//
// The app must run with exactly the arguments returned.
func Prepare(app *cli.App, args []string) ([]string, error) {
	app.DisableSliceFlagSeparator = true // Expand and SplitList decide what a value is
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = onUsageError
	app.HideHelp, app.HideVersion = true, true
	app.Flags = append(app.Flags, helpFlag())
	eachCommand(app.Commands, prepareCommand)
	help := helpCommand(app) // needs no settings, and is there when they are wrong
	help.HideHelp, help.OnUsageError = true, onUsageError
	app.Commands = append(app.Commands, help)
	args = installCompletion(app, args)
	return Expand(app, args)
}

func eachCommand(cmds []*cli.Command, f func(*cli.Command)) {
	for _, cmd := range cmds {
		f(cmd)
		eachCommand(cmd.Subcommands, f)
	}
}

// prepareCommand has a command take over the settings before it does anything: not in Before, which a group
// runs for each of its commands too.
func prepareCommand(cmd *cli.Command) {
	cmd.HideHelp = true
	cmd.OnUsageError = onUsageError
	cmd.Flags = append(cmd.Flags, helpFlag())
	before, action := cmd.Before, cmd.Action
	if cmd.Before = nil; action == nil {
		return
	}
	cmd.Action = func(c *cli.Context) error {
		for _, complaint := range unknownVariables(c.App, os.Environ()) {
			if _, err := fmt.Fprintf(c.App.ErrWriter, "ypcrawl: %s\n", complaint); err != nil {
				return err
			}
		}
		if err := applySettings(c); err != nil {
			return err
		}
		if before != nil {
			if err := before(c); err != nil {
				return err
			}
		}
		return action(c)
	}
}
