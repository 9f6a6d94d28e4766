package yp

import (
	"fmt"
	"strconv"
	"strings"
)

// WorkerID names worker n of the process pid: "worker_0_pid_12345". The WAL
// file of the worker carries the same name.
func WorkerID(n, pid int) string { return fmt.Sprintf("worker_%d_pid_%d", n, pid) }

// WorkerPID returns the process number in a worker's id; ok is false when id is
// not one.
func WorkerPID(id string) (pid int, ok bool) {
	_, digits, ok := strings.Cut(id, "_pid_")
	pid, err := strconv.Atoi(digits)
	return pid, ok && err == nil && strings.HasPrefix(id, "worker_")
}

// friendly names are easier to tell apart in a table than numbers; they carry
// no meaning.
var friendly = [...]string{
	"amber", "birch", "cedar", "dune", "ember", "fern", "grove", "heron", "iris", "jade", "kestrel",
	"larch", "maple", "north", "otter", "pine", "quartz", "river", "sage", "tern", "umber", "vale",
	"willow", "yarrow", "zephyr",
}

// WorkerName gives worker n a friendly name; from the 26th on a number tells
// them apart.
func WorkerName(n int) string {
	name := friendly[n%len(friendly)]
	if round := n / len(friendly); round > 0 {
		return fmt.Sprintf("%s-%d", name, round+1)
	}
	return name
}

// WorkerText is a worker's id for people: its friendly name, and the number of its process,
// since every process has workers of the same names. What is no such id stays as it is.
func WorkerText(id string) string {
	pid, ok := WorkerPID(id)
	digits, _, _ := strings.Cut(strings.TrimPrefix(id, "worker_"), "_pid_")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return id
	}
	return fmt.Sprintf("%s (%d)", WorkerName(n), pid)
}
