//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// serviceManager listens as systemd does; heard returns the next word.
func serviceManager(t *testing.T) (heard func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "s"))
	return func() string {
		t.Helper()
		buf := make([]byte, 4096)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func hears(t *testing.T, heard func() string, want string) {
	t.Helper()
	if got := heard(); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
}

// TestManager: the words of a run from its start to its end.
func TestManager(t *testing.T) {
	heard := serviceManager(t)
	t.Setenv("WATCHDOG_USEC", "9000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	m := newManager(zerolog.Nop(), "CA TX")
	hears(t, heard, "STATUS=starting")
	m.ready()
	hears(t, heard, "READY=1\nSTATUS=CA TX")

	now := time.Now()
	s := Snapshot{TargetsTotal: 400, TargetsDone: 174, Rate: 117.2}
	m.look(now, s)
	hears(t, heard, "STATUS=CA TX 43 %, 117 pages/s\nWATCHDOG=1")
	m.look(now.Add(2900*time.Millisecond), s) // not yet: a third of what the watchdog waits
	s.Waiting = "until 14:05:33Z: a reason\nREADY=1\nMAINPID=1"
	m.look(now.Add(3*time.Second), s)
	hears(t, heard, `STATUS=CA TX 43 %, 117 pages/s, waiting until 14:05:33Z: a reason\nREADY=1\nMAINPID=1`+"\nWATCHDOG=1")
	m.ending()
	hears(t, heard, "WATCHDOG=1\nSTATUS=CA TX: finishing")
	m.stopping("ended")
	hears(t, heard, "STOPPING=1\nSTATUS=ended")
	m.look(now.Add(time.Minute), s) // that was the last word
	m.tell("X=1")
	hears(t, heard, "X=1")
}

// TestManagerWatchdog: a run that hangs is not reported to the watchdog as alive, and says how far it is all the same.
func TestManagerWatchdog(t *testing.T) {
	heard := serviceManager(t)
	t.Setenv("WATCHDOG_USEC", "300000000")
	m := newManager(zerolog.Nop(), "CA")
	heard()
	now := time.Now()
	m.look(now, Snapshot{})
	hears(t, heard, "STATUS=CA, 0.0 pages/s\nWATCHDOG=1")
	m.look(now.Add(beatWithin+time.Second), Snapshot{}) // no heartbeat has reached the database
	hears(t, heard, "STATUS=CA, 0.0 pages/s")
	m.beats.Store(new(now.Add(beatWithin)))
	m.look(now.Add(beatWithin+10*time.Second), Snapshot{})
	hears(t, heard, "STATUS=CA, 0.0 pages/s\nWATCHDOG=1")
}

// TestManagerOther: a watchdog that waits for another process hears nothing.
func TestManagerOther(t *testing.T) {
	heard := serviceManager(t)
	t.Setenv("WATCHDOG_USEC", "9000000")
	t.Setenv("WATCHDOG_PID", "1")
	m := newManager(zerolog.Nop(), "CA")
	heard()
	m.look(time.Now(), Snapshot{})
	hears(t, heard, "STATUS=CA, 0.0 pages/s")

	var log bytes.Buffer
	t.Setenv("WATCHDOG_USEC", "soon")
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	m = newManager(zerolog.New(&log), "CA")
	m.ready()
	m.stopping("ended")
	if n := strings.Count(log.String(), "the status could not be sent"); n != 1 || !strings.Contains(log.String(), "WATCHDOG_USEC") {
		t.Errorf("warned %d times: %s", n, log.String())
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if m = newManager(zerolog.Nop(), "CA"); m.send != nil {
		t.Error("nobody listens, and words are sent")
	}
	m.ready()
}

func TestPulse(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name       string
		still      time.Duration // since the last request ended
		beat       time.Duration // since the last heartbeat
		waiting    string
		requests   int64
		wantsAlive bool
	}{
		{"it works", time.Minute, 10 * time.Second, "", 6, true},
		{"its workers do nothing, and say no reason", stillWithin + time.Second, time.Second, "", 5, false},
		{"one request ended", stillWithin + time.Second, time.Second, "", 6, true},
		{"it waits, and says why", 5 * time.Hour, time.Second, "until 14:00Z: no target is due before that", 5, true},
		{"no heartbeat", time.Second, beatWithin + time.Second, "until 14:00Z", 6, false},
		{"slow, but within bounds", stillWithin, beatWithin, "", 5, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := pulse{}
			if !p.alive(start, start, Snapshot{Requests: 5}) {
				t.Fatal("dead at its start")
			}
			now := start.Add(tt.still)
			if got := p.alive(now, now.Add(-tt.beat), Snapshot{Requests: tt.requests, Waiting: tt.waiting}); got != tt.wantsAlive {
				t.Errorf("alive: %v", got)
			}
		})
	}
}

func TestStatusLine(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Snapshot{
		"CA 43 %, 1.5 pages/s":                               {TargetsTotal: 400, TargetsDone: 174, Rate: 1.49},
		"CA 100 %, 0.0 pages/s, 2 failed":                    {TargetsTotal: 2, TargetsFailed: 2},
		"CA, 0.0 pages/s":                                    {},
		"CA, details 25 %, 12 pages/s":                       {TargetsTotal: 1, TargetsDone: 1, Details: 1, DetailsTotal: 4, Rate: 12},
		"CA 0 %, 0.0 pages/s, waiting until 1Z: Retry-After": {TargetsTotal: 1, Waiting: "until 1Z: Retry-After"},
	} {
		if got := statusLine("CA", s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
