package frame

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// expand rewrites a command line so that a flag which may be given several
// times takes all the values that follow it: "--states CA TX" becomes
// "--states=CA --states=TX". The library would take one value and drop the
// rest, and every flag after it, without a word.
//
// The values of such a flag end at the next flag, at "--", and at the name of
// a subcommand where there are any. A single dash is a value; a value that
// begins with a dash needs "--flag=-value". Flags after a command's own
// arguments ("sources show demo --json") are moved before them, since the
// library reads no flag beyond the first argument; flags of the program or
// of a group after a subcommand's name ("run --db my.db") before that name,
// where the library reads them; and flags of a command before its name
// ("--states CA TX run") behind that.
//
// A line with --help, and a group of commands by itself, becomes `help COMMAND...`. args[0] is the
// program's name. What names no command or flag, and arguments of a command that takes none, are
// UsageErrors.
func expand(app *App, args []string) ([]string, error) {
	if len(args) == 0 || completing(args) {
		return args, nil
	}
	at := app.Root()
	out := [][]string{{args[0]}} // each command's name, and then its flags, rewritten
	var flags []typedFlag
	var operands []string // the last command's own arguments, which go behind its flags
	var wrong error       // the first unknown flag, unless --help follows
	in := args[1:]        // still to be read
	for len(in) > 0 && in[0] != "--" {
		if len(at) == 1 {
			in = app.renamed(in)
		}
		arg, sub := in[0], at.Sub(in[0])
		in = in[1:]
		switch {
		case sub != nil && !IsFlag(arg):
			at, out = append(at, sub), append(out, []string{arg})
			continue
		case !IsFlag(arg):
			operands = append(operands, arg)
			continue
		}
		name, _, _ := SplitFlag(arg)
		f, _ := at.Flag(name)
		if f == nil {
			f = further(at.Last(), name)
		}
		switch {
		case f == nil:
			switch {
			case wrong != nil:
			case len(operands) > 0 && len(at.Last().Subcommands) > 0:
				wrong = app.unknownCommand(at, operands[0])
			default:
				wrong = at.unknownFlag(name)
			}
			continue
		case f.Names()[0] == "help":
			return helpLine(at, args), nil
		case IsSetting(f):
			return nil, Usagef("%s is a setting, not a flag: write %s: {%s: ...} into ypcrawl.yaml, or set %s; see `ypcrawl help settings`", Dashed(name), app.Main, name, Variable(name))
		}
		words, rest, err := typedWords(at, f, arg, in)
		if err != nil {
			return nil, err
		}
		in = rest
		flags = append(flags, typedFlag{name, words})
	}
	for _, t := range flags { // a command that is named later may have them, or none
		f, depth := at.Flag(t.name)
		if f == nil && wrong == nil && len(operands) == 0 && (len(at) > 1 || len(at.Last().Subcommands) == 0) {
			wrong = at.unknownFlag(t.name)
		}
		out[depth] = append(out[depth], t.words...)
	}
	if wrong != nil {
		return nil, wrong
	}
	if len(operands) > 0 && len(in) > 0 { // `in` begins with "--"
		operands = slices.Insert(operands, 0, "--")
		in = in[1:]
	}
	if len(operands) > 0 && operands[0] == "list" && at.isList() {
		operands = operands[1:]
	}
	rest := slices.Concat(operands, in)
	if words := slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "--" }); len(at.Last().Subcommands) > 0 {
		if len(words) > 0 {
			return nil, app.unknownCommand(at, words[0])
		}
		if at.Last().Action == nil {
			if len(slices.Concat(out...)) > len(at) { // flags: one of them may have taken the command's name as its value
				return nil, Usagef("no command after '%s'; see '%[1]s --help'", at)
			}
			return helpLine(at, nil), nil
		}
	} else if len(words) > 0 && at.takesNone() { // a forgotten dash would be ignored without a word
		if f, _ := at.Flag("states"); f != nil && isStateOfUSA(words[0]) {
			return nil, Usagef("unexpected argument %q: write %s --states %s", words[0], at, strings.Join(words, " "))
		}
		return nil, Usagef("unexpected argument %q: %s takes no arguments; see '%[2]s --help'", words[0], at)
	}
	return slices.Concat(slices.Concat(out...), rest), nil
}

