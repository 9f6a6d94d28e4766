package cli

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"ypcrawl/yp"
)

// Help is ours, not the library's: its first screen has to fit a terminal, and a command
// with fifty flags shows those that most people need. A request for help, wherever it
// stands on a line, becomes `help COMMAND...` in Expand.

// topics are the texts of `help TOPIC`.
//
//go:embed help/*.txt
var topics embed.FS

// helpGroups are the commands as the first screen shows them. Each stands in one group.
var helpGroups = []struct{ name, commands string }{
	{"Crawl", "run plan discover details progress dashboard schedule recover reset"},
	{"Results", "listings companies changes coverage export query"},
	{"Trouble", "status runs workers targets attempts errors waits doctor selftest"},
	{"Sources", "sources hosts proxies demo reparse"},
	{"Files", "backup restore wal version completion help"},
}

// helpFlags are, of the commands with many flags, those that most people need, and the
// others in groups, which `--help --all` shows.
var helpFlags = map[string][]struct{ name, flags string }{
	"run": {
		{"", "source states cities categories max-pages workers delay user-agent details discover recrawl max-duration web dry-run"},
		{"Sources and targets", "source-file base-url any-category min-population max-cities every include-sponsored"},
		{"Pace and manners", "concurrency-per-host max-per-state robots patience watch"},
		{"Proxies and identities", "proxy proxy-file proxy-policy identity"},
		{"When it ends", "linger max-requests max-targets fail-above ping notify"},
		{"Files", "keep-pages json"},
	},
}

const helpHead = "ypcrawl crawls business directories into a local SQLite file. Kill it at any time, type the same again, and it goes on: " +
	"nothing is lost, nothing doubled."

var helpExamples = [][2]string{
	{"ypcrawl run --source demo --states CA TX", "crawl a built-in demo directory"},
	{"ypcrawl progress --watch", "look on, from another terminal"},
	{"ypcrawl export -o listings.xlsx", "take what was found with you"},
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}

// helpCommand is `help [--all] [command|topic]...`, for `help wal read` as well.
func helpCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:      "help",
		Aliases:   []string{"h"},
		Usage:     "Show help for a command or a topic",
		ArgsUsage: "[COMMAND...|TOPIC]",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "every command in a line; of a command, every flag"}},
		Action: func(c *cli.Context) error {
			return showHelp(app, c.Args().Slice(), c.Bool("all"))
		},
	}
}

// helpLine is the line that shows the help of the last command of a path.
func helpLine(at commandPath, rest []string) []string {
	line := []string{at[0].Name, "help"}
	if slices.Contains(rest, "--all") {
		line = append(line, "--all")
	}
	for _, cmd := range at[1:] {
		line = append(line, cmd.Name)
	}
	return line
}

// showHelp writes the help of the program, of a command, or a topic.
func showHelp(app *cli.App, words []string, all bool) error {
	at := commandPath{rootOf(app)}
	for i, word := range words {
		sub := at.sub(word)
		if sub == nil && i == 0 {
			if text, err := topics.ReadFile("help/" + strings.Join(words, "-") + ".txt"); err == nil { // "exit codes" too
				return writeHelp(app.Writer, string(text))
			}
		}
		if sub == nil {
			return unknownCommand(at, word)
		}
		at = append(at, sub)
	}
	w := &helpWriter{width: helpWidth(app.Writer), all: all}
	switch {
	case len(at) > 1:
		w.command(at)
	case all:
		w.program(app)
	default:
		w.firstScreen()
	}
	return writeHelp(app.Writer, w.text.String())
}

func writeHelp(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write help: %w", err)
	}
	return nil
}

// unknownCommand names the command that was probably meant.
func unknownCommand(at commandPath, word string) error {
	var names []string
	for _, sub := range at.last().Subcommands {
		names = append(names, sub.Name)
	}
	if len(at) == 1 {
		names = append(names, topicNames()...)
	}
	hint := ""
	if near, ok := yp.Nearest(word, names); ok {
		hint = ": did you mean " + near + "?"
	} else if inner := innerCommands(at, word); len(inner) > 0 {
		hint = ": did you mean " + strings.Join(inner, ", or ") + "?"
	}
	return Usagef("unknown command %q%s; see '%s --help'", word, hint, at)
}

