//go:build unix

package folder

import (
	"io/fs"
	"os"
	"syscall"
)

// isRoot reports whether this process may give files away.
func isRoot() bool { return os.Geteuid() == 0 }

// ids are the owner and the group of a file.
func ids(info fs.FileInfo) (uid, gid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}
