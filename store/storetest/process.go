package storetest

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names the part that a test binary plays when a test starts it again.
const childEnv = "YPCRAWL_TEST_CHILD"

// Main runs the tests of a package, or a part of one that Command has started. No goroutine
// may be left at the end. rapidChecks is how many cases a property test tries, "" where there is none.
func Main(m *testing.M, rapidChecks string, parts map[string]func(args []string) error) {
	if part := os.Getenv(childEnv); part != "" {
		if err := parts[part](os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if rapidChecks != "" {
		if err := flag.Set("rapid.checks", rapidChecks); err != nil { // a flag that is given comes later, and wins
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// Process is this test binary, started again to play a part.
type Process struct {
	*exec.Cmd
	Lines *bufio.Scanner // of its output
	In    io.Closer      // its input, unless it was given one: a pipe that ends with this process
}

// Command returns a part that is not yet started.
func Command(t *testing.T, part string, args ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	NoError(t, err)
	p := &Process{Cmd: exec.CommandContext(t.Context(), self, args...)}
	p.Env, p.Stderr = append(os.Environ(), childEnv+"="+part), os.Stderr
	return p
}

// Begin starts it; it dies with the test.
func (p *Process) Begin(t *testing.T) *Process {
	t.Helper()
	var err error
	if p.Stdin == nil {
		p.In, err = p.StdinPipe()
		NoError(t, err)
	}
	out, err := p.StdoutPipe()
	NoError(t, err)
	NoError(t, p.Start())
	t.Cleanup(func() { _, _ = p.Process.Kill(), p.Wait() })
	p.Lines = bufio.NewScanner(out)
	return p
}

// Await reads its output up to the line wanted.
func (p *Process) Await(t *testing.T, want string) {
	t.Helper()
	var got []string
	for p.Lines.Scan() {
		if got = append(got, p.Lines.Text()); p.Lines.Text() == want {
			return
		}
	}
	t.Fatalf("the child said %q, want %q", strings.Join(got, "\n"), want)
}

// Number reads the number that follows word on its next line.
func (p *Process) Number(t *testing.T, word string) int64 {
	t.Helper()
	if p.Lines.Scan() {
		if rest, ok := strings.CutPrefix(p.Lines.Text(), word+" "); ok {
			if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
				return n
			}
		}
	}
	t.Fatalf("the child said %q, want %q and a number", p.Lines.Text(), word)
	return 0
}

// Kill ends it as a SIGKILL does.
func (p *Process) Kill(t *testing.T) {
	t.Helper()
	NoError(t, p.Process.Kill())
	_ = p.Wait()
}
