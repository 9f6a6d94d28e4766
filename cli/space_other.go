//go:build !linux && !darwin && !freebsd && !windows

package cli

import "errors"

// freeSpace is not known on this system.
func freeSpace(string) (int64, error) {
	return 0, errors.New("free space is not known on this system")
}
