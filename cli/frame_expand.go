package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// completionMark is the argument that shells append when they ask for
// completions (urfave/cli's own).
const completionMark = "--generate-bash-completion"

// Expand rewrites a command line so that a flag which may be given several
// times takes all the values that follow it: "--states CA TX" becomes
// "--states=CA --states=TX". The library would take one value and drop the
// rest, and every flag after it, without a word.
//
// The values of such a flag end at the next flag, at "--", and at the name of
// a subcommand where there are any. A single dash is a value; a value that
// begins with a dash needs "--flag=-value". "--states=CA TX" is an error at a
// command that takes no arguments of its own. Flags after a command's own
// arguments ("sources show demo --json") are moved before them, since the
// library reads no flag beyond the first argument; and flags of the program or
// of a group after a subcommand's name ("run --db my.db") before that name,
// where the library reads them.
//
// A line with --help becomes `help COMMAND...`. args[0] is the program's name. A command line that asks for completions is
// returned as it is. Errors are UsageErrors.
func Expand(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 || completing(args) {
		return args, nil
	}
	at := commandPath{rootOf(app)}
	out := [][]string{{args[0]}} // each command's name and its flags, rewritten
	var operands []string        // the last command's own arguments, which go behind its flags
	in := args[1:]               // still to be read
	for len(in) > 0 && in[0] != "--" {
		if len(at) == 1 {
			in = renamed(in)
		}
		arg, sub := in[0], at.sub(in[0])
		if !isFlag(arg) {
			if sub == nil && len(at.last().Subcommands) > 0 {
				break // an unknown command: the library's to report
			}
			in = in[1:]
			if sub == nil {
				operands = append(operands, arg)
			} else {
				at, out = append(at, sub), append(out, []string{arg})
			}
			continue
		}
		in = in[1:]
		name, value, hasValue := splitFlag(arg)
		f, depth := at.flag(name) // an unknown one stays where it is, for the library to report
		if f != nil && f.Names()[0] == "help" {
			return helpLine(at, args), nil
		}
		if f != nil && isSetting(f) {
			return nil, Usagef("%s is no flag: write run: {%s: ...} into ypcrawl.yaml, or set %s; see `ypcrawl help settings`", dashed(name), name, variable(name))
		}
		words := []string{arg}
		switch kind := kindOf(f); {
		case kind == multiFlag:
			var err error
			if words, in, err = expandFlag(at, f.Names()[0], value, hasValue, in); err != nil {
				return nil, err
			}
		case kind == valueFlag && !hasValue && len(in) > 0: // the library takes any next word, so must we
			words, in = append(words, in[0]), in[1:]
		}
		out[depth] = append(out[depth], words...)
	}
	if len(operands) > 0 && len(in) > 0 { // `in` begins with "--"
		operands = slices.Insert(operands, 0, "--")
		in = in[1:]
	}
	return slices.Concat(slices.Concat(out...), operands, in), nil
}

// oldWords are commands as they were called, and what they are now.
var oldWords = [][2]string{
	{"trace", "targets show"},
	{"dead list", "targets list --status=PARKED"},
	{"dead requeue", "reset --status=PARKED"},
	{"retry", "reset --status=FAILED,STUCK,PARKED --kind=search,index,detail"},
	{"details retry", "reset --kind=detail"},
}

// renamed puts what a command is called now in the place of an old word.
func renamed(words []string) []string {
	for _, o := range oldWords {
		if old := strings.Fields(o[0]); len(words) >= len(old) && slices.Equal(words[:len(old)], old) {
			rest, now := words[len(old):], []string{}
			for _, word := range strings.Fields(o[1]) { // what is typed counts, not what the old word stood for
				flag, _, _ := strings.Cut(word, "=")
				if !strings.HasPrefix(word, "--") || !slices.ContainsFunc(rest, func(s string) bool { return s == flag || strings.HasPrefix(s, flag+"=") }) {
					now = append(now, word)
				}
			}
			return append(now, rest...)
		}
	}
	return words
}

// expandFlag gives one --name=value for each value, always under the canonical name: the
// library refuses two names of one flag on a line. rest is what follows the values.
func expandFlag(at commandPath, name, value string, hasValue bool, in []string) (words, rest []string, err error) {
	if hasValue {
		if len(in) > 0 && !isFlag(in[0]) && len(at.last().Subcommands) == 0 && !takesOperands(at.last()) {
			if name == "notify" { // its values are secrets
				return nil, nil, Usagef("unexpected argument after --notify=...: repeat --notify before it")
			}
			return nil, nil, Usagef("unexpected argument %q after --%s=...: write --%s %q %q, or repeat --%s", in[0], name, name, value, in[0], name)
		}
		return []string{"--" + name + "=" + value}, in, nil
	}
	for len(in) > 0 && !isFlag(in[0]) && at.sub(in[0]) == nil {
		words, in = append(words, "--"+name+"="+in[0]), in[1:]
	}
	if len(words) == 0 {
		return nil, nil, Usagef("flag --%s needs a value", name)
	}
	return words, in, nil
}

// completing reports whether a command line asks for completions.
func completing(args []string) bool {
	return len(args) > 0 && args[len(args)-1] == completionMark
}

// commandPath is the commands from the program down to where a walk over a command line stands.
type commandPath []*cli.Command

// rootOf is the program as a command.
func rootOf(app *cli.App) *cli.Command {
	return &cli.Command{Name: app.Name, Flags: app.Flags, Subcommands: app.Commands}
}

