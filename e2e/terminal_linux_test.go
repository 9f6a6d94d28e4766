package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ypcrawl/store/storetest"
)

// pty is a terminal: what is written to keys is typed there, and screen is all that was written on it.
type pty struct {
	t      *testing.T
	keys   *os.File
	screen *signalBuffer
	device *os.File // what programs have for their streams
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	storetest.NoError(t, err)
	storetest.NoError(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	storetest.NoError(t, err)
	device, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	storetest.NoError(t, err)
	storetest.NoError(t, unix.IoctlSetWinsize(int(device.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}))
	p := &pty{t: t, keys: keys, screen: newSignalBuffer(), device: device}
	t.Cleanup(func() { _, _ = keys.Close(), device.Close() })
	return p
}

// start runs a command on the terminal. Its own it is (see credentials(7)) if it is to get the terminal's signals.
func (p *pty) start(cmd *exec.Cmd, own bool) *exec.Cmd {
	p.t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.device, p.device, p.device
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: own}
	storetest.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_, _ = cmd.Process.Kill(), cmd.Wait()
		}
	})
	return cmd
}

// follow takes what is written on the terminal.
func (p *pty) follow() {
	go func() { _, _ = io.Copy(p.screen, p.keys) }() // ends with an error when the terminal is closed
}

// shows waits until something is written behind from, which it moves behind that.
func (p *pty) shows(from *int, what string) {
	p.t.Helper()
	late := time.After(time.Minute)
	for {
		text := p.screen.String()[*from:]
		if at := strings.Index(text, what); at >= 0 {
			*from += at + len(what)
			return
		}
		select {
		case <-p.screen.written:
		case <-late:
			p.t.Fatalf("the terminal never showed %q:\n%q", what, text)
		}
	}
}

func (p *pty) types(keys string) {
	p.t.Helper()
	_, err := io.WriteString(p.keys, keys)
	storetest.NoError(p.t, err)
}

// TestBarInTheForeground: a crawl in the background of a terminal writes its log lines there and draws no bar; it draws one
// when the shell brings it to the foreground, and no more when it is stopped and goes on behind.
func TestBarInTheForeground(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.counter.latency.Store(int64(100 * time.Millisecond))
	p := newPTY(t)
	crawl := fmt.Sprintf("'%s' '%s'", os.Args[0], strings.Join(w.crawlArgs("--workers", "1", "--log-level", "info"), "' '"))
	shell := exec.Command("sh", "-m", "-c", crawl+` & echo behind; read key; fg; echo stopped; bg; echo again; read key; fg; echo "[exit $?]"`)
	command := command(w.dir, nil)
	shell.Dir, shell.Env = command.Dir, command.Env
	p.follow()
	p.start(shell, true)
	const bar = "% |"
	at := 0
	noBar := func(when string) {
		t.Helper()
		w.counter.waitFor(t, 10) // longer than a bar takes to be drawn again
		text := p.screen.String()[at:]
		if at += len(text); strings.Contains(text, bar) {
			t.Errorf("%s a bar was drawn:\n%q", when, text)
		}
	}
	p.shows(&at, "INF") // log lines are written
	noBar("in the background")
	p.types("\n")
	p.shows(&at, bar)
	p.types("\x1a") // Ctrl-Z
	p.shows(&at, "again")
	noBar("in the background again")
	p.types("\n")
	p.shows(&at, bar)
	p.types("\x03") // Ctrl-C
	p.shows(&at, "Interrupted.")
	p.shows(&at, "[exit 130]")
	storetest.NoError(t, shell.Wait())
}

// TestClosedTerminal closes the terminal under a crawl.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		own     bool   // it gets SIGHUP; else it hears of that by EIO alone, when it writes
		nohup   string // what the shell does first
		outcome string
		code    int
	}{
		{"by SIGHUP", true, "", "interrupted", 130},
		{"by EIO", false, "", "interrupted", 130},
		{"under nohup", true, "trap '' HUP; ", "done", 0},
		{"of others under nohup", false, "trap '' HUP; ", "done", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.only("Plumbers", "Dentists")
			w.counter.latency.Store(int64(50 * time.Millisecond))
			p := newPTY(t)
			p.follow()
			shell := exec.Command("sh", append([]string{"-c", tt.nohup + `exec "$@"`, "sh", os.Args[0]}, w.crawlArgs("--workers", "1")...)...)
			command := command(w.dir, nil)
			shell.Dir, shell.Env = command.Dir, command.Env
			p.start(shell, tt.own)
			storetest.NoError(t, p.device.Close())
			w.counter.waitFor(t, 4)
			storetest.NoError(t, p.keys.Close())
			if code := exitCode(t, shell.Wait()); code != tt.code {
				t.Errorf("exit code %d, want %d; the terminal showed\n%s", code, tt.code, p.screen)
			}
			if got := w.count(`SELECT count(*) FROM runs WHERE outcome = '` + tt.outcome + `'`); got != 1 {
				t.Errorf("%d runs ended as %s", got, tt.outcome)
			}
			if held := w.held(); held != 0 {
				t.Errorf("%d targets are held", held)
			}
		})
	}
}
