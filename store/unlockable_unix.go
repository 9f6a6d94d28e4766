//go:build unix

package store

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// unlockable reports whether the file system of a folder refuses the locks that SQLite takes (fcntl). It tries one on
// a file of its own: to close another handle on the database would release the locks of this process on it.
func unlockable(dir string) bool {
	f, err := os.CreateTemp(dir, ".ypcrawl-lock-*")
	if err != nil {
		return false
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Len: 1})
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}
