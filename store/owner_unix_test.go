//go:build unix

package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp/folder"
)

const (
	user  = 4321
	group = 4322
)

// usersFolder is a folder of another user's.
func usersFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	dir := t.TempDir()
	noErr(t, os.Chown(dir, user, group))
	return dir
}

// owned makes sure of a file's owner, group and mode.
func owned(t *testing.T, path string, uid, gid uint32, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	noErr(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Uid != uid || stat.Gid != gid || info.Mode().Perm() != mode {
		t.Errorf("%s belongs to %d:%d with mode %o, want %d:%d with %o", path, stat.Uid, stat.Gid, info.Mode().Perm(), uid, gid, mode)
	}
}

// TestOwner: what root makes beside a user's database is the user's: lock files with their folder, kept pages, and
// a database that is new, too.
func TestOwner(t *testing.T) {
	t.Parallel()
	t.Run("beside a database", func(t *testing.T) {
		t.Parallel()
		dir := usersFolder(t)
		path := filepath.Join(dir, "a.db")
		write(t, path, read(t, filled(t)))
		noErr(t, os.Chown(path, user, group+1))
		noErr(t, os.Chmod(path, 0o640))
		db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
		noErr(t, err)
		for _, name := range []string{"run", "some-run"} {
			l, err := store.TakeLock(path, name, true)
			noErr(t, err)
			owned(t, filepath.Join(store.LockDir(path), name+".lock"), user, group+1, 0o640)
			noErr(t, l.Release())
		}
		owned(t, store.LockDir(path), user, group+1, 0o750)
		for _, ending := range []string{"-wal", "-shm"} { // SQLite's own
			owned(t, path+ending, user, group+1, 0o640)
		}
		noErr(t, store.MakeFile(path+".pages", path))
		owned(t, path+".pages", user, group+1, 0o640)
		noErr(t, db.Close())
	})
	t.Run("a new database", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(usersFolder(t), "more", "a.db")
		db, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
		noErr(t, err)
		l, err := store.TakeLock(path, "run", true)
		noErr(t, err)
		for _, ending := range []string{"", "-wal", "-shm", ".locks/run.lock"} {
			owned(t, path+ending, user, group, 0o600)
		}
		owned(t, filepath.Dir(path), user, group, 0o700)
		owned(t, store.LockDir(path), user, group, 0o700)
		noErr(t, l.Release())
		noErr(t, db.Close())
	})
	t.Run("a lock folder that is a link", func(t *testing.T) {
		t.Parallel()
		dir, elsewhere := usersFolder(t), t.TempDir()
		path := filepath.Join(dir, "a.db")
		write(t, path, read(t, filled(t)))
		noErr(t, os.Chown(path, user, group))
		noErr(t, os.Symlink(elsewhere, store.LockDir(path)))
		l, err := store.TakeLock(path, "run", true)
		noErr(t, err)
		owned(t, filepath.Join(elsewhere, "run.lock"), 0, 0, 0o600) // root's folder
		owned(t, elsewhere, 0, 0, 0o755)
		noErr(t, l.Release())
	})
	t.Run("a new database behind a link", func(t *testing.T) {
		t.Parallel()
		dir, elsewhere := usersFolder(t), t.TempDir()
		noErr(t, os.Chown(elsewhere, user, group))
		path := filepath.Join(dir, "a.db")
		noErr(t, os.Symlink(filepath.Join(elsewhere, "b.db"), path))
		noErr(t, os.Lchown(path, user, group))
		_, err := store.Open(t.Context(), store.Config{Path: path, Schema: storetest.Schema(t)})
		if !errors.As(err, new(*folder.LinkError)) || exists(filepath.Join(elsewhere, "b.db")) {
			t.Errorf("made by root behind a link of another user: %v", err)
		}
		roots := filepath.Join(elsewhere, "roots.db") // what is behind root's own links is root's
		noErr(t, errors.Join(os.Chown(elsewhere, 0, 0), os.Symlink("c.db", roots), store.MakeFile(roots, "")))
		owned(t, filepath.Join(elsewhere, "c.db"), 0, 0, 0o600)
	})
	t.Run("what is there", func(t *testing.T) {
		t.Parallel()
		dir := usersFolder(t)
		path := filepath.Join(dir, "a.db")
		write(t, path, read(t, filled(t)))
		noErr(t, os.Chmod(path, 0o600))
		noErr(t, os.MkdirAll(store.LockDir(path), 0o700))
		write(t, filepath.Join(store.LockDir(path), "run.lock"), nil)
		noErr(t, os.Chmod(filepath.Join(store.LockDir(path), "run.lock"), 0o600))
		l, err := store.TakeLock(path, "run", true)
		noErr(t, err)
		for _, file := range []string{path, filepath.Join(store.LockDir(path), "run.lock")} {
			owned(t, file, 0, 0, 0o600)
		}
		noErr(t, l.Release())
	})
}
