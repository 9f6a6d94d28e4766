package frame

import (
	"bytes"
	"io"
	"testing"

	"ypcrawl/cli/frame/frametest"

	"github.com/rs/zerolog"
)

// TestLinesForPeople: log lines are of UTC wherever they are read, with their date where
// that may be another day, and a block that no proxy met is not called one of a proxy.
func TestLinesForPeople(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   io.Writer
		proxy string
		want  string
	}{
		"in a file":     {new(bytes.Buffer), "", "2026-11-21 04:50:00Z INF failed error_code=BLOCKED_PROXY\n"},
		"on a terminal": {&frametest.Terminal{Columns: 100}, "", "04:50:00Z INF failed error_code=BLOCKED_PROXY\n"},
		"by a proxy":    {new(bytes.Buffer), "http://p:1", "2026-11-21 04:50:00Z INF failed error_code=BLOCKED_PROXY proxy=http://p:1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p := &Invocation{Streams: Streams{Err: c.err, NoColor: true}}
			log := zerolog.New(p.console(&out))
			line := log.Info().Str("time", "2026-11-20T23:50:00-05:00").Str("error_code", "BLOCKED_PROXY")
			if c.proxy != "" {
				line = line.Str("proxy", c.proxy)
			}
			line.Msg("failed")
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}
