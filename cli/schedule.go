package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/cli/schedule"
	"ypcrawl/yp"
)

const scheduleExamples = `  ypcrawl schedule --states CA TX --daily 03:00            shows the units
  ypcrawl schedule --states CA TX --daily 03:00 --install  service and timer
  ypcrawl schedule --weekly SUN 03:00 --print cron         for crontab -e
  ypcrawl schedule --every 6h --install -- --min-score 50  more flags of run`

const scheduleDescription = `Writes the units or lines that start a crawl on a schedule, with absolute paths, in the current folder:
the crawl uses the database, logs and ypcrawl.yaml there. Flags behind -- go to run unchanged. The
command line is checked as run does.

The crawl is written with --quiet, --exclusive, --linger 0, a --max-duration and --fail-above: it says nothing
on a normal day, never runs twice at once, and ends before it is started again.
--install writes units of systemd and prints the commands that enable them; it runs nothing itself, and
replaces no file that it has not written. --uninstall removes them.
Variables (YPCRAWL_...) do not reach a scheduled crawl: write them into ypcrawl.yaml.`

func (p *Program) scheduleCommand() *cli.Command {
	return &cli.Command{
		Name:        "schedule",
		Usage:       "Crawl on a schedule, for example each night: units for systemd, lines for cron, launchd and Windows",
		UsageText:   scheduleExamples,
		Description: scheduleDescription,
		ArgsUsage:   "[-- FLAG_OF_RUN...]",
		Flags: []cli.Flag{
			statesFlag(),
			&cli.StringFlag{Name: "source", DefaultText: "that of run: yellowpages", Usage: "crawl this `SOURCE`"},
			&cli.StringFlag{Name: "daily", DefaultText: "none", Usage: "start each day at `CLOCK`: 03:00"},
			list("weekly", "start each week at `DAY... CLOCK`: SUN 03:00", "none"),
			&cli.GenericFlag{Name: "every", Value: ageValue(0), DefaultText: "none", Usage: "start every `TIME`: 1h, 2h, 3h, 4h, 6h, 8h, 12h, or minutes that divide an hour"},
			&cli.StringFlag{Name: "discover", DefaultText: "never", Usage: "read the source's indexes of cities for states not read in the last 7 days: `WHEN` is weekly"},
			detailsFlag(),
			list("export", "then write all listings of the states into `FILE...`, at each start; {date} in it is the day", "none"),
			maxDurationFlag("nine tenths of the time between two starts"),
			failAboveFlag("10%"),
			&cli.StringFlag{Name: "mailto", DefaultText: "cron: the owner of the crontab; systemd: nobody", Usage: "send mail to `ADDRESS` when something is wrong"},
			&cli.StringFlag{Name: "name", Value: "ypcrawl", Usage: "`NAME` of the units; another one for each crawl"},
			&cli.StringFlag{Name: "print", DefaultText: "none", Usage: "print for `SCHEDULER`: systemd, cron, launchd, taskscheduler"},
			&cli.BoolFlag{Name: "install", Usage: "write units of systemd"},
			&cli.BoolFlag{Name: "uninstall", Usage: "remove the units of --name"},
			&cli.BoolFlag{Name: "system", Usage: "units of the system, with the protections of systemd, instead of your own"},
			&cli.StringFlag{Name: "user", DefaultText: "who types this, also through sudo", Usage: "with --system: crawl as `USER`"},
			&cli.StringFlag{Name: "root", DefaultText: "/", Usage: "write it for a machine whose root is `FOLDER` here, for example an image; this program and the current folder must be in it"},
			&cli.StringFlag{Name: "unit-dir", DefaultText: "~/.config/systemd/user; with --system /etc/systemd/system", Usage: "`FOLDER` of the units"},
			jsonFlag(),
		},
		Action: p.schedule,
	}
}

// scheduled is what `schedule` says in JSON.
type scheduled struct {
	Name        string          `json:"name"`
	When        string          `json:"when"`
	Folder      string          `json:"folder"`
	Commands    [][]string      `json:"commands"`
	MaxDuration float64         `json:"max_duration_seconds"`
	Stop        float64         `json:"stop_seconds"` // the longest that a stop takes
	Files       []schedule.File `json:"files"`        // printed or installed; with their folder when installed
	Next        []string        `json:"next"`         // commands to type
}