func isStateOfUSA(word string) bool {
	_, ok := yp.LookupState(word)
	return ok
}

// typedWords are the words of a flag with its values, as the library reads them, and what follows them in `in`.
func typedWords(at Path, f cli.Flag, arg string, in []string) (words, rest []string, err error) {
	name, value, hasValue := SplitFlag(arg)
	switch kind := kindOf(f); {
	case kind == multiFlag:
		if words, in = expandFlag(at, f.Names()[0], value, hasValue, in); hasValue && len(in) > 0 && !IsFlag(in[0]) && at.takesNone() {
			return nil, nil, Usagef("unexpected argument %q after --%s=...: write --%[2]s %[3]q %[1]q, or repeat --%[2]s", in[0], f.Names()[0], value)
		}
	case kind == valueFlag && hasValue:
		words = []string{strings.TrimSuffix(arg, value) + decimal(f, value)}
	case kind != valueFlag:
		words = []string{arg}
	case len(in) > 0: // the library takes any next word, so must we
		words, in = []string{arg, decimal(f, in[0])}, in[1:]
	}
	if len(words) == 0 {
		return nil, nil, Usagef("flag %s needs a value; see '%s --help'", Dashed(name), at)
	}
	return words, in, nil
}

// typedFlag is a flag as it is on the line, rewritten.
type typedFlag struct {
	name  string
	words []string
}

// further finds a flag of a command below cmd.
func further(cmd *cli.Command, name string) cli.Flag {
	for _, sub := range cmd.Subcommands {
		if f, _ := (Path{sub}).Flag(name); f != nil {
			return f
		}
		if f := further(sub, name); f != nil {
			return f
		}
	}
	return nil
}

// expandFlag gives one --name=value for each value, always under the canonical name: the
// library refuses two names of one flag on a line. rest is what follows the values.
func expandFlag(at Path, name, value string, hasValue bool, in []string) (words, rest []string) {
	if hasValue {
		return []string{"--" + name + "=" + value}, in
	}
	for len(in) > 0 && !IsFlag(in[0]) && at.Sub(in[0]) == nil {
		words, in = append(words, "--"+name+"="+in[0]), in[1:]
	}
	return words, in
}

