//go:build unix

package store_test

import (
	"os"
	"syscall"
)

// asNobody makes a child run without root's right to write everything.
func asNobody() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
