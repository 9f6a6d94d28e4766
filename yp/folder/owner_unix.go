//go:build unix

package folder

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes an open fail on a symbolic link.
const noFollow = syscall.O_NOFOLLOW

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

// trusted reports whether a user is root, or has called it: by a program that is set to run as root, or by sudo, which
// sets SUDO_UID itself, and whose caller may name any file to it.
func trusted(uid int) bool {
	return uid == 0 || uid == os.Getuid() || strconv.Itoa(uid) == os.Getenv("SUDO_UID")
}

// Owner names whom a file belongs to: "alice", or "user 1000" where the system knows no name.
func Owner(info fs.FileInfo) string {
	uid, _, known := ids(info)
	if !known {
		return "another user"
	}
	return userName(uid)
}

func userName(uid int) string {
	name := account(uid)
	if name == strconv.Itoa(uid) {
		return "user " + name
	}
	return name
}

// account is how chown takes a user: a name, or a number.
func account(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// Readable returns why a file or folder can't be read, without opening it: to close a file ends the locks that this
// process has on it.
func Readable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS); err != nil {
		return Denied(path, &fs.PathError{Op: "open", Path: path, Err: err})
	}
	return nil
}
