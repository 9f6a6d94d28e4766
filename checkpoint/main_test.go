package checkpoint_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// childEnv names the part that this binary plays when a test starts it again.
const childEnv = "YPCRAWL_CHECKPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if part := os.Getenv(childEnv); part != "" {
		if err := child(part, os.Args[1], os.Args[2]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	if err := flag.Set("rapid.checks", propertyChecks); err != nil { // a flag that is given comes later, and wins
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// child opens the database at path and plays a part of a run there.
func child(part, path, states string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Path: path, MustExist: true, Synchronous: "OFF"})
	if err != nil {
		return err
	}
	k := checkpoint.New(db)
	run, err := k.StartRun(ctx, 1, part, part == "exclusive")
	if err != nil {
		return err
	}
	scope := store.Scope{SourceID: 1, States: strings.Split(states, ",")}
	switch part {
	case "hold", "exclusive": // three claims, and then nothing until it is killed
		for i := range 3 {
			if _, err := k.Claim(ctx, checkpoint.Worker{ID: yp.WorkerID(i, os.Getpid()), RunID: run.ID}, scope, 5); err != nil {
				return err
			}
		}
		fmt.Println("holds", run.ID)
		_, _ = os.Stdin.Read(make([]byte, 1))
		return nil
	case "finish": // claims one target, and at the end of its input all there is
		c, err := k.Claim(ctx, checkpoint.Worker{ID: yp.WorkerID(9, os.Getpid()), RunID: run.ID}, scope, 1000)
		if err != nil {
			return err
		}
		fmt.Println("claimed", c.TargetID)
		if _, err := io.ReadAll(os.Stdin); err != nil {
			return err
		}
		err = errors.Join(finishAll(ctx, k, run, scope), k.Complete(ctx, c, yp.CodeNoListings, "none", true))
		return errors.Join(err, run.Finish(ctx, checkpoint.OutcomeDone, 0), db.Close())
	}
	return fmt.Errorf("no such part: %s", part)
}

func finishAll(ctx context.Context, k *checkpoint.Keeper, run *checkpoint.Run, scope store.Scope) error {
	errs := make(chan error, 4)
	for i := range cap(errs) {
		go func() {
			w := checkpoint.Worker{ID: yp.WorkerID(i, os.Getpid()), RunID: run.ID}
			for {
				c, err := k.Claim(ctx, w, scope, 1000)
				if errors.Is(err, checkpoint.ErrNothing) {
					errs <- nil
					return
				}
				if err == nil {
					fmt.Println("claimed", c.TargetID)
					err = k.Complete(ctx, c, yp.CodeNoListings, "none", true)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var all error
	for range cap(errs) {
		all = errors.Join(all, <-errs)
	}
	return all
}

type process struct {
	*exec.Cmd
	lines *bufio.Scanner
	stdin io.Closer
}

func start(t *testing.T, part, path, states string) *process {
	t.Helper()
	self, err := os.Executable()
	noErr(t, err)
	p := &process{Cmd: exec.CommandContext(t.Context(), self, path, states)}
	p.Env = append(os.Environ(), childEnv+"="+part)
	p.Stderr = os.Stderr
	if p.stdin, err = p.StdinPipe(); err != nil { // ends with this process, and the child with it
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	noErr(t, err)
	noErr(t, p.Start())
	t.Cleanup(func() { _, _ = p.Process.Kill(), p.Wait() })
	p.lines = bufio.NewScanner(out)
	return p
}

// number reads the number that follows word on the child's next line.
func (p *process) number(t *testing.T, word string) int64 {
	t.Helper()
	if p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), word+" "); ok {
			if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
				return n
			}
		}
	}
	t.Fatalf("the child said %q, want %q and a number", p.lines.Text(), word)
	return 0
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	noErr(t, p.Process.Kill())
	_ = p.Wait()
}
