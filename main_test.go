package main

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ypcrawl/cli"
)

// The test binary is ypcrawl itself when it is started as a child with asMain,
// so that tests kill the real program.
const (
	asMain = "TEST_YPCRAWL_AS" // "main", or "bare": the loop that the crawl is compared with
	killAt = cli.FaultVariable
)

func TestMain(m *testing.M) {
	switch os.Getenv(asMain) {
	case "main":
		os.Args[0] = "ypcrawl" // what hints call it
		main()
	case "bare":
		os.Exit(bareLoop(os.Args[1:]))
	}
	// Most tests wait for their children and for time to pass; -parallel still decides.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"ypcrawl": main})
}

// command starts the test binary as ypcrawl in dir.
func command(dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{asMain + "=main"}, env...)...)
	return cmd
}