func (p *Program) schedule(c *cli.Context) error {
	form := c.String("print")
	switch {
	case c.Args().Present() && !isFlag(c.Args().First()):
		return Usagef("unexpected argument %q: put the flags of run after --", c.Args().First())
	case c.Bool("install") && c.Bool("uninstall"), form != "" && (c.Bool("install") || c.Bool("uninstall")):
		return Usagef("--print, --install and --uninstall: want one of them")
	case c.IsSet("user") && !c.Bool("system"):
		return Usagef("--user needs --system: add it, or leave out --user and type this as that user")
	case c.IsSet("root") && !c.Bool("system") && (c.Bool("install") || c.Bool("uninstall")):
		return Usagef("--root needs --system here: your own units are on this machine")
	case c.Bool("uninstall"):
		return p.uninstall(c)
	}
	when, err := whenOf(c)
	if err != nil {
		return err
	}
	if when == nil {
		if form == "" && !c.Bool("install") {
			return p.tell(c, scheduled{Name: c.String("name"), Commands: [][]string{}, Files: []schedule.File{}, Next: []string{}}, func(w *sections) {
				w.lines("Say when: --daily 03:00, --weekly SUN 03:00 or --every 6h. For example:")
				w.lines(strings.Split(scheduleExamples, "\n")...)
				w.lines("`ypcrawl schedule --help` shows all flags; `ypcrawl help cron` describes crawls night by night.")
			})
		}
		return Usagef("want a time: --daily 03:00, --weekly SUN 03:00 or --every 6h")
	}
	job, err := p.job(c, *when)
	if err != nil {
		return err
	}
	out := scheduled{
		Name: job.Name, When: job.When.String(), Folder: job.Folder, Commands: append([][]string{job.Crawl}, job.After...),
		MaxDuration: job.Limit.Seconds(), Stop: job.Stop.Seconds(), Files: []schedule.File{},
	}
	formats := map[string]func() ([]schedule.File, error){
		"systemd": job.Systemd, "cron": job.Cron, "launchd": job.Launchd, "taskscheduler": job.TaskScheduler,
	}
	switch {
	case c.Bool("install"):
		return p.install(c, job, out)
	case form == "":
		return p.explainSchedule(c, job, out)
	case formats[form] == nil:
		return Usagef("--print %q: want systemd, cron, launchd or taskscheduler", form)
	}
	if out.Files, err = formats[form](); err != nil {
		return Usagef("%w", err)
	}
	out.Next = []string{}
	return p.tell(c, out, func(w *sections) {
		for i, f := range out.Files {
			if len(out.Files) > 1 {
				w.write(strings.Repeat("\n", min(i, 1)) + "# ---- " + f.Name + "\n")
			}
			w.write(f.Text)
		}
	})
}

// whenOf reads --daily, --weekly and --every; nil = none was given.
func whenOf(c *cli.Context) (when *schedule.When, err error) {
	for _, name := range []string{"daily", "weekly", "every"} {
		if !c.IsSet(name) {
			continue
		}
		if when != nil {
			return nil, Usagef("--daily, --weekly and --every: want one of them")
		}
		var w schedule.When
		switch name {
		case "daily":
			w, err = schedule.Daily(c.String(name))
		case "weekly":
			w, err = schedule.Weekly(c.StringSlice(name))
		default:
			w, err = schedule.Every(timeOf(c, name))
		}
		if err != nil {
			return nil, Usagef("--%s: %w", name, err)
		}
		when = &w
	}
	return when, nil
}

