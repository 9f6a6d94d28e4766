//go:build unix

package notify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	log := &logged{}
	cmd := fmt.Sprintf(`cat >%s; printf "%%s\n" "$YPCRAWL_EVENT|$YPCRAWL_TITLE" >>%[1]s; printf said`, got)
	if err := Try(t.Context(), quick(log), to(t, cmd), example); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(got)
	if err != nil || string(text) != exampleJSON+"quarantine|demo is quarantined\n" {
		t.Errorf("%q, %v", text, err)
	}
	if !strings.Contains(log.String(), `"level":"debug"`) || !strings.Contains(log.String(), `"output":"said"`) {
		t.Errorf("log: %s", log)
	}
	for cmd, want := range map[string]string{
		"exit 3 # sekret": "exit status 3", "true": "", "exec <&-; true": "", "sleep 1000 & exit 0": "", "head -c 10000000 /dev/zero": "", "/no/such/sekret 2>&-": "exit status 127",
	} {
		err := Try(t.Context(), quick(io.Discard), to(t, cmd), example)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sekret")) {
			t.Errorf("%s: %v", cmd, err)
		}
	}
}

// TestHangingCommand: a command that does not end is killed with what it has started, at its
// limit and at the end of the program.
func TestHangingCommand(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{"limit": 300 * time.Millisecond, "end": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			if err := syscall.Mkfifo(pids, 0o600); err != nil {
				t.Fatal(err)
			}
			cfg := quick(io.Discard)
			cfg.Waits, cfg.CommandTimeout = []time.Duration{}, limit
			s := NewSender(cfg)
			done := make(chan bool, 1)
			line := fmt.Sprintf(`sleep 1000 & printf "%%d %%d" $$ $! >%s; wait`, pids)
			if err := Send([]*Queue{s.Add(to(t, line))}, example, func(ok bool) { done <- ok }); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(pids) // waits for the command to write
			if err != nil {
				t.Fatal(err)
			}
			if name == "end" {
				s.Close(0)
			}
			if <-done {
				t.Error("reported as delivered")
			}
			s.Close(0)
			for _, word := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				waitEnded(t, pid)
			}
		})
	}
}

// waitEnded waits for a process to end, or to be a dead one that nobody has waited for yet.
func waitEnded(t *testing.T, pid int) {
	t.Helper()
	for ctx := t.Context(); ctx.Err() == nil; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || err == nil && strings.Contains(string(stat), ") Z ") || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("process %d lives", pid)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
