//go:build unix

package wal

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/store/storetest"
)

// flaky is a file whose disk is full after room bytes.
type flaky struct {
	logFile
	room     int
	full     bool
	noCut    bool
	failSync error
}

func (f *flaky) Write(b []byte) (int, error) {
	if !f.full {
		return f.logFile.Write(b)
	}
	n, _ := f.logFile.Write(b[:min(f.room, len(b))])
	return n, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
}

func (f *flaky) Truncate(n int64) error {
	if f.noCut {
		return &os.PathError{Op: "truncate", Path: "x", Err: syscall.EIO}
	}
	return f.logFile.Truncate(n)
}

func (f *flaky) Sync() error {
	if f.failSync != nil {
		return f.failSync
	}
	return f.logFile.Sync()
}

func createFlaky(t *testing.T) (*Log, *flaky, string) {
	t.Helper()
	dir, f := t.TempDir(), &flaky{}
	log := create(t, Config{Dir: dir, open: func(path string) (logFile, error) {
		file, err := createLogFile(path)
		f.logFile = file
		return f, err
	}})
	return log, f, dir
}

func wantFull(t *testing.T, err error, op string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "worker_0_pid_1.jsonl: "+op+": ") {
		t.Fatalf("got %v, want a failed %s", err, op)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 1, 500, 1 << 20} {
		t.Run(fmt.Sprintf("a line cut after %d bytes", room), func(t *testing.T) {
			log, f, dir := createFlaky(t)
			appendN(t, log, 3)
			size := len(readFile(t, log.Path()))
			f.full, f.room = true, room
			for range 2 {
				err := log.Append(samplePage(1))
				wantFull(t, err, "append")
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("not a full disk: %v", err)
				}
				storetest.Equal(t, len(readFile(t, log.Path())), size, "bytes")
			}
			f.full = false
			appendN(t, log, 2)
			wantSeqs(t, dir, 5)
		})
	}
	t.Run("a cut that fails is tried again before the next event", func(t *testing.T) {
		log, f, dir := createFlaky(t)
		appendN(t, log, 3)
		f.full, f.room, f.noCut = true, 100, true
		wantFull(t, log.Append(samplePage(1)), "append")
		f.full = false
		wantFull(t, log.Append(samplePage(1)), "cut")
		events, damage, torn := readAll(t, dir, Options{})
		if wantConsecutive(t, events, 3); len(damage) != 0 || len(torn) != 1 || torn[0].Bytes != 100 {
			t.Fatalf("damage %v, torn %v", damage, torn)
		}
		f.noCut = false
		appendN(t, log, 2)
		wantSeqs(t, dir, 5)
	})
	t.Run("a cut never makes the file longer", func(t *testing.T) {
		log, f, dir := createFlaky(t)
		appendN(t, log, 3)
		noErr(t, os.Truncate(log.Path(), 0))
		f.full = true
		wantFull(t, log.Append(samplePage(1)), "append")
		f.full = false
		appendN(t, log, 1)
		if events, damage, _ := readAll(t, dir, Options{}); len(events) != 1 || len(damage) != 0 || events[0].Seq != 4 {
			t.Fatal(events, damage)
		}
	})
	t.Run("sync", func(t *testing.T) {
		log, f, _ := createFlaky(t)
		appendN(t, log, 1)
		f.failSync = syscall.EIO
		wantFull(t, log.Sync(), "sync")
		wantFull(t, log.Close(), "sync")
	})
}

// A real limit of the file system, in a process of its own.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := storetest.Command(t, "fsize", dir).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	events, damage, torn := readAll(t, dir, Options{})
	if len(damage)+len(torn) > 0 {
		t.Fatalf("damage %v, torn %v", damage, torn)
	}
	wantConsecutive(t, events, len(events))
	if last := events[len(events)-1]; last.Type != Stop {
		t.Fatalf("the event after the limit is missing: %+v", last)
	}
}

func childFileSize(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	log, err := Create(Config{Dir: args[0], WorkerID: "worker_0_pid_1"})
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	low := limit
	low.Cur = 100_001
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		return err
	}
	for err == nil {
		err = log.Append(samplePage(30))
	}
	if !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("unexpected error: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return errors.Join(log.Append(&Event{Type: Stop}), log.Close())
}
