package frame

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// configure writes a settings file and returns its path.
func configure(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ypcrawl.yaml")
	storetest.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSettingsFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, line string
		want       call
	}{
		"flag name":            {"workers: 8", "run", call{workers: 8}},
		"list":                 {"states: [CA, TX]", "run", call{states: []string{"CA", "TX"}}},
		"bool":                 {"json: true", "run", call{json: true}},
		"global flag":          {"db: file.db", "run", call{db: "file.db"}},
		"command line wins":    {"workers: 8\nstates: [CA]", "run|--workers|3|-s|NY", call{workers: 3, states: []string{"NY"}}},
		"global line wins":     {"db: file.db", "--db|line.db|run", call{db: "line.db"}},
		"section":              {"run:\n  workers: 8", "run", call{workers: 8}},
		"section by alias":     {"run:\n  workers: 8", "crawl", call{workers: 8}},
		"section wins":         {"run: {workers: 8}\nworkers: 7", "run", call{workers: 8}},
		"section of another":   {"show: {workers: 8}\nworkers: 7", "run", call{workers: 7}},
		"section in a section": {"workers: 6\nwal: {read: {workers: 8}}", "wal|read", call{command: "wal read", workers: 8}},
		"flag of the outer":    {"wal: {dirs: [a], read: {workers: 8}}", "wal|read", call{command: "wal read", workers: 8}},
		"anchor":               {"run: &all {workers: 8}\nshow: *all", "show|x", call{command: "show", args: []string{"x"}, workers: 8}},
		"empty section":        {"run:\nworkers: 7", "run", call{workers: 7}},
		"empty file":           {"", "run", call{}},
		"windows line ends":    {"workers: 8\r\njson: true\r\n", "run", call{workers: 8, json: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ran(t, tt.want, append([]string{"--config", configure(t, tt.file)}, strings.Split(tt.line, "|")...)...)
		})
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, want string }{
		"unknown key":              {"db: x\nworker: 3", `FILE:2: worker: unknown key: did you mean workers?`},
		"far key":                  {"xyzzyxyzzy: 3", "FILE:1: xyzzyxyzzy: unknown key; see `ypcrawl help settings`"},
		"unknown key in a section": {"run:\n  worker: 3", `FILE:2: run worker: unknown key: did you mean run workers?`},
		"in another's section":     {"wal:\n  read:\n    worker: 3", `FILE:3: wal read worker: unknown key: did you mean wal read workers?`},
		"flag of another command":  {"dirs: [a]", "FILE:1: dirs: unknown key: did you mean wal dirs?"},
		"flag of no section":       {"wal:\n  workers: 3", "FILE:2: wal workers: unknown key: did you mean run workers?"},
		"flag of the program":      {"run:\n  db: x", "FILE:2: run db: unknown key; see `ypcrawl help settings`"},
		"config in the file":       {"config: x", "FILE:1: config: unknown key; see `ypcrawl help settings`"},
		"twice":                    {"workers: 3\nworkers: 4", "FILE: yaml: unmarshal errors:\n  line 2: mapping key \"workers\" already defined at line 1"},
		"no number":                {"\nrun: {workers: many}", `FILE:2: workers: invalid value "many": want a number`},
		"impossible value":         {"\ntimeout: soon", `FILE:2: timeout: invalid value "soon": want minutes (120) or a time with a unit (90s, 2h, 1d12h)`},
		"list for one value":       {"workers: [1, 2]", `FILE:1: workers takes one value, not a list`},
		"nothing":                  {"workers:", `FILE:1: workers: want a value or a list of values; to use the default, remove the line`},
		"empty list":               {"states: []", `FILE:1: states: want a value or a list of values; to use the default, remove the line`},
		"list in a list":           {"states: [[CA]]", "FILE:1: states: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string"},
		"list that holds itself":   {"states: &a [*a]", "FILE: yaml: anchor 'a' value contains itself"},
		"section for a flag":       {"workers: {a: b}", "FILE:1: workers a: unknown key: did you mean workers?"},
		"no YAML":                  {"db: x\n\tworkers: [", "FILE: yaml: line 2: found a tab character that violates indentation"},
		"too large":                {strings.Repeat("#", maxText+1), "read settings: FILE is larger than 1 MiB, so it is not a settings file"},
		"no mapping":               {"- a\n- b", "FILE: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into map[string]interface {}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := configure(t, tt.file)
			_, err := runShaped(t, "--config", path, "run")
			if want := strings.ReplaceAll(tt.want, "FILE", path); err == nil || err.Error() != want {
				t.Fatalf("got  %v\nwant %v", err, want)
			}
			if !isUsage(err) {
				t.Errorf("%T is no UsageError", err)
			}
		})
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("db: x\nrun:\n  states: [CA, TX]\n"))
	f.Add([]byte("a: &a [*a]\n<<: *a\n"))
	f.Add([]byte("run: &r {run: *r}"))
	f.Add([]byte("? [a]\n: b"))
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "y.yaml")
		storetest.NoError(t, os.WriteFile(path, file, 0o600))
		if _, err := runShaped(t, "--config", path, "run"); err != nil && !isUsage(err) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
