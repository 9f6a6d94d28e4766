// Command ypcrawl crawls business directories into a local SQLite file. It can
// be killed at any instant and started again without losing or doubling anything.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"ypcrawl/cli"
)

// The schema stands at the top of the project, the first thing to read after
// the README; go:embed reaches it only from here.
//
//go:embed schema.sql
var schema string

func main() {
	tune()
	ctx, signals := stopSignals()
	code := cli.Standard(schema).Run(ctx, os.Args)
	signal.Stop(signals)
	os.Exit(code)
}

// softMemory makes the collector work harder before the program grows beyond
// what a small VPS can spare; it is no hard limit. GOMEMLIMIT wins.
const softMemory = 48 << 20

func tune() {
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
		os.Exit(cli.ExitInterrupted)
	}()
	return ctx, signals
}
