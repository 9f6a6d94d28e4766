package crawl

import (
	"bytes"
	"os"
	"strconv"
)

// residentBytes is the memory that the process holds now, 0 = unknown.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm") // pages: total, resident, …
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
