package cli

import (
	"embed"
	"fmt"
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
				script, err := completionScripts.ReadFile("completion/ypcrawl." + name)
				if err == nil {
					_, err = c.App.Writer.Write(script)
				}
				if err != nil {
					return fmt.Errorf("write completion script: %w", err)
				}
				return nil
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
		for _, word := range candidates(commandPath{rootOf(app)}, words) {
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
func candidates(at commandPath, words []string) (names []string) {
	var pending cli.Flag // whose values stand at the end
	for i, word := range words {
		last := i == len(words)-1
		switch sub := at.sub(word); {
		case sub != nil && kindOf(pending) != valueFlag:
			at, pending = append(at, sub), nil
		case isFlag(word) || last && word == "-":
			name, _, hasValue := splitFlag(word)
			if pending, _ = at.flag(name); hasValue {
				pending = nil
			}
			if last && (kindOf(pending) == boolFlag || word != dashed(pending.Names()[0])) {
				return at.flagNames(words[:i])
			}
		case kindOf(pending) == valueFlag:
			pending = nil
		}
	}
	if pending != nil {
		names = valuesFor(pending)
	}
	if kindOf(pending) == valueFlag {
		return names // none: the shell offers files
	}
	for _, sub := range at.last().Subcommands {
		names = append(names, slices.DeleteFunc(sub.Names(), func(name string) bool { return len(name) == 1 })...)
	}
	return names
}

// flagNames lists the flags that are not among the words yet, and those that may
// be there again; those of outer commands may stand here too, see Expand.
func (p commandPath) flagNames(words []string) (names []string) {
	for _, cmd := range p {
		for _, f := range cmd.Flags {
			if name := dashed(f.Names()[0]); kindOf(f) == multiFlag || !slices.Contains(words, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// valuesFor lists the values that a flag is known to take. The help of some names them: "only
// these: `KIND...` is search, detail, index".
func valuesFor(f cli.Flag) (values []string) {
	if d, ok := f.(cli.DocGenerationFlag); ok {
		about, names, ok := strings.Cut(d.GetUsage(), "...` is ")
		if ok && strings.HasPrefix(about, "only these: ") {
			return strings.Split(strings.ToLower(names), ", ")
		}
	}
	switch f.Names()[0] {
	case "states":
		for _, s := range yp.States() {
			values = append(values, s.Code)
		}
		return values
	case "status":
		return lowerNames(yp.Statuses())
	case "error":
		return lowerNames(yp.ErrorCodes())
	case "proxy-policy":
		return lowerNames(fetch.Policies())
	}
	return map[string][]string{
		"identity":   {"honest", "browser"},
		"source":     {"demo", "yellowpages"},
		"sources":    {"demo", "yellowpages"},
		"log-level":  {"debug", "info", "warn", "error"},
		"log-format": {"text", "json"},
		"wal-sync":   {"page", "interval"},
		"robots":     {"obey", "ignore"},
		"max-pages":  {"all"},
	}[f.Names()[0]]
}

func lowerNames[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = strings.ToLower(string(v))
	}
	return names
}
