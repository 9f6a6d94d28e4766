package cli

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// The scripts ask the program itself: they run it with the words typed so far
// and --generate-bash-completion, the last word in YPCRAWL_COMPLETING, and get one candidate a line,
// with what it is behind a tab.
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

// completionWord is the variable in which a shell's script hands over the word that is being typed.
const completionWord = "YPCRAWL_COMPLETING"

// installCompletion has the program answer with candidates for args when args end in the mark, and
// with none where "--" stands before it. The library gets the mark alone: its own answers know no
// values, and it would run a command for real behind "--".
func installCompletion(app *cli.App, args []string) []string {
	app.EnableBashCompletion = true
	if !completing(args) {
		return args
	}
	x := &completion{app: app, words: args[1 : len(args)-1], typed: os.Getenv(completionWord)}
	app.BashComplete = func(c *cli.Context) {
		if end := slices.Index(x.words, "--"); end >= 0 && (end < len(x.words)-1 || x.typed != "--") { // that one is unfinished
			return
		}
		for _, word := range x.candidates() {
			if word.about != "" {
				word.text += "\t" + word.about
			}
			_, _ = fmt.Fprintln(c.App.Writer, word.text) // a shell that hung up wants no more
		}
	}
	return []string{args[0], completionMark}
}

func eachCommand(cmds []*cli.Command, f func(*cli.Command)) {
	for _, cmd := range cmds {
		f(cmd)
		eachCommand(cmd.Subcommands, f)
	}
}

// completion answers for one line.
type completion struct {
	app   *cli.App
	words []string // that were typed before the last one; that too, if it begins with a dash
	typed string   // the last one, as far as it goes
}

// candidates lists what may come after the words. A last word that begins with a
// dash may be unfinished, unless it is a whole flag that takes a value; the
// shell chooses among what is short, and what the program chooses among begins with what was typed.
func (x *completion) candidates() (words []candidate) {
	at := commandPath{rootOf(x.app)}
	var pending cli.Flag // whose values stand at the end
	for i, word := range x.words {
		last := i == len(x.words)-1
		switch sub := at.sub(word); {
		case sub != nil && kindOf(pending) != valueFlag:
			at, pending = append(at, sub), nil
		case isFlag(word) || last && word == "-":
			name, value, hasValue := splitFlag(word)
			pending, _ = at.flag(name)
			if hasValue && last && pending != nil && x.typed == word { // --states=CA,T
				return x.values(pending, strings.TrimSuffix(word, value), value)
			}
			if hasValue {
				pending = nil
			}
			if last && (kindOf(pending) == boolFlag || word != dashed(pending.Names()[0])) {
				return at.flagNames(x.words[:i])
			}
		case kindOf(pending) == valueFlag:
			pending = nil
		}
	}
	typed := x.typed
	if isFlag(typed) { // it is among the words
		typed = ""
	}
	if pending != nil {
		words = x.values(pending, "", typed)
	}
	if kindOf(pending) == valueFlag {
		return words // none: the shell offers files
	}
	for _, sub := range at.last().Subcommands {
		for _, name := range sub.Names() {
			if len(name) > 1 && strings.HasPrefix(name, typed) {
				words = append(words, candidate{name, sub.Usage})
			}
		}
	}
	if pending == nil && len(at.last().Subcommands) == 0 {
		words = append(words, x.operands(at, typed)...)
	}
	return words
}

// flagNames lists the flags that are not among the words yet, and those that may
// be there again; those of outer commands may stand here too, see Expand.
func (p commandPath) flagNames(words []string) (names []candidate) {
	for _, cmd := range p {
		for _, f := range cmd.Flags {
			if name := dashed(f.Names()[0]); !isSetting(f) && (kindOf(f) == multiFlag || !slices.Contains(words, name)) {
				about := ""
				if d, ok := f.(cli.DocGenerationFlag); ok {
					about = strings.ReplaceAll(d.GetUsage(), "`", "")
				}
				names = append(names, candidate{name, about})
			}
		}
	}
	slices.SortStableFunc(names, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return slices.CompactFunc(names, func(a, b candidate) bool { return a.text == b.text })
}
