//go:build darwin || freebsd

package selftest

import "golang.org/x/sys/unix"

// fileSystem names that of a folder, and what is known against it.
func fileSystem(dir string) (name, doubt string) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", ""
	}
	name = unix.ByteSliceToString(st.Fstypename[:])
	return name, doubtOf(name)
}
