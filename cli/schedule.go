package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/yp"
)

const scheduleExamples = `  ypcrawl schedule --states CA TX --daily 03:00 --print cron      a line for crontab -e
  ypcrawl schedule --states CA TX --daily 03:00 --print systemd   a service and its timer
  ypcrawl schedule --print cron -- --details --discover           more flags of run`

const scheduleDescription = `Prints a line for a crontab, or a service and a timer for systemd, that starts a crawl each day. The crawl
uses the database, logs and ypcrawl.yaml of the current folder, by absolute paths. Flags after -- are
passed to run, which also checks them now. Nothing is installed:
` + "`ypcrawl help cron`" + ` says where to put the text.

The crawl gets --quiet, --linger 0, --max-duration and --fail-above: it prints nothing on a normal
day, and ends before the next start. It does not see your YPCRAWL_... variables: put such settings into ypcrawl.yaml.`

func (p *Program) scheduleCommand() *cli.Command {
	return &cli.Command{
		Name:        "schedule",
		Usage:       "Print what is needed to crawl every day: a line for cron, or a service and a timer for systemd",
		UsageText:   scheduleExamples,
		Description: scheduleDescription,
		ArgsUsage:   "[-- FLAG_OF_RUN...]",
		Flags: []cli.Flag{
			frame.StatesFlag(),
			&cli.StringFlag{Name: "daily", Value: "03:00", Usage: "start each day at `CLOCK`, the machine's local time"},
			&cli.StringFlag{Name: "print", DefaultText: "none", Usage: "print for `SCHEDULER`: cron, systemd"},
		},
		Action: p.schedule,
	}
}

// templates of what is printed; cron takes the end of the line for the end of a command, and % for a line's end.
const (
	cronTemplate = `# Made by ` + "`ypcrawl schedule`" + `; ` + "`crontab -e`" + ` opens the file it belongs in.
# Each day at {{.Clock}}. cron mails what is printed: with --quiet that is nothing on a normal day.
SHELL=/bin/sh
PATH=/usr/local/bin:/usr/bin:/bin
# MAILTO=you@example.org
{{.Minute}} {{.Hour}} * * * {{.Shell}}
`
	systemdTemplate = `# ---- ypcrawl.service
[Unit]
Description=ypcrawl
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
WorkingDirectory={{.Folder}}
ExecStart={{.Exec}}
# 4: a budget is used up, and the next start resumes. 130: it was stopped.
SuccessExitStatus=4 130
# A stop finishes the current pages.
KillMode=mixed
TimeoutStopSec=90
NoNewPrivileges=yes
UMask=0077

# ---- ypcrawl.timer
[Unit]
Description=ypcrawl, each day at {{.Clock}}

[Timer]
OnCalendar=*-*-* {{.Clock}}:00
# A start that was missed, because the machine was off, is made up for.
Persistent=true

[Install]
WantedBy=timers.target
`
)

var timeOfDay = regexp.MustCompile(`^([01]?[0-9]|2[0-3]):([0-5][0-9])$`)

