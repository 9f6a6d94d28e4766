package store_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names the part that this binary plays when a test starts it again.
const childEnv = "YPCRAWL_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if part := os.Getenv(childEnv); part != "" {
		os.Exit(child(part, os.Args[1:]))
	}
	if err := flag.Set("rapid.checks", propertyChecks); err != nil { // a flag that is given comes later, and wins
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func child(part string, args []string) int {
	parts := map[string]func([]string) error{
		"lock":   lockChild,
		"create": createChild,
		"full":   fullChild,
		"modes":  modesChild,
	}
	if err := parts[part](args); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// process is this test binary, started again to play a part.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, part string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, part, args...)
}

// startWith starts a part with stdin; where that is nil, with a pipe that ends
// when this process does.
func startWith(t *testing.T, stdin *os.File, part string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	noErr(t, err)
	p := command(t, self, part, args...)
	if stdin != nil {
		p.Stdin = stdin
	} else if _, err := p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.run(t)
	return p
}

func command(t *testing.T, program, part string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	cmd.Stderr = os.Stderr
	return &process{Cmd: cmd}
}

func (p *process) run(t *testing.T) {
	t.Helper()
	out, err := p.StdoutPipe()
	noErr(t, err)
	noErr(t, p.Start())
	t.Cleanup(func() { _, _ = p.Process.Kill(), p.Wait() })
	p.lines = bufio.NewScanner(out)
}

// await reads the child's output up to the line wanted.
func (p *process) await(t *testing.T, want string) {
	t.Helper()
	var got []string
	for p.lines.Scan() {
		if got = append(got, p.lines.Text()); p.lines.Text() == want {
			return
		}
	}
	t.Fatalf("the child said %q, want %q", strings.Join(got, "\n"), want)
}
