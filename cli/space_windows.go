//go:build windows

package cli

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// freeSpace returns the bytes that this user may still write at a folder.
func freeSpace(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, fmt.Errorf("free space at %s: %w", dir, err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, fmt.Errorf("free space at %s: %w", dir, err)
	}
	return int64(free), nil
}