// job is what is to be started. Its crawl is checked as run checks it.
func (p *Program) job(c *cli.Context, when schedule.When) (j schedule.Job, err error) {
	j = schedule.Job{Name: c.String("name"), When: when, Mail: c.String("mailto"), System: c.Bool("system")}
	if j.Folder, err = os.Getwd(); err != nil {
		return j, fmt.Errorf("find the working folder: %w", err)
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return j, fmt.Errorf("find this program's own file: %w", err)
	}
	if strings.Contains(filepath.ToSlash(program), "/go-build") {
		return j, Usagef("`go run` deletes the program when it ends: build it with `go install .` and use that one")
	}
	if j.System {
		if j.User, err = accountOf(c); err != nil {
			return j, err
		}
		if c.String("root") == "" && !knownUser(c.Context, j.User) {
			if c.Bool("install") {
				return j, Usagef("--user %s: this machine has no such user: make it first (sudo useradd --system %[1]s), or name another", j.User)
			}
			p.note("This machine has no user %s: make it first on the machine where you install the units.", yp.Printable(j.User))
		}
	}
	global := []string{program, "--db", absolute(j.Folder, c.String("db")), "--wal-dir", absolute(j.Folder, logDir(c)), "--quiet"}
	if c.IsSet(configFlag) {
		global = append(global, "--config", absolute(j.Folder, c.String(configFlag)))
	}
	if j.Limit = timeOf(c, "max-duration"); j.Limit == 0 {
		j.Limit = (when.Period() * 9 / 10).Truncate(time.Minute)
	}
	if j.Crawl, err = p.crawlLine(c, global, j.Limit); err != nil {
		return j, err
	}
	if err := p.checkLine(c, &j); err != nil {
		return j, err
	}
	if j.Limit > when.Period() {
		return j, Usagef("--max-duration %s: the crawl is started again %s later, before it has ended; use a shorter time", shortTime(j.Limit), shortTime(when.Period()))
	}
	j.Writes = append(j.Writes, j.Folder, filepath.Dir(global[2]))
	if logs := global[4]; len(outermost([]string{j.Folder, logs})) > 1 {
		j.Writes = append(j.Writes, logs) // else the crawl makes it
	}
	which, err := whichListings(c)
	for _, file := range c.StringSlice("export") {
		if _, _, known := export.FormatOf(file); !known {
			return j, Usagef("--export %q: its ending names no format; use .csv, .tsv, .jsonl, .xlsx, .parquet or .geojson", file)
		}
		file = absolute(j.Folder, file)
		j.After = append(j.After, slices.Concat(global, []string{"export", "-o", file, "--overwrite"}, which))
		j.Writes = append(j.Writes, filepath.Dir(file))
	}
	if err == nil {
		err = checkFolders(j.Writes)
	}
	j.Writes = outermost(j.Writes)
	if !c.IsSet("root") || err != nil {
		return j, err
	}
	if j, err = j.Below(absolute(j.Folder, c.String("root"))); err != nil {
		return j, Usagef("--root: %w", err)
	}
	return j, nil
}

// whichListings are the flags by which the crawl and the exports choose alike.
func whichListings(c *cli.Context) (flags []string, err error) {
	codes, err := states(c)
	if len(codes) > 0 {
		flags = append([]string{"--states"}, codes...)
	}
	if c.IsSet("source") {
		flags = append(flags, "--source", c.String("source"))
	}
	return flags, err
}

// crawlLine is the command of the crawl.
func (p *Program) crawlLine(c *cli.Context, global []string, limit time.Duration) ([]string, error) {
	line := append(slices.Clone(global), "run")
	which, err := whichListings(c)
	if err != nil {
		return nil, err
	}
	line = append(line, which...)
	switch c.String("discover") {
	case "":
	case "weekly":
		line = append(line, "--discover")
	default:
		return nil, Usagef("--discover %q: want weekly: an index is read again after 7 days", c.String("discover"))
	}
	if c.Bool("details") {
		line = append(line, "--details")
	}
	above := "10%"
	if c.IsSet("fail-above") {
		above = cmp.Or(fmt.Sprint(c.Generic("fail-above")), "0%")
	}
	line = append(line, "--exclusive", "--linger", "0", "--max-duration", shortTime(limit), "--fail-above", above)
	line = append(line, c.Args().Slice()...)
	for _, word := range line {
		if redactURL(word) != word {
			return nil, Usagef("others may read the file, and it has a password in it: move the password to ypcrawl.yaml or to `ypcrawl proxies add`")
		}
	}
	return line, nil
}

