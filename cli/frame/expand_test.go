package frame

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/urfave/cli/v2"
)

// call is what a command of the test app was run with.
type call struct {
	command    string
	states     []string
	categories []string
	workers    int
	json       bool
	db         string
	args       []string
}

// shapedApp has the shapes that matter: global flags, a leaf with flags of all
// kinds and an alias, a group with leaves, a leaf with arguments of its own.
func shapedApp(got *call) *App {
	note := func(c *cli.Context) error {
		*got = call{
			command: strings.TrimPrefix(c.Command.HelpName, "ypcrawl "), states: c.StringSlice("states"),
			categories: c.StringSlice("categories"), workers: c.Int("workers"), json: c.Bool("json"),
			db: c.String("db"), args: c.Args().Slice(),
		}
		return nil
	}
	flags := func() []cli.Flag {
		return []cli.Flag{
			&cli.StringSliceFlag{Name: "states", Aliases: []string{"s"}},
			&cli.StringSliceFlag{Name: "categories"},
			&cli.IntFlag{Name: "workers", Aliases: []string{"w"}, Value: 5},
			&cli.BoolFlag{Name: "json"}, &cli.Float64Flag{Name: "rating"},
			&cli.GenericFlag{Name: "timeout", Value: MinutesValue(time.Hour)},
		}
	}
	return &App{Main: "run", App: &cli.App{
		Name: "ypcrawl", Writer: &bytes.Buffer{}, ErrWriter: &bytes.Buffer{},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "db", Value: "ypcrawl.db"},
			&cli.StringFlag{Name: "config"},
			&cli.StringSliceFlag{Name: "regions"},
		},
		Commands: []*cli.Command{
			{Name: "run", Aliases: []string{"crawl"}, Flags: flags(), Action: note},
			{Name: "wal", Flags: []cli.Flag{&cli.StringSliceFlag{Name: "dirs"}}, Subcommands: []*cli.Command{
				{Name: "read", Flags: flags(), Action: note},
				{Name: "tail", Flags: flags(), Action: note},
			}},
			{Name: "show", ArgsUsage: "NAME", Flags: flags(), Action: note},
		},
	}}
}

func runShaped(t *testing.T, args ...string) (call, error) {
	t.Helper()
	var got call
	app := shapedApp(&got)
	args, err := Prepare(app, append([]string{"ypcrawl"}, args...))
	if err != nil {
		return call{}, err
	}
	err = app.RunContext(context.Background(), args)
	return got, err
}

