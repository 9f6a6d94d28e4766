package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store/storetest"
)

// settingsOf runs a command of the real app up to its action and returns which of its flags are set, by their names,
// and what was written to stderr.
func settingsOf(t *testing.T, args ...string) (set, complaints string) {
	t.Helper()
	var out, err bytes.Buffer
	p := &Program{Invocation: frame.Invocation{Streams: frame.Streams{Out: &out, Err: &err}}}
	app := p.app()
	frame.EachCommand(app.Commands, func(cmd *cli.Command) {
		if cmd.Name == "help" {
			return
		}
		cmd.Action = func(c *cli.Context) error {
			var names []string
			for _, f := range cmd.Flags {
				if name := f.Names()[0]; c.IsSet(name) {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			set = strings.Join(names, " ")
			return nil
		}
	})
	line, prepareErr := frame.Prepare(app, append([]string{"ypcrawl"}, args...))
	if prepareErr == nil {
		prepareErr = app.RunContext(t.Context(), line)
	}
	if prepareErr != nil {
		t.Fatalf("%q: %v", args, prepareErr)
	}
	return set, err.String()
}

// What names no command reaches `run`, and other commands where it means the same. The
// environment is the process's: no parallel tests.
func TestSettingsReachTheirCommands(t *testing.T) {
	variables := map[string]string{
		"YPCRAWL_EVERY": "1d", "YPCRAWL_WATCH": "true", "YPCRAWL_STATES": "CA", "YPCRAWL_SOURCE": "demo", "YPCRAWL_MAX_TARGETS": "7",
		"YPCRAWL_DRY_RUN": "true", "YPCRAWL_RUN_WAL_SYNC": "interval", "YPCRAWL_MIN_SCORE": "5", "YPCRAWL_DETAILS_MAX_REQUESTS": "3", "YPCRAWL_TARGETS_LIST_LIMIT": "4",
	}
	file := "every: 1d\nwatch: true\nstates: CA\nsource: demo\nmax-targets: 7\ndry-run: true\nrun: {wal-sync: interval}\nmin-score: 5\ndetails: {max-requests: 3}\ntargets: {list: {limit: 4}}\n"
	check := func(t *testing.T, more ...string) {
		for line, want := range map[string]string{
			"run":            "dry-run every max-targets min-score source states wal-sync watch",
			"plan":           "dry-run source states",
			"details":        "max-requests max-targets source states wal-sync watch",
			"details|stats":  "source states",
			"progress":       "source states",
			"reset":          "dry-run source states",
			"targets|list":   "limit source states",
			"companies|list": "states",
			"version":        "",
		} {
			if got, complaints := settingsOf(t, append(more, strings.Split(line, "|")...)...); got != want || complaints != "" {
				t.Errorf("%s: set are %s, want %s; %s", line, got, want, complaints)
			}
		}
	}
	t.Run("File", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ypcrawl.yaml")
		storetest.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		check(t, "--config", path)
	})
	t.Run("Variables", func(t *testing.T) {
		for name, value := range variables {
			t.Setenv(name, value)
		}
		check(t, "--config", "")
	})
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	p := &Program{}
	got := p.app().UnknownVariables([]string{
		"YPCRAWL_LIMIT=s3kret", "YPCRAWL_STATSE=CA", "YPCRAWL_XYZZY_XYZZY=1", "YPCRAWL_DB=x", "YPCRAWL_RUN_STATES=CA", "YPCRAWL_EVERY=1d", "PATH=/bin", "YPCRAWL_KEEP_LOGS=1", "YPCRAWL_DETAILS_WAL_SYNC=page", "YPCRAWL_A\x1b=1",
	})
	want := []string{
		`the variable YPCRAWL_A\x1b has no effect: did you mean YPCRAWL_DB?`,
		`the variable YPCRAWL_LIMIT has no effect: did you mean YPCRAWL_DISCOVER_STATS_LIMIT?`,
		`the variable YPCRAWL_STATSE has no effect: did you mean YPCRAWL_STATES?`,
		"the variable YPCRAWL_XYZZY_XYZZY has no effect; see `ypcrawl help settings`",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
