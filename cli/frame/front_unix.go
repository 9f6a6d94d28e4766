//go:build unix && !aix

package frame

import "golang.org/x/sys/unix"

// Foreground tells whether w is no terminal that other processes have: a shell starts a command with & in a process
// group of its own, gives the terminal to that group at "fg", and takes it back when the command is stopped (tcgetpgrp(3)).
// Of a terminal that isn't the process's own nothing is known, and a command that su(1) started has no other.
func Foreground(w any) bool {
	f, ok := w.(descriptor)
	if !ok {
		return true
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
