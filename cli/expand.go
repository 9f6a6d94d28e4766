package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
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
