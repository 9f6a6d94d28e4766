//go:build linux || darwin || freebsd

package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that this user may still write at a folder.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space at %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the types differ by system
}
