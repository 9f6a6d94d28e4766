//go:build unix

package wal

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	own     = "worker_0_pid_1"
	ownFile = own + ".jsonl"
)

// TestForeignFiles: whatever is no log of ours, also under a name that only runs and compressions use, is as it was,
// whoever comes by; a compression tells of what has such a name, and the log beside it is treated as ever.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	line := textLine(own, 1, 1, Stop)
	other := string(pack(t, []byte(textLine(own, 1, 9, Stop))))
	for name, c := range map[string]struct {
		told  int
		files map[string]string
	}{
		"another name":                     {0, map[string]string{"customers.jsonl": `{"a":1}`}},
		"another name, events":             {0, map[string]string{"events.jsonl": line + `{"time`}},
		"another worker's name":            {0, map[string]string{"worker_x_pid_1.jsonl": line}},
		"a temp of another name":           {0, map[string]string{"backup.jsonl.zst.tmp": "x"}},
		"our name":                         {0, map[string]string{ownFile: `{"a":1}`}},
		"our name, whole lines":            {1, map[string]string{ownFile: "{\"a\":1}\n{\"a\":2}\n"}},
		"our name, no first line":          {1, map[string]string{ownFile: "\n" + line}},
		"a first line of another kind":     {1, map[string]string{ownFile: "{\"sensor\":5}\n" + line}},
		"another worker's log":             {1, map[string]string{ownFile: textLine("worker_7_pid_7", 1, 1, Stop)}},
		"a first event cut short":          {0, map[string]string{ownFile: line[:20]}},
		"nothing":                          {0, map[string]string{ownFile: ""}},
		"another machine's compressed one": {1, map[string]string{ownFile: line, ownFile + ".zst": other}},
		"a shorter compressed one":         {1, map[string]string{ownFile: line + textLine(own, 2, 2, Stop), ownFile + ".zst": string(pack(t, []byte(line)))}},
		"a longer compressed one":          {1, map[string]string{ownFile: line, ownFile + ".zst": string(pack(t, []byte(line+line)))}},
		"a file of another kind":           {1, map[string]string{ownFile: line, ownFile + ".zst": "precious"}},
		"a temp alone":                     {0, map[string]string{ownFile + ".zst.tmp": other[:9]}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				writeLines(t, dir, name, text)
			}
			writeLines(t, dir, "worker_1_pid_1.jsonl", textLine("worker_1_pid_1", 1, 1, Stop))
			report, err := CompressClosed(t.Context(), dir, nil)
			if err != nil || report.Files != 1 || len(report.Foreign) != c.told {
				t.Errorf("%+v (%v), want one file compressed, %d told of", report, err, c.told)
			}
			if name != "nothing" { // an empty file goes with the old ones
				cfg := PruneConfig{Before: time.Now().AddDate(1, 0, 0), Held: func(*Event) (bool, error) { return true, nil }}
				if pruned, err := Prune(t.Context(), dir, cfg); err != nil || pruned.Files > 1 {
					t.Errorf("pruned: %+v (%v)", pruned, err)
				}
			}
			logOf(t, Config{Dir: dir, WorkerID: own, NoCompress: true}, 1)
			now := map[string]string{}
			for name := range c.files {
				now[name] = string(readFile(t, filepath.Join(dir, name)))
			}
			if !maps.Equal(now, c.files) {
				t.Errorf("%q is now %q", c.files, now)
			}
		})
	}
}

// TestForeignLinks: what is behind a link is not cut, and neither a link nor a pipe is
// replaced or removed.
func TestForeignLinks(t *testing.T) {
	t.Parallel()
	lines := textLine(own, 1, 1, Stop) + `{"time`
	for _, name := range []string{ownFile, ownFile + ".zst", ownFile + ".zst.tmp"} {
		for _, kind := range []string{"link", "pipe"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
				writeFile(t, target, []byte(lines))
				path := filepath.Join(dir, name)
				if name != ownFile {
					writeLines(t, dir, ownFile, lines)
				}
				if kind == "link" {
					noErr(t, os.Symlink(target, path))
				} else {
					noErr(t, syscall.Mkfifo(path, 0o600))
				}
				before, err := os.Lstat(path)
				noErr(t, err)
				compress(t, dir)
				if kind == "link" { // a pipe as the first part keeps its name from being created: told at the start
					logOf(t, Config{Dir: dir, WorkerID: own}, 1)
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

// TestPipeAsLog: a pipe is refused at once, whatever reads it.
func TestPipeAsLog(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.jsonl")
	noErr(t, syscall.Mkfifo(pipe, 0o600))
	if _, err := OpenReader(pipe, Options{}); !errors.Is(err, errNoFile) {
		t.Errorf("read: %v", err)
	}
}
