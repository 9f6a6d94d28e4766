package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// completingApp is the test app with the flags that have known values, and the
// completion command.
func completingApp() *cli.App {
	app := shapedApp(&call{})
	run := app.Commands[0]
	run.Flags = append(run.Flags, &cli.StringFlag{Name: "status"}, &cli.GenericFlag{Name: "max-pages", Value: countValue("pages")})
	app.Commands = append(app.Commands, completionCommand(), versionCommand())
	return app
}

// TestCandidatesOf: what is typed narrows, in a list behind its last comma, and behind = too.
func TestCandidatesOf(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run --states CA,T":          "CA,TN CA,TX",
		"run --states=ca,TX,n":       "--states=ca,TX,NC --states=ca,TX,ND --states=ca,TX,NE --states=ca,TX,NH --states=ca,TX,NJ --states=ca,TX,NM --states=ca,TX,NV --states=ca,TX,NY",
		"run --states New H":         "New Hampshire",
		"run --status P":             "parked planned",
		"run --status=st":            "--status=stuck",
		"comp":                       "completion",
		"run --states T":             "TN TX",
		"run --states nowhere":       "",
		"run --states CA --status x": "",
	} {
		words := strings.Split(line, " ")
		if before, ok := strings.CutSuffix(line, " New H"); ok {
			words = append(strings.Fields(before), "New H")
		}
		var got []string
		for _, w := range candidates(completingApp(), words) {
			got = append(got, w[0])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// asked returns what the app answers to a shell for the words typed so far, the last one being typed.
func asked(t *testing.T, words ...string) []string {
	t.Helper()
	app := completingApp()
	out := &bytes.Buffer{}
	app.Writer = out
	args, err := Prepare(app, slices.Concat([]string{"ypcrawl"}, words, []string{completionMark}))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(args); err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, word)
	}
	return found
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		words string
		has   []string
		not   []string
	}{
		"commands":               {"", []string{"run", "wal", "completion", "version", "help"}, []string{"read", "--db", "h"}},
		"commands after a flag":  {"--db|my.db", []string{"run"}, []string{"read"}},
		"files for a flag":       {"--db", nil, []string{"run"}},
		"subcommands":            {"wal", []string{"read"}, []string{"run"}},
		"shells":                 {"completion", []string{"bash", "zsh", "fish"}, nil},
		"flags":                  {"run|--s", []string{"--states", "--status", "--json", "--db"}, []string{"-s", "--dirs"}},
		"flags of a subcommand":  {"wal|read|-", []string{"--states", "--json", "--dirs", "--db"}, []string{"--status"}},
		"lists may be repeated":  {"run|--states|CA|--s", []string{"--states"}, nil},
		"states":                 {"run|--states", []string{"CA", "DC", "TX"}, []string{"run"}},
		"more states":            {"run|--states|CA|TX", []string{"NY"}, nil},
		"no states after a flag": {"run|--states|CA|--json", nil, []string{"NY"}},
		"statuses":               {"run|--status", []string{"failed", "stuck"}, []string{"CA"}},
		"nothing after a value":  {"run|--status|failed", nil, []string{"stuck"}},
		"after an alias":         {"run|-s|CA", []string{"NY"}, nil},
		"commands after a list":  {"--regions|west", []string{"run"}, []string{"read"}},
		"a value like a command": {"--db|wal", []string{"run"}, []string{"read"}},
		"unknown command":        {"xyzzy", nil, []string{"read"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var words []string
			if tt.words != "" {
				words = strings.Split(tt.words, "|")
			}
			if !strings.HasSuffix(tt.words, "-") && !strings.HasSuffix(tt.words, "--s") { // nothing is typed of the next word
				words = append(words, "")
			}
			got := asked(t, words...)
			for _, want := range tt.has {
				if !slices.Contains(got, want) {
					t.Errorf("%s is missing in %q", want, got)
				}
			}
			for _, not := range tt.not {
				if slices.Contains(got, not) {
					t.Errorf("%s is in %q", not, got)
				}
			}
		})
	}
}

// The library runs a command for real when "--" stands before the mark.
func TestCompletionNeverRunsACommand(t *testing.T) {
	t.Parallel()
	var got call
	app := shapedApp(&got)
	args, err := Prepare(app, []string{"ypcrawl", "show", "--", "x", completionMark})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(args); err != nil {
		t.Fatal(err)
	}
	if got.command != "" {
		t.Fatalf("ran %s with %q", got.command, got.args)
	}
}

func TestBashCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wrapper := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "ypcrawl"), []byte(wrapper), 0o700); err != nil { //nolint:gosec // a script must be executable
		t.Fatal(err)
	}
	tests := map[string]struct {
		line string // words separated by spaces; the last is being typed
		want string
	}{
		"command":                {"ypcrawl ru", "run"},
		"all subcommands":        {"ypcrawl wal ", "read tail"},
		"flag":                   {"ypcrawl run --sta", "--states --status"},
		"every flag":             {"ypcrawl completion bash --", strings.Join(asked(t, "completion", "bash", "-"), " ")},
		"flag typed in full":     {"ypcrawl run --json", "--json"},
		"state":                  {"ypcrawl run --states CA T", "TN TX"},
		"status":                 {"ypcrawl run --status st", "stuck"},
		"no evaluation":          {"ypcrawl run --states $(touch\tOUT/made) T", "TN TX"},
		"nothing after dashes":   {"ypcrawl show -- x", ""},
		"unknown":                {"ypcrawl xyzzy q", ""},
		"program with a path":    {"OUT/ypcrawl ru", "run"},
		"program in home folder": {"~/ypcrawl ru", "run"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `source <(ypcrawl completion bash) || exit 3
complete -p ypcrawl >/dev/null || exit 4
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ypcrawl; echo "${COMPREPLY[*]}"`
			words := strings.Split(strings.ReplaceAll(tt.line, "OUT", dir), " ")
			cmd := exec.CommandContext(t.Context(), "bash", slices.Concat([]string{"--norc", "-c", script, "bash"}, words)...)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := strings.Fields(string(out))
			slices.Sort(got)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
				t.Error("what was typed was run")
			}
		})
	}
}
