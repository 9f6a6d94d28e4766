package cli

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store/report"
	"ypcrawl/yp"
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
	words, typed := args[1:len(args)-1], os.Getenv(completionWord)
	app.BashComplete = func(c *cli.Context) {
		if end := slices.Index(words, "--"); end >= 0 && (end < len(words)-1 || typed != "--") { // that one is unfinished
			return
		}
		for _, word := range candidates(app, words, typed) {
			_, _ = fmt.Fprintln(c.App.Writer, strings.TrimSuffix(word[0]+"\t"+word[1], "\t")) // a shell that hung up wants no more
		}
	}
	return []string{args[0], completionMark}
}

// candidates lists what may come after words, each with what it is. typed is the last word as far as it goes; one
// that begins with a dash is among the words, and may be unfinished unless it is a whole flag that takes a value. The
// shell chooses among what is short; values and commands begin with what was typed.
func candidates(app *cli.App, words []string, typed string) (found [][2]string) {
	at := commandPath{rootOf(app)}
	var pending cli.Flag // whose values stand at the end
	for i, word := range words {
		last := i == len(words)-1
		switch sub := at.sub(word); {
		case sub != nil && kindOf(pending) != valueFlag:
			at, pending = append(at, sub), nil
		case isFlag(word) || last && word == "-":
			name, value, hasValue := splitFlag(word)
			pending, _ = at.flag(name)
			if hasValue && last && pending != nil && typed == word { // --states=CA,T
				return completeValue(pending.Names()[0], kindOf(pending), strings.TrimSuffix(word, value), value)
			}
			if hasValue {
				pending = nil
			}
			if last && (kindOf(pending) == boolFlag || word != dashed(pending.Names()[0])) {
				return at.flagNames(words[:i])
			}
		case kindOf(pending) == valueFlag:
			pending = nil
		}
	}
	if isFlag(typed) { // it is among the words
		typed = ""
	}
	if pending != nil {
		found = completeValue(pending.Names()[0], kindOf(pending), "", typed)
	}
	if kindOf(pending) == valueFlag {
		return found // none: the shell offers files
	}
	for _, sub := range at.last().Subcommands {
		for _, name := range sub.Names() {
			if len(name) > 1 && strings.HasPrefix(name, typed) {
				found = append(found, [2]string{name, sub.Usage})
			}
		}
	}
	if pending == nil && strings.HasPrefix(strings.TrimLeft(at.last().ArgsUsage, "["), "SOURCE") {
		found = append(found, completeValue("source", valueFlag, "", typed)...)
	}
	return found
}

// flagNames lists the flags that are not among the words yet, and those that may
// be there again; those of outer commands may stand here too, see Expand.
func (p commandPath) flagNames(words []string) (names [][2]string) {
	for _, cmd := range p {
		for _, f := range cmd.Flags {
			if name := dashed(f.Names()[0]); !isSetting(f) && (kindOf(f) == multiFlag || !slices.Contains(words, name)) {
				names = append(names, [2]string{name, strings.ReplaceAll(f.(cli.DocGenerationFlag).GetUsage(), "`", "")})
			}
		}
	}
	slices.SortStableFunc(names, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return slices.CompactFunc(names, func(a, b [2]string) bool { return a[0] == b[0] })
}

// completeValue lists the values that the flags of a name are known to take and that begin with typed, each
// behind head. In a list with commas the last one is being typed, and those before it are not offered again.
func completeValue(name string, kind flagKind, head, typed string) (found [][2]string) {
	var had []string
	if i := strings.LastIndexByte(typed, ','); i >= 0 && kind == multiFlag {
		had, head, typed = strings.Split(typed[:i], ","), head+typed[:i+1], typed[i+1:]
	}
	add := func(text, about string) {
		if len(text) >= len(typed) && strings.EqualFold(text[:len(typed)], typed) && !slices.Contains(had, text) {
			found = append(found, [2]string{head + text, about})
		}
	}
	switch name {
	case "states":
		for _, s := range yp.States() {
			add(s.Code, s.Name)
			if len(typed) > 1 { // a state's name is offered to who types one
				add(s.Name, s.Code)
			}
		}
	case "categories", "category":
		for _, c := range discover.KnownCategories() {
			add(yp.CategorySlug(c), c)
		}
	case "source":
		for _, s := range site.Builtins() {
			add(s, "")
		}
	}
	for _, f := range report.ListFilters { // what a filter of lists may be
		for _, v := range f.Values {
			if f.Name == name && !slices.ContainsFunc(found, func(had [2]string) bool { return had[0] == head+strings.ToLower(v) }) {
				add(strings.ToLower(v), "")
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return found
}
