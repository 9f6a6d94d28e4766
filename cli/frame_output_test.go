package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"ypcrawl/yp"
)

// tty is a terminal of 80 columns that keeps what is written and gives out
// what a test put in.
type tty struct {
	bytes.Buffer
	width int
}

func (t *tty) IsTerminal() bool { return true }
func (t *tty) Width() int       { return max(t.width, 0) }

// ttyReader is a terminal's input.
type ttyReader struct {
	io.Reader
}

func (ttyReader) IsTerminal() bool { return true }
func (ttyReader) Width() int       { return defaultWidth }

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestColor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		w       io.Writer
		noColor bool
		env     map[string]string
		want    bool
	}{
		"terminal":         {w: &tty{}, want: true},
		"no terminal":      {w: &bytes.Buffer{}},
		"flag":             {w: &tty{}, noColor: true},
		"NO_COLOR":         {w: &tty{}, env: map[string]string{"NO_COLOR": "1"}},
		"NO_COLOR empty":   {w: &tty{}, env: map[string]string{"NO_COLOR": ""}, want: true},
		"dumb":             {w: &tty{}, env: map[string]string{"TERM": "dumb"}},
		"another terminal": {w: &tty{}, env: map[string]string{"TERM": "xterm"}, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Streams{NoColor: tt.noColor, Getenv: env(tt.env)}
			if got := s.color(tt.w); got != tt.want {
				t.Errorf("got %v", got)
			}
			text := s.paint(tt.w, red, "x")
			if painted := text == "\x1b[31mx\x1b[0m"; painted != tt.want {
				t.Errorf("painted %q", text)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   io.Reader
		yes  bool
		want bool
		err  string
	}{
		"y":                      {in: ttyReader{strings.NewReader("y\n")}, want: true},
		"Yes":                    {in: ttyReader{strings.NewReader("Yes\n")}, want: true},
		"n":                      {in: ttyReader{strings.NewReader("n\n")}},
		"empty line":             {in: ttyReader{strings.NewReader("\n")}},
		"anything else":          {in: ttyReader{strings.NewReader("yesterday\n")}},
		"end of input":           {in: ttyReader{strings.NewReader("")}},
		"--yes":                  {in: strings.NewReader(""), yes: true, want: true},
		"no terminal":            {in: strings.NewReader("y\n"), err: "reset 3 targets: stdin is not a terminal, so nobody can answer; pass --yes to go on"},
		"--yes asks for nothing": {in: ttyReader{strings.NewReader("n\n")}, yes: true, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			s := &Streams{In: tt.in, Out: &out, Err: &errs}
			got, err := s.confirm(context.Background(), "reset 3 targets?", tt.yes)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || !isUsage(err) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("got %v, %v", got, err)
			}
			if asked := errs.String() == "reset 3 targets? [y/N] "; asked == tt.yes || out.Len() > 0 {
				t.Errorf("stderr %q, stdout %q", errs.String(), out.String())
			}
		})
	}
}

