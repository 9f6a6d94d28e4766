package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

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
