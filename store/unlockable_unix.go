//go:build unix

package store

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ypcrawl/yp/folder"
)

// unlockable reports whether the file system of a folder refuses the locks that SQLite takes (fcntl). It tries one on
// a file of its own: to close another handle on the database would release the locks of this process on it.
func unlockable(dir string) bool {
	f, err := folder.New(filepath.Join(dir, ".ypcrawl-lock-"+rand.Text()[:10]), os.O_RDWR, 0o600, nil)
	if err != nil {
		return false
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Len: 1})
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}
