package start

import (
	"math"
	"os"
	"runtime/debug"
)

// What the collector may spend before it works harder (the process has a limit for one source): a
// source has its connection, its buffers and a page in hand. Measured with 120 of them:
// within 48 MiB the collector takes more than the crawl. The most is half of a small VPS.
const (
	memoryOfSource = 1 << 20
	mostMemory     = 256 << 20
)

// raiseMemory raises the soft limit of memory for so many sources, until restore is called.
// GOMEMLIMIT wins, and a limit that is higher already, or none, stays.
func raiseMemory(sources int) (restore func()) {
	before := debug.SetMemoryLimit(-1)
	limit := min(before+int64(sources-1)*memoryOfSource, mostMemory)
	if os.Getenv("GOMEMLIMIT") != "" || limit <= before || before == math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
