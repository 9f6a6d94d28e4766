package frame

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"ypcrawl/store/storetest"
)

// completingApp is the test app with the flags that have known values, and the
// completion command.
func completingApp() *App {
	app := shapedApp(&call{})
	run := app.Commands[0]
	run.Flags = append(run.Flags, &cli.StringFlag{Name: "status"}, &cli.GenericFlag{Name: "max-pages", Value: CountValue("pages")})
	app.Commands = append(app.Commands, &cli.Command{Name: "version"}, &cli.Command{Name: "completion", Subcommands: []*cli.Command{{Name: "bash"}, {Name: "zsh"}, {Name: "fish"}}})
	return app
}

// asked returns what the app answers to a shell for the words typed so far, the last one being typed.
func asked(t *testing.T, words ...string) []string {
	t.Helper()
	app := completingApp()
	out := &bytes.Buffer{}
	app.Writer = out
	args, err := Prepare(app, slices.Concat([]string{"ypcrawl"}, words, []string{completionMark}))
	storetest.NoError(t, err)
	storetest.NoError(t, app.Run(args))
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
		words string // ~ = the last one is being typed
		has   []string
		not   []string
	}{
		"commands":               {"", []string{"run", "wal", "completion", "version", "help"}, []string{"read", "--db", "h"}},
		"commands after a flag":  {"--db|my.db", []string{"run"}, []string{"read"}},
		"files for a flag":       {"--db", nil, []string{"run"}},
		"subcommands":            {"wal", []string{"read"}, []string{"run"}},
		"shells":                 {"completion", []string{"bash", "zsh", "fish"}, nil},
		"flags":                  {"run|--s~", []string{"--states", "--status", "--json", "--db"}, []string{"-s", "--dirs"}},
		"flags of a subcommand":  {"wal|read|-~", []string{"--states", "--json", "--dirs", "--db"}, []string{"--status"}},
		"lists may be repeated":  {"run|--states|CA|--s~", []string{"--states"}, nil},
		"states":                 {"run|--states", []string{"CA", "DC", "TX"}, []string{"run"}},
		"more states":            {"run|--states|CA|TX", []string{"NY"}, nil},
		"no states after a flag": {"run|--states|CA|--json", nil, []string{"NY"}},
		"statuses":               {"run|--status", []string{"failed", "stuck"}, []string{"CA"}},
		"nothing after a value":  {"run|--status|failed", nil, []string{"stuck"}},
		"after an alias":         {"run|-s|CA", []string{"NY"}, nil},
		"commands after a list":  {"--regions|west", []string{"run"}, []string{"read"}},
		"a value like a command": {"--db|wal", []string{"run"}, []string{"read"}},
		"unknown command":        {"xyzzy", nil, []string{"read"}},
		"part of a value":        {"run|--status|P~", []string{"parked", "planned"}, []string{"stuck"}},
		"behind an equals sign":  {"run|--states=ca,TX,n~", []string{"--states=ca,TX,NY"}, []string{"--states=ca,TX,CA"}},
		"of two words":           {"run|--states|New H~", []string{"New Hampshire"}, []string{"New York"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, typed := strings.CutSuffix(tt.words, "~")
			words := strings.FieldsFunc(line, func(r rune) bool { return r == '|' })
			if !typed {
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
