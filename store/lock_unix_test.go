//go:build unix

package store_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ypcrawl/store"
)

// TestReleaseAtOnce: a lock that is given back is free, though a process that is being started has a copy of its
// descriptor until it executes.
func TestReleaseAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	l, err := store.TakeLock(path, "owner", false)
	noErr(t, err)
	held, err := unix.Dup(int(l.File().Fd()))
	noErr(t, err)
	defer func() { _ = unix.Close(held) }()
	if !alive(t, path, "owner") {
		t.Error("a living owner counts as dead")
	}
	noErr(t, l.Release())
	if alive(t, path, "owner") {
		t.Error("the lock is still held by a copy of its descriptor")
	}
}
