//go:build !unix

package crawl

import "time"

// processorTime is what the process has used of the processors, 0 = unknown.
func processorTime() time.Duration { return 0 }
