//go:build unix

package wal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary play a process that is going to die: the
// value is "what argument".
const childEnv = "YPCRAWL_WAL_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		what, arg, _ := strings.Cut(role, " ")
		if err := child(what, arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func child(what, arg string) error {
	switch what {
	case "append":
		return childAppend(arg)
	case "pack":
		step, dir, _ := strings.Cut(arg, " ")
		return childPack(packStep(step), dir)
	case "fsize":
		return childFileSize(arg)
	}
	return fmt.Errorf("unknown role %q", what)
}

// childAppend appends until it is killed and says each seq once it is in.
func childAppend(dir string) error {
	log, err := Create(Config{Dir: dir, WorkerID: "worker_0_pid_1", MaxBytes: 256 << 10})
	if err != nil {
		return err
	}
	for {
		e := samplePage(30)
		if err := log.Append(e); err != nil {
			return err
		}
		fmt.Println(e.Seq)
	}
}

// childPack compresses a folder's one file and kills itself at the step.
func childPack(at packStep, dir string) error {
	logs, err := listLogs(dir, false)
	if err != nil {
		return err
	}
	_, _, err = packFile(context.Background(), logs[0].parts[0], func(s packStep) {
		if s == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	return fmt.Errorf("not killed at %s: %w", at, err)
}
