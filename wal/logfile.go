package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// logFile is what a Log needs of an open file.
type logFile interface {
	Write(b []byte) (int, error)
	ReadAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error // data and size
	Size() (int64, error)
	Close() error
}

// osFile is a real log file, locked for as long as it is open.
type osFile struct{ *os.File }

// Sync waits until the data is on the disk.
func (f osFile) Sync() error { return syncData(f.File) }

// Size is the file's size.
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close gives the lock back and closes the file.
func (f osFile) Close() error { return closeLocked(f.File) }

func closeLocked(f *os.File) error { return errors.Join(unlockFile(f), f.Close()) }

// openLogFile opens a file to append to, and locks it. With create the file
// must not be there yet; without, it must: a file made anew under a name that
// was just compressed away would hide the compressed one.
func openLogFile(path string, create bool) (logFile, error) {
	flag := os.O_RDWR | os.O_APPEND
	if create {
		flag |= os.O_CREATE | os.O_EXCL
	}
	f, err := openLocked(path, flag)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// openLocked opens a file and takes its lock, or returns ErrInUse. The kernel
// drops the lock at any death of the process. fs.ErrNotExist is returned when
// the name came to mean another file, or none, meanwhile: a compression that
// held the lock before us has removed it.
func openLocked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, closeLocked(f))
	}
	if !mine.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errNoFile), closeLocked(f))
	}
	named, err := os.Stat(path)
	if err != nil || !os.SameFile(mine, named) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}, closeLocked(f))
	}
	return f, nil
}
