//go:build unix && !solaris && !aix

package wal

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an exclusive flock without waiting. A file system without
// locks is no reason not to log: only a lock held elsewhere is an error.
func lockFile(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = conn.Control(func(fd uintptr) { lockErr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
	if errors.Is(lockErr, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}

// unlockFile gives the lock back at once. Closing alone would leave it to the
// last copy of the descriptor, and a process being started holds copies until
// it executes.
func unlockFile(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { _ = syscall.Flock(int(fd), syscall.LOCK_UN) })
}
