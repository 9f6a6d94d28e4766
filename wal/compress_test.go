package wal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCompressClosed(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (dir string) {
		dir = t.TempDir()
		for _, id := range []string{"worker_0_pid_1", "worker_0_pid_2"} {
			logOf(t, Config{Dir: dir, WorkerID: id, MaxBytes: 3000, NoCompress: true}, 4)
		}
		return dir
	}
	t.Run("dead workers only", func(t *testing.T) {
		dir := setup(t)
		before, _, _ := readAll(t, dir, Options{})
		report, err := CompressClosed(t.Context(), dir, func(id string) bool { return id == "worker_0_pid_2" })
		if err != nil || report.Files != 2 || report.Live != 2 || report.BytesBefore <= report.BytesAfter || report.BytesAfter == 0 {
			t.Fatal(report, err)
		}
		wantFiles(t, dir, "worker_0_pid_1.000001.jsonl.zst", "worker_0_pid_1.jsonl.zst", "worker_0_pid_2.000001.jsonl", "worker_0_pid_2.jsonl")
		if after, _, _ := readAll(t, dir, Options{}); len(after) != len(before) {
			t.Fatalf("%d events, before %d", len(after), len(before))
		}
	})
	t.Run("again does nothing", func(t *testing.T) {
		dir := setup(t)
		for _, want := range []int{4, 0} {
			if report, err := CompressClosed(t.Context(), dir, nil); err != nil || report.Files != want {
				t.Fatal(report, err)
			}
		}
	})
	t.Run("a file that is being written is left alone", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir})
		appendN(t, log, 1)
		if report, err := CompressClosed(t.Context(), dir, nil); err != nil || report.Files != 0 || report.Live != 1 {
			t.Fatal(report, err)
		}
		appendN(t, log, 1)
		wantSeqs(t, dir, 2)
	})
	t.Run("leftover temps and whole copies", func(t *testing.T) {
		dir := setup(t)
		whole := pack(t, readFile(t, filepath.Join(dir, "worker_0_pid_1.jsonl")))
		writeFile(t, filepath.Join(dir, "worker_0_pid_1.jsonl.zst"), whole)
		writeFile(t, filepath.Join(dir, "worker_0_pid_1.jsonl.zst.tmp"), whole[:len(whole)/2])
		compress(t, dir)
		const one, two = "worker_0_pid_1", "worker_0_pid_2"
		wantFiles(t, dir, one+".000001.jsonl.zst", one+".jsonl.zst", two+".000001.jsonl.zst", two+".jsonl.zst")
		if events, damage, _ := readAll(t, dir, Options{}); len(events) != 8 || len(damage) > 0 {
			t.Fatal(len(events), damage)
		}
	})
	t.Run("a torn tail is left out", func(t *testing.T) {
		dir := t.TempDir()
		const w = "worker_0_pid_1"
		writeLines(t, dir, w+".jsonl", textLine(w, 1, 1, Stop), `{"time`)
		compress(t, dir)
		writeLines(t, dir, w+".000001.jsonl", textLine(w, 2, 2, Stop))
		wantSeqs(t, dir, 2)
	})
	t.Run("a folder that is not there", func(t *testing.T) {
		if _, err := CompressClosed(t.Context(), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	})
	t.Run("a folder in the way doesn't stop the others", func(t *testing.T) {
		dir := setup(t)
		noErr(t, os.Mkdir(filepath.Join(dir, "worker_0_pid_1.jsonl.zst.tmp"), 0o755))
		report, err := CompressClosed(t.Context(), dir, nil)
		if err != nil || len(report.Foreign) != 1 || report.Files != 3 {
			t.Fatal(report, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		dir := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if report, err := CompressClosed(ctx, dir, nil); !errors.Is(err, context.Canceled) || report.Files != 0 {
			t.Fatal(report, err)
		}
	})
}

// TestClosedBeforeRemoved: a compression has closed the plain file before it removes it, as Windows wants, and whatever
// comes by in between does no harm.
func TestClosedBeforeRemoved(t *testing.T) {
	t.Parallel()
	const name = "worker_0_pid_1.jsonl"
	for what, between := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"its lock can be taken": func(t *testing.T, dir string) {
			f, err := openLocked(filepath.Join(dir, name), os.O_RDWR)
			noErr(t, err)
			noErr(t, closeLocked(f))
		},
		"another compression": func(t *testing.T, dir string) { compress(t, dir) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			logOf(t, Config{Dir: dir, NoCompress: true}, 5)
			reached := false
			_, _, err := packFile(t.Context(), part{dir: dir, worker: "worker_0_pid_1"}, func(s packStep) {
				if s == stepClosed {
					reached = true
					between(t, dir)
				}
			})
			if err != nil || !reached {
				t.Fatalf("%v, closed: %v", err, reached)
			}
			wantFiles(t, dir, name+".zst")
			wantSeqs(t, dir, 5)
		})
	}
	t.Run("another file in its place stays", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		path := logOf(t, Config{Dir: dir, NoCompress: true}, 5).Path()
		_, _, err := packFile(t.Context(), part{dir: dir, worker: "worker_0_pid_1"}, func(s packStep) {
			if s == stepClosed {
				noErr(t, os.Rename(path, filepath.Join(dir, "aside")))
				writeFile(t, path, []byte("a note"))
			}
		})
		noErr(t, err)
		wantFiles(t, dir, "aside", name, name+".zst")
	})
}
