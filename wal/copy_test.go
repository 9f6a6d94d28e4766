package wal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCopy: a copy has the lines that were complete when the folder was marked, whatever became
// of the files since: they grew, were compressed, or removed.
func TestCopy(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	open := create(t, Config{Dir: dir, WorkerID: "worker_0_pid_1", NoCompress: true})
	appendN(t, open, 5)
	closed := create(t, Config{Dir: dir, WorkerID: "worker_1_pid_1"})
	appendN(t, closed, 4)
	closeLog(t, closed)
	removed := create(t, Config{Dir: dir, WorkerID: "worker_2_pid_1"})
	appendN(t, removed, 3)
	closeLog(t, removed)
	torn := filepath.Join(dir, "worker_3_pid_1.jsonl")
	line := string(readFile(t, closed.Path()))
	line = strings.ReplaceAll(line, "worker_1", "worker_3")
	if err := os.WriteFile(torn, []byte(line[:len(line)-10]), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().AddDate(0, 0, -40).Truncate(time.Second)
	if err := os.Chtimes(torn, old, old); err != nil {
		t.Fatal(err)
	}
	writeLines(t, dir, "notes.jsonl", "{}\n") // nobody's log
	marks, err := Mark(dir)
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, open, 7)
	if _, err := CompressClosed(t.Context(), dir, func(worker string) bool { return worker == "worker_0_pid_1" || worker == "worker_3_pid_1" }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "worker_2_pid_1.jsonl.zst")); err != nil {
		t.Fatal(err)
	}
	out, err := marks.CopyTo(t.Context(), to)
	if err != nil || out.Files != 3 || out.Removed != 1 {
		t.Fatalf("%+v (%v), want 3 files and 1 removed", out, err)
	}
	if got, want := names(t, to), []string{"worker_0_pid_1.jsonl", "worker_1_pid_1.jsonl", "worker_3_pid_1.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	wantSeqs(t, filepath.Join(to, "worker_0_pid_1.jsonl"), 5)
	wantSeqs(t, filepath.Join(to, "worker_1_pid_1.jsonl"), 4)
	wantSeqs(t, filepath.Join(to, "worker_3_pid_1.jsonl"), 3)
	if info, err := os.Stat(filepath.Join(to, "worker_3_pid_1.jsonl")); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("the copy is of %v (%v), want the file's own time, by which it is pruned", info.ModTime(), err)
	}
}

// TestCopyNothing: without logs there is no folder.
func TestCopyNothing(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"no folder": filepath.Join(t.TempDir(), "none"), "empty": t.TempDir()} {
		marks, err := Mark(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		to := filepath.Join(t.TempDir(), "copy")
		if out, err := marks.CopyTo(t.Context(), to); err != nil || out != (Copied{}) || Exists(to) {
			t.Errorf("%s: %+v (%v)", name, out, err)
		}
	}
}

// TestMoveLogs moves the logs of one database, replaces nothing, and leaves what is nobody's.
func TestMoveLogs(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "aside")
	for worker, database := range map[string]string{"worker_0_pid_1": "a", "worker_1_pid_1": "b"} {
		log := create(t, Config{Dir: dir, WorkerID: worker, Database: database})
		appendN(t, log, 2)
		closeLog(t, log)
	}
	writeLines(t, dir, "notes.jsonl", "{}\n")
	ofA := func(id string) bool { return id == "a" }
	marks, err := Mark(dir)
	if err != nil {
		t.Fatal(err)
	}
	if clash, err := marks.Clash(dir, ofA); err != nil || filepath.Base(clash) != "worker_1_pid_1.jsonl" {
		t.Errorf("clash %q (%v), want the log of b", clash, err)
	}
	if n, err := MoveLogs(dir, to, ofA); n != 1 || err != nil {
		t.Fatalf("%d moved, %v", n, err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"notes.jsonl", "worker_1_pid_1.jsonl"}) {
		t.Errorf("left: %v", got)
	}
	wantSeqs(t, filepath.Join(to, "worker_0_pid_1.jsonl"), 2)
	writeLines(t, dir, "worker_0_pid_1.jsonl", string(readFile(t, filepath.Join(to, "worker_0_pid_1.jsonl"))))
	if _, err := MoveLogs(dir, to, ofA); err == nil {
		t.Error("a file was replaced")
	}
}

// TestRemoveCopy removes a folder of copied logs, and none with anything else in it.
func TestRemoveCopy(t *testing.T) {
	t.Parallel()
	fill := func() string {
		dir := filepath.Join(t.TempDir(), "x.logs")
		log := create(t, Config{Dir: dir, Database: "a"})
		appendN(t, log, 1)
		closeLog(t, log)
		return dir
	}
	if dir := fill(); RemoveCopy(dir, "a") != nil || Exists(dir) {
		t.Error("the folder is left")
	}
	if dir := fill(); !errors.Is(RemoveCopy(dir, "b"), ErrForeign) || !Exists(filepath.Join(dir, "worker_0_pid_1.jsonl")) {
		t.Error("the logs of another database are removed")
	}
	dir := fill()
	writeLines(t, dir, "notes.txt", "mine")
	if err := RemoveCopy(dir, "a"); !errors.Is(err, ErrForeign) || len(names(t, dir)) != 2 {
		t.Errorf("somebody's notes: %v", err)
	}
	if err := RemoveCopy(filepath.Join(dir, "none"), "a"); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

// TestLastCommitted gives the pages that a later line confirms, and no other.
func TestLastCommitted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := create(t, Config{Dir: dir, Database: "a"})
	for n := range int64(4) {
		e := samplePage(1)
		if n > 0 && n != 2 { // no line says that the second page was committed
			e.Before = &Commit{Seq: n, At: Stamp{noon}, Nth: n}
		}
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	closeLog(t, log)
	var got []int64
	found, err := LastCommitted(t.Context(), dir, "a", 8, 20)
	for _, e := range found {
		got = append(got, e.Seq)
	}
	if err != nil || !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("%v (%v), want 1 and 3", got, err)
	}
	if found, err := LastCommitted(t.Context(), dir, "a", 8, 1); err != nil || len(found) != 1 || found[0].Seq != 3 {
		t.Errorf("of one page: %v (%v), want the last", found, err)
	}
	if found, err := LastCommitted(t.Context(), dir, "b", 8, 20); err != nil || len(found) != 0 {
		t.Errorf("of another database: %v (%v)", found, err)
	}
}