func TestConfirmEndsWithContext(t *testing.T) {
	t.Parallel()
	in, keyboard := io.Pipe()
	defer func() { _ = keyboard.Close() }() // ends the read that nobody waits for
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := &Streams{In: ttyReader{in}, Err: io.Discard}
	if _, err := s.confirm(ctx, "go on?", false); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	tab := newTable("STATE", "TARGETS", "DONE", "NOTE")
	tab.row("CA", 200, percent(50), "San José")
	tab.row("TX", int64(12345), percent(100), "\x1b[31mred\u202e")
	tab.row("WY", nil, 0.25)
	var out bytes.Buffer
	if err := tab.flush(&Streams{}, &out); err != nil {
		t.Fatal(err)
	}
	want := `STATE  TARGETS    DONE  NOTE
CA         200   50.0%  San José
TX      12,345  100.0%  \x1b[31mred\u202e
WY           –     0.2
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableHeaderIsBoldOnATerminal(t *testing.T) {
	t.Parallel()
	tab := newTable("A", "B")
	tab.row("xx", 1)
	out := &tty{width: defaultWidth}
	if err := tab.flush(&Streams{Out: out, Getenv: env(nil)}, out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "\x1b[1mA   B\x1b[0m\nxx  1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTableFits: on a terminal the widest text gets shorter, then the least important columns go; in a pipe and a
// file nothing does.
func TestTableFits(t *testing.T) {
	t.Parallel()
	fresh := func() *table {
		tab := newTable("id", "name", "pages", "note").without("note", "pages")
		tab.row(idText(12), "東京都の水道工事の店", 1234, "a note that is longer than all else")
		tab.row(idText(7), "Jose\u0301", 5, "-")
		return tab
	}
	for width, want := range map[int]string{
		80: "id  name                  pages  note\n12  東京都の水道工事の店  1,234  a note that is longer than all else\n7   Jose\u0301                      5  -",
		60: "id  name                  pages  note\n12  東京都の水道工事の店  1,234  a note that is longer than…\n7   Jose\u0301                      5  -",
		49: "id  name                  pages  …\n12  東京都の水道工事の店  1,234\n7   Jose\u0301                      5",
		40: "id  name                  pages  …\n12  東京都の水道工事の店  1,234\n7   Jose\u0301                      5",
		26: "id  name  …\n12  東京都の水道工事の…\n7   Jose\u0301",
		12: "id  name  …\n12  東京…\n7   Jose\u0301",
		-1: "id  name                  pages  note\n12  東京都の水道工事の店  1,234  a note that is longer than all else\n7   Jose\u0301                      5  -",
	} {
		var out bytes.Buffer
		s := &Streams{Out: &tty{width: width}, NoColor: true}
		if width < 0 {
			s.Out = &out
		}
		if err := fresh().flush(s, &out); err != nil {
			t.Fatal(err)
		}
		got := strings.TrimRight(out.String(), "\n")
		if got != want {
			t.Errorf("in %d columns got\n%s\nwant\n%s", width, got, want)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if width > 0 && yp.Columns(line) > width {
				t.Errorf("in %d columns: %q", width, line)
			}
		}
	}
}

// TestFactsFold: of one thing all is shown, on any terminal.
func TestFactsFold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tab := facts("demo/1", "Joe's", "about", "one two three four five six", "website", "https://joes-plumbing.example/")
	if err := tab.flush(&Streams{Out: &tty{width: 24}, NoColor: true}, &out); err != nil {
		t.Fatal(err)
	}
	want := "demo/1   Joe's\nabout    one two three\n           four five six\nwebsite  https://joes-plumbing.example/\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNotesFold: a line for people goes on below itself on a terminal, and stays one line elsewhere.
func TestNotesFold(t *testing.T) {
	t.Parallel()
	terminal, pipe := &tty{width: 24}, &bytes.Buffer{}
	for _, w := range []io.Writer{terminal, pipe} {
		(&Streams{Err: w}).note("Nothing was planned or crawled yet.\n  ypcrawl run --states CA TX")
	}
	if want := "Nothing was planned or\n  crawled yet.\n  ypcrawl run --states CA TX\n"; terminal.String() != want {
		t.Errorf("got %q, want %q", terminal.String(), want)
	}
	if want := "Nothing was planned or crawled yet.\n  ypcrawl run --states CA TX\n"; pipe.String() != want {
		t.Errorf("got %q, want %q", pipe.String(), want)
	}
}

// TestNotesClean: what a file name or a page holds moves no terminal, whoever wrote the note.
func TestNotesClean(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	(&Streams{Err: &out}).note("Watching %s; Ctrl-C ends it.", "a\x1b[2J\u202eb.html")
	if got, want := out.String(), "Watching a\\x1b[2J\\u202eb.html; Ctrl-C ends it.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string `json:"name"`
	}
	t.Run("OneLineForPrograms", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		if err := writeRows(&out, []row{{"Tom & <Sons>"}, {"B"}}); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), `[{"name":"Tom & <Sons>"},{"name":"B"}]`+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("IndentedForPeople", func(t *testing.T) {
		t.Parallel()
		out := &tty{}
		if err := writeRows(out, []row{{"A"}}); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "[\n  {\n    \"name\": \"A\"\n  }\n]\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("NeverNull", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		if err := writeRows[row](&out, nil); err != nil || out.String() != "[]\n" {
			t.Errorf("got %q, %v", out.String(), err)
		}
	})
	t.Run("ControlCharacters", func(t *testing.T) {
		t.Parallel()
		const name = "a\x1b[2J\u202eb\u009bc\x7f\U000e0041é"
		out := &tty{}
		if err := writeJSON(out, row{name}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), "\x1b\u202e\u009b\x7f\U000e0041") {
			t.Errorf("raw: %q", out.String())
		}
		var back row
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Name != name {
			t.Errorf("reads back as %q, %v", back.Name, err)
		}
	})
	t.Run("WriteError", func(t *testing.T) {
		t.Parallel()
		r, w := io.Pipe()
		_ = r.CloseWithError(io.ErrClosedPipe)
		if err := writeRows(w, []row{{"A"}}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	})
}

// TestHide: a column goes by its name, or because nothing was counted in it.
func TestHide(t *testing.T) {
	t.Parallel()
	tab := newTable("name", "done", "failed", "stuck", "note")
	tab.row("a", 1, 0, 0, "x")
	tab.row("b", 2, 0, 3)
	tab.row("more")
	tab.hide("note")
	tab.hideZeros("failed", "stuck")
	var out bytes.Buffer
	if err := tab.flush(&Streams{Getenv: env(nil)}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "name  done  stuck\na        1      0\nb        2      3\nmore\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
