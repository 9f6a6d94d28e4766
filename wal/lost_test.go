package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"ypcrawl/store/storetest"
)

// TestLost: whatever happens to a log while it is written, its worker goes on in a new file whose first line says
// so, with the page that it has in hand; and what is missing is told from what was put back.
func TestLost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open is neither removed nor moved here")
	}
	remove := func(t *testing.T, path string) { noErr(t, os.Remove(path)) }
	move := func(t *testing.T, path string) {
		noErr(t, os.Rename(path, filepath.Join(filepath.Dir(path), "..", "aside")))
	}
	back := func(t *testing.T, path string) {
		noErr(t, os.Rename(filepath.Join(filepath.Dir(path), "..", "aside"), path))
	}
	for _, c := range []struct {
		name   string
		happen func(t *testing.T, path string)
		after  func(t *testing.T, path string)
		how    LostHow
		lost   int64 // of four pages before it
	}{
		{"removed", remove, nil, LostName, 4},
		{"moved", move, nil, LostName, 4},
		{"moved and put back", move, back, LostName, 0},
		{"its folder removed", func(t *testing.T, path string) { noErr(t, os.RemoveAll(filepath.Dir(path))) }, nil, LostName, 4},
		{"emptied", func(t *testing.T, path string) { noErr(t, os.Truncate(path, 0)) }, nil, LostEnd, 4},
		{"cut within a line", func(t *testing.T, path string) { noErr(t, os.Truncate(path, int64(len(readFile(t, path))*3/5))) }, nil, LostEnd, 2},
		{"replaced by a copy", func(t *testing.T, path string) {
			text := readFile(t, path)
			remove(t, path)
			writeFile(t, path, text)
		}, nil, LostReplaced, 0},
		{"replaced by another", func(t *testing.T, path string) {
			remove(t, path)
			writeFile(t, path, []byte("x\n"))
		}, nil, LostReplaced, 4},
		{"a link in its place", func(t *testing.T, path string) {
			move(t, path)
			noErr(t, os.Symlink("../aside", path))
		}, remove, LostReplaced, 4},
		{"a second name", func(t *testing.T, path string) { noErr(t, os.Link(path, filepath.Join(filepath.Dir(path), "copy"))) }, nil, Linked, 0},
	} {
		for _, end := range []string{"next page", "end"} {
			t.Run(c.name+", noticed at the "+end, func(t *testing.T) {
				t.Parallel()
				dir, out := filepath.Join(t.TempDir(), "logs"), new(bytes.Buffer)
				log := create(t, Config{Dir: dir, Database: "db", Logger: zerolog.New(out)})
				first := log.Path()
				appendN(t, log, 4)
				noErr(t, log.Sync())
				c.happen(t, first)
				if end == "next page" {
					appendN(t, log, 1)
					noErr(t, log.Sync())
					if log.Path() == first {
						t.Fatal("it goes on in the same file")
					}
					if c.after != nil {
						c.after(t, first)
					}
					appendN(t, log, 1)
					noErr(t, log.Sync())
				}
				noErr(t, log.Close())
				if c.after != nil && end == "end" {
					c.after(t, first)
				}
				events, damage, _ := readAll(t, log.Path(), Options{})
				want := map[string]int{"next page": 3, "end": 1}[end]
				if len(damage) > 0 || len(events) != want || events[0].Type != LogLost || events[0].Lost.How != c.how || events[0].Lost.Pages != 4 || events[0].Lost.Listings != 4 {
					t.Fatalf("%d events, %v: %s", len(events), damage, readFile(t, log.Path()))
				}
				if !strings.Contains(out.String(), `"level":"warn"`) || strings.Count(out.String(), "\n") != 1 {
					t.Errorf("warned: %s", out)
				}
				losses, err := Losses(dir)
				noErr(t, err)
				if c.lost == 0 && len(losses) > 0 || c.lost > 0 && (len(losses) != 1 || losses[0].Pages != c.lost || losses[0].Listings != c.lost || losses[0].Database != "db") {
					t.Errorf("lost: %+v", losses)
				}
				compress(t, dir)
				again, err := Losses(dir)
				noErr(t, err)
				storetest.Diff(t, again, losses, "compressed")
			})
		}
	}
}

// TestLostPart: the full files of a log are missed, too, and what was lost twice is counted once.
func TestLostPart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("nobody can remove a log that is open here")
	}
	dir := t.TempDir()
	log := create(t, Config{Dir: dir, MaxBytes: 2500, NoCompress: true})
	appendN(t, log, 4) // one in a file
	noErr(t, os.Remove(filepath.Join(dir, "worker_0_pid_1.jsonl")))
	noErr(t, log.Sync()) // the first look at all
	events, _, _ := readAll(t, log.Path(), Options{})
	if len(events) != 2 || events[0].Type != LogLost || events[0].Lost.How != LostPart || events[0].Lost.File != "worker_0_pid_1.jsonl" {
		t.Fatalf("%+v", events)
	}
	noErr(t, os.Remove(log.Path()))
	noErr(t, log.Close())
	losses, err := Losses(dir)
	noErr(t, err)
	if len(losses) != 1 || losses[0].Pages != 1 || losses[0].Listings != 1 { // that of the first; the last one's is in the file before, too
		t.Errorf("%+v", losses)
	}
}

// TestLostByCommit: a replay takes no notice of the line that says what was lost, and takes a page that is in
// two files once.
func TestLostByCommit(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("how many names a file has isn't known here")
	}
	dir := t.TempDir()
	log := create(t, Config{Dir: dir, Database: "db"})
	page := samplePage(1)
	noErr(t, log.Append(page))
	noErr(t, os.Link(log.Path(), filepath.Join(dir, "copy"))) // the file stays, with the page
	noErr(t, log.Sync())
	next := samplePage(1)
	next.Page.Number, next.Committed = 3, 1
	noErr(t, log.Append(next))
	noErr(t, log.Close())
	events, damage, _ := readAll(t, dir, Options{ByCommit: true})
	var nth []int64
	for _, e := range events {
		nth = append(nth, e.Nth)
	}
	if len(damage) > 0 || len(nth) != 3 {
		t.Fatal(nth, damage)
	}
	storetest.Diff(t, nth, []int64{0, 1, 2})
}
