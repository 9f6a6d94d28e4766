package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
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

// locked checks that nobody else may have a lock now.
func locked(t *testing.T, path, name string, shared bool) {
	t.Helper()
	if _, err := store.TakeLock(path, name, shared); !errors.Is(err, store.ErrLocked) {
		t.Errorf("taken, shared %t: %v, want ErrLocked", shared, err)
	}
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
	locked(t, path, "owner", true)
	file := filepath.Join(store.LockDir(path), "owner.lock")
	sweep := func(left bool, keep func(string) bool) {
		t.Helper()
		if err := store.SweepLocks(path, keep); err != nil || exists(file) != left {
			t.Errorf("sweep: %v, and its file is there: %v, want %v", err, exists(file), left)
		}
	}
	sweep(true, none)
	p.Kill(t)
	if alive(t, path, "owner") {
		t.Error("a killed owner counts as alive")
	}
	sweep(true, func(n string) bool { return n == "owner" })
	sweep(false, none)
}

func TestLock(t *testing.T) {
	t.Parallel()
	t.Run("shared ones stand together and keep an exclusive one out", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		a, errA := store.TakeLock(path, "run", true)
		b, errB := store.TakeLock(path, "run", true)
		noErr(t, errors.Join(errA, errB))
		locked(t, path, "run", false)
		noErr(t, errors.Join(a.Release(), b.Release()))
		c, err := store.TakeLock(path, "run", false)
		noErr(t, err)
		locked(t, path, "run", true)
		noErr(t, c.Remove())
	})
	t.Run("sweeping where nothing is", func(t *testing.T) {
		noErr(t, store.SweepLocks(filepath.Join(t.TempDir(), "a.db"), none))
	})
	t.Run("never two holders, whatever is removed and swept meanwhile", func(t *testing.T) {
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
	noErr(t, errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644),
		os.Symlink(file, filepath.Join(dir, "link.db")),
		os.Symlink("real", filepath.Join(dir, "folder")),
		os.Symlink("folder/later.db", filepath.Join(dir, "later.db")),
		os.Symlink("loop.db", filepath.Join(dir, "loop.db"))))
	if _, err := os.Readlink(filepath.Join(dir, "link.db")); err != nil && runtime.GOOS == "windows" {
		t.Skip("links can't be read here, as under Wine 8.0: ", err)
	}
	base, err := filepath.EvalSymlinks(dir)
	noErr(t, err)
	there, later := filepath.Join(base, "real", "a.db.locks"), filepath.Join(base, "real", "later.db.locks")
	for _, c := range []struct{ name, path, want string }{
		{"as it is", file, there},
		{"through a link", filepath.Join(dir, "link.db"), there},
		{"relative", relativeTo(t, file), there},
		{"through a linked folder", filepath.Join(dir, "folder", "a.db"), there},
		{"a file not yet there", filepath.Join(dir, "real", "later.db"), later},
		{"a link to a file not yet there", filepath.Join(dir, "later.db"), later},
		{"a loop of links", filepath.Join(dir, "loop.db"), filepath.Join(base, "loop.db.locks")},
	} {
		storetest.Equal(t, store.LockDir(c.path), c.want, c.name)
	}
	l, err := store.TakeLock(filepath.Join(dir, "link.db"), "owner", false)
	noErr(t, err)
	if !alive(t, file, "owner") {
		t.Error("a lock taken under one name is free under the other")
	}
	noErr(t, l.Remove())
}
