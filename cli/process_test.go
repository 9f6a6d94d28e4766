package cli

import (
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A crawl stops when its reader is gone, and nothing else; a file that can't be written is an error.
func TestStream(t *testing.T) {
	t.Parallel()
	signals, lasts := make(chan os.Signal, 1), new(atomic.Bool)
	lasts.Store(true)
	s := &stream{to: failing{syscall.EIO}, device: true, nohup: true, lasts: lasts, signals: signals}
	if n, err := s.Write([]byte("text")); n != 4 || err != nil || len(signals) > 0 {
		t.Errorf("a terminal that may go: %d, %v, %d signals", n, err, len(signals))
	}
	for name, tt := range map[string]struct {
		err           error
		device, lasts bool
		stops         bool
	}{
		"pipe": {syscall.EPIPE, false, true, true}, "terminal": {syscall.EIO, true, true, true}, "disk": {syscall.EIO, false, true, false},
		"full": {syscall.ENOSPC, false, true, false}, "pipe of another command": {syscall.EPIPE, false, false, false},
		"terminal of another command": {syscall.EIO, true, false, false},
	} {
		signals, lasts := make(chan os.Signal, 1), new(atomic.Bool)
		lasts.Store(tt.lasts)
		s := &stream{to: failing{tt.err}, device: tt.device, lasts: lasts, signals: signals}
		for range 3 { // nobody empties the channel
			if n, err := s.Write([]byte("text")); (err == nil) != tt.stops || tt.stops && n != 4 {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if (len(signals) == 1) != tt.stops {
			t.Errorf("%s: %d signals", name, len(signals))
		}
	}
}
