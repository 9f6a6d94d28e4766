package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ypcrawl/cli/frame"
	"ypcrawl/cli/frame/frametest"
	"ypcrawl/crawl/demo"
	"ypcrawl/store/storetest"
)

// directory is a demo directory where every request fails so; "" = none does.
func directory(t *testing.T, kind string) http.Handler {
	t.Helper()
	cfg := demo.Config{}
	if kind != "" {
		cfg.Fail = map[string]float64{kind: 1}
	}
	d, err := newDirectory(cfg)
	storetest.NoError(t, err)
	return d
}

// seat is somebody at a terminal in an empty folder.
type seat struct {
	t        *testing.T
	dir      string
	out, err *frametest.Terminal
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
	s.out, s.err = &frametest.Terminal{Columns: 100}, &frametest.Terminal{Columns: 100}
	return s.run(ctx, answer, args...)
}

func (s *seat) run(ctx context.Context, answer string, args ...string) int {
	p := &Program{
		Schema:     s.schema,
		Invocation: frame.Invocation{Streams: frame.Streams{In: frametest.Input(strings.NewReader(answer)), Out: s.out, Err: s.err, Getenv: frametest.Env(nil)}},
	}
	global := []string{
		"ypcrawl", "--db", filepath.Join(s.dir, "yp.db"), "--wal-dir", filepath.Join(s.dir, "logs"),
		"--config", "",
	}
	return p.Run(ctx, append(global, args...))
}

// crawl crawls the first page of so many cities of a directory.
func (s *seat) crawl(source http.Handler, cities string, more ...string) int {
	s.t.Helper()
	server := httptest.NewServer(source)
	s.t.Cleanup(server.Close)
	return s.types(s.t.Context(), "", append([]string{
		"run", "--source", "demo", "--base-url", server.URL, "--states", "CA", "--max-cities", cities, "--categories", "Plumbers", "--max-pages", "1",
	}, more...)...)
}

func TestResetAsks(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	if code := s.crawl(directory(t, "layout"), "2", "--linger", "0"); code != ExitFailures {
		t.Fatalf("exit %d: %s", code, s.err.String())
	}
	s.resets("n\n", "Nothing was changed.")
	s.resets("", "Nothing was changed.")
	s.resets("yes\n", "2 targets selected, 2 planned again")
}

// resets answers what a reset of two targets asks.
func (s *seat) resets(answer, want string) {
	s.t.Helper()
	code := s.types(s.t.Context(), answer, "reset")
	if said := s.err.String() + s.out.String(); code != ExitOK || !strings.Contains(said, "This plans 2 targets again. Continue? [y/N]") || !strings.Contains(said, want) {
		s.t.Errorf("%q: exit %d, got %q", answer, code, said)
	}
}

func TestWatchRedrawsOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	if code := s.types(t.Context(), "", "plan", "--source", "demo", "--states", "CA"); code != ExitOK {
		t.Fatal(s.err.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.out, s.err = &frametest.Terminal{Columns: 30}, &frametest.Terminal{Columns: 30}
	looks := 0
	s.out.Wrote = func() {
		if looks++; looks == 2 {
			cancel()
		}
	}
	if code := s.run(ctx, "", "progress", "--watch", "--every", "100ms"); code != ExitOK {
		t.Fatalf("exit %d: %s", code, s.err.String())
	}
	if got := strings.Count(s.out.String(), "\x1b[H"); got != 2 {
		t.Errorf("%d looks, want 2: %q", got, s.out.String())
	}
	escapes := regexp.MustCompile(`\x1b\[[0-9;]*[a-zA-Z]`)
	for line := range strings.SplitSeq(escapes.ReplaceAllString(s.out.String(), ""), "\n") {
		if line = strings.TrimSuffix(line, "\r"); len([]rune(line)) > 30 {
			t.Errorf("wraps: %q", line)
		}
	}
}
