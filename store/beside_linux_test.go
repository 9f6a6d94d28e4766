package store_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// To close any handle on a file releases this process's locks on it: to open a database once more closes nothing of it.
func TestLocksAreKept(t *testing.T) {
	db := storetest.Open(t)
	if _, err := db.ID(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(locksOf(t, db.Path()+"-shm")) == 0 {
		t.Fatal("SQLite holds no lock on its -shm: the test can't fail")
	}
	storetest.OpenConfig(t, store.Config{Path: db.Path()})
	for _, name := range []string{"", "-shm"} {
		if after := locksOf(t, db.Path()+name); len(after) == 0 {
			t.Errorf("the locks on %s%s are released", db.Path(), name)
		}
	}
}

// locksOf are the lines of /proc/locks of this process and a file.
func locksOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	info, err := os.Stat(path)
	noErr(t, err)
	mine := fmt.Sprintf(" %d ", os.Getpid())
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for range 50 { // one look may miss a line while other processes take and leave locks
		text, err := os.ReadFile("/proc/locks")
		noErr(t, err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, mine) && strings.Contains(line, inode) {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			break
		}
	}
	return lines
}
