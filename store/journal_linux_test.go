package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestReadLock(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		pid        int
		locked     bool
	}{
		{"a reader", "3: POSIX  ADVISORY  READ 4242 08:01:77 124 124", 4242, true},
		{"a reader that needs no journal", "3: POSIX  ADVISORY  READ 4242 fd:00:77 123 123", 4242, true},
		{"beside the lock that all have", "3: POSIX  ADVISORY  READ 4242 08:01:77 127 128", 4242, true},
		{"to the end", "3: POSIX  ADVISORY  WRITE 4242 08:01:77 0 EOF", 4242, true},
		{"that has it open only", "3: POSIX  ADVISORY  READ 4242 08:01:77 128 128", 4242, false},
		{"the writer's", "3: POSIX  ADVISORY  WRITE 4242 08:01:77 120 120", 4242, false},
		{"another file", "3: POSIX  ADVISORY  READ 4242 08:01:177 124 124", 0, false},
		{"one that waits", "3: -> POSIX  ADVISORY  READ 4242 08:01:77 124 124", 0, false},
		{"flock", "3: FLOCK  ADVISORY  WRITE 4242 08:01:77 0 EOF", 0, false},
		{"a process of elsewhere", "3: POSIX  ADVISORY  READ -1 08:01:77 124 124", 0, false},
		{"nothing", "", 0, false},
		{"no numbers", "3: POSIX  ADVISORY  READ x 08:01:77 y z", 0, false},
	} {
		if pid, locked := readLock(tt.line, 77); pid != tt.pid || locked != tt.locked {
			t.Errorf("%s: %d, %t", tt.name, pid, locked)
		}
	}
}

// Who has the file open is found, but for this process itself.
func TestOpeners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f, err := os.Create(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if found := openersOf(path); len(found) > 0 {
		t.Errorf("before: %v", found)
	}
	sleep := exec.CommandContext(t.Context(), "sleep", "60")
	sleep.Stdin = f
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	if found := openersOf(path); !slices.Equal(found, []Process{{sleep.Process.Pid, "sleep"}}) {
		t.Errorf("found %v, want process %d", found, sleep.Process.Pid)
	}
}
