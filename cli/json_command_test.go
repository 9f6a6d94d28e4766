package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/frame/frametest"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// jsonLines are commands with --json, in the order in which they run on a database that was crawled. {dir} is a
// folder. A "!" is in front of what ends with an error beside its JSON.
var jsonLines = []string{
	"run --source demo --states CA --max-cities 1 --categories Plumbers --max-pages 1 --workers 2 --details --keep-pages 30",
	"plan --source demo --states CA --max-cities 3 --categories Plumbers", "details --source demo --states TX",
	"run --source demo --states CA TX --dry-run --delay 2s", "plan --source demo --states NV --max-cities 1", "discover --source demo --states NV --categories Plumbers", "progress", "status", "status --check", "workers --all", "targets list --limit 5", "targets list --kind index",
	"targets show 1 2", "coverage", "changes --limit 5", "changes --summary", "changes --listing {listing}",
	"listings list --limit 3", "listings list --search rooter", "query --file {dir}/ask.sql", "listings show {listing}", "details stats", "discover stats",
	"companies list --limit 2", "companies show 1",
	"sources list", "sources disable demo", "sources enable demo", "sources add {dir}/copy.yaml", "sources try {dir}/copy.yaml --page 1",
	"proxies add http://127.0.0.1:9", "proxies list", "proxies disable 1", "proxies enable 1", "proxies remove 1 --yes", "proxies add --file {dir}/proxies.txt",
	"targets pause 1 --yes", "targets resume 1 --yes", "targets disable 1 --yes", "targets enable 1 --yes", "reset --yes", "reset --kind detail --yes",
	"recover --timeout 120", "doctor", "export -o {dir}/out.csv", "export deliveries", "version",
	"export -o {dir}/as.csv --as boss", "export deliveries forget boss --yes", "runs list", "runs show last", "reparse --dry-run", "!demo check",
	"wal read", "wal compress", "backup {dir}/copy.db",
}

// twice returns a name that an object has more than once: who reads it gets one of the two.
func twice(dec *json.Decoder) string {
	type object struct {
		names map[string]bool // nil = an array
		value bool            // of a name: comes next
	}
	open := []*object{{}}
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		at := open[len(open)-1]
		if name, ok := token.(string); ok && at.names != nil && !at.value {
			if at.names[name] {
				return name
			}
			at.names[name], at.value = true, true
			continue
		}
		at.value = false
		switch token {
		case json.Delim('{'):
			open = append(open, &object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, &object{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

// TestJSON runs every command that has --json. A length of time is a number in seconds, or in milliseconds, and its key
// says which; a time is UTC with milliseconds; what there is none of is null; a worker has one name.
func TestJSON(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	app := Standard("").app()
	missing := map[string]bool{}
	var walk func(at string, cmds []*cli.Command)
	walk = func(at string, cmds []*cli.Command) {
		for _, cmd := range cmds {
			name := strings.TrimSpace(at + " " + cmd.Name)
			if slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return f.Names()[0] == "json" }) {
				missing[name] = true
			}
			walk(name, cmd.Subcommands)
		}
	}
	walk("", app.Commands)
	for _, needs := range []string{
		"sources promote",       // of a sandbox
		"wal replay", "restore", // another database
		"schedule", // an installed program
		"selftest", // processes of its own
	} {
		delete(missing, needs)
	}
	listing := ""
	lines := slices.Clone(jsonLines)
	for _, l := range report.Lists {
		if l.Under != "" {
			lines = append(lines, l.Name)
		}
	}
	for _, line := range lines {
		line, fails := strings.CutPrefix(line, "!")
		words := strings.Fields(strings.NewReplacer("{dir}", s.dir, "{listing}", listing).Replace(line))
		for n := len(words); n > 0; n-- {
			delete(missing, strings.Join(words[:n], " "))
		}
		if words[0] == "wal" && words[1] != "compress" {
			words = append(words, filepath.Join(s.dir, "logs"))
		}
		var out, errs bytes.Buffer
		p := &Program{Schema: s.schema, Invocation: frame.Invocation{Streams: frame.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: frametest.Env(nil)}}}
		code := p.Run(t.Context(), append([]string{"ypcrawl", "--db", filepath.Join(s.dir, "yp.db"), "--wal-dir", filepath.Join(s.dir, "logs"), "--config", ""}, append(words, "--json")...))
		if (code != ExitOK) != fails && !strings.Contains(line, "--check") {
			t.Errorf("%s: exit %d: %s", line, code, errs.String())
		}
		if name := twice(json.NewDecoder(bytes.NewReader(out.Bytes()))); name != "" {
			t.Errorf("%s: an object has %q twice", line, name)
		}
		dec := json.NewDecoder(&out)
		n := 0
		for ; dec.More(); n++ {
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Errorf("%s: %v", line, err)
				break
			}
			for _, fault := range faultsOf("", v) {
				t.Errorf("%s: %s", line, fault)
			}
		}
		if n == 0 {
			t.Errorf("%s: no JSON", line)
		}
		if words[0] == "details" && listing == "" {
			listing = s.trouble()
		}
	}
	for name := range missing {
		t.Errorf("%s --json: give it a line in jsonLines", name)
	}
}