func (p *Program) schedule(c *cli.Context) error {
	if c.Args().Present() && !frame.IsFlag(c.Args().First()) {
		return frame.Usagef("unexpected argument %q: put the flags of run after --", c.Args().First())
	}
	clock := timeOfDay.FindStringSubmatch(c.String("daily"))
	if clock == nil {
		return frame.Usagef("--daily %q: want a time of day like 03:00", c.String("daily"))
	}
	text, ok := map[string]string{"cron": cronTemplate, "systemd": systemdTemplate}[c.String("print")]
	if !ok {
		return frame.Usagef("--print %q: want cron or systemd", c.String("print"))
	}
	folder, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	line, err := p.crawlLine(c, folder)
	if err != nil {
		return err
	}
	for _, word := range append(line, folder) {
		if word != yp.Printable(word) || strings.Contains(word, `\`) {
			return frame.Usagef("%q can't be used there because it has control characters or a backslash; rename the file, or move the setting to ypcrawl.yaml", word)
		}
	}
	if err := p.checkLine(c, line); err != nil {
		return err
	}
	hour, _ := strconv.Atoi(clock[1]) // digits, by the pattern
	minute, _ := strconv.Atoi(clock[2])
	return template.Must(template.New("schedule").Parse(text)).Execute(p.Out, map[string]any{
		"Clock": fmt.Sprintf("%02d:%02d", hour, minute), "Hour": hour, "Minute": minute,
		"Folder": strings.ReplaceAll(folder, "%", "%%"), "Exec": execLine(line),
		// The shell never sees the backslash before a percent sign.
		"Shell": strings.ReplaceAll("cd "+frame.ShellWord(folder)+" && "+frame.ShellLine(line), "%", `\%`),
	})
}

// execLine quotes a command for systemd, for which % and $ begin words of its own.
func execLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
		if frame.ShellWord(w) != w {
			quoted[i] = `"` + strings.ReplaceAll(quoted[i], `"`, `\"`) + `"`
		}
	}
	return strings.Join(quoted, " ")
}

// statesToSchedule reads --states by the states of the USA, else by those of the sources of the database.
func (p *Program) statesToSchedule(c *cli.Context) ([]string, error) {
	codes, wrong := frame.StatesOf(c, usa())
	if wrong == nil {
		return codes, nil
	}
	err := p.with(c, reading, func(_ *database, scope store.Scope) error {
		codes = scope.States
		return nil
	})
	return codes, err
}

// crawlLine is the command of the crawl.
func (p *Program) crawlLine(c *cli.Context, folder string) ([]string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	if strings.Contains(filepath.ToSlash(program), "/go-build") {
		return nil, frame.Usagef("`go run` deletes the program when it ends: build it with `go install .` and use that one")
	}
	line := []string{program, "--db", absolute(folder, c.String("db")), "--wal-dir", absolute(folder, logDir(c)), "--quiet"}
	if c.IsSet(frame.ConfigFlag) {
		line = append(line, "--config", absolute(folder, c.String(frame.ConfigFlag)))
	}
	line = append(line, "run")
	codes, err := p.statesToSchedule(c)
	if err != nil {
		return nil, err
	}
	if len(codes) > 0 {
		line = append(append(line, "--states"), codes...)
	}
	more := c.Args().Slice()
	for _, flag := range [][]string{{"--linger", "0"}, {"--max-duration", "21h36m"}, {"--fail-above", "10%"}} {
		if !slices.ContainsFunc(more, func(w string) bool { return w == flag[0] || strings.HasPrefix(w, flag[0]+"=") }) {
			line = append(line, flag...)
		}
	}
	return append(line, more...), nil
}

// checkLine has run itself check the command line of the crawl.
func (p *Program) checkLine(c *cli.Context, line []string) error {
	for _, word := range line {
		if frame.RedactURL(word) != word {
			return frame.Usagef("it has a password, and others may read the file: move the password to ypcrawl.yaml or use `ypcrawl proxies add`")
		}
		if name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "="); strings.HasPrefix(word, "-") && (name == "ping" || name == "notify") {
			p.Note("The address of --%s is a secret, and others may read this: move it to ypcrawl.yaml.", name)
		}
	}
	q := &Program{Invocation: frame.Invocation{
		Streams: frame.Streams{In: p.In, Out: io.Discard, Err: p.Err, Getenv: p.Getenv},
		Args:    line,
	}, Schema: p.Schema}
	app := q.app()
	app.ErrWriter = io.Discard // variables that set nothing were named before
	app.Root().Sub(mainCommand).Action = func(c *cli.Context) error {
		if c.Bool("watch") || c.Bool("json") || c.Bool("dry-run") {
			return frame.Usagef("--watch, --json and --dry-run are for people at a screen; leave them out of a scheduled crawl")
		}
		if frame.TimeOf(c, "max-duration") > 24*time.Hour {
			return frame.Usagef("--max-duration: the next crawl starts a day later, before this one has ended; use a shorter time")
		}
		r := &run{p: q, c: c, display: q.NewDisplay(c), log: zerolog.Nop()}
		return r.check()
	}
	prepared, err := frame.Prepare(app, line)
	if err != nil {
		return err
	}
	return app.RunContext(c.Context, prepared)
}

func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}
