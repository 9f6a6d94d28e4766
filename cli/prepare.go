package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// Prepare gives every command of a freshly built app what all of them share,
// and returns the command line to run it with:
//
//   - help flags of its own: the library's are global variables that it writes
//     to, so two apps in one process would race;
//   - errors instead of printed help for wrong flags, unknown commands and
//     stray arguments, as UsageErrors;
//   - settings from YPCRAWL_* and from the settings file (a string flag named
//     "config" and a bool flag "quiet" are the app's to declare);
//   - shell completion;
//   - several values after one flag (Expand).
//
// The app must run with exactly the arguments returned.
func Prepare(app *cli.App, args []string) ([]string, error) {
	app.DisableSliceFlagSeparator = true // Expand and SplitList decide what a value is
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = onUsageError
	app.HideHelp, app.HideVersion = true, true
	app.Commands = append(app.Commands, helpCommand())
	app.Flags = append(app.Flags, helpFlag())
	if app.Action == nil {
		app.Action = groupAction
	}
	for _, cmd := range app.Commands {
		prepareCommand(cmd)
	}
	setEnvVars(app)
	args = installCompletion(app, args)
	return Expand(app, args)
}

func prepareCommand(cmd *cli.Command) {
	cmd.HideHelp = true
	cmd.OnUsageError = onUsageError
	cmd.Flags = append(cmd.Flags, helpFlag())
	for _, sub := range cmd.Subcommands {
		prepareCommand(sub)
	}
	if len(cmd.Subcommands) > 0 {
		if cmd.Action == nil {
			cmd.Action = groupAction
		}
		return
	}
	own := cmd.Before
	cmd.Before = func(c *cli.Context) error { return beforeLeaf(c, own) }
}

// beforeLeaf runs before a command proper: stray arguments first, then the
// settings file, then the command's own preparation.
func beforeLeaf(c *cli.Context, own cli.BeforeFunc) error {
	if !takesOperands(c.Command) {
		if err := NoArgs(c); err != nil {
			return err
		}
	}
	for _, complaint := range unknownVariables(c.App, os.Environ()) {
		if _, err := fmt.Fprintf(c.App.ErrWriter, "ypcrawl: %s\n", complaint); err != nil {
			return err
		}
	}
	if path := c.String(configFlag); path != "" {
		if err := ApplyConfig(c, path, c.IsSet(configFlag)); err != nil {
			return err
		}
	}
	if own == nil {
		return nil
	}
	return own(c)
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}

// helpCommand is `help [command]...`, for `help wal read` as well.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Aliases:   []string{"h"},
		Usage:     "Show help for a command",
		ArgsUsage: "[command]...",
		Action: func(c *cli.Context) error {
			args := slices.Concat([]string{c.App.Name}, c.Args().Slice(), []string{"--help"})
			return c.App.RunContext(c.Context, args)
		},
	}
}

// groupAction is what a command with subcommands does by itself: it shows its
// help, or names the subcommand that was probably meant.
func groupAction(c *cli.Context) error {
	if !c.Args().Present() {
		if c.Command.HelpName == c.App.HelpName {
			return cli.ShowAppHelp(c)
		}
		return cli.ShowSubcommandHelp(c)
	}
	word := c.Args().First()
	var names []string
	for _, sub := range c.Command.Subcommands {
		names = append(names, sub.Name)
	}
	hint := ""
	if near, ok := yp.Nearest(word, names); ok {
		hint = ": did you mean " + near + "?"
	}
	return Usagef("unknown command %q%s; see '%s --help'", word, hint, c.Command.HelpName)
}
