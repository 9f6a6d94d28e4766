//go:build unix && !solaris && !aix

package wal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes an exclusive flock without waiting. A file system without
// locks is no reason not to log: only a lock held elsewhere is an error.
func lockFile(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return ErrInUse
	}
	return nil
}

// unlockFile gives the lock back at once. Closing alone would leave it to the
// last copy of the descriptor, and a process being started holds copies until
// it executes.
func unlockFile(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
