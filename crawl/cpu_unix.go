//go:build unix

package crawl

import (
	"syscall"
	"time"
)

// processorTime is what the process has used of the processors, 0 = unknown.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