// innerCommands are the first commands of that name one step further in: "wal replay".
func innerCommands(at commandPath, word string) (found []string) {
	for _, sub := range at.last().Subcommands {
		if inner := append(slices.Clone(at), sub).sub(word); inner != nil && len(found) < 3 {
			found = append(found, sub.Name+" "+inner.Name)
		}
	}
	return found
}

// String is the path as it is typed.
func (p commandPath) String() string {
	names := make([]string, len(p))
	for i, cmd := range p {
		names[i] = cmd.Name
	}
	return strings.Join(names, " ")
}

func topicNames() (names []string) {
	files, _ := fs.Glob(topics, "help/*.txt") // of an embedded folder
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "help/"), ".txt"))
	}
	return names
}

// helpWidth is that of the terminal, up to 100 columns; else of COLUMNS, else 80.
func helpWidth(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n >= 40 {
			return min(n, 100)
		}
	}
	return defaultWidth
}

// helpWriter lays help out in columns.
type helpWriter struct {
	text  strings.Builder
	width int
	all   bool
}

func (w *helpWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// wrap writes text behind lead, with the next lines below the text's beginning.
func (w *helpWriter) wrap(lead, text string) {
	in := yp.Columns(lead)
	col := in
	w.text.WriteString(lead)
	for i, word := range strings.Fields(text) {
		n := yp.Columns(word)
		if i > 0 && col+1+n > w.width {
			w.text.WriteString("\n" + strings.Repeat(" ", in))
			col = in
		} else if i > 0 {
			w.text.WriteByte(' ')
			col++
		}
		w.text.WriteString(word)
		col += n
	}
	w.text.WriteByte('\n')
}

// paragraphs writes a description anew for the width; indented lines stay as they are.
func (w *helpWriter) paragraphs(text string) {
	var open []string
	flush := func() {
		if len(open) > 0 {
			w.wrap("", strings.Join(open, " "))
			open = nil
		}
	}
	for l := range strings.SplitSeq(text, "\n") {
		if l != "" && l[0] != ' ' {
			open = append(open, l)
			continue
		}
		flush()
		w.line("%s", l)
	}
	flush()
}

// columns writes rows of a name and a text.
func (w *helpWriter) columns(rows [][2]string) {
	const widest = 27
	names := 0
	if w.width < 60 { // too narrow for two columns
		for _, r := range rows {
			w.line("  %s", r[0])
			w.wrap("      ", r[1])
		}
		return
	}
	for _, r := range rows {
		if n := yp.Columns(r[0]); n <= widest {
			names = max(names, n)
		}
	}
	for _, r := range rows {
		lead := fmt.Sprintf("  %-*s  ", names, r[0])
		if yp.Columns(r[0]) > names {
			w.line("  %s", r[0])
			lead = strings.Repeat(" ", names+4)
		}
		w.wrap(lead, r[1])
	}
}

// head begins the help of the program.
func (w *helpWriter) head() {
	w.wrap("", helpHead)
	w.line("")
	for _, x := range helpExamples {
		if w.width < defaultWidth {
			w.line("  %s", x[0])
			w.wrap("      ", x[1])
			continue
		}
		w.line("  %-43s  %s", x[0], x[1])
	}
	w.line("")
}

func (w *helpWriter) firstScreen() {
	w.head()
	for _, g := range helpGroups {
		w.wrap(fmt.Sprintf("%-9s ", g.name), strings.ReplaceAll(g.commands, " ", ", "))
	}
	w.line("")
	w.wrap("ypcrawl COMMAND --help   ", "what a command does, and its flags")
	w.wrap("ypcrawl help --all       ", "every command in a line, and the flags of the program")
	w.wrap("ypcrawl help TOPIC       ", strings.Join(topicNames(), ", "))
}

// program is `help --all`.
func (w *helpWriter) program(app *cli.App) {
	w.head()
	root := commandPath{rootOf(app)}
	for _, g := range helpGroups {
		w.line("%s:", g.name)
		var rows [][2]string
		for name := range strings.FieldsSeq(g.commands) {
			if cmd := root.sub(name); cmd != nil {
				rows = append(rows, [2]string{name, cmd.Usage})
			}
		}
		w.columns(rows)
		w.line("")
	}
	w.line("Flags of the program, before or after a command:")
	w.flags(app.Flags)
	w.line("")
	w.wrap("Topics: ", strings.Join(topicNames(), ", "))
}

// command is the help of one command.
func (w *helpWriter) command(at commandPath) {
	cmd := at.last()
	w.wrap("", fmt.Sprintf("%s: %s", at, cmd.Usage))
	w.line("")
	switch {
	case cmd.UsageText != "":
		w.line("%s", cmd.UsageText)
	case len(cmd.Subcommands) > 0 && len(cmd.Flags) == 1: // --help: by itself it does nothing
		w.line("  %s COMMAND", at)
	default:
		w.line("  %s", strings.TrimSpace(fmt.Sprintf("%s [FLAGS] %s", at, cmd.ArgsUsage)))
	}
	w.line("")
	groups := helpFlags[strings.Join(strings.Fields(at.String())[1:], " ")]
	if about := cmd.Description; about != "" {
		if short, _, long := strings.Cut(about, "\n\n"); long && groups != nil && !w.all {
			about = short
		}
		w.paragraphs(about)
		w.line("")
	}
	if len(cmd.Subcommands) > 0 {
		var rows [][2]string
		for _, sub := range cmd.Subcommands {
			if !sub.Hidden {
				rows = append(rows, [2]string{sub.Name, sub.Usage})
			}
		}
		w.columns(rows)
		w.line("")
	}
	w.line("Flags:")
	if groups == nil {
		w.flags(cmd.Flags)
		return
	}
	shown := 0
	for _, g := range groups {
		if g.name != "" && !w.all {
			continue
		}
		if g.name != "" {
			w.line("\n%s:", g.name)
		}
		var flags []cli.Flag
		for name := range strings.FieldsSeq(g.flags) {
			if f, depth := at.flag(name); f != nil && depth == len(at)-1 {
				flags = append(flags, f)
			}
		}
		shown += len(flags)
		w.flags(flags)
	}
	if !w.all {
		more := -1 - shown // without --help
		for _, f := range cmd.Flags {
			if !isSetting(f) {
				more++
			}
		}
		w.line("")
		w.wrap("", fmt.Sprintf("%d more flags, and more on how it works: %s --help --all", more, at))
	}
}

// flags writes a line or more for each visible flag.
func (w *helpWriter) flags(flags []cli.Flag) {
	var rows [][2]string
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		name, text := describeFlag(f.Names(), d)
		if env := d.GetEnvVars(); w.all && len(env) > 0 {
			text += " [$" + env[0] + "]"
		}
		rows = append(rows, [2]string{name, text})
	}
	w.columns(rows)
}

// describeFlag returns a flag as it is typed ("-o, --output FILE") and what it does, with
// the default. The word in backquotes in a flag's usage is what it takes.
func describeFlag(names []string, d cli.DocGenerationFlag) (name, text string) {
	text = d.GetUsage()
	before, rest, _ := strings.Cut(text, "`")
	takes, after, quoted := strings.Cut(rest, "`")
	if quoted {
		text = before + takes + after
	}
	typed := make([]string, 0, len(names))
	for _, n := range names[1:] {
		typed = append(typed, dashed(n))
	}
	name = strings.Join(append(typed, dashed(names[0])), ", ")
	if quoted && d.TakesValue() {
		name += " " + takes
	}
	if value := d.GetDefaultText(); d.TakesValue() && value != "" && value != `""` {
		text += " (default: " + value + ")"
	}
	return name, text
}
