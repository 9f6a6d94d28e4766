//go:build unix

package wal

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeAsLog: a pipe is refused at once, whatever reads it.
func TestPipeAsLog(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(pipe, Options{}); !errors.Is(err, errNoFile) {
		t.Errorf("read: %v", err)
	}
	if err := Follow(t.Context(), pipe, Options{}, nil, func(*Event, error) error { return nil }); !errors.Is(err, errNoFile) {
		t.Errorf("follow: %v", err)
	}
}
