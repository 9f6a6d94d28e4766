// Package frametest has a terminal for tests of what is written for people.
//
// Purpose: what is typed at a terminal and shown on it, without one. A test makes a Terminal
// for each stream, an Input for what is typed, and reads what was written.
//
// Imports: nothing of ours; only tests import it.
package frametest

import (
	"bytes"
	"io"
	"sync"
)

// Terminal keeps what is written to it. Several goroutines may write.
type Terminal struct {
	Columns int    // its width
	Wrote   func() // called before each write; nil = nothing is

	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Wrote != nil {
		t.Wrote()
	}
	return t.text.Write(p)
}

// String is what was written.
func (t *Terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// IsTerminal says that it is one.
func (t *Terminal) IsTerminal() bool { return true }

// Width is Columns.
func (t *Terminal) Width() int { return t.Columns }

// Input is a terminal at which somebody types what r has.
func Input(r io.Reader) io.Reader { return input{r} }

type input struct{ io.Reader }

func (input) IsTerminal() bool { return true }
func (input) Width() int       { return 80 }

// Env returns a function that reads the variables given, as os.Getenv reads those of the process.
func Env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}