func (p commandPath) last() *cli.Command { return p[len(p)-1] }

// sub finds a subcommand of the last command; nil = there is none of that name.
func (p commandPath) sub(name string) *cli.Command {
	subs := p.last().Subcommands
	if i := slices.IndexFunc(subs, func(c *cli.Command) bool { return c.HasName(name) }); i >= 0 {
		return subs[i]
	}
	return nil
}

// flag finds a flag by one of its names, and how deep it is declared: the innermost wins. An
// unknown one is nil, at the last command.
func (p commandPath) flag(name string) (f cli.Flag, depth int) {
	for depth, cmd := range slices.Backward(p) {
		for _, f := range cmd.Flags {
			if slices.Contains(f.Names(), name) {
				return f, depth
			}
		}
	}
	return nil, len(p) - 1
}

// isFlag tells whether the library would read arg as a flag or as the end of
// the flags; a single dash is neither.
func isFlag(arg string) bool {
	return len(arg) > 1 && arg[0] == '-'
}

// splitFlag takes "--name=value" apart.
func splitFlag(arg string) (name, value string, hasValue bool) {
	return strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
}

// SplitList splits values at commas, so that "--states CA,TX" equals
// "--states CA TX". Spaces around a value and empty values are dropped. It is
// not for flags whose values hold commas ("Los Angeles, CA").
func SplitList(values []string) []string {
	var list []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// flagKind says what a flag takes from the command line.
type flagKind int

const (
	boolFlag  flagKind = iota // nothing
	valueFlag                 // the next word, whatever it is
	multiFlag                 // all words up to a boundary, see Expand
)

// takesOperands tells whether a command declares arguments of its own.
func takesOperands(cmd *cli.Command) bool {
	return cmd.Args || cmd.ArgsUsage != ""
}

// kindOf tells what a flag takes; an unknown one, nil, takes nothing.
func kindOf(f cli.Flag) flagKind {
	if s, ok := f.(cli.DocGenerationSliceFlag); ok && s.IsSliceFlag() {
		return multiFlag
	}
	if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() {
		return valueFlag
	}
	return boolFlag
}

// UsageError is a mistake in how the program was called: an unknown command or
// flag, an impossible value, a stray argument. It ends the program with the
// usage exit code (2). The text says what to do next.
type UsageError struct {
	Err error
}

// Error returns the text of the mistake.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError with a formatted text; %w works.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// onUsageError turns the flag package's words for a mistake into ours: two
// dashes as the user typed them, the nearest flag's name, and where help is.
// Set as OnUsageError it also keeps the library from printing the whole help
// to stdout.
func onUsageError(c *cli.Context, err error, _ bool) error {
	if err == nil {
		return nil
	}
	return Usagef("%s; see '%s --help'", explainFlag(err, c), c.Command.HelpName)
}

// explainFlag rewrites an error of the flag package, which has no types for
// them: the texts are all there is to go by.
func explainFlag(err error, c *cli.Context) string {
	text := yp.Printable(err.Error())
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		text = "unknown flag " + dashed(name)
		var names []string
		for _, up := range c.Lineage() {
			if up.Command != nil {
				for _, f := range up.Command.Flags {
					names = append(names, f.Names()[0])
				}
			}
		}
		if near, ok := yp.Nearest(name, names); ok {
			text += ": did you mean --" + near + "?"
		} else if cmd := firstWith(c.Command.Subcommands, name); cmd != nil {
			text += fmt.Sprintf(": write it after a command, as in '%s %s %s'", c.Command.HelpName, cmd.Name, dashed(name))
		}
	} else if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		text = fmt.Sprintf("flag %s needs a value", dashed(strings.TrimLeft(name, "-")))
	} else if value, rest, ok := cutFlag(text); ok {
		name, why, _ := strings.Cut(rest, ": ")
		text = fmt.Sprintf("%s for %s: %s", value, dashed(name), wanted(flagNamed(c, name), why))
	}
	return text
}

// cutFlag takes "invalid value "x" for flag -workers: parse error" apart; of a switch the flag package writes
// "invalid boolean value "x" for -watch".
func cutFlag(text string) (value, rest string, ok bool) {
	if value, rest, ok = strings.Cut(text, " for flag -"); ok || !strings.HasPrefix(text, "invalid boolean value ") {
		return value, rest, ok
	}
	value, rest, ok = strings.Cut(text, " for -")
	return strings.Replace(value, "boolean ", "", 1), rest, ok
}

// flagNamed is the innermost flag of that name, nil = there is none.
func flagNamed(c *cli.Context, name string) cli.Flag {
	for _, up := range c.Lineage() {
		if up.Command == nil {
			continue
		}
		for _, f := range up.Command.Flags {
			if slices.Contains(f.Names(), name) {
				return f
			}
		}
	}
	return nil
}

// wanted says what a flag takes where the flag package says only that it could not read it.
func wanted(f cli.Flag, why string) string {
	if why != "parse error" && why != "value out of range" {
		return why
	}
	switch f.(type) {
	case *cli.BoolFlag:
		return "want true or false"
	case *cli.IntFlag, *cli.Int64Flag:
		if why == "parse error" {
			return "want a whole number, without a unit"
		}
		return "want a smaller number"
	}
	return why
}

// firstWith returns the first of the commands that has a flag of that name, or nil.
func firstWith(cmds []*cli.Command, name string) *cli.Command {
	for _, cmd := range cmds {
		if slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			return cmd
		}
	}
	return nil
}

// dashed is a flag's name as the user types it: one dash for one letter.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
