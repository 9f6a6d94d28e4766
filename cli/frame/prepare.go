package frame

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// App is a program: its commands, and what the frame is told of them.
type App struct {
	*cli.App
	Help     Help
	Main     string                              // the command whose flags a setting names without it
	OldWords [][2]string                         // commands as they were called, and what they are now
	Values   func(flag string) (all [][2]string) // what a flag of that name may be, each with what it is, beside states and filters of lists
	States   func(words []string) []yp.State     // that the sources have which the words of a line choose
}

// Prepare gives every command of a freshly built app what all of them share,
// and returns the command line to run it with:
//
//   - help flags of its own: the library's are global variables that it writes
//     to, so two apps in one process would race;
//   - errors instead of printed help for wrong flags, unknown commands and
//     stray arguments, as UsageErrors;
//   - settings from YPCRAWL_* and from the settings file, which --config names
//     (see GlobalFlags);
//   - shell completion;
//   - several values after one flag (expand).
//
// The app must run with exactly the arguments returned.
func Prepare(app *App, args []string) ([]string, error) {
	app.DisableSliceFlagSeparator = true // expand and SplitList decide what a value is
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = onUsageError
	app.HideHelp, app.HideVersion = true, true
	app.Flags = append(app.Flags, helpFlag())
	EachCommand(app.Commands, app.prepareCommand)
	help := helpCommand(app) // needs no settings, and is there when they are wrong
	help.HideHelp, help.OnUsageError = true, onUsageError
	app.Commands = append(app.Commands, help)
	args = installCompletion(app, args)
	return expand(app, args)
}

// EachCommand calls f with each of the commands and those below them, outer ones first.
func EachCommand(cmds []*cli.Command, f func(*cli.Command)) {
	for _, cmd := range cmds {
		f(cmd)
		EachCommand(cmd.Subcommands, f)
	}
}

// prepareCommand has a command take over the settings before it does anything: not in Before, which a group
// runs for each of its commands too.
func (a *App) prepareCommand(cmd *cli.Command) {
	cmd.HideHelp = true
	cmd.OnUsageError = onUsageError
	cmd.Flags = append(cmd.Flags, helpFlag())
	before, action := cmd.Before, cmd.Action
	if cmd.Before = nil; action == nil {
		return
	}
	cmd.Action = func(c *cli.Context) error {
		for _, complaint := range a.UnknownVariables(os.Environ()) {
			if _, err := fmt.Fprintf(c.App.ErrWriter, "ypcrawl: %s\n", complaint); err != nil {
				return err
			}
		}
		if err := a.applySettings(c); err != nil {
			return err
		}
		if before != nil {
			if err := before(c); err != nil {
				return err
			}
		}
		return action(c)
	}
}
