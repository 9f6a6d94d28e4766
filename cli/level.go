package cli

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// flagKind says what a flag takes from the command line.
type flagKind int

const (
	boolFlag  flagKind = iota // nothing
	valueFlag                 // the next word, whatever it is
	multiFlag                 // all words up to a boundary, see Expand
)

// flagShape is what a walk over a command line must know of a flag.
type flagShape struct {
	name string // canonical
	kind flagKind
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
			l.flags[name] = flagShape{name: f.Names()[0], kind: kindOf(f)}
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
