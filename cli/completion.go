package cli

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/fetch"
	"ypcrawl/yp"
)

// The scripts ask the program itself: they run it with the words typed so far
// and --generate-bash-completion, and get one candidate a line.
//
//go:embed completion/ypcrawl.bash completion/ypcrawl.zsh completion/ypcrawl.fish
var completionScripts embed.FS

// completionCommand is `completion bash|zsh|fish`.
func completionCommand() *cli.Command {
	shell := func(name, how string) *cli.Command {
		return &cli.Command{
			Name:        name,
			Usage:       "Print the completion script for " + name,
			Description: "Set it up with\n\n" + how,
			Action: func(c *cli.Context) error {
				return printScript(c.App.Writer, name)
			},
		}
	}
	return &cli.Command{
		Name:  "completion",
		Usage: "Print a script that completes commands, flags and values in a shell",
		Subcommands: []*cli.Command{
			shell("bash", "   echo 'source <(ypcrawl completion bash)' >> ~/.bashrc"),
			shell("zsh", "   ypcrawl completion zsh > \"${fpath[1]}/_ypcrawl\""),
			shell("fish", "   ypcrawl completion fish > ~/.config/fish/completions/ypcrawl.fish"),
		},
	}
}

func printScript(w io.Writer, shell string) error {
	script, err := completionScripts.ReadFile("completion/ypcrawl." + shell)
	if err != nil {
		return fmt.Errorf("read completion script: %w", err)
	}
	if _, err := w.Write(script); err != nil {
		return fmt.Errorf("write completion script: %w", err)
	}
	return nil
}

// installCompletion makes every command answer with candidates for args when
// args end in the mark. The library's own answers look at os.Args and know no
// values. The library runs a command for real when "--" stands before the
// mark, so nothing from "--" on is passed to it.
func installCompletion(app *cli.App, args []string) []string {
	app.EnableBashCompletion = true
	if !completing(args) {
		return args
	}
	words := args[1 : len(args)-1]
	if slices.Contains(words, "--") {
		app.BashComplete = func(*cli.Context) {}
		return []string{args[0], completionMark}
	}
	answer := func(c *cli.Context) {
		for _, word := range candidates(levels{appLevel(app)}, words) {
			_, _ = fmt.Fprintln(c.App.Writer, word) // a shell that hung up wants no more
		}
	}
	app.BashComplete = answer
	eachCommand(app.Commands, func(cmd *cli.Command) { cmd.BashComplete = answer })
	return args
}

func eachCommand(cmds []*cli.Command, f func(*cli.Command)) {
	for _, cmd := range cmds {
		f(cmd)
		eachCommand(cmd.Subcommands, f)
	}
}

// candidates lists what may come after words. A last word that begins with a
// dash may be unfinished, unless it is a whole flag that takes a value; the
// shell filters.
func candidates(at levels, words []string) []string {
	var pending flagShape // the flag whose values stand at the end
	for i, word := range words {
		last := i == len(words)-1
		switch sub, ok := at.last().subs[word]; {
		case ok && pending.kind != valueFlag:
			at, pending = append(at, sub()), flagShape{}
		case isFlag(word) || last && word == "-":
			if pending = at.awaiting(word); last && (pending.kind == boolFlag || word != dashed(pending.name)) {
				return at.flagNames(words)
			}
		case pending.kind == valueFlag:
			pending = flagShape{}
		}
	}
	if pending.kind == valueFlag {
		return valuesFor(pending) // none: the shell offers files
	}
	return append(valuesFor(pending), at.last().subNames()...)
}

// awaiting returns the flag that word names if values may follow it.
func (ls levels) awaiting(word string) flagShape {
	name, _, hasValue := splitFlag(word)
	if hasValue {
		return flagShape{}
	}
	f, _ := ls.find(name)
	return f
}

// flagNames lists the flags that are not on the line yet, and those that may
// be there again; those of outer commands may stand here too, see Expand.
func (ls levels) flagNames(words []string) []string {
	var names []string
	for _, l := range ls {
		for name, f := range l.flags {
			given := slices.Contains(words[:len(words)-1], dashed(name))
			if name == f.name && (!given || f.kind == multiFlag) {
				names = append(names, dashed(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (l level) subNames() []string {
	var names []string
	for name := range l.subs {
		if len(name) > 1 { // the "h" of help only clutters
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// valuesFor lists the values that a flag is known to take.
func valuesFor(f flagShape) []string {
	if len(f.values) > 0 {
		return f.values
	}
	switch f.name {
	case "states":
		return stateCodes()
	case "status":
		return lowerNames(yp.Statuses())
	case "error":
		return lowerNames(yp.ErrorCodes())
	case "proxy-policy":
		return lowerNames(fetch.Policies())
	case "identity":
		return []string{"honest", "browser"}
	case "source", "sources":
		return []string{"demo", "yellowpages"}
	case "log-level":
		return []string{"debug", "info", "warn", "error"}
	case "log-format":
		return []string{"text", "json"}
	case "wal-sync":
		return []string{"page", "interval"}
	case "robots":
		return []string{"obey", "ignore"}
	case "max-pages":
		return []string{"all"}
	}
	return nil
}

func stateCodes() []string {
	var codes []string
	for _, s := range yp.States() {
		codes = append(codes, s.Code)
	}
	return codes
}

func lowerNames[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = strings.ToLower(string(v))
	}
	return names
}
