package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

// Main runs the program as a process: its streams, its signals, its memory. It returns the exit code.
func (p *Program) Main(args []string) int {
	tune()
	p.printed.take()
	ctx, signals := stopSignals()
	defer signal.Stop(signals)
	p.Out, p.Err = newStream(p.Out, &p.lasts, signals), newStream(p.Err, &p.lasts, signals)
	return p.Run(ctx, args)
}

// softMemory makes the collector work harder before the program grows beyond
// what a small VPS can spare; it is no hard limit. GOMEMLIMIT wins.
const softMemory = 48 << 20

// heapGrowth is by how many percent the heap grows until the collector begins: of the program's memory the pages of its
// file, which the limit does not count, are two fifths. Measured three times in turn with five workers on a crawl of the
// demo directory: 51,200 to 52,400 KiB at most, 52,400 to 53,500 at 70 %, for some 5 % less processor time. GOGC wins.
const heapGrowth = 60

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

// stopSignals returns a context that ends with the first SIGINT, SIGTERM or SIGHUP. A second SIGINT or SIGTERM ends
// the process where it is: the database allows for that. SIGHUP says that the terminal is gone, however often it
// comes, and SIGPIPE, which a stream sends, that nobody reads any more: neither is a second wish. Where SIGHUP is
// ignored, as under nohup, it stays so.
func stopSignals() (context.Context, chan os.Signal) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		first := time.Now()
		for sig := range signals {
			if sig != syscall.SIGHUP && sig != syscall.SIGPIPE && time.Since(first) >= oneAct {
				fmt.Fprintln(os.Stderr)
				os.Exit(ExitInterrupted)
			}
		}
	}()
	return ctx, signals
}

// stream is stdout or stderr of the process. A crawl that has outlived its reader, a pipe's other end or a terminal,
// stops as by SIGTERM; other commands end by SIGPIPE, as those of any pipe do.
type stream struct {
	to      io.Writer
	fd      func() uintptr
	device  bool             // a terminal, whose EIO says that it is gone; a file's tells of its disk
	nohup   bool             // SIGHUP is ignored: a terminal may go
	lasts   *atomic.Bool     // a crawl is under way
	signals chan<- os.Signal // what stops it
}

func newStream(w io.Writer, lasts *atomic.Bool, signals chan<- os.Signal) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	return &stream{
		to: f, fd: f.Fd, device: err == nil && info.Mode()&os.ModeCharDevice != 0,
		nohup: signal.Ignored(syscall.SIGHUP), lasts: lasts, signals: signals,
	}
}

// Write implements io.Writer. What nobody reads any more is dropped.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	gone := errors.Is(err, syscall.EPIPE) || s.device && errors.Is(err, syscall.EIO)
	if !gone || !s.lasts.Load() {
		return n, err
	}
	if s.nohup && errors.Is(err, syscall.EIO) {
		return len(b), nil
	}
	select {
	case s.signals <- syscall.SIGPIPE:
	default: // others wait there
	}
	return len(b), nil
}

// Fd is the file descriptor.
func (s *stream) Fd() uintptr { return s.fd() }

// outlive has the process live on when a write fails because nobody reads it. The signals of a broken pipe, also of
// connections, are taken and dropped: to ignore SIGPIPE would make the commands of --notify ignore it, too.
func (p *Program) outlive() {
	if !p.lasts.Swap(true) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
}

// piped does something that must clean up where nobody reads stdout any more: that is an error of a write then. When do
// has returned, the process ends by SIGPIPE, as other commands do at once.
func (p *Program) piped(do func() error) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	err := do()
	signal.Stop(signals)
	if errors.Is(err, syscall.EPIPE) {
		_, _ = p.Out.Write([]byte("\n")) // ends it; nobody reads this
	}
	return err
}
