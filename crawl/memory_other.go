//go:build !linux

package crawl

// residentBytes is the memory that the process holds now, 0 = unknown.
func residentBytes() int64 { return 0 }
