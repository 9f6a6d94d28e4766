//go:build unix

package yp

import (
	"io/fs"
	"syscall"
)

// HardLinks is how many names a file has on its disk; 1 where that is not known.
func HardLinks(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Nlink)
	}
	return 1
}
