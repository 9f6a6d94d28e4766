package cli

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"ypcrawl/crawl"
)

// FaultVariable makes a process fail once on purpose, for crash tests and `selftest`. "appended:7" kills
// it without warning (SIGKILL, on Windows TerminateProcess) at the 7th time that it reaches this point
// (crawl.Points, backup.Steps); "lost_commit:7" makes it lose its 7th transaction and go on as if that were
// committed. Without the variable nothing is counted.
const FaultVariable = "TEST_YPCRAWL_FAULT"

// lostCommit is the fault that a selftest must find.
const lostCommit = "lost_commit"

// plant sets the hooks for a fault; a text that is none sets nothing.
func (p *Program) plant(fault string) {
	point, nth, _ := strings.Cut(fault, ":")
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		return
	}
	var seen atomic.Int64
	if point == lostCommit {
		p.lose = func() bool { return seen.Add(1) == n }
		return
	}
	p.Reached = func(at crawl.Point) {
		if string(at) == point && seen.Add(1) == n {
			kill()
		}
	}
}

// kill ends this process as kill -9 does.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal lands
}
