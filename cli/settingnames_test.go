package cli

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

// settingsOf runs a command of the real app up to its action and returns which of its flags
// are set, and what was written to stderr.
func settingsOf(t *testing.T, args ...string) (set map[string]string, complaints string) {
	t.Helper()
	var out, err bytes.Buffer
	p := &Program{Streams: Streams{Out: &out, Err: &err}}
	app := p.app()
	eachCommand(app.Commands, func(cmd *cli.Command) {
		if cmd.Name == "help" {
			return
		}
		cmd.Action = func(c *cli.Context) error {
			set = map[string]string{}
			for _, f := range cmd.Flags {
				if name := f.Names()[0]; c.IsSet(name) {
					set[name] = valueOf(c, name)
				}
			}
			return nil
		}
	})
	line, prepareErr := Prepare(app, append([]string{"ypcrawl"}, args...))
	if prepareErr == nil {
		prepareErr = app.RunContext(t.Context(), line)
	}
	if prepareErr != nil {
		t.Fatalf("%q: %v", args, prepareErr)
	}
	return set, err.String()
}

func valueOf(c *cli.Context, name string) string {
	if v, ok := c.Generic(name).(interface{ String() string }); ok {
		return v.String()
	}
	if list := c.StringSlice(name); list != nil {
		return strings.Join(list, " ")
	}
	return c.String(name)
}

// What names no command reaches `run`, and other commands where it means the same. The
// environment is the process's: no parallel tests.
func TestSettingsReachTheirCommands(t *testing.T) {
	variables := map[string]string{
		"YPCRAWL_EVERY": "1d", "YPCRAWL_WATCH": "true", "YPCRAWL_STATES": "CA", "YPCRAWL_SOURCE": "demo", "YPCRAWL_MAX_TARGETS": "7",
		"YPCRAWL_DRY_RUN": "true", "YPCRAWL_DETAILS_LIMIT": "3", "YPCRAWL_TARGETS_LIST_LIMIT": "4",
	}
	file := "every: 1d\nwatch: true\nstates: CA\nsource: demo\nmax-targets: 7\ndry-run: true\ndetails: {limit: 3}\ntargets: {list: {limit: 4}}\n"
	tests := map[string]map[string]string{
		"run":            {"every": "24h", "watch": "true", "states": "CA", "source": "demo", "max-targets": "7", "dry-run": "true"},
		"plan":           {"states": "CA", "source": "demo", "dry-run": "true"},
		"details":        {"watch": "true", "states": "CA", "source": "demo", "max-targets": "7", "limit": "3"},
		"details|stats":  {"states": "CA", "source": "demo"},
		"progress":       {"states": "CA", "source": "demo"},
		"reset":          {"states": "CA", "source": "demo", "dry-run": "true"},
		"targets|list":   {"states": "CA", "source": "demo", "limit": "4"},
		"dead|list":      {"states": "CA", "source": "demo"},
		"wal|read":       {"states": "CA"},
		"companies|list": {"states": "CA"},
		"sources|add|x":  {"dry-run": "true"},
		"version":        {},
	}
	check := func(t *testing.T, more ...string) {
		for line, want := range tests {
			got, complaints := settingsOf(t, append(more, strings.Split(line, "|")...)...)
			for name := range got {
				if _, ok := want[name]; !ok {
					t.Errorf("%s: --%s is set", line, name)
				}
			}
			for name := range want {
				if _, ok := got[name]; !ok {
					t.Errorf("%s: --%s is not set", line, name)
				}
			}
			if complaints != "" {
				t.Errorf("%s: %s", line, complaints)
			}
		}
	}
	t.Run("File", func(t *testing.T) { check(t, "--config", configure(t, file)) })
	t.Run("Variables", func(t *testing.T) {
		for name, value := range variables {
			t.Setenv(name, value)
		}
		check(t, "--config", "")
	})
	t.Run("LongerNameWins", func(t *testing.T) {
		t.Setenv("YPCRAWL_EVERY", "1d")
		t.Setenv("YPCRAWL_RUN_EVERY", "2d")
		t.Setenv("YPCRAWL_PROGRESS_EVERY", "9s")
		for line, want := range map[string]string{"run": "48h", "progress": "9s"} {
			if got, _ := settingsOf(t, "--config", "", line); got["every"] != want {
				t.Errorf("%s: --every %q, want %q", line, got["every"], want)
			}
		}
	})
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	p := &Program{}
	got := unknownVariables(p.app(), []string{
		"YPCRAWL_LIMIT=s3kret", "YPCRAWL_FOLLOW=1", "YPCRAWL_STATSE=CA", "YPCRAWL_XYZZY_XYZZY=1", "YPCRAWL_DB=x", "YPCRAWL_RUN_STATES=CA", "YPCRAWL_EVERY=1d", "PATH=/bin", "YPCRAWL_A\x1b=1",
	})
	want := []string{
		`the variable YPCRAWL_A\x1b sets nothing: did you mean YPCRAWL_DB?`,
		`the variable YPCRAWL_FOLLOW sets nothing: it does not say for which command: did you mean YPCRAWL_WAL_TAIL_FOLLOW?`,
		`the variable YPCRAWL_LIMIT sets nothing: it does not say for which command: did you mean YPCRAWL_TARGETS_LIST_LIMIT, YPCRAWL_DEAD_LIST_LIMIT, YPCRAWL_DETAILS_LIMIT?`,
		`the variable YPCRAWL_STATSE sets nothing: did you mean YPCRAWL_STATES?`,
		`the variable YPCRAWL_XYZZY_XYZZY sets nothing: no flag has that name, see --help`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No variable may stand for two flags: `details --every` and `run --details-every`, say.
func TestVariablesAreOfOneFlag(t *testing.T) {
	t.Parallel()
	p := &Program{}
	app := p.app()
	flags := map[string]map[string]bool{}
	add := func(variable, flag string) {
		if flags[variable] == nil {
			flags[variable] = map[string]bool{}
		}
		flags[variable][flag] = true
	}
	for _, f := range flagsOf(app) {
		add(variable(f.command, f.name), "--"+f.name)
		if f.shared {
			add(variable("", f.name), "--"+f.name)
		}
	}
	for variable, of := range flags {
		if len(of) > 1 {
			t.Errorf("%s is %v", variable, slices.Sorted(maps.Keys(of)))
		}
	}
}
