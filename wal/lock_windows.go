package wal

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock without waiting. Nobody else may read or write what is locked on Windows, so it is
// the last byte that a file could have: the lines stay readable. A file system without locks is no reason not to log.
func lockFile(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, lastByte()); errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	return nil
}

// unlockFile gives the lock back at once: Windows drops the lock of a closed file when it has time.
func unlockFile(f *os.File) { _ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lastByte()) }

func lastByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32 - 1, OffsetHigh: math.MaxInt32}
}
