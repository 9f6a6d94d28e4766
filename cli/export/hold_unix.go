//go:build unix

package export

import (
	"os"

	"golang.org/x/sys/unix"
)

// hold takes a file for this process until it is closed: an error = another one has it.
func hold(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
