package crawl

import (
	"bytes"
	"os"
	"strconv"

	"ypcrawl/checkpoint"
)

// usage is what the process uses of its machine now.
func usage() checkpoint.Usage {
	return checkpoint.Usage{Memory: residentBytes(), CPU: processorTime()}
}

// residentBytes is the memory that the process holds now; 0 = unknown, as where there is no /proc.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm") // pages: total, resident, …
	if fields := bytes.Fields(text); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return 0
}