// checkLine has run itself check the command line of the crawl, and takes from it what it is about
// and how long its stop takes.
func (p *Program) checkLine(c *cli.Context, j *schedule.Job) error {
	q := &Program{Streams: Streams{In: p.In, Out: io.Discard, Err: p.Err, Getenv: p.Getenv}, Schema: p.Schema, args: j.Crawl}
	app := q.app()
	app.ErrWriter = io.Discard // variables that set nothing were named before
	(commandPath{rootOf(app)}).sub(mainCommand).Action = func(c *cli.Context) error {
		for _, flag := range []string{"watch", "json", "dry-run"} {
			if c.Bool(flag) {
				return Usagef("--%s is for a person at the screen: leave it out of a scheduled crawl", flag)
			}
		}
		if _, err := q.newAnnouncer(c, zerolog.Nop()); err != nil {
			return err
		}
		r := &run{p: q, c: c, display: q.newDisplay(c), log: zerolog.Nop()}
		if err := r.check(); err != nil {
			return err
		}
		j.About = r.name()
		if len(r.sources) == 1 && c.IsSet("source") {
			j.About = r.sources[0].src.Name() + ", " + j.About
		}
		if len(r.sel.States) == 0 && c.IsSet(configFlag) { // it may name states by then
			j.About = "as " + filepath.Base(c.String(configFlag)) + " says"
		}
		for _, flag := range []string{"source-file", "proxy-file"} {
			if file := c.String(flag); file != "" {
				j.Reads = append(j.Reads, absolute(j.Folder, file))
			}
		}
		if file := c.String("metrics-file"); file != "" {
			j.Writes = append(j.Writes, filepath.Dir(absolute(j.Folder, file)))
		}
		j.Limit = timeOf(c, "max-duration")
		// The page in hand, and the robots.txt before it; then what is left to write.
		j.Stop = (2*timeOf(c, "request-timeout") + 30*time.Second).Round(time.Second)
		return nil
	}
	line, err := Prepare(app, j.Crawl)
	if err == nil {
		err = app.RunContext(c.Context, line)
	}
	if err != nil {
		return err
	}
	for _, word := range j.Crawl {
		if name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "="); strings.HasPrefix(word, "-") && (name == "ping" || name == "notify") {
			p.note("The address of --%s is a secret, and others may read this: move it to ypcrawl.yaml.", name)
		}
	}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) && value != "" {
			p.note("%s is set here, but not for the scheduled crawl: write it into ypcrawl.yaml.", yp.Printable(name))
		}
	}
	return nil
}

// checkFolders refuses folders that are not there: at night nobody would make them.
func checkFolders(folders []string) error {
	for _, dir := range folders {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return Usagef("there is no folder %s: make it first (mkdir -p %s)", yp.Printable(dir), shellLine([]string{dir}))
		}
	}
	return nil
}

// accountOf is whom units of the system crawl as: never root, who may do all.
func accountOf(c *cli.Context) (string, error) {
	name := cmp.Or(c.String("user"), os.Getenv("SUDO_USER"))
	if name == "" && os.Geteuid() != 0 {
		name = os.Getenv("USER")
	}
	if name == "" || name == "root" {
		return "", Usagef("--system: name the account that crawls with --user NAME; it needs no rights of root")
	}
	return name, nil
}

// knownUser asks the machine's own files, then `id`, which also knows users of a directory service.
func knownUser(ctx context.Context, name string) bool {
	if _, err := user.Lookup(name); err == nil {
		return true
	}
	return exec.CommandContext(ctx, "id", "-u", "--", name).Run() == nil
}

func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// outermost leaves folders out that lie in others, and sorts.
func outermost(folders []string) (kept []string) {
	slices.Sort(folders)
	for _, f := range folders {
		in := slices.ContainsFunc(kept, func(k string) bool {
			rel, err := filepath.Rel(k, f)
			return err == nil && filepath.IsLocal(rel)
		})
		if !in {
			kept = append(kept, f)
		}
	}
	return kept
}

// explainSchedule says what would be started, and what to type next.
func (p *Program) explainSchedule(c *cli.Context, j schedule.Job, out scheduled) error {
	typed := p.commandLine()
	before, behind, more := strings.Cut(typed, " -- ")
	if more {
		behind = " -- " + behind
	}
	forms := []string{"--install", "--print cron"}
	switch runtime.GOOS {
	case "darwin":
		forms = []string{"--print launchd", "--print cron"}
	case "windows":
		forms = []string{"--print taskscheduler"}
	}
	for _, f := range forms {
		out.Next = append(out.Next, before+" "+f+behind)
	}
	return p.tell(c, out, func(w *sections) {
		w.lines(strings.ToUpper(out.When[:1]) + out.When[1:] + ", by this machine's clock, in " + out.Folder + ":")
		for _, line := range out.Commands {
			w.more("  " + shellLine(line))
		}
		w.lines(fmt.Sprintf("It ends by itself after %s; a stop takes at most %s. Nothing was written. Next:", shortTime(j.Limit), shortTime(j.Stop)))
		for _, line := range out.Next {
			w.more("  " + line)
		}
	})
}
