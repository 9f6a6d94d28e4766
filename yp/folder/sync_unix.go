//go:build unix

package folder

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Sync makes the names in a folder durable: of files that are new, renamed or removed. A file system that syncs no
// folders answers EINVAL or ENOTSUP (fsync(2)): then its names are as durable as it makes them by itself.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
