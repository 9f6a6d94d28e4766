package cli

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// A setting that names its command is that command's alone: YPCRAWL_PROGRESS_EVERY, or
// "every" in the section "progress" of the file. One that names none (YPCRAWL_DELAY, or
// "delay" at the top of the file) is the program's or that of `run`, and reaches other
// commands only where their flag is the same as run's: an "every" for crawls must not
// set how often a table is drawn, nor the "limit" of a list how much is fetched.

const (
	envPrefix   = "YPCRAWL_"
	mainCommand = "run" // whose flags are set without its name, too
)

// sameEverywhere are flags that mean the same in every command that has them, though
// their help differs. Others are the same where their help is.
func sameEverywhere() []string { return []string{"source", "dry-run"} }

// mainFlags are the flags of `run`.
func mainFlags(app *cli.App) []cli.Flag {
	for _, cmd := range app.Commands {
		if cmd.Name == mainCommand {
			return cmd.Flags
		}
	}
	return nil
}

// shared tells whether f is the same flag as one of `run`.
func shared(app *cli.App, f cli.Flag) bool {
	name := f.Names()[0]
	return slices.ContainsFunc(mainFlags(app), func(m cli.Flag) bool {
		return m.Names()[0] == name && (usageOf(m) == usageOf(f) || slices.Contains(sameEverywhere(), name))
	})
}

// usageOf is the help text of a flag. The library's flag types share no interface to
// read it by.
func usageOf(f cli.Flag) string { return reflect.ValueOf(f).Elem().FieldByName("Usage").String() }

// flagOf finds the flag that a command knows by a name: its own one or that of a
// command above it. depth is how many words name the command that declares it.
func flagOf(app *cli.App, command []string, name string) (found cli.Flag, depth int) {
	flags, cmds := app.Flags, app.Commands
	for i := 0; ; i++ {
		if at := slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == name }); at >= 0 {
			found, depth = flags[at], i
		}
		if i == len(command) {
			return found, depth
		}
		at := slices.IndexFunc(cmds, func(cmd *cli.Command) bool { return cmd.Name == command[i] })
		if at < 0 {
			return found, depth
		}
		flags, cmds = cmds[at].Flags, cmds[at].Subcommands
	}
}

// reaches tells whether a setting that names the first depth words of a command is for
// the flag that the command knows by this name.
func reaches(app *cli.App, command []string, depth int, name string) bool {
	f, declared := flagOf(app, command, name)
	return f != nil && (declared <= depth || depth == 0 && shared(app, f))
}

// setEnvVars gives every flag its variable: --wal-dir reads YPCRAWL_WAL_DIR. Of the two
// that a flag of `run` has, the longer one is taken where it is set.
func setEnvVars(app *cli.App) {
	eachFlag(nil, app.Flags, app.Commands, func(command []string, f cli.Flag) {
		name := f.Names()[0]
		if name == "help" {
			return
		}
		use := envName(command, name)
		if os.Getenv(use) == "" && shared(app, f) { // an empty one sets nothing
			use = envName(nil, name)
		}
		reflect.ValueOf(f).Elem().FieldByName("EnvVars").Set(reflect.ValueOf([]string{use}))
	})
}

// envName is the variable of a command's flag.
func envName(command []string, flag string) string {
	words := strings.Join(append(slices.Clone(command), flag), "_")
	return envPrefix + strings.ToUpper(strings.ReplaceAll(words, "-", "_"))
}

// eachFlag calls f for all flags of the commands and their subcommands.
func eachFlag(above []string, flags []cli.Flag, cmds []*cli.Command, f func(command []string, f cli.Flag)) {
	for _, fl := range flags {
		f(above, fl)
	}
	for _, cmd := range cmds {
		eachFlag(append(slices.Clone(above), cmd.Name), cmd.Flags, cmd.Subcommands, f)
	}
}

// ownersOf lists the commands that declare a flag of this name.
func ownersOf(app *cli.App, name string) (commands [][]string) {
	eachFlag(nil, app.Flags, app.Commands, func(command []string, f cli.Flag) {
		if f.Names()[0] == name && name != "help" && len(command) > 0 {
			commands = append(commands, command)
		}
	})
	return commands
}

// someOf names a few commands.
func someOf(commands [][]string) string {
	const few = 3
	names := make([]string, 0, few+1)
	for _, c := range commands[:min(len(commands), few)] {
		names = append(names, "`"+strings.Join(c, " ")+"`")
	}
	if more := len(commands) - few; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// asSection shows how a setting of a command is written.
func asSection(command []string, name string) string {
	text := name + ": ..."
	for _, word := range slices.Backward(command) {
		text = word + ": {" + text + "}"
	}
	return text
}

// unknownVariables tells of variables that set nothing. Their values may be secrets and
// are not shown.
func unknownVariables(app *cli.App, environ []string) (complaints []string) {
	known, unnamed := map[string]bool{}, map[string][]string{}
	eachFlag(nil, app.Flags, app.Commands, func(command []string, f cli.Flag) {
		name := f.Names()[0]
		own, short := envName(command, name), envName(nil, name)
		known[own] = true
		if shared(app, f) {
			known[short] = true
		}
		unnamed[short] = append(unnamed[short], own)
	})
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, envPrefix) || known[name] || value == "" {
			continue
		}
		hint := "no flag has that name, see --help"
		if near, ok := yp.Nearest(name, names); ok {
			hint = "did you mean " + near + "?"
		}
		if own := unnamed[name]; len(own) > 0 {
			hint = "it does not say for which command: did you mean " + strings.Join(own[:min(len(own), 3)], ", ") + "?"
		}
		complaints = append(complaints, fmt.Sprintf("the variable %s sets nothing: %s", yp.Printable(name), hint))
	}
	slices.Sort(complaints)
	return complaints
}
