//go:build unix

package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"ypcrawl/store/storetest"
)

// A copy cut at any byte reads as the lines that are whole in it.
func TestTruncatedAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := logOf(t, Config{Dir: dir}, 12)
	data := readFile(t, log.Path())
	cut := filepath.Join(t.TempDir(), "worker_0_pid_1.jsonl")
	writeFile(t, cut, data)
	step := 1
	if testing.Short() {
		step = 7
	}
	for size := len(data); size >= len(data)-4096; size -= step {
		noErr(t, os.Truncate(cut, int64(size)))
		whole, end := bytes.Count(data[:size], []byte{'\n'}), bytes.LastIndexByte(data[:size], '\n')+1
		events, damage, torn := readAll(t, cut, Options{})
		if wantConsecutive(t, events, whole); len(damage) > 0 {
			t.Fatalf("cut at %d: %v", size, damage)
		}
		if (len(torn) == 1) != (end < size) || len(torn) == 1 && (torn[0].Offset != int64(end) || torn[0].Bytes != int64(size-end)) {
			t.Fatalf("cut at %d: torn %v", size, torn)
		}
	}
}

// A process that is killed while it appends, rotates and compresses leaves
// every event it had reported, in order.
func TestKilledWhileAppending(t *testing.T) {
	t.Parallel()
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		dir := t.TempDir()
		total := appendAndKill(t, dir, int64(20+37*round))
		events, damage, torn := readAll(t, dir, Options{})
		if len(damage) > 0 || len(torn) > 1 {
			t.Fatalf("round %d: damage %v, torn %v", round, damage, torn)
		}
		if int64(len(events)) < total {
			t.Fatalf("round %d: %d events were reported, %d are there", round, total, len(events))
		}
		wantConsecutive(t, events, len(events))
		compress(t, dir)
		wantSeqs(t, dir, len(events))
	}
}

// appendAndKill runs the child until it has reported seq, kills it, and
// returns the last seq it reported.
func appendAndKill(t *testing.T, dir string, seq int64) (last int64) {
	t.Helper()
	p := storetest.Command(t, "append", dir).Begin(t)
	for p.Lines.Scan() {
		var err error
		if last, err = strconv.ParseInt(p.Lines.Text(), 10, 64); err != nil {
			break // the last report was torn as well
		}
		if last == seq {
			noErr(t, p.Process.Kill())
		}
	}
	_ = p.Wait()
	return max(last, seq)
}

// A kill at any step of a compression leaves each event once, and the next
// compression finishes the work.
func TestKilledWhileCompressing(t *testing.T) {
	t.Parallel()
	source := logOf(t, Config{Dir: t.TempDir()}, 2000)
	data := readFile(t, source.Path())
	for _, step := range []packStep{stepOpened, stepPartial, stepWritten, stepSynced, stepRenamed, stepDurable, stepClosed, stepRemoved} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "worker_0_pid_1.jsonl"), data)
			cmd := storetest.Command(t, "pack", string(step), dir)
			out, err := cmd.Output()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %s", err, out)
			}
			wantSeqs(t, dir, 2000)
			if (step == stepOpened || step == stepPartial) && !slices.Contains(names(t, dir), "worker_0_pid_1.jsonl.zst.tmp") {
				t.Fatalf("no temp was left: %v", names(t, dir))
			}
			compress(t, dir)
			wantFiles(t, dir, "worker_0_pid_1.jsonl.zst")
			wantSeqs(t, dir, 2000)
		})
	}
}
