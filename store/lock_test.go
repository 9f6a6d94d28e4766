package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"ypcrawl/store"
)

// lockChild takes a lock and holds it until it is killed.
func lockChild(args []string) error {
	if _, err := store.TakeLock(args[0], args[1], false); err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

func alive(t *testing.T, path, name string) bool {
	t.Helper()
	ok, err := store.Alive(path, name)
	noErr(t, err)
	return ok
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func none(string) bool { return false }

func TestAlive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if alive(t, path, "owner") {
		t.Error("alive before anybody took the lock")
	}
	p := start(t, "lock", path, "owner")
	p.Await(t, "held")
	if !alive(t, path, "owner") {
		t.Error("a living owner counts as dead")
	}
	if _, err := store.TakeLock(path, "owner", true); !errors.Is(err, store.ErrLocked) {
		t.Errorf("its lock: %v, want ErrLocked", err)
	}
	file := filepath.Join(store.LockDir(path), "owner.lock")
	if err := store.SweepLocks(path, none); err != nil || !exists(file) {
		t.Errorf("sweep: %v, and the living owner's file is there: %v", err, exists(file))
	}
	noErr(t, p.Process.Kill())
	_ = p.Wait()
	if alive(t, path, "owner") {
		t.Error("a killed owner counts as alive")
	}
	if err := store.SweepLocks(path, func(n string) bool { return n == "owner" }); err != nil || !exists(file) {
		t.Errorf("sweep: %v, and the file to keep is there: %v", err, exists(file))
	}
	if err := store.SweepLocks(path, none); err != nil || exists(file) {
		t.Errorf("sweep: %v, and the dead owner's file is there: %v", err, exists(file))
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	t.Run("shared ones stand together and keep an exclusive one out", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		a, errA := store.TakeLock(path, "run", true)
		b, errB := store.TakeLock(path, "run", true)
		noErr(t, errors.Join(errA, errB))
		if _, err := store.TakeLock(path, "run", false); !errors.Is(err, store.ErrLocked) {
			t.Errorf("beside two shared ones: %v, want ErrLocked", err)
		}
		noErr(t, errors.Join(a.Release(), b.Release()))
		c, err := store.TakeLock(path, "run", false)
		noErr(t, err)
		if _, err := store.TakeLock(path, "run", true); !errors.Is(err, store.ErrLocked) {
			t.Errorf("beside an exclusive one: %v, want ErrLocked", err)
		}
		noErr(t, c.Remove())
	})
	t.Run("sweeping where nothing is", func(t *testing.T) {
		t.Parallel()
		if err := store.SweepLocks(filepath.Join(t.TempDir(), "a.db"), none); err != nil {
			t.Error(err)
		}
	})
	t.Run("never two holders, whatever is removed and swept meanwhile", func(t *testing.T) {
		t.Parallel()
		r := lockRace{path: filepath.Join(t.TempDir(), "a.db")}
		var wg sync.WaitGroup
		for n := range 6 {
			wg.Go(func() {
				for range 300 {
					if err := r.turn(n%2 == 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if r.taken.Load() == 0 {
			t.Error("nobody ever took the lock")
		}
	})
}

type lockRace struct {
	path           string
	holders, taken atomic.Int64
}

// turn takes the lock and gives it back, or sweeps when somebody else holds it.
func (r *lockRace) turn(remove bool) error {
	l, err := store.TakeLock(r.path, "x", false)
	if errors.Is(err, store.ErrLocked) {
		return store.SweepLocks(r.path, none)
	}
	if err != nil {
		return err
	}
	r.taken.Add(1)
	if r.holders.Add(1) != 1 {
		return errors.New("two hold the lock at once")
	}
	r.holders.Add(-1)
	if remove {
		return l.Remove()
	}
	return l.Release()
}

func TestLockDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "real", "a.db")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644),
		os.Symlink(file, filepath.Join(dir, "link.db")),
		os.Symlink("real", filepath.Join(dir, "folder")),
		os.Symlink("folder/later.db", filepath.Join(dir, "later.db")),
		os.Symlink("loop.db", filepath.Join(dir, "loop.db"))); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	noErr(t, err)
	relative, err := filepath.Rel(wd, file)
	noErr(t, err)
	base, err := filepath.EvalSymlinks(dir)
	noErr(t, err)
	there, later := filepath.Join(base, "real", "a.db.locks"), filepath.Join(base, "real", "later.db.locks")
	for _, c := range []struct{ name, path, want string }{
		{"as it is", file, there},
		{"through a link", filepath.Join(dir, "link.db"), there},
		{"relative", relative, there},
		{"through a linked folder", filepath.Join(dir, "folder", "a.db"), there},
		{"a file not yet there", filepath.Join(dir, "real", "later.db"), later},
		{"a link to a file not yet there", filepath.Join(dir, "later.db"), later},
		{"a loop of links", filepath.Join(dir, "loop.db"), filepath.Join(base, "loop.db.locks")},
	} {
		if got := store.LockDir(c.path); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	l, err := store.TakeLock(filepath.Join(dir, "link.db"), "owner", false)
	noErr(t, err)
	if !alive(t, file, "owner") {
		t.Error("a lock taken under one name is free under the other")
	}
	noErr(t, l.Remove())
}
