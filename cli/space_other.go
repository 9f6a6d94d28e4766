//go:build !linux && !darwin && !freebsd && !windows

package cli

import (
	"errors"
	"fmt"
)

// freeSpace is not known on this system.
func freeSpace(string) (int64, error) {
	return 0, fmt.Errorf("free space on this system: %w", errors.ErrUnsupported)
}
