package wal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	t.Run("makes the folder with its parents", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "logs", "yp_wal")
		log := create(t, Config{Dir: dir})
		if want := filepath.Join(dir, "worker_0_pid_1.jsonl"); log.Path() != want {
			t.Fatalf("writes %s, want %s", log.Path(), want)
		}
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o755 != 0o755&info.Mode().Perm() {
			t.Fatalf("%v %v", info, err)
		}
	})
	t.Run("refuses names that are no file names", func(t *testing.T) {
		for _, id := range []string{"", "a/b", "..", "w.000001", "w\n"} {
			if _, err := Create(Config{Dir: t.TempDir(), WorkerID: id}); err == nil {
				t.Errorf("accepted %q", id)
			}
		}
	})
	t.Run("never a file of another process", func(t *testing.T) {
		const name = "worker_0_pid_1"
		for _, there := range []string{".jsonl", ".jsonl.zst", ".jsonl.zst.tmp", ".000001.jsonl"} {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, name+there), []byte("x"))
			writeFile(t, filepath.Join(dir, name+"_7.jsonl"), nil) // as a kill leaves it that came before the first line
			logOf(t, Config{Dir: dir, RunID: 7, MaxBytes: 1500, NoCompress: true}, 2)
			want := []string{name + there, name + "_7.jsonl", name + "_8.000001.jsonl", name + "_8.jsonl"}
			wantFiles(t, dir, slices.Sorted(slices.Values(want))...)
			if text := readFile(t, filepath.Join(dir, name+there)); string(text) != "x" {
				t.Fatalf("%s is now %q", there, text)
			}
			events, damage, _ := readAll(t, filepath.Join(dir, name+"_8.jsonl"), Options{})
			if len(damage) > 0 || len(events) != 1 || events[0].WorkerID != name+"_8" || events[0].Seq != 1 {
				t.Fatal(events, damage)
			}
		}
	})
	t.Run("of several at once each has its own", func(t *testing.T) {
		dir := t.TempDir()
		const all = 8
		var wg sync.WaitGroup
		for range all {
			log := create(t, Config{Dir: dir, RunID: 7})
			wg.Go(func() { appendN(t, log, 2) })
		}
		wg.Wait()
		events, damage, _ := readAll(t, dir, Options{})
		workers := map[string]int{}
		for _, e := range events {
			workers[e.WorkerID]++
		}
		if len(damage) > 0 || len(events) != 2*all || len(workers) != all || workers["worker_0_pid_1"] != 2 {
			t.Fatal(workers, damage)
		}
	})
	t.Run("a worker with nothing to write leaves no file", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir})
		noErr(t, log.Sync())
		wantFiles(t, dir)
		noErr(t, log.Close())
		wantFiles(t, dir)
	})
	t.Run("a folder that can't be made", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		writeFile(t, file, nil)
		_, err := Create(Config{Dir: filepath.Join(file, "logs"), WorkerID: "w"})
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestAppend(t *testing.T) {
	t.Parallel()
	t.Run("fills in worker, seq and time", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir})
		first, second := &Event{Type: Heartbeat, WorkerID: "other", Seq: 99}, &Event{Type: Stop, Timestamp: noon}
		for _, e := range []*Event{first, second} {
			noErr(t, log.Append(e))
		}
		if first.Seq != 1 || second.Seq != 2 || first.WorkerID != "worker_0_pid_1" || !first.Timestamp.Equal(noon.Add(time.Second)) {
			t.Fatalf("%+v %+v", first, second)
		}
		events, _, _ := readAll(t, dir, Options{})
		storetest.Diff(t, events, []*Event{first, second})
	})
	t.Run("ErrClosed", func(t *testing.T) {
		log := create(t, Config{Dir: t.TempDir()})
		noErr(t, log.Close())
		noErr(t, log.Close())
		if err := log.Append(samplePage(1)); !errors.Is(err, ErrClosed) {
			t.Fatalf("append: %v", err)
		}
		if err := log.Sync(); !errors.Is(err, ErrClosed) {
			t.Fatalf("sync: %v", err)
		}
	})
	t.Run("refuses what could not be read", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir})
		huge := samplePage(1)
		huge.Page.Listings[0].Snippet = strings.Repeat("x", DefaultMaxLine)
		if err := log.Append(huge); !errors.Is(err, ErrLineTooLong) {
			t.Fatalf("huge: %v", err)
		}
		if err := log.Append(&Event{Type: Stop, Timestamp: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
			t.Fatal("accepted the year 12026")
		}
		if err := log.Append(&Event{}); err == nil {
			t.Fatal("accepted an event without a type")
		}
		appendN(t, log, 2)
		wantSeqs(t, dir, 2)
	})
	t.Run("from several goroutines", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir, MaxBytes: 4 << 10})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { appendN(t, log, 50) })
		}
		wg.Wait()
		wantSeqs(t, dir, 200)
	})
}

func TestRotation(t *testing.T) {
	t.Parallel()
	t.Run("begins the next file and compresses the old", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir, MaxBytes: 3000})
		appendN(t, log, 7)
		const name = "worker_0_pid_1"
		wantFiles(t, dir, name+".000001.jsonl.zst", name+".000002.jsonl.zst", name+".000003.jsonl", name+".jsonl.zst")
		wantSeqs(t, dir, 7)
	})
	t.Run("a line larger than a file stands alone", func(t *testing.T) {
		dir := t.TempDir()
		log := create(t, Config{Dir: dir, MaxBytes: 10, NoCompress: true})
		appendN(t, log, 3)
		if got := names(t, dir); len(got) != 3 {
			t.Fatal(got)
		}
		wantSeqs(t, dir, 3)
	})
	t.Run("goes on in the old file when there can be no new one", func(t *testing.T) {
		dir := t.TempDir()
		refuse := true
		log := create(t, Config{Dir: dir, MaxBytes: 3000, NoCompress: true, open: func(path string) (logFile, error) {
			if refuse && strings.Contains(path, ".0") {
				return nil, os.ErrPermission
			}
			return createLogFile(path)
		}})
		appendN(t, log, 6)
		if got := names(t, dir); len(got) != 1 {
			t.Fatal(got)
		}
		refuse = false
		appendN(t, log, 6)
		if got := names(t, dir); len(got) < 2 {
			t.Fatal(got)
		}
		wantSeqs(t, dir, 12)
	})
}

// TestCutFile: a real file loses what a failed write left, on every system, and what is written then follows what is left.
func TestCutFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker_0_pid_1.jsonl")
	file, err := createLogFile(path)
	noErr(t, err)
	write := func(text string) {
		t.Helper()
		_, err := file.Write([]byte(text))
		noErr(t, err)
	}
	write("whole\nhal")
	noErr(t, file.Truncate(6))
	write("more\n")
	noErr(t, os.Truncate(path, 6)) // by somebody else
	write("after\n")
	noErr(t, file.Sync())
	noErr(t, file.Close())
	if got := string(readFile(t, path)); got != "whole\nafter\n" {
		t.Errorf("%q", got)
	}
}
