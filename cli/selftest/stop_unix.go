//go:build unix

package selftest

import (
	"os"
	"syscall"
)

// canStop is whether a process can be stopped and continued here.
const canStop = true

func stop(p *os.Process) error       { return p.Signal(syscall.SIGSTOP) }
func continueIt(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
