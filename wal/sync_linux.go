package wal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData writes the file's data and size to the disk, and leaves out the
// times that fsync would write as well.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
