package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
)

// newDirectoryFailing is a demo directory where every request fails so.
func newDirectoryFailing(kind string) (*demo.Directory, error) {
	return newDirectory(demo.Config{Fail: map[string]float64{kind: 1}})
}

// screenOf is a terminal that may be written to from several goroutines.
type screenOf struct {
	mu sync.Mutex
	tty
	wrote func()
}

// Write implements io.Writer.
func (s *screenOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrote != nil {
		s.wrote()
	}
	return s.tty.Write(p)
}

func (s *screenOf) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.String()
}

// seat is somebody at a terminal in an empty folder.
type seat struct {
	t        *testing.T
	dir      string
	out, err *screenOf
	schema   string
}

func newSeat(t *testing.T) *seat {
	t.Helper()
	schema, err := os.ReadFile("../schema.sql")
	storetest.NoError(t, err)
	return &seat{t: t, dir: t.TempDir(), schema: string(schema)}
}

// types runs a command line, answering questions with answer.
func (s *seat) types(ctx context.Context, answer string, args ...string) int {
	s.t.Helper()
	s.out, s.err = &screenOf{tty: tty{width: 100}}, &screenOf{tty: tty{width: 100}}
	return s.run(ctx, answer, args...)
}

func (s *seat) run(ctx context.Context, answer string, args ...string) int {
	p := &Program{
		Schema:  s.schema,
		Streams: Streams{In: ttyReader{strings.NewReader(answer)}, Out: s.out, Err: s.err, Getenv: env(nil)},
	}
	global := []string{
		"ypcrawl", "--db", filepath.Join(s.dir, "yp.db"), "--wal-dir", filepath.Join(s.dir, "logs"),
		"--config", "",
	}
	return p.Run(ctx, append(global, args...))
}

func small(more ...string) []string {
	return append([]string{
		"run", "--source", "demo", "--states", "CA", "--max-cities", "2", "--categories", "Plumbers", "--max-pages", "1", "--workers", "2",
	}, more...)
}

func TestResetAsks(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	dir, err := newDirectoryFailing("layout")
	storetest.NoError(t, err)
	server, err := demo.Serve(t.Context(), "127.0.0.1:0", dir)
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	if code := s.types(t.Context(), "", small("--base-url", server.URL(), "--linger", "0")...); code != ExitFailures {
		t.Fatalf("exit %d: %s", code, s.err.text())
	}
	for _, tc := range []struct{ answer, want string }{
		{"n\n", "Nothing was changed."},
		{"\n", "Nothing was changed."},
		{"", "Nothing was changed."},
		{"yes\n", "2 targets selected, 2 planned again"},
	} {
		if code := s.types(t.Context(), tc.answer, "reset"); code != ExitOK {
			t.Fatalf("%q: exit %d: %s", tc.answer, code, s.err.text())
		}
		if !strings.Contains(s.err.text(), "Plan 2 targets again? [y/N]") {
			t.Errorf("%q: not asked: %q", tc.answer, s.err.text())
		}
		if !strings.Contains(s.err.text()+s.out.text(), tc.want) {
			t.Errorf("%q: got %q %q", tc.answer, s.out.text(), s.err.text())
		}
	}
}

func TestWatchRedrawsOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	if code := s.types(t.Context(), "", "plan", "--source", "demo", "--states", "CA"); code != ExitOK {
		t.Fatal(s.err.text())
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.out, s.err = &screenOf{tty: tty{width: 30}}, &screenOf{tty: tty{width: 30}}
	looks := 0
	s.out.wrote = func() {
		if looks++; looks == 2 {
			cancel()
		}
	}
	if code := s.run(ctx, "", "progress", "--watch", "--every", "100ms"); code != ExitOK {
		t.Fatalf("exit %d: %s", code, s.err.text())
	}
	if got := strings.Count(s.out.text(), "\x1b[H"); got != 2 {
		t.Errorf("%d looks, want 2: %q", got, s.out.text())
	}
	escapes := regexp.MustCompile(`\x1b\[[0-9;]*[a-zA-Z]`)
	for line := range strings.SplitSeq(escapes.ReplaceAllString(s.out.text(), ""), "\r\n") {
		if len([]rune(line)) > 30 {
			t.Errorf("wraps: %q", line)
		}
	}
}
