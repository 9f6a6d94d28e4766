package frame

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"ypcrawl/yp"
)

// The rule of this program's output, stated once: data, and only data, goes to
// stdout, so that it can be piped; logs, progress, questions, hints and errors
// go to stderr. Nothing that came from a page, a file or an argument reaches a
// terminal before its control characters are made visible (yp.Printable).

// Streams are the program's input and outputs with what is known of them.
type Streams struct {
	In  io.Reader
	Out io.Writer // data
	Err io.Writer // everything else

	NoColor bool                // --no-color
	Getenv  func(string) string // nil = os.Getenv
}

// terminal is what a test's stand-in for a terminal implements; real ones are
// recognised by their file descriptor.
type terminal interface {
	IsTerminal() bool
	Width() int
}

// descriptor is a file of the process.
type descriptor interface{ Fd() uintptr }

// IsTerminal tells whether v, a reader or a writer, is a terminal.
func IsTerminal(v any) bool {
	switch t := v.(type) {
	case terminal:
		return t.IsTerminal()
	case descriptor:
		return term.IsTerminal(int(t.Fd()))
	}
	return false
}

// defaultWidth is assumed when a terminal does not tell its width.
const defaultWidth = 80

// widthOf returns the number of columns of a terminal.
func widthOf(v any) int {
	switch t := v.(type) {
	case terminal:
		return t.Width()
	case descriptor:
		if w, _, err := term.GetSize(int(t.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return defaultWidth
}

// HeightOf returns the number of rows of a terminal.
func HeightOf(v any) int {
	if f, ok := v.(descriptor); ok {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil && h > 0 {
			return h
		}
	}
	return 24
}

// getenv reads the environment.
func (s *Streams) getenv(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}

// color tells whether colours may be written to w (no-color.org): it is a
// terminal that knows them, and neither NO_COLOR nor --no-color forbids it.
func (s *Streams) color(w io.Writer) bool {
	return !s.NoColor && s.getenv("NO_COLOR") == "" && s.Live(w)
}

// Live tells whether w is a terminal that can move its cursor.
func (s *Streams) Live(w io.Writer) bool {
	return IsTerminal(w) && s.getenv("TERM") != "dumb"
}

// style is an ANSI "select graphic rendition" sequence.
type style string

const (
	bold   style = "\x1b[1m"
	dim    style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"

	plain = "\x1b[0m"
)

// paint puts text in a style where w shows colours.
func (s *Streams) paint(w io.Writer, st style, text string) string {
	if text == "" || !s.color(w) {
		return text
	}
	return string(st) + text + plain
}

// Note writes lines for the user's eyes to stderr, without control characters: file names, pages
// and arguments may hold some.
func (s *Streams) Note(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		s.noteLine(yp.Printable(line))
	}
}

// noteLine writes a line that is clean already, and may be coloured. A failure to write to
// stderr leaves nowhere to report it.
func (s *Streams) noteLine(line string) { _, _ = fmt.Fprintln(s.Err, foldLine(s.Err, line)) }

// Confirm says on stderr what is about to be done, a sentence such as "This replaces a file.", asks whether to
// continue and reads the answer from stdin; only "y" and "yes" mean yes. With yes set it does not ask. When nobody
// can answer it is a UsageError that names --yes. A cancelled context ends the wait with its error.
func (s *Streams) Confirm(ctx context.Context, what string, yes bool) (bool, error) {
	if yes {
		return true, nil
	}
	if !IsTerminal(s.In) {
		return false, Usagef("%s Add --yes to confirm", what)
	}
	if _, err := fmt.Fprintf(s.Err, "%s Continue? [y/N] ", what); err != nil {
		return false, fmt.Errorf("ask %q: %w", what, err)
	}
	answer := make(chan string, 1) // buffered: an answer after the cancellation is dropped
	go func() {
		line, _ := bufio.NewReader(s.In).ReadString('\n') // an end of input is a no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		return a == "y" || a == "yes", nil
	case <-ctx.Done():
		s.Note("")
		return false, fmt.Errorf("ask %q: %w", what, cmp.Or(context.Cause(ctx), ctx.Err()))
	}
}