// trouble gives the database what a crawl that goes well has not: a host that is held, and a target in the hands of a
// process that died. It returns a listing of which there are details.
func (s *seat) trouble() (listing string) {
	s.t.Helper()
	db := storetest.OpenConfig(s.t, store.Config{Path: filepath.Join(s.dir, "yp.db")})
	storetest.Execute(s.t, db, `UPDATE hosts SET held_until = '2099-01-01T00:00:00.000Z', held_for = 'Retry-After', delay_ms = 4000, delay_reason = 'slow'`,
		`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'worker_0_pid_7', claimed_at = '2026-01-01T00:00:00.000Z', run_id = 1,
			finished_at = NULL WHERE id = (SELECT min(id) FROM targets WHERE status = 'PLANNED')`)
	listing = storetest.Table(s.t, db, `SELECT s.name || '/' || l.listing_id FROM details d JOIN listings l ON l.id = d.listing JOIN sources s ON s.id = l.source_id LIMIT 1`)[0]
	storetest.NoError(s.t, db.Close())
	definition, err := os.ReadFile("../crawl/site/demo.yaml")
	storetest.NoError(s.t, err)
	for name, text := range map[string]string{"copy.yaml": strings.NewReplacer("name: demo", "name: copy", ":8080", ":8082").Replace(string(definition)), "proxies.txt": "http://127.0.0.1:9\n", "ask.sql": "SELECT 1 AS n"} {
		storetest.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	return listing
}

var (
	timedKey   = regexp.MustCompile(`^(now|at|until|next_due|next_end|last_end|held_until|next_request)$|_(at|until)$`)
	lengthKey  = regexp.MustCompile(`(^|_)(age|eta|delay|duration|timeout|latency|elapsed|waited|cooldown|frequency|interval|minutes|hours|days|reading|span|every)(_|$)`)
	unitKey    = regexp.MustCompile(`(^|_)seconds$|_ms$|_seconds_|_per_second$`)
	lengthText = regexp.MustCompile(`^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d|w))+$`)
	plainKey   = regexp.MustCompile(`^(commands|name|with_hours)$`) // what is typed so, what a site says, opening hours
	dateText   = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	workerName = regexp.MustCompile(`^[a-z]+(-\d+)? \(\d+\)$`)
	workerID   = regexp.MustCompile(`^worker_\d+_pid_\d+(_\d+)?$`)
)

// faultsOf looks at a value and all below it.
func faultsOf(key string, v any) (faults []string) {
	fault := func(what string) { faults = append(faults, fmt.Sprintf("%q: %v: %s", key, v, what)) }
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			faults = append(faults, faultsOf(k, x)...)
		}
	case []any:
		for _, x := range v {
			faults = append(faults, faultsOf(key, x)...)
		}
	case float64:
		switch unit := unitKey.MatchString(key); {
		case !unit && lengthKey.MatchString(key) && !plainKey.MatchString(key):
			fault("a length of time without its unit")
		case unit && v < 0:
			fault("want null where there is none")
		}
	case string:
		_, err := time.Parse(time.RFC3339Nano, v)
		_, exact := yp.ParseTime(v)
		switch {
		case err == nil && exact != nil, timedKey.MatchString(key) && exact != nil && !dateText.MatchString(v):
			fault("want a time as " + yp.TimeLayout + ", or null")
		case lengthText.MatchString(v) && !plainKey.MatchString(key):
			fault("want a number of seconds")
		case (key == "worker" || key == "claimed_by" || key == "held_by") && !workerName.MatchString(v):
			fault("want a worker's name")
		case key == "worker_id" && !workerID.MatchString(v):
			fault("want a worker's id")
		}
	}
	return faults
}
