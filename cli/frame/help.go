package frame

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// Help is laid out here, not by the library's templates: they break no line at the width of a terminal,
// sort flags by their text, and know one length. A request for help, wherever it is on a line, becomes
// `help COMMAND...` in expand.

// Help is what the help of a program tells beside what its commands say of themselves.
type Help struct {
	About  string                 // paragraphs on the first screen
	Groups []HelpGroup            // the commands, as the first screen shows them
	Flags  map[string][]HelpGroup // of a command with many flags: the first group is what most people need, `--help --all` shows the others
	Topics fs.FS                  // the texts of `help TOPIC`: a file TOPIC.txt each
}

// HelpGroup is commands or flags that belong together, with a space between two.
type HelpGroup struct{ Name, Words string }

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}

// helpCommand is `help [--all] [command|topic]...`, for `help wal read` as well.
func helpCommand(app *App) *cli.Command {
	return &cli.Command{
		Name:      "help",
		Aliases:   []string{"h"},
		Usage:     "Show help for a command or a topic",
		ArgsUsage: "[COMMAND...|TOPIC]",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "list every command; of a command, every flag"}, helpFlag()},
		Action: func(c *cli.Context) error {
			return showHelp(app, c.Args().Slice(), c.Bool("all"))
		},
	}
}

// helpLine is the line that shows the help of the last command of a path.
func helpLine(at Path, rest []string) []string {
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
func showHelp(app *App, words []string, all bool) error {
	h := &helpText{Help: &app.Help, width: helpWidth(app.Writer), all: all, variables: app.Variables()}
	at := app.Root()
	for i, word := range words {
		sub := at.Sub(word)
		if sub == nil && i == 0 {
			if text, err := app.Help.Topic(strings.Join(words, "-")); err == nil { // "exit codes" too
				_, err = app.Writer.Write(text)
				return err
			}
		}
		if sub == nil && word == "list" && at.isList() {
			continue
		}
		if sub == nil {
			return app.unknownCommand(at, word)
		}
		at = append(at, sub)
	}
	if len(at) > 1 {
		h.command(at)
	} else {
		h.program(at)
	}
	_, err := io.WriteString(app.Writer, trailing.ReplaceAllString(strings.TrimRight(h.String(), "\n")+"\n", "\n"))
	return err
}

// trailing is what filling a line leaves behind it.
var trailing = regexp.MustCompile(` +\n`)

// Topic is the text of a topic; fs.ErrNotExist where there is none of that name.
func (h *Help) Topic(name string) ([]byte, error) {
	if h.Topics == nil {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(h.Topics, name+".txt")
}

// TopicNames are the topics that there are, in order.
func (h *Help) TopicNames() (names []string) {
	if h.Topics == nil {
		return nil
	}
	files, _ := fs.ReadDir(h.Topics, ".") // an embedded folder
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

// helpWidth is that of the terminal, up to 100 columns, unless COLUMNS says another.
func helpWidth(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 {
		return n
	}
	return min(max(widthOf(w), 40), 100)
}

// helpText is help for a width; all asks for its long form.
type helpText struct {
	*Help
	strings.Builder
	width     int
	all       bool
	variables map[cli.Flag]string
}

// write writes paragraphs: those with indented lines stay as they are, others are filled.
func (h *helpText) write(paragraphs string) {
	for part := range strings.SplitSeq(strings.Trim(paragraphs, "\n"), "\n\n") {
		if !strings.Contains("\n"+part, "\n ") {
			part = strings.Join(yp.Wrap(part, h.width, ""), "\n")
		}
		h.WriteString(part + "\n\n")
	}
}

// rows writes names, and beside them what they are; below a long one, and on a narrow terminal.
func (h *helpText) rows(title string, rows [][2]string) {
	const widest, narrow = 29, 60
	column := 4
	for _, r := range rows {
		if n := len("  ") + yp.Columns(r[0]) + len("  "); h.width >= narrow && n <= widest {
			column = max(column, n)
		}
	}
	h.WriteString(title + ":\n")
	below := "\n" + strings.Repeat(" ", column)
	for _, r := range rows {
		name := fmt.Sprintf("  %-*s", column-2, r[0])
		if yp.Columns(name) > column {
			name += below
		}
		h.WriteString(name + strings.Join(yp.Wrap(r[1], h.width-column, ""), below) + "\n")
	}
	h.WriteString("\n")
}

// program is the first screen, or with all every command and the flags of the program.
func (h *helpText) program(at Path) {
	h.write(h.About)
	groups := make([][2]string, len(h.Groups))
	for i, g := range h.Groups {
		groups[i] = [2]string{g.Name, strings.ReplaceAll(g.Words, " ", ", ")}
		var rows [][2]string
		for name := range strings.FieldsSeq(g.Words) {
			if cmd := at.Sub(name); cmd != nil {
				rows = append(rows, [2]string{name, cmd.Usage})
			}
		}
		if h.all {
			h.rows(g.Name, rows)
		}
	}
	if h.all {
		h.flagRows("Flags for every command", at.Last().Flags)
		h.write("Topics: " + strings.Join(h.TopicNames(), ", "))
		return
	}
	h.rows("Commands", groups)
	h.rows("More", [][2]string{
		{"ypcrawl COMMAND --help", "what a command does, and its flags"}, {"ypcrawl help --all", "all commands"}, {"ypcrawl help TOPIC", strings.Join(h.TopicNames(), ", ")},
	})
}

// command is the help of one command.
func (h *helpText) command(at Path) {
	cmd := at.Last()
	h.write(fmt.Sprintf("%s: %s", at, cmd.Usage))
	usage := cmd.UsageText
	switch {
	case usage != "":
	case len(cmd.Subcommands) > 0 && cmd.Action == nil: // by itself it does nothing
		usage = fmt.Sprintf("  %s COMMAND", at)
	default:
		usage = strings.TrimRight(fmt.Sprintf("  %s [FLAGS] %s", at, cmd.ArgsUsage), " ")
	}
	h.write(usage)
	groups := h.Flags[strings.Join(strings.Fields(at.String())[1:], " ")]
	about := cmd.Description
	if groups != nil && !h.all {
		about, _, _ = strings.Cut(about, "\n\n")
	}
	if about != "" {
		h.write(about)
	}
	var rows [][2]string
	for _, sub := range cmd.Subcommands {
		rows = append(rows, [2]string{sub.Name, sub.Usage})
	}
	if rows != nil {
		h.rows("Commands", rows)
	}
	if groups == nil {
		h.flagRows("Flags", cmd.Flags)
		return
	}
	more := len(Visible(cmd.Flags))
	for i, g := range groups {
		var flags []cli.Flag
		for name := range strings.FieldsSeq(g.Words) {
			if f, _ := (Path{cmd}).Flag(name); f != nil {
				flags = append(flags, f)
			}
		}
		if i == 0 || h.all {
			h.flagRows(cmp.Or(g.Name, "Flags"), flags)
			more -= len(flags)
		}
	}
	if more > 0 {
		h.write(fmt.Sprintf("%d more flags, and how it works: %s --help --all", more, at))
	}
}

// flagRows writes a line or more for each visible flag.
func (h *helpText) flagRows(title string, flags []cli.Flag) {
	var rows [][2]string
	for _, f := range Visible(flags) {
		name, text := DescribeFlag(f)
		if h.all {
			text += " [$" + h.variables[f] + "]"
		}
		rows = append(rows, [2]string{name, text})
	}
	if rows != nil {
		h.rows(title, rows)
	}
}

// Visible are the flags that help shows: not --help itself.
func Visible(flags []cli.Flag) (shown []cli.DocGenerationFlag) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() && f.Names()[0] != "help" {
			shown = append(shown, f.(cli.DocGenerationFlag))
		}
	}
	return shown
}

// DescribeFlag returns a flag as it is typed ("-o, --output FILE") and what it does, with
// the default. The word in backquotes in a flag's usage is what it takes.
func DescribeFlag(f cli.DocGenerationFlag) (name, text string) {
	names, parts := f.Names(), strings.SplitN(f.GetUsage(), "`", 3)
	for _, alias := range names[1:] {
		name += Dashed(alias) + ", "
	}
	if name += Dashed(names[0]); len(parts) == 3 && f.TakesValue() {
		name += " " + parts[1]
	}
	text = strings.Join(parts, "")
	if value := f.GetDefaultText(); f.TakesValue() && value != "" && value != `""` {
		text += " (default: " + value + ")"
	}
	return name, text
}
