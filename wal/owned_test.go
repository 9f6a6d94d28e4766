//go:build unix

package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestForeignFiles: whatever is no log of ours is as it was after every command that cuts,
// replaces or removes files, and the log beside it is treated as ever.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	line := textLine(own, 1, 1, Stop)
	for name, c := range map[string]struct{ file, text string }{
		"another name":            {"customers.jsonl", `{"a":1}`},
		"another name, events":    {"events.jsonl", line + `{"time`},
		"another worker's name":   {"worker_x_pid_1.jsonl", line},
		"our name":                {ownFile, `{"a":1}`},
		"our name, whole lines":   {ownFile, "{\"a\":1}\n{\"a\":2}\n"},
		"our name, no first line": {ownFile, "\n" + line},
		"another worker's log":    {ownFile, textLine("worker_7_pid_7", 1, 1, Stop)},
		"a first event cut short": {ownFile, line[:20]},
		"nothing":                 {ownFile, ""},
		"a temp of another name":  {"backup.jsonl.zst.tmp", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := writeLines(t, dir, c.file, c.text)
			writeLines(t, dir, "worker_1_pid_1.jsonl", textLine("worker_1_pid_1", 1, 1, Stop))
			report, err := CompressClosed(t.Context(), dir, nil)
			if err != nil || report.Files != 1 {
				t.Errorf("%+v (%v), want one file compressed", report, err)
			}
			lines := strings.Contains(c.text, "\n")
			if told := len(report.Foreign) == 1; told != (c.file == ownFile && lines) {
				t.Errorf("told %q", report.Foreign)
			}
			if got := string(readFile(t, path)); got != c.text {
				t.Errorf("%q is now %q", c.text, got)
			}
			log := create(t, Config{Dir: dir, WorkerID: own, NoCompress: true})
			appendN(t, log, 1)
			closeLog(t, log)
			if got := string(readFile(t, path)); got != c.text {
				t.Errorf("a worker of that name made %q of %q", got, c.text)
			}
		})
	}
}

// TestForeignLinks: what stands behind a link is not cut, and neither a link nor a pipe is
// replaced or removed.
func TestForeignLinks(t *testing.T) {
	t.Parallel()
	lines := textLine(own, 1, 1, Stop) + `{"time`
	for _, name := range []string{ownFile, ownFile + ".zst", ownFile + ".zst.tmp"} {
		for _, kind := range []string{"link", "pipe"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
				writeFile(t, target, []byte(lines))
				path := filepath.Join(dir, name)
				if name != ownFile {
					writeLines(t, dir, ownFile, lines)
				}
				var err error
				if kind == "link" {
					err = os.Symlink(target, path)
				} else {
					err = syscall.Mkfifo(path, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				before, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := CompressClosed(t.Context(), dir, nil); err != nil {
					t.Error(err)
				}
				if kind == "link" { // a pipe as the first part keeps its name from being created: told at the start
					log := create(t, Config{Dir: dir, WorkerID: own})
					appendN(t, log, 1)
					closeLog(t, log)
				}
				after, err := os.Lstat(path)
				if err != nil || !os.SameFile(before, after) {
					t.Fatalf("the %s is gone: %v", kind, err)
				}
				if got := readFile(t, target); !bytes.Equal(got, []byte(lines)) {
					t.Errorf("behind the link stands %q", got)
				}
			})
		}
	}
}
