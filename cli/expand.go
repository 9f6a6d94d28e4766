package cli

import (
	"errors"
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
// args[0] is the program's name. A command line that asks for completions is
// returned as it is. Errors are UsageErrors.
func Expand(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 || completing(args) {
		return args, nil
	}
	e := expander{in: args[1:]}
	e.enter(appLevel(app), args[0])
	for len(e.in) > 0 && !e.stopped {
		if err := e.step(); err != nil {
			return nil, err
		}
	}
	return e.finish(), nil
}

func completing(args []string) bool {
	return len(args) > 0 && args[len(args)-1] == completionMark
}

// expander walks a command line once, from left to right.
type expander struct {
	at       levels
	in       []string   // still to be read
	out      [][]string // for each level its name and its flags, rewritten
	operands []string   // a leaf command's own arguments, which go behind its flags
	stopped  bool       // what is left in `in` is copied as it is
}

// enter goes down to a command.
func (e *expander) enter(l level, name string) {
	e.at = append(e.at, l)
	e.out = append(e.out, []string{name})
	e.stopped = l.raw
}

// emit adds to the flags of the level at depth.
func (e *expander) emit(depth int, args ...string) {
	e.out[depth] = append(e.out[depth], args...)
}

func (e *expander) step() error {
	switch arg := e.in[0]; {
	case arg == "--":
		e.stopped = true
		return nil
	case isFlag(arg):
		return e.flag(arg)
	default:
		e.word(arg)
		return nil
	}
}

// word reads a subcommand's name or a leaf command's own argument.
func (e *expander) word(arg string) {
	if sub, ok := e.at.last().subs[arg]; ok {
		e.enter(sub(), arg)
		e.in = e.in[1:]
		return
	}
	if !e.at.last().leaf { // an unknown command: the library's to report
		e.stopped = true
		return
	}
	e.operands, e.in = append(e.operands, arg), e.in[1:]
}

// flag reads a flag and its values.
func (e *expander) flag(arg string) error {
	name, value, hasValue := splitFlag(arg)
	f, depth := e.at.find(name) // an unknown one stays where it is, for the library to report
	e.in = e.in[1:]
	switch {
	case f.kind == multiFlag && hasValue:
		e.emit(depth, "--"+f.name+"="+value)
		return e.checkStray(f.name, value)
	case f.kind == multiFlag:
		return e.multi(depth, f.name)
	case f.kind == valueFlag && !hasValue && len(e.in) > 0:
		e.emit(depth, arg, e.in[0]) // the library takes any next word, so must we
		e.in = e.in[1:]
	default:
		e.emit(depth, arg)
	}
	return nil
}

// multi emits one --name=value for each value, always under the canonical
// name: the library refuses two names of one flag on a line.
func (e *expander) multi(depth int, name string) error {
	values := e.takeValues()
	if len(values) == 0 {
		return Usagef("flag --%s needs a value", name)
	}
	for _, v := range values {
		e.emit(depth, "--"+name+"="+v)
	}
	return nil
}

// checkStray refuses "--states=CA TX" where TX can be nothing else.
func (e *expander) checkStray(name, value string) error {
	at := e.at.last()
	if !at.leaf || at.operands || len(e.in) == 0 || isFlag(e.in[0]) {
		return nil
	}
	return Usagef("unexpected argument %q after --%s=...: write --%s %q %q, or repeat --%s",
		e.in[0], name, name, value, e.in[0], name)
}

func (e *expander) takeValues() []string {
	n := slices.IndexFunc(e.in, func(arg string) bool {
		_, sub := e.at.last().subs[arg]
		return sub || isFlag(arg)
	})
	if n < 0 {
		n = len(e.in)
	}
	values := e.in[:n]
	e.in = e.in[n:]
	return values
}

func (e *expander) finish() []string {
	rest := e.in
	if len(e.operands) > 0 && len(rest) > 0 { // rest begins with "--"
		e.emit(len(e.at)-1, "--")
		rest = rest[1:]
	}
	return slices.Concat(slices.Concat(e.out...), e.operands, rest)
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

// flagShape is what a walk over a command line must know of a flag.
type flagShape struct {
	name   string // canonical
	kind   flagKind
	values []string // that its help names, "only these: `KIND...` is search, detail, index"
}

// level is one command as a walk over a command line sees it: its flags under
// all their names, and its subcommands. The library adds help to both later.
type level struct {
	flags    map[string]flagShape
	subs     map[string]func() level
	leaf     bool // has no subcommands
	operands bool // takes arguments of its own
	raw      bool // reads its flags itself
}

// levels are the commands from the program down to where a walk stands.
type levels []level

// last is the command where the walk stands.
func (ls levels) last() level { return ls[len(ls)-1] }

// find returns the flag with a name, and how deep it is declared: the innermost
// wins. An unknown one is a boolFlag without a name at the last level.
func (ls levels) find(name string) (f flagShape, depth int) {
	for depth, l := range slices.Backward(ls) {
		if f, ok := l.flags[name]; ok {
			return f, depth
		}
	}
	return flagShape{}, len(ls) - 1
}

func appLevel(app *cli.App) level {
	return newLevel(app.Flags, app.Commands, app.SkipFlagParsing)
}

func commandLevel(cmd *cli.Command) level {
	l := newLevel(cmd.Flags, cmd.Subcommands, cmd.SkipFlagParsing)
	l.operands = takesOperands(cmd)
	return l
}

func newLevel(flags []cli.Flag, subs []*cli.Command, raw bool) level {
	l := level{flags: map[string]flagShape{}, subs: map[string]func() level{}, leaf: len(subs) == 0, raw: raw}
	for _, f := range flags {
		for _, name := range f.Names() {
			l.flags[name] = flagShape{name: f.Names()[0], kind: kindOf(f), values: valuesOf(f)}
		}
	}
	for _, sub := range subs {
		for _, name := range sub.Names() {
			l.subs[name] = func() level { return commandLevel(sub) }
		}
	}
	return l
}

// takesOperands tells whether a command declares arguments of its own.
func takesOperands(cmd *cli.Command) bool {
	return cmd.Args || cmd.ArgsUsage != ""
}

func kindOf(f cli.Flag) flagKind {
	if s, ok := f.(cli.DocGenerationSliceFlag); ok && s.IsSliceFlag() {
		return multiFlag
	}
	if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() {
		return valueFlag
	}
	return boolFlag
}

func valuesOf(f cli.Flag) []string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return nil
	}
	about, names, ok := strings.Cut(d.GetUsage(), "...` is ")
	if !ok || !strings.HasPrefix(about, "only these: ") {
		return nil
	}
	return strings.Split(strings.ToLower(names), ", ")
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

// NoArgs refuses arguments that belong to no flag. A forgotten dash would
// otherwise be ignored without a word.
func NoArgs(c *cli.Context) error {
	if !c.Args().Present() {
		return nil
	}
	return Usagef("unexpected argument %q: %s takes none; see '%s --help'",
		c.Args().First(), c.Command.HelpName, c.Command.HelpName)
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
		return unknownFlag(name, c)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Sprintf("flag %s needs a value", dashed(strings.TrimLeft(name, "-")))
	}
	if value, rest, ok := strings.Cut(text, " for flag -"); ok {
		name, why, _ := strings.Cut(rest, ": ")
		return fmt.Sprintf("%s for %s: %s", value, dashed(name), strings.TrimPrefix(why, "strconv."))
	}
	return text
}

func unknownFlag(name string, c *cli.Context) string {
	text := "unknown flag " + dashed(name)
	var names []string
	for _, up := range c.Lineage() {
		if up.Command != nil {
			names = append(names, longNames(up.Command.Flags)...)
		}
	}
	if near, ok := yp.Nearest(name, names); ok {
		text += ": did you mean --" + near + "?"
	}
	return text
}

// dashed is a flag's name as the user types it: one dash for one letter.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// longNames lists the canonical names of the flags.
func longNames(flags []cli.Flag) []string {
	names := make([]string, 0, len(flags))
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// isUsage tells whether err is a mistake in how the program was called.
func isUsage(err error) bool {
	var usage *UsageError
	return errors.As(err, &usage)
}
