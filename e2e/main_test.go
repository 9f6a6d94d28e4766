// Package e2e tries the whole program as a process of its own: by scripts (script_*, testdata/script), by kills and
// several processes (crash_*, over world_test.go), its page in a browser (page_*, tag browser), its screens in tmux
// (screens_*, tag screens), the program for Windows under Wine (wine_*, tag wine), and its documents (docs_*).
package e2e

import (
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ypcrawl/cli"
	"ypcrawl/crawl"
)

// The test binary is ypcrawl itself when it is started as a child with asMain, so that tests kill the real program.
const (
	asMain     = "TEST_YPCRAWL_AS"     // "main"
	killAt     = "TEST_YPCRAWL_FAULT"  // see plant
	schemaFile = "TEST_YPCRAWL_SCHEMA" // where a child finds schema.sql
)

// schema is the text of schema.sql.
var schema string

func TestMain(m *testing.M) {
	if os.Getenv(schemaFile) == "" { // not a child: tests run at the top of the module
		must(os.Chdir(".."))
		path, err := filepath.Abs("schema.sql")
		must(err)
		must(os.Setenv(schemaFile, path))
		if signal.Ignored(syscall.SIGHUP) { // by nohup: the programs that tests start are to hear it
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		}
	}
	text, err := os.ReadFile(os.Getenv(schemaFile))
	must(err)
	schema = string(text)
	if os.Getenv(asMain) == "main" {
		os.Args[0] = "ypcrawl" // what hints call it
		program()
	}
	// Most tests wait for their children and for time to pass; -parallel still decides.
	must(flag.Set("test.parallel", "4"))
	testscript.Main(m, map[string]func(){"ypcrawl": program})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// program is what package main does, with a fault if one is to be planted.
func program() {
	p := cli.Standard(schema)
	plant(p, os.Getenv(killAt))
	os.Exit(p.Main(os.Args))
}

// The faults that a selftest must find: a store that loses a transaction and goes on as if that were committed, a
// log that says it was synced and was not, and statements that no longer ask whose claim it is.
const (
	lostCommit = "lost_commit"
	lostSync   = "lost_sync"
	lostFence  = "lost_fence"
)

// freeSpace is no fault of the program: a disk with little space.
const freeSpace = "free_space"

// noFence takes away what every statement on a claim ends with.
func noFence(statement string) string {
	statement = fence.ReplaceAllString(statement, "$1 IS NOT NULL AND $2 IS NOT NULL AND $3 IS NOT NULL")
	return nextPage.ReplaceAllString(statement, "AND $1 IS NOT NULL")
}

var (
	fence    = regexp.MustCompile(`claimed_by IS (\?\d*) AND claim_token = (\?\d*) AND status = (\?\d*)`)
	nextPage = regexp.MustCompile(`AND page_current = (\?\d*) - 1`)
)

// plant makes a process fail once: "appended:7" kills it without warning at the 7th time that it reaches this point
// (crawl.Points, backup.Steps), "lost_commit:7" loses its 7th transaction, "lost_sync:7" its 7th sync of a log.
// "lost_fence" lasts, and so does "free_space:7", with which every folder has 7 bytes left.
func plant(p *cli.Program, fault string) {
	point, nth, _ := strings.Cut(fault, ":")
	n, err := strconv.ParseInt(nth, 10, 64)
	var seen atomic.Int64
	now := func() bool { return seen.Add(1) == n }
	switch {
	case point == lostFence:
		p.Rewrite = noFence
	case err != nil:
	case point == freeSpace:
		p.FreeSpace = func(string) (int64, error) { return n, nil }
	case point == lostCommit:
		p.LoseCommit = now
	case point == lostSync:
		p.LoseSync = now
	default:
		p.Reached = func(at crawl.Point) {
			if string(at) == point && now() {
				self, err := os.FindProcess(os.Getpid())
				must(err)
				must(self.Kill())
				select {} // until the signal lands
			}
		}
	}
}

// command starts the test binary as ypcrawl in dir.
func command(dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{asMain + "=main"}, env...)...)
	return cmd
}

// without leaves a test out that this machine can't make. CI has to have everything: TESTS_ALL=1 makes it a failure.
func without(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("TESTS_ALL") != "" {
		t.Fatal("TESTS_ALL is set, and the test can't be made: ", what)
	}
	t.Skip(what)
}
