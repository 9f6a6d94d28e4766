//go:build unix

package wal

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"ypcrawl/store/storetest"
)

// The parts are processes that are going to die.
func TestMain(m *testing.M) {
	storetest.Main(m, "", map[string]func([]string) error{"append": childAppend, "pack": childPack, "fsize": childFileSize})
}

// childAppend appends until it is killed and says each seq once it is in.
func childAppend(args []string) error {
	log, err := Create(Config{Dir: args[0], WorkerID: "worker_0_pid_1", MaxBytes: 256 << 10})
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
func childPack(args []string) error {
	logs, err := listLogs(args[1], false)
	if err != nil {
		return err
	}
	_, _, err = packFile(context.Background(), logs[0].parts[0], func(s packStep) {
		if string(s) == args[0] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	return fmt.Errorf("not killed at %s: %w", args[0], err)
}
