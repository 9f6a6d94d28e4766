package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ypcrawl/yp/folder"
)

// Lock is a hold on a lock file beside the database. The kernel drops it at any
// death of the process, so "can it be taken?" answers "is its owner dead?"
// truly, with no time-out and whatever happened to the process's number.
type Lock struct{ f *os.File }

// LockDir returns the folder of the lock files of the database at path. It stands
// beside the file itself: two names of one file, relative or through symbolic
// links, share their locks, as they share SQLite's.
func LockDir(path string) string { return RealPath(path) + ".locks" }

// RealPath is path made absolute, with its links followed as far as they lead:
// the file need not be there yet.
func RealPath(path string) string { return folder.Real(path) }

func lockPath(db, name string) string { return filepath.Join(LockDir(db), name+".lock") }

// TakeLock takes the lock name of the database at path, shared or exclusive,
// without waiting; ErrLocked when another process holds it.
func TakeLock(path, name string, shared bool) (*Lock, error) {
	for {
		if err := makeLock(path, name+".lock"); err != nil {
			return nil, err
		}
		l, err := takeOnce(lockPath(path, name), shared)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// makeLock makes a lock file, and the folder of the lock files, where they aren't there: of the owner, the group and the
// mode of the database when root makes them, so that its owner can take the lock, too.
func makeLock(path, name string) error {
	at := LockDir(path)
	dir, like, err := lockFolder(at, filepath.Base(RealPath(path)))
	if err != nil {
		return fmt.Errorf("make the folder of the lock files: %w", err)
	}
	f, err := dir.New(name, os.O_RDWR, 0o600, like)
	switch {
	case errors.Is(err, fs.ErrExist), mayPass(err): // what it is, who opens it finds out
		err = nil
	case err != nil:
		err = fmt.Errorf("open lock file: %w", err)
	default:
		err = f.Close()
	}
	return errors.Join(err, dir.Close())
}

// lockFolder holds the folder of the lock files of a database, made if need be. like is what its files are to be
// like: the database, or the folder where that isn't one beside it.
func lockFolder(at, database string) (dir *folder.Dir, like fs.FileInfo, err error) {
	if err := folder.Make(filepath.Dir(at)); err != nil {
		return nil, nil, err
	}
	beside, err := folder.Hold(filepath.Dir(at))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, beside.Close()) }()
	like = beside.Beside(database)
	dir, err = beside.Enter(filepath.Base(at))
	if errors.Is(err, fs.ErrNotExist) {
		if err = beside.Mkdir(filepath.Base(at), 0o700, like); err == nil || errors.Is(err, fs.ErrExist) {
			dir, err = beside.Enter(filepath.Base(at))
		}
	}
	if errors.Is(err, folder.ErrLink) { // somewhere else, where the database is no measure
		dir, err = folder.Hold(at)
		like = nil
	}
	return dir, like, err
}

// takeOnce returns nil, nil when a sweeper removed the file between its opening
// and its locking: a lock on a name that is gone would protect nothing.
func takeOnce(name string, shared bool) (*Lock, error) {
	f, err := openLock(name, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", folder.Denied(name, err))
	}
	if err := lockFile(f, shared); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	l := &Lock{f: f}
	if err := l.InPlace(); err != nil {
		_ = l.Release()
		if errors.Is(err, ErrReplaced) {
			err = nil
		}
		return nil, err
	}
	return l, nil
}

// openLock opens a lock file to read and write.
func openLock(name string, flag int) (*os.File, error) { return openPassing(name, os.O_RDWR|flag) }

// openPassing opens a lock file. One that somebody is removing can't be opened on Windows, for as long as that takes.
func openPassing(name string, flag int) (f *os.File, err error) {
	for range 100 {
		f, err = os.OpenFile(name, flag, 0o600)
		if !mayPass(err) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return f, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// InPlace returns ErrReplaced when the file no longer stands under its name: whoever looks takes its owner for dead.
func (l *Lock) InPlace() error {
	held, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.f.Name(), err)
	}
	if there, err := os.Stat(l.f.Name()); err != nil || !os.SameFile(held, there) {
		return fmt.Errorf("lock file %s was %w", l.f.Name(), ErrReplaced)
	}
	return nil
}

// Release drops the lock and keeps its file.
func (l *Lock) Release() error {
	unlockFile(l.f)
	return l.f.Close()
}

// Remove drops the lock and its file; only for a name that is never used again.
func (l *Lock) Remove() error {
	if removesHeld { // nobody can take a lock on a name that is about to go
		return errors.Join(ignoreMissing(os.Remove(l.f.Name())), l.f.Close())
	}
	if err := l.Release(); err != nil {
		return err
	}
	err := os.Remove(l.f.Name())
	if inUse(err) { // somebody has taken it since, or looks at it: the next sweep removes it
		err = nil
	}
	return ignoreMissing(err)
}

// A place of a lock file holds two numbers: what the owner has in hand, for those who find the
// file when it is dead. It is not synced, for a power cut is no fault of what was in hand, and on a
// full disk it can't be written, which is the same. The first bytes are the lock's own on Windows.
const placeSize = 16

// Put writes two numbers into a place of the lock's file, from 0.
func (l *Lock) Put(place int, a, b int64) error {
	var in [placeSize]byte
	binary.LittleEndian.PutUint64(in[:], uint64(a))
	binary.LittleEndian.PutUint64(in[8:], uint64(b))
	_, err := l.f.WriteAt(in[:], int64(place+1)*placeSize)
	return err
}

// Places reads what was put into the lock name of the database at path: nothing where its owner
// has removed it.
func Places(path, name string) (all [][2]int64, err error) {
	b, err := os.ReadFile(lockPath(path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for b = b[min(placeSize, len(b)):]; len(b) >= placeSize; b = b[placeSize:] {
		if x := [2]int64{int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))}; x[0] > 0 {
			all = append(all, x)
		}
	}
	return all, err
}

// Alive reports whether a living process holds the lock name of the database at
// path. A lock file that is not there has no living holder. The shared lock that it tries
// needs no right to write: neither a read-only disk nor another user's file keeps it from
// looking. An error means that nobody knows: the file can't be opened, or the disk has no locks.
func Alive(path, name string) (bool, error) {
	f, err := openPassing(lockPath(path, name), toLook)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
		err = wrong.Err // the page shows it, and no folder of the machine
	}
	if err != nil {
		return false, fmt.Errorf("open lock file %s.lock: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	switch err = lockFile(f, true); {
	case errors.Is(err, ErrLocked):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("lock %s.lock: %w", name, err)
	}
	unlockFile(f)
	return false, nil
}

// Beats reports whether a heartbeat is younger than SilentElsewhere: a sign of life where no lock tells. One that is
// a day ahead is none: a clock was set back.
func Beats(now, heartbeat time.Time) bool {
	age := now.Sub(heartbeat)
	return age < SilentElsewhere && age >= -24*time.Hour
}

// SilentElsewhere is how long a run of a machine with another name must be silent, its
// lock free, until it counts as dead: six heartbeats. Locks may not reach across
// machines; on the other hand a machine's name changes, with every container.
const SilentElsewhere = 3 * time.Minute

// SweepLocks removes the lock files of dead processes, except those named in keep.
func SweepLocks(path string, keep func(name string) bool) error {
	entries, err := os.ReadDir(LockDir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove old lock files: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".lock")
		if !ok || keep(name) {
			continue
		}
		l, err := TakeLock(path, name, false)
		if err == nil {
			err = l.Remove()
		}
		if err != nil && !errors.Is(err, ErrLocked) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
