package frame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// completionMark is the argument that asks for completions (urfave/cli's own).
const completionMark = "--generate-bash-completion"

// completing reports whether a command line asks for completions.
func completing(args []string) bool {
	return len(args) > 0 && args[len(args)-1] == completionMark
}

// installCompletion has the program answer with candidates when args end in the mark. The library gets
// the mark alone: its own answers know no values, and it would run a command for real behind "--".
func installCompletion(app *App, args []string) []string {
	app.EnableBashCompletion = true
	if !completing(args) {
		return args
	}
	words := args[1 : len(args)-1]
	if len(words) == 0 {
		words = []string{""}
	}
	app.BashComplete = func(c *cli.Context) {
		for _, word := range candidates(app, words) {
			_, _ = fmt.Fprintln(c.App.Writer, strings.TrimSuffix(word[0]+"\t"+word[1], "\t")) // a shell that hung up wants no more
		}
	}
	return []string{args[0], completionMark}
}

// candidates lists what may become of the last of words, each with what it is; none behind "--". The shell chooses
// among flags; values and commands begin with what was typed.
func candidates(app *App, words []string) (found [][2]string) {
	words, typed := words[:len(words)-1], words[len(words)-1]
	at := app.Root()
	var pending cli.Flag // whose values are at the end
	for _, word := range words {
		sub := at.Sub(word)
		switch {
		case word == "--":
			return nil
		case kindOf(pending) == valueFlag:
			pending = nil
		case IsFlag(word):
			name, _, hasValue := SplitFlag(word)
			if pending, _ = at.Flag(name); hasValue || kindOf(pending) == boolFlag {
				pending = nil
			}
		case sub != nil:
			at, pending = append(at, sub), nil
		}
	}
	switch {
	case kindOf(pending) == valueFlag:
		return app.completeValue(pending, words, "", typed) // none: the shell offers files
	case strings.HasPrefix(typed, "-"):
		name, value, hasValue := SplitFlag(typed)
		if f, _ := at.Flag(name); hasValue && f != nil { // --states=CA,T
			return app.completeValue(f, words, strings.TrimSuffix(typed, value), value)
		}
		return at.flagNames()
	case pending != nil:
		found = app.completeValue(pending, words, "", typed)
	case strings.HasPrefix(strings.TrimLeft(at.Last().ArgsUsage, "["), "SOURCE"):
		found = app.completeValue(&cli.StringFlag{Name: "source"}, words, "", typed)
	}
	for _, sub := range at.Last().Subcommands {
		if strings.HasPrefix(sub.Name, typed) {
			found = append(found, [2]string{sub.Name, sub.Usage})
		}
	}
	return found
}

// flagNames lists the flags that may be here; those of outer commands may, too, see expand.
func (p Path) flagNames() (names [][2]string) {
	for _, cmd := range p {
		for _, f := range cmd.Flags {
			if !IsSetting(f) {
				names = append(names, [2]string{Dashed(f.Names()[0]), strings.ReplaceAll(f.(cli.DocGenerationFlag).GetUsage(), "`", "")})
			}
		}
	}
	slices.SortStableFunc(names, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return slices.CompactFunc(names, func(a, b [2]string) bool { return a[0] == b[0] })
}

// completeValue lists the values that a flag is known to take and that begin with typed, each
// behind head. In a list with commas the last one is being typed, and those before it are not offered again.
func (a *App) completeValue(f cli.Flag, words []string, head, typed string) (found [][2]string) {
	var had []string
	if i := strings.LastIndexByte(typed, ','); i >= 0 && kindOf(f) == multiFlag {
		had, head, typed = strings.Split(typed[:i], ","), head+typed[:i+1], typed[i+1:]
	}
	for _, v := range a.declaredValues(f.Names()[0], words, typed) {
		if len(v[0]) >= len(typed) && strings.EqualFold(v[0][:len(typed)], typed) && !slices.Contains(had, v[0]) {
			found = append(found, [2]string{head + v[0], v[1]})
		}
	}
	slices.SortStableFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return slices.CompactFunc(found, func(a, b [2]string) bool { return a[0] == b[0] })
}

// declaredValues are what a flag of that name may be, each with what it is. A state's name is offered to who types one.
func (a *App) declaredValues(name string, words []string, typed string) (values [][2]string) {
	switch name {
	case "states":
		states := yp.States()
		if a.States != nil {
			states = a.States(words)
		}
		for _, s := range states {
			if values = append(values, [2]string{s.Code, s.Name}); len(typed) > 1 {
				values = append(values, [2]string{s.Name, s.Code})
			}
		}
	default:
		if a.Values != nil {
			values = a.Values(name)
		}
	}
	for _, f := range report.ListFilters { // what a filter of lists may be
		for _, v := range f.Values {
			if f.Name == name {
				values = append(values, [2]string{strings.ToLower(v)})
			}
		}
	}
	return values
}
