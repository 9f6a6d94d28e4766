package cli

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
	"ypcrawl/store/report"
)

// Program is one invocation: what main hands to the commands.
type Program struct {
	frame.Invocation
	Schema string // the text of schema.sql

	// Faults that crash tests plant; nil in the program.
	Reached    func(crawl.Point)             // see crawl.Config
	LoseCommit func() bool                   // see store.Config
	LoseSync   func() bool                   // with true a log is not synced, and says that it was
	Rewrite    func(statement string) string // see store.Config

	FreeSpace func(dir string) (int64, error) // in place of what the system says of a folder; nil = that

	commands *frame.App  // of the running command line
	logs     string      // the log folder of the running command, for hints
	lasts    atomic.Bool // see outlive
	printed  printed
	swept    sync.Once // see open
}

// Run runs the command line args (args[0] is the program's name) and returns
// the exit code. When ctx ends, a crawl finishes its pages and stops.
func (p *Program) Run(ctx context.Context, args []string) int {
	p.Args = args
	p.commands = p.app()
	app := p.commands
	if len(args) == 2 && (args[1] == "--version" || args[1] == "-v") {
		args = []string{args[0], "version"} // what every other program calls it
	}
	prepared, err := frame.Prepare(app, args)
	if err == nil {
		err = app.RunContext(ctx, prepared)
	}
	if p.judges() {
		err = p.asUnknown(err)
	}
	return p.exit(ctx, err)
}

func (p *Program) app() *frame.App {
	app := &frame.App{Help: help(), Main: mainCommand, OldWords: oldWords, Values: flagValues, States: p.statesToComplete}
	app.App = &cli.App{
		Name:      "ypcrawl",
		Usage:     "crawl business directories into a local SQLite file; kill it at any time, run it again, and it continues",
		Writer:    p.Out,
		ErrWriter: p.Err,
		Reader:    p.In,
		Flags:     frame.GlobalFlags(),
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
	frame.EachCommand(app.Commands, func(cmd *cli.Command) { cmd.Before = p.applySettings })
	return app
}

// applySettings takes over what the settings file may have said.
func (p *Program) applySettings(c *cli.Context) error {
	p.NoColor = c.Bool("no-color")
	p.Database, p.logs, p.Secrets = frame.Operand(c.String("db")), frame.Operand(logDir(c)), secretsOf(c, p.Args)
	_, err := p.Logger(c, io.Discard) // a wrong --log-level is an error of every command, also of one that logs nothing
	return err
}

// Standard returns a program on the process's own streams.
func Standard(schema string) *Program {
	return &Program{Invocation: frame.Invocation{Streams: frame.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}}, Schema: schema}
}
