package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
func shapedApp(got *call) *cli.App {
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
			&cli.GenericFlag{Name: "timeout", Value: minutesValue(time.Hour)},
		}
	}
	return &cli.App{
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
	}
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

func TestExpand(t *testing.T) {
	t.Parallel()
	caTX := []string{"CA", "TX"}
	tests := map[string]struct {
		line string
		want call
	}{
		"values after the flag":     {"run|--states|CA|TX", call{states: caTX}},
		"repeated":                  {"run|--states|CA|--states|TX", call{states: caTX}},
		"repeated with equals sign": {"run|--states=CA|--states=TX", call{states: caTX}},
		"commas stay for SplitList": {"run|--states|CA,TX", call{states: []string{"CA,TX"}}},
		"mixed forms":               {"run|--states|CA|TX|--states=NY", call{states: []string{"CA", "TX", "NY"}}},
		"one dash":                  {"run|-states|CA|TX", call{states: caTX}},
		"alias":                     {"run|-s|CA|--states|TX", call{states: caTX}},
		"alias with equals sign":    {"run|-s=CA|--states|TX", call{states: caTX}},
		"command alias":             {"crawl|--states|CA|TX", call{states: caTX}},
		"ends at a value flag":      {"run|--states|CA|TX|--workers|8", call{states: caTX, workers: 8}},
		"ends at a bool flag":       {"run|--states|CA|TX|--json", call{states: caTX, json: true}},
		"bool flag before":          {"run|--json|--states|CA|TX", call{states: caTX, json: true}},
		"two lists":                 {"run|--states|CA|TX|--categories|real estate|plumbers", call{states: caTX, categories: []string{"real estate", "plumbers"}}},
		"a value with equals sign":  {"run|--categories|a=b|c", call{categories: []string{"a=b", "c"}}},
		"a single dash is a value":  {"run|--categories|-|c", call{categories: []string{"-", "c"}}},
		"an empty value":            {"run|--categories||c", call{categories: []string{"", "c"}}},
		"a command's name as value": {"run|--categories|wal|read", call{categories: []string{"wal", "read"}}},
		"value flag takes a dash":   {"run|--workers|-3|--states|CA|TX", call{workers: -3, states: caTX}},
		"global flag before":        {"--db|my.db|run|--states|CA|TX", call{db: "my.db", states: caTX}},
		"global list before":        {"--regions|west|east|run|--states|CA|TX", call{states: caTX}},
		"group list before":         {"wal|--dirs|a|b|read|--states|CA|TX", call{command: "wal read", states: caTX}},
		"global flag after":         {"run|--states|CA|TX|--db|my.db", call{db: "my.db", states: caTX}},
		"global flag after, equals": {"wal|read|--db=my.db|--json", call{command: "wal read", db: "my.db", json: true}},
		"global list after":         {"run|--regions|west|east|--states|CA|TX", call{states: caTX}},
		"group list after":          {"wal|read|--dirs|a|b|--states|CA|TX", call{command: "wal read", states: caTX}},
		"nested command":            {"wal|read|--states|CA|TX|--json", call{command: "wal read", states: caTX, json: true}},
		"list before its command":   {"--states|CA|TX|run|--workers|8", call{states: caTX, workers: 8}},
		"before an inner command":   {"wal|--states|CA|TX|--json|read", call{command: "wal read", states: caTX, json: true}},
		"value before its command":  {"--workers|8|run|--states|CA|TX", call{states: caTX, workers: 8}},
		"operand":                   {"show|demo", call{command: "show", args: []string{"demo"}}},
		"operand before flags":      {"show|demo|--json|--workers|2", call{command: "show", args: []string{"demo"}, json: true, workers: 2}},
		"operand between flags":     {"show|--json|demo|--workers|2", call{command: "show", args: []string{"demo"}, json: true, workers: 2}},
		"operands after dashes":     {"show|--json|--|--states|CA", call{command: "show", args: []string{"--states", "CA"}, json: true}},
		"operand before dashes":     {"show|demo|--json|--|-x", call{command: "show", args: []string{"demo", "-x"}, json: true}},
		"list then dashes":          {"show|--states|CA|TX|--|demo", call{command: "show", args: []string{"demo"}, states: caTX}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := tt.want
			if want.command == "" {
				want.command = "run"
			}
			if want.workers == 0 {
				want.workers = 5
			}
			if want.db == "" {
				want.db = "ypcrawl.db"
			}
			got, err := runShaped(t, strings.Split(tt.line, "|")...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.states, want.states) || !slices.Equal(got.categories, want.categories) || !slices.Equal(got.args, want.args) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			got.states, got.categories, got.args = want.states, want.categories, want.args
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(call{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ line, want string }{
		"value after an equals sign": {"run|--states=CA|TX", `unexpected argument "TX" after --states=...: write --states "CA" "TX", or repeat --states`},
		"no value at the end":        {"run|--states", "flag --states needs a value; see 'ypcrawl run --help'"},
		"no value before a flag":     {"run|--states|--json", "flag --states needs a value; see 'ypcrawl run --help'"},
		"no value before dashes":     {"run|--states|--|x", "flag --states needs a value; see 'ypcrawl run --help'"},
		"no value before a command":  {"--regions|run", "flag --regions needs a value; see 'ypcrawl --help'"},
		"value flag at the end":      {"run|--workers", "flag --workers needs a value; see 'ypcrawl run --help'"},
		"stray argument":             {"run|foo|--states|CA", `unexpected argument "foo": ypcrawl run takes no arguments; see 'ypcrawl run --help'`},
		"stray argument in a group":  {"wal|read|--json|foo", `unexpected argument "foo": ypcrawl wal read takes no arguments; see 'ypcrawl wal read --help'`},
		"unknown global flag":        {"run|--confg|x", "unknown flag --confg: did you mean --config?; see 'ypcrawl run --help'"},
		"unknown flag":               {"run|--worker|3", "unknown flag --worker: did you mean --workers?; see 'ypcrawl run --help'"},
		"unknown before a command":   {"--statez|CA|run", "unknown flag --statez: did you mean --states?; see 'ypcrawl --help'"},
		"of another command":         {"--dirs|a|run|--workers|3", "unknown flag --dirs; see 'ypcrawl run --help'"},
		"strange unknown flag":       {"run|--\x1b[31m", `unknown flag --\x1b[31m; see 'ypcrawl run --help'`},
		"impossible number":          {"run|--workers|x", `invalid value "x" for --workers: want a whole number, without a unit; see 'ypcrawl run --help'`},
		"impossible share":           {"run|--rating|x", `invalid value "x" for --rating: want a number; see 'ypcrawl run --help'`},
		"impossible time":            {"run|--timeout|soon", `invalid value "soon" for --timeout: want minutes (120) or a time with a unit (90s, 2h, 1d12h); see 'ypcrawl run --help'`},
		"unknown command":            {"rum|--states|CA", `unknown command "rum": did you mean run?; see 'ypcrawl --help'`},
		"unknown subcommand":         {"wal|reed", `unknown command "reed": did you mean read?; see 'ypcrawl wal --help'`},
		"help for nothing":           {"help|xyzzy", `unknown command "xyzzy"; see 'ypcrawl --help'`},
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

func TestExpandLeavesCompletionAlone(t *testing.T) {
	t.Parallel()
	args := []string{"ypcrawl", "run", "--states", "CA", "TX", completionMark}
	got, err := Expand(shapedApp(&call{}), args)
	if err != nil || !slices.Equal(got, args) {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"app":                {"--help"},
		"app without words":  {},
		"command":            {"wal", "read", "--help"},
		"every flag":         {"wal", "read", "--states", "CA", "--all", "--help"},
		"short":              {"run", "-h"},
		"help command":       {"help", "run"},
		"help of subcommand": {"help", "wal", "read"},
		"group":              {"wal"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got call
			app := shapedApp(&got)
			args, err := Prepare(app, append([]string{"ypcrawl"}, args...))
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Run(args); err != nil {
				t.Fatal(err)
			}
			out := app.Writer.(*bytes.Buffer).String()
			if first := !strings.Contains(name, "app"); first && !strings.Contains(out, "ypcrawl ") && !strings.Contains(out, "more flags") || !first && !strings.Contains(out, "ypcrawl help --all") {
				t.Errorf("no help:\n%s", out)
			}
			if all := name == "every flag"; (all || name == "command") && (!strings.Contains(out, "(default: 1h)") || all != strings.Contains(out, "[$YPCRAWL_TIMEOUT]")) {
				t.Errorf("help names no default, or the variable where it should not, or not where it should:\n%s", out)
			}
			if got.command != "" {
				t.Errorf("%s ran", got.command)
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

// FuzzExpand gives a list of values in any mix of the three forms, between
// other flags, and wants exactly that list back.
func FuzzExpand(f *testing.F) {
	f.Add("CA\nTX", uint64(0))
	f.Add("CA,TX\nreal estate\n-\n", uint64(0b10110))
	f.Add("run\nwal\nhelp\n--x", uint64(7))
	f.Fuzz(func(t *testing.T, list string, forms uint64) {
		// Between a flag's names the library copies values as JSON.
		values := strings.Split(strings.ToValidUTF8(list, "?"), "\n")
		for i, v := range values {
			values[i] = strings.TrimSpace(v) // as the library does
		}
		args := lineFor(values, forms)
		got, err := runShaped(t, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if !slices.Equal(got.states, values) || !got.json || got.workers != 9 {
			t.Fatalf("%q gave %+v", args, got)
		}
	})
}

// lineFor writes a command line that gives values; two bits of forms choose
// how each is written.
func lineFor(values []string, forms uint64) []string {
	args := []string{"run", "--workers", "9"}
	open := false // bare values may follow
	for i, v := range values {
		form := forms >> (2 * (i % 32)) & 3
		switch {
		case form == 0 || isFlag(v): // a dash in front needs the equals sign
			args, open = append(args, "--states="+v), false
		case form == 1 && open:
			args = append(args, v)
		case form == 2:
			args, open = append(args, "-s", v), true
		default:
			args, open = append(args, "--states", v), true
		}
	}
	return append(args, "--json")
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
		out, err := Expand(shapedApp(&call{}), slices.Clone(args))
		if err != nil {
			return
		}
		all := strings.Join(out, "\n")
		for _, arg := range args {
			if !isFlag(arg) && !strings.Contains(all, arg) {
				t.Fatalf("%q lost %q: %q", args, arg, out)
			}
		}
	})
}

// setConfigDefault gives the test app's --config a default.
func setConfigDefault(app *cli.App, path string) {
	for _, f := range app.Flags {
		if s, ok := f.(*cli.StringFlag); ok && s.Name == configFlag {
			s.Value = path
		}
	}
}
