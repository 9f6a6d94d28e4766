//go:build windows

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// removesHeld: a file that is open can't be removed.
const removesHeld = false

// toLook opens a lock file to see whether it is held.
const toLook = os.O_RDONLY

// inUse reports whether a file could not be removed because somebody has it open.
func inUse(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

// mayPass reports whether a file could perhaps not be opened because somebody is removing it: Windows denies access to it
// then, as to one that the user may not open.
func mayPass(err error) bool {
	return inUse(err) || errors.Is(err, windows.ERROR_DELETE_PENDING) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

func lockFile(f *os.File, shared bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// unlockFile gives the lock back at once: Windows drops the lock of a closed file when it has time.
func unlockFile(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{})
}

// mayWrite returns why a file can't be written.
func mayWrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
