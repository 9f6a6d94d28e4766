//go:build unix

package export

import (
	"os"

	"golang.org/x/sys/unix"
)

// noFollow opens no link, and waits for nobody.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// hold takes a file for this process until it is closed: an error = another one has it.
func hold(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
