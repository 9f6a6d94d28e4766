package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Bounds of a look at other processes: what is beyond them is not looked at.
const (
	mostLocks     = 1 << 20 // bytes of /proc/locks
	mostProcesses = 10_000
	mostFiles     = 1000 // open ones, of a process
)

// The bytes of FILE-shm that a reader locks while its transaction is open
// (https://sqlite.org/walformat.html, 2.3.2).
const (
	firstReadLock = 123
	lastReadLock  = 127
)

// readersOf lists the other processes that have a read transaction open on a database, by the locks that
// the system knows of; none where it doesn't tell.
func readersOf(path string) (found []Process) {
	info, err := os.Stat(path + "-shm")
	if err != nil {
		return nil
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer func() { _ = locks.Close() }() // it was read
	for lines := bufio.NewScanner(io.LimitReader(locks, mostLocks)); lines.Scan(); {
		pid, locked := readLock(lines.Text(), file.Ino)
		if !locked || pid == os.Getpid() || slices.ContainsFunc(found, func(p Process) bool { return p.PID == pid }) {
			continue
		}
		found = append(found, Process{PID: pid, Name: nameOf(pid)})
	}
	return found
}

// readLock reads a line of /proc/locks: "3: POSIX  ADVISORY  READ 4242 08:01:1234 124 124". Of the file's place
// only its number counts: an overlay shows another device.
func readLock(line string, inode uint64) (pid int, locked bool) {
	f := strings.Fields(line)
	if len(f) != 8 || f[1] != "POSIX" || !strings.HasSuffix(f[5], fmt.Sprintf(":%d", inode)) {
		return 0, false
	}
	pid, err := strconv.Atoi(f[4])
	if err != nil || pid <= 0 {
		return 0, false // of a process that isn't seen from here
	}
	first, err := strconv.ParseInt(f[6], 10, 64)
	if err != nil {
		return 0, false
	}
	last, err := strconv.ParseInt(f[7], 10, 64)
	if err != nil { // "EOF"
		last = lastReadLock
	}
	return pid, first <= lastReadLock && last >= firstReadLock
}

// openersOf lists the other processes that have a database open, of those whose files may be seen.
func openersOf(path string) (found []Process) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	for _, name := range namesIn("/proc", mostProcesses) {
		pid, err := strconv.Atoi(name)
		if err == nil && pid != os.Getpid() && hasOpen(pid, whole) {
			found = append(found, Process{PID: pid, Name: nameOf(pid)})
		}
	}
	return found
}

// hasOpen reports whether a process has a database or one of the files beside it open.
func hasOpen(pid int, path string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	return slices.ContainsFunc(namesIn(dir, mostFiles), func(fd string) bool {
		to, err := os.Readlink(filepath.Join(dir, fd))
		return err == nil && (to == path || to == path+"-wal" || to == path+"-shm")
	})
}

// namesIn lists a folder, or its beginning; none when it can't be read.
func namesIn(dir string, most int) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was read
	names, _ := f.Readdirnames(most)
	return names
}

// nameOf is the name of a process's program, as ps shows it.
func nameOf(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}
