//go:build unix

package backup

import (
	"os"
	"syscall"
)

// ownLike gives a new file the owner of another one, where this user may: who restores as root
// does so for a service.
func ownLike(path, model string) {
	info, err := os.Stat(model)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = os.Lchown(path, int(s.Uid), int(s.Gid)) // what fails here is an error of the next command that writes
	}
}
