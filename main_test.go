package main

import (
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ypcrawl/cli"
	"ypcrawl/crawl"
)

// The test binary is ypcrawl itself when it is started as a child with asMain,
// so that tests kill the real program.
const (
	asMain = "TEST_YPCRAWL_AS"   // "main", or "bare": the loop that the crawl is compared with
	killAt = "TEST_YPCRAWL_KILL" // "appended:7": SIGKILL at the 7th time that point is reached
)

func TestMain(m *testing.M) {
	switch os.Getenv(asMain) {
	case "main":
		os.Exit(child())
	case "bare":
		os.Exit(bareLoop(os.Args[1:]))
	}
	// Most tests wait for their children and for time to pass; -parallel still decides.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"ypcrawl": func() {
		if os.Getenv(killAt) != "" {
			os.Exit(child())
		}
		main()
	}})
}

// child is main with a kill point.
func child() int {
	tune()
	ctx, _ := stopSignals()
	p := cli.Standard(schema)
	if point, nth, ok := strings.Cut(os.Getenv(killAt), ":"); ok {
		p.Reached = killer(crawl.Point(point), nth)
	}
	return p.Run(ctx, append([]string{"ypcrawl"}, os.Args[1:]...))
}

func killer(at crawl.Point, nth string) func(crawl.Point) {
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		panic(err)
	}
	var seen atomic.Int64
	return func(p crawl.Point) {
		if p == at && seen.Add(1) == n {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				panic(err)
			}
			select {} // until the signal lands
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