// renamed puts what a command is called now in the place of an old word.
func (a *App) renamed(words []string) []string {
	for _, o := range a.OldWords {
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

// Path is the commands from the program down to the one that a walk over a command line has come to.
type Path []*cli.Command

// Root is the program as a command.
func (a *App) Root() Path {
	return Path{{Name: a.Name, Flags: a.Flags, Subcommands: a.Commands, Action: a.Action}}
}

// Last is the innermost command of the path.
func (p Path) Last() *cli.Command { return p[len(p)-1] }

// String is the path as it is typed.
func (p Path) String() string {
	names := make([]string, len(p))
	for i, cmd := range p {
		names[i] = cmd.Name
	}
	return strings.Join(names, " ")
}

// Sub finds a subcommand of the last command; nil = there is none of that name.
func (p Path) Sub(name string) *cli.Command {
	subs := p.Last().Subcommands
	if i := slices.IndexFunc(subs, func(c *cli.Command) bool { return c.HasName(name) }); i >= 0 {
		return subs[i]
	}
	return nil
}

// Flag finds a flag by one of its names, and how deep it is declared: the innermost wins. An
// unknown one is nil, at the last command.
func (p Path) Flag(name string) (f cli.Flag, depth int) {
	for depth, cmd := range slices.Backward(p) {
		for _, f := range cmd.Flags {
			if slices.Contains(f.Names(), name) {
				return f, depth
			}
		}
	}
	return nil, len(p) - 1
}

// takesNone tells whether the last command has neither subcommands nor arguments of its own.
func (p Path) takesNone() bool {
	cmd := p.Last()
	return len(cmd.Subcommands) == 0 && !cmd.Args && cmd.ArgsUsage == ""
}

// isList tells whether the last command is a list by itself: "changes", which may be typed "changes list", too.
func (p Path) isList() bool {
	cmd := p.Last()
	columns, _ := p.Flag("columns")
	csv, _ := p.Flag("csv")
	return columns != nil && csv != nil && cmd.Name != "list" && !cmd.Args && cmd.ArgsUsage == ""
}

// unknownFlag names the flag that was probably meant.
func (p Path) unknownFlag(name string) error {
	var names []string
	for _, cmd := range slices.Backward(p) {
		for _, f := range cmd.Flags {
			names = append(names, f.Names()[0])
		}
	}
	EachCommand(p.Last().Subcommands, func(cmd *cli.Command) {
		for _, f := range cmd.Flags {
			names = append(names, f.Names()[0])
		}
	})
	names = slices.DeleteFunc(names, func(s string) bool { return s == name }) // which others have
	hint := ""
	if near, ok := yp.Nearest(name, names); ok {
		hint = ": did you mean --" + near + "?"
	}
	return Usagef("unknown flag %s%s; see '%s --help'", yp.Printable(Dashed(name)), hint, p)
}

// unknownCommand names the command that was probably meant, also one that is a step further in: "wal replay".
func (a *App) unknownCommand(at Path, word string) error {
	var names, inner []string
	for _, sub := range at.Last().Subcommands {
		names = append(names, sub.Name)
		if further := append(slices.Clone(at), sub).Sub(word); further != nil && len(inner) < 3 {
			inner = append(inner, sub.Name+" "+further.Name)
		}
	}
	if len(at) == 1 {
		names = append(names, a.Help.TopicNames()...)
	}
	if near, ok := yp.Nearest(word, names); ok {
		inner = []string{near}
	}
	hint := ""
	if len(inner) > 0 {
		hint = ": did you mean " + strings.Join(inner, ", or ") + "?"
	}
	return Usagef("unknown command %q%s; see '%s --help'", RedactURL(word), hint, at) // it may hold a password
}

// IsFlag tells whether the library would read arg as a flag or as the end of
// the flags; a single dash is neither.
func IsFlag(arg string) bool {
	return len(arg) > 1 && arg[0] == '-'
}

// SplitFlag takes "--name=value" apart.
func SplitFlag(arg string) (name, value string, hasValue bool) {
	return strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
}

// Dashed is a flag's name as the user types it: one dash for one letter.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// flagKind says what a flag takes from the command line.
type flagKind int

const (
	boolFlag  flagKind = iota // nothing
	valueFlag                 // the next word, whatever it is
	multiFlag                 // all words up to a boundary, see expand
)

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

// invalidValue is how the flag package, which has no types for its errors, tells of a wrong value.
var invalidValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([^:]+): (?s)(.*)$`)

// onUsageError turns the flag package's words for a wrong value into ours, with two dashes as the user typed
// them. As OnUsageError it also keeps the library from printing the whole help to stdout.
func onUsageError(c *cli.Context, err error, _ bool) error {
	text := yp.Printable(err.Error())
	if m := invalidValue.FindStringSubmatch(text); m != nil {
		f, _ := (Path{c.Command}).Flag(m[2])
		text = fmt.Sprintf("invalid value %s for %s: %s", m[1], Dashed(m[2]), wanted(f, m[3]))
	}
	return Usagef("%s; see '%s --help'", text, c.Command.HelpName)
}

// wanted says what a flag takes where the flag package says only that it could not read it.
func wanted(f cli.Flag, why string) string {
	_, isSwitch := f.(*cli.BoolFlag)
	switch {
	case why != "parse error" && why != "value out of range":
		return why
	case isSwitch:
		return "want true or false"
	}
	return "want a number"
}
