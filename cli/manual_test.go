package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store/storetest"
)

var update = flag.Bool("update", false, "write docs/cli.md and docs/ypcrawl.1 anew")

// TestManual holds docs/cli.md and the man page to the commands there are.
func TestManual(t *testing.T) {
	t.Parallel()
	app := Standard("").app()
	if _, err := frame.Prepare(app, []string{"ypcrawl"}); err != nil {
		t.Fatal(err)
	}
	text := manual(app)
	for name, want := range map[string]string{
		"../docs/cli.md":    "# Commands of ypcrawl\n\nMade by `make manual` from the commands themselves.\n" + text,
		"../docs/ypcrawl.1": string(md2man.Render([]byte("YPCRAWL 1\n=========\n\n# NAME\n\nypcrawl - " + app.Usage + "\n\n# SYNOPSIS\n\n**ypcrawl** *COMMAND* [*FLAGS*]\n" + text))),
	} {
		if *update {
			storetest.NoError(t, os.WriteFile(name, []byte(want), 0o644))
			continue
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is old (%v): make manual", name, err)
		}
	}
}

// TestEveryFlag: what a flag takes is one word in capitals, which help and completion show behind its name; it names its default,
// once; and no variable stands for two flags, `details --delay` and a `run --details-delay`, say.
func TestEveryFlag(t *testing.T) {
	t.Parallel()
	app := Standard("").app()
	if _, err := frame.Prepare(app, []string{"ypcrawl"}); err != nil {
		t.Fatal(err)
	}
	of := map[string]string{} // a variable: its flag
	flags, _ := app.Settable()
	for _, f := range flags {
		name, text := frame.DescribeFlag(f.Flag.(cli.DocGenerationFlag)) // as every flag is
		if takes := name[strings.LastIndex(name, " ")+1:]; takesValue(f.Flag) && strings.ToLower(takes) == takes {
			t.Errorf("%s %s: want a word in capitals", f.Command, name)
		}
		if n := strings.Count(text, "(default:"); n > 1 || n == 0 && takesValue(f.Flag) {
			t.Errorf("%s %s names %d defaults: %s", f.Command, name, n, text)
		}
		for _, key := range f.Keys {
			if other := of[frame.Variable(key)]; other != "" && other != f.Name {
				t.Errorf("%s is --%s and --%s", frame.Variable(key), other, f.Name)
			}
			of[frame.Variable(key)] = f.Name
		}
	}
	frame.EachCommand(app.Commands, func(cmd *cli.Command) {
		if strings.Contains("\n"+cmd.Description, "\nypcrawl ") {
			t.Errorf("%s: put its examples into UsageText, or indent them: a description runs its lines together", cmd.Name)
		}
	})
}

func takesValue(f cli.Flag) bool { return f.(cli.DocGenerationFlag).TakesValue() }

// manual is every command with its flags, and the topics, as Markdown.
func manual(app *frame.App) string {
	var b strings.Builder
	b.WriteString("\n# COMMANDS\n")
	root, variables := app.Root(), app.Variables()
	for _, g := range app.Help.Groups {
		for name := range strings.FieldsSeq(g.Words) {
			if cmd := root.Sub(name); cmd != nil {
				commandManual(&b, slices.Concat(root, frame.Path{cmd}), variables)
			}
		}
	}
	b.WriteString("\n# FLAGS OF THE PROGRAM\n\n")
	flagsManual(&b, app.Flags, variables)
	for _, name := range app.Help.TopicNames() {
		text, _ := app.Help.Topic(name)
		fmt.Fprintf(&b, "\n# %s\n\n```\n%s```\n", strings.ToUpper(name), text)
	}
	return b.String()
}

func commandManual(b *strings.Builder, at frame.Path, variables map[cli.Flag]string) {
	cmd := at.Last()
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", strings.TrimSpace(at.String()+" "+escapeMarkdown(cmd.ArgsUsage)), escapeMarkdown(cmd.Usage))
	if cmd.UsageText != "" {
		fmt.Fprintf(b, "```\n%s\n```\n\n", cmd.UsageText)
	}
	if cmd.Description != "" {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(strings.TrimRight(cmd.Description, "\n")))
	}
	flagsManual(b, cmd.Flags, variables)
	for _, sub := range cmd.Subcommands {
		if !sub.Hidden {
			commandManual(b, slices.Concat(at, frame.Path{sub}), variables)
		}
	}
}

func flagsManual(b *strings.Builder, flags []cli.Flag, variables map[cli.Flag]string) {
	for _, f := range frame.Visible(flags) {
		name, text := frame.DescribeFlag(f)
		fmt.Fprintf(b, "- `%s` — %s\n", name, escapeMarkdown(text+" ["+variables[f]+"]"))
	}
}

func escapeMarkdown(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`).Replace(text)
}

// TestHelpGroups: each command is on the first screen once, each flag of a command that
// shows only some has its group, and the screen fits a terminal.
func TestHelpGroups(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	app := Standard("").app()
	if _, err := frame.Prepare(app, []string{"ypcrawl"}); err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, g := range app.Help.Groups {
		for name := range strings.FieldsSeq(g.Words) {
			times[name]++
		}
	}
	readme, err := os.ReadFile("../README.md")
	storetest.NoError(t, err)
	for _, cmd := range app.Commands {
		if !cmd.Hidden && times[cmd.Name] != 1 {
			t.Errorf("%s stands %d times in helpGroups; a list says its group in Under (store/report/list.go)", cmd.Name, times[cmd.Name])
		}
		if !slices.Contains([]string{"version", "completion", "help"}, cmd.Name) && !strings.Contains(string(readme), "`"+cmd.Name+"`") {
			t.Errorf("the README's table of commands lacks %s", cmd.Name)
		}
		delete(times, cmd.Name)
	}
	for name := range times {
		t.Errorf("helpGroups name %s, which is no command", name)
	}
	for command, groups := range helpFlags {
		times := map[string]int{}
		for _, g := range groups {
			for name := range strings.FieldsSeq(g.Words) {
				times[name]++
			}
		}
		if most := len(strings.Fields(groups[0].Words)); groups[0].Name != "" || most > 14 {
			t.Errorf("help of %s shows %d flags at first, want 14 or fewer", command, most)
		}
		cmd := app.Root().Sub(command)
		for _, f := range cmd.Flags {
			if len(frame.Visible([]cli.Flag{f})) > 0 && times[f.Names()[0]] != 1 {
				t.Errorf("--%s of %s stands %d times in helpFlags", f.Names()[0], command, times[f.Names()[0]])
			}
			delete(times, f.Names()[0])
		}
		for name := range times {
			t.Errorf("helpFlags name --%s, which %s has not", name, command)
		}
	}
	var screen strings.Builder
	if code := (&Program{Invocation: frame.Invocation{Streams: frame.Streams{Out: &screen, Err: io.Discard}}}).Run(t.Context(), []string{"ypcrawl"}); code != ExitOK {
		t.Fatalf("exit %d", code)
	}
	lines := strings.Split(strings.TrimRight(screen.String(), "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("the first screen has %d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) > 80 {
			t.Errorf("longer than 80 columns: %s", l)
		}
	}
}
