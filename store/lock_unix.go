//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// removesHeld: a file can be removed while it is open and locked.
const removesHeld = true

// toLook opens a lock file to see whether it is held: also where nobody may write, and without waiting for the other
// end of what is a pipe.
const toLook = os.O_RDONLY | unix.O_NONBLOCK

// inUse reports whether a file could not be removed because somebody has it open: that is no hindrance here.
func inUse(error) bool { return false }

// mayPass reports whether a file could not be opened because somebody is removing it: neither is that.
func mayPass(error) bool { return false }

func lockFile(f *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// unlockFile gives the lock back at once. Closing alone would leave it to the last copy of the descriptor, and a process
// that is being started holds copies until it executes.
func unlockFile(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// mayWrite returns why a file can't be written. It does not open it.
func mayWrite(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
