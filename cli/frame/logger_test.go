package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
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

// TestLinesFitTheTerminal: a line goes on below itself where it is wider than the terminal, at a blank; a single word
// that is wider is cut. The process of a worker is left out, and the bar is drawn again below the line.
func TestLinesFitTheTerminal(t *testing.T) {
	t.Parallel()
	say := func(log zerolog.Logger) {
		log.Info().Str("city", "San Luis Obispo").Str("worker", "amber (16283)").Str("url", "http://example.com/a/very/long/path/of/a/page").
			Msg("a page could not be read")
	}
	for name, c := range map[string]struct {
		columns int
		color   bool
		want    string
	}{
		"wide": {140, false, "04:50:00Z INF a page could not be read city=\"San Luis Obispo\" url=http://example.com/a/very/long/path/of/a/page worker=amber\n"},
		"60": {60, false, "04:50:00Z INF a page could not be read city=\"San Luis\n" +
			"  Obispo\" url=http://example.com/a/very/long/path/of/a/page\n  worker=amber\n"},
		"30": {30, false, "04:50:00Z INF a page could not\n  be read city=\"San Luis\n  Obispo\"\n" +
			"  url=http://example.com/a/ve…\n  worker=amber\n"},
		"30, in colours": {30, true, "\x1b[90m04:50:00Z\x1b[0m \x1b[32mINF\x1b[0m \x1b[1ma page could not\n  be read\x1b[0m \x1b[36mcity=\x1b[0m\"San Luis\n" +
			"  Obispo\"\n  \x1b[36murl=\x1b[0mhttp://example.com/a/ve…\n  \x1b[36mworker=\x1b[0mamber\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terminal := &frametest.Terminal{Columns: c.columns}
			p := &Invocation{Streams: Streams{Err: terminal, NoColor: !c.color}}
			display := newDisplay(displayConfig{Out: terminal, Live: true, Width: func() int { return c.columns }})
			display.show(halfway())
			bar := terminal.String()
			say(zerolog.New(p.console(display.Writer())).With().Str("time", "2026-11-21T04:50:00Z").Logger())
			if got, want := terminal.String(), bar+clearBar+c.want+bar; got != want {
				t.Errorf("got\n%q, want\n%q", got, want)
			}
		})
	}
}

// TestColouredWordFits: the value of an error has its own colour, which ends where the word is cut.
func TestColouredWordFits(t *testing.T) {
	t.Parallel()
	terminal := &frametest.Terminal{Columns: 30}
	p := &Invocation{Streams: Streams{Err: terminal}}
	log := zerolog.New(p.console(terminal))
	log.Info().Err(errors.New("http://example.com/a/very/long/path/of/a/page")).Msg("failed")
	_, word, _ := strings.Cut(terminal.String(), "\n  ")
	if shown := colour.ReplaceAllString(word, ""); shown != "error=http://example.com/a/…\n" || !strings.HasSuffix(word, "\x1b[0m\n") {
		t.Errorf("shown as %q, %q", shown, word)
	}
}
