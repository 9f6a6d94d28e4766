package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// Main runs the program as a process: its streams, its signals, its memory. It returns the exit code.
func (p *Program) Main(args []string) int {
	tune()
	ctx, signals := stopSignals()
	defer signal.Stop(signals)
	return p.Run(ctx, args)
}

// softMemory makes the collector work harder before the program grows beyond
// what a small VPS can spare; it is no hard limit. GOMEMLIMIT wins.
const softMemory = 48 << 20

// heapGrowth is by how many percent the heap grows until the collector begins: of the program's memory the pages of its
// file, which the limit does not count, are two fifths. Measured with five workers on a crawl of the demo: 49,000 KiB
// at the most instead of 51,800, for some 5 % more processor time. GOGC wins.
const heapGrowth = 70

func tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
}

// oneAct is how long further signals count as the first one's echo: timeout(1)
// signals the process and then its group, a terminal and a supervisor may both
// pass one on.
const oneAct = 300 * time.Millisecond

// stopSignals returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process where it stands: the database allows for that.
func stopSignals() (context.Context, chan os.Signal) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		for first := time.Now(); time.Since(first) < oneAct; {
			<-signals
		}
		fmt.Fprintln(os.Stderr)
		os.Exit(ExitInterrupted)
	}()
	return ctx, signals
}