// ran runs a command of the test app and compares what it was called with; what want leaves out is the default.
func ran(t *testing.T, want call, args ...string) {
	t.Helper()
	if want.command == "" {
		want.command = "run"
	}
	if want.workers == 0 {
		want.workers = 5
	}
	if want.db == "" {
		want.db = "ypcrawl.db"
	}
	got, err := runShaped(t, args...)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(call{}), cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	caTX := []string{"CA", "TX"}
	tests := map[string]struct {
		line string
		want call
	}{
		"values after the flag":     {"run|--states|CA|TX", call{states: caTX}},
		"commas stay for SplitList": {"run|--states|CA,TX", call{states: []string{"CA,TX"}}},
		"mixed forms":               {"run|--states|CA|TX|--states=NY", call{states: []string{"CA", "TX", "NY"}}},
		"alias":                     {"run|-s|CA|--states|TX", call{states: caTX}},
		"command alias":             {"crawl|--states|CA|TX", call{states: caTX}},
		"ends at a value flag":      {"run|--states|CA|TX|--workers|8", call{states: caTX, workers: 8}},
		"two lists":                 {"run|--states|CA|TX|--categories|real estate|plumbers", call{states: caTX, categories: []string{"real estate", "plumbers"}}},
		"a value with equals sign":  {"run|--categories|a=b|c", call{categories: []string{"a=b", "c"}}},
		"a single dash is a value":  {"run|--categories|-|c", call{categories: []string{"-", "c"}}},
		"an empty value":            {"run|--categories||c", call{categories: []string{"", "c"}}},
		"a command's name as value": {"run|--categories|wal|read", call{categories: []string{"wal", "read"}}},
		"value flag takes a dash":   {"run|--workers|-3|--states|CA|TX", call{workers: -3, states: caTX}},
		"global flag before":        {"--db|my.db|run|--states|CA|TX", call{db: "my.db", states: caTX}},
		"global list before":        {"--regions|west|east|run|--states|CA|TX", call{states: caTX}},
		"global flag after":         {"run|--states|CA|TX|--db|my.db", call{db: "my.db", states: caTX}},
		"global flag after, equals": {"wal|read|--db=my.db|--json", call{command: "wal read", db: "my.db", json: true}},
		"global list after":         {"run|--regions|west|east|--states|CA|TX", call{states: caTX}},
		"group list after":          {"wal|read|--dirs|a|b|--states|CA|TX", call{command: "wal read", states: caTX}},
		"nested command":            {"wal|read|--states|CA|TX|--json", call{command: "wal read", states: caTX, json: true}},
		"list before its command":   {"--states|CA|TX|run|--workers|8", call{states: caTX, workers: 8}},
		"before an inner command":   {"wal|--states|CA|TX|--json|read", call{command: "wal read", states: caTX, json: true}},
		"value before its command":  {"--workers|8|run|--states|CA|TX", call{states: caTX, workers: 8}},
		"operand":                   {"show|demo", call{command: "show", args: []string{"demo"}}},
		"operand between flags":     {"show|--json|demo|--workers|2", call{command: "show", args: []string{"demo"}, json: true, workers: 2}},
		"operands after dashes":     {"show|--json|--|--states|CA", call{command: "show", args: []string{"--states", "CA"}, json: true}},
		"operand before dashes":     {"show|demo|--json|--|-x", call{command: "show", args: []string{"demo", "-x"}, json: true}},
		"list then dashes":          {"show|--states|CA|TX|--|demo", call{command: "show", args: []string{"demo"}, states: caTX}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { ran(t, tt.want, strings.Split(tt.line, "|")...) })
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ line, want string }{
		"no value before a flag":    {"run|--states|--json", "flag --states needs a value; see 'ypcrawl run --help'"},
		"no value before dashes":    {"run|--states|--|x", "flag --states needs a value; see 'ypcrawl run --help'"},
		"no value before a command": {"--regions|run", "flag --regions needs a value; see 'ypcrawl --help'"},
		"stray argument":            {"run|foo|--states|CA", `unexpected argument "foo": ypcrawl run takes no arguments; see 'ypcrawl run --help'`},
		"stray argument in a group": {"wal|read|--json|foo", `unexpected argument "foo": ypcrawl wal read takes no arguments; see 'ypcrawl wal read --help'`},
		"unknown global flag":       {"run|--confg|x", "unknown flag --confg: did you mean --config?; see 'ypcrawl run --help'"},
		"unknown before a command":  {"--statez|CA|run", "unknown flag --statez: did you mean --states?; see 'ypcrawl --help'"},
		"of another command":        {"--dirs|a|run|--workers|3", "unknown flag --dirs; see 'ypcrawl run --help'"},
		"strange unknown flag":      {"run|--\x1b[31m", `unknown flag --\x1b[31m; see 'ypcrawl run --help'`},
		"impossible share":          {"run|--rating|x", `invalid value "x" for --rating: want a number; see 'ypcrawl run --help'`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := runShaped(t, strings.Split(tt.line, "|")...)
			if err == nil || err.Error() != tt.want {
				t.Fatalf("got  %v\nwant %v", err, tt.want)
			}
			if !isUsage(err) {
				t.Errorf("%T is no UsageError", err)
			}
		})
	}
}

func TestSplitList(t *testing.T) {
	t.Parallel()
	got := SplitList([]string{"CA,TX", " new york , ", "", ",", "FL"})
	if want := []string{"CA", "TX", "new york", "FL"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// FuzzExpandAny wants no crash, and no argument lost, from any command line.
func FuzzExpandAny(f *testing.F) {
	f.Add("run\n--states\nCA\nTX")
	f.Add("wal\n--dirs\na\nread\n--\n-x")
	f.Add("wal\n--dirs\na\nre") // the list takes the word that was to be a command
	f.Add("--regions\na\nrun\nwal")
	f.Add("--=\n-\n--\nshow\n---a")
	f.Fuzz(func(t *testing.T, line string) {
		args := append([]string{"ypcrawl"}, strings.Split(line, "\n")...)
		out, err := expand(shapedApp(&call{}), slices.Clone(args))
		if err != nil {
			return
		}
		all := strings.Join(out, "\n")
		for _, arg := range args {
			if !IsFlag(arg) && !strings.Contains(all, arg) {
				t.Fatalf("%q lost %q: %q", args, arg, out)
			}
		}
	})
}
