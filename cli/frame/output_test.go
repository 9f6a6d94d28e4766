package frame

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"ypcrawl/cli/frame/frametest"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// shown is a stream of which a test reads what was written.
type shown interface {
	io.Writer
	String() string
}

func TestColor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		w       io.Writer
		noColor bool
		env     map[string]string
		want    bool
	}{
		"terminal":         {w: &frametest.Terminal{}, want: true},
		"no terminal":      {w: &bytes.Buffer{}},
		"flag":             {w: &frametest.Terminal{}, noColor: true},
		"NO_COLOR":         {w: &frametest.Terminal{}, env: map[string]string{"NO_COLOR": "1"}},
		"NO_COLOR empty":   {w: &frametest.Terminal{}, env: map[string]string{"NO_COLOR": ""}, want: true},
		"dumb":             {w: &frametest.Terminal{}, env: map[string]string{"TERM": "dumb"}},
		"another terminal": {w: &frametest.Terminal{}, env: map[string]string{"TERM": "xterm"}, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Streams{NoColor: tt.noColor, Getenv: frametest.Env(tt.env)}
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
		"y":                      {in: frametest.Input(strings.NewReader("y\n")), want: true},
		"Yes":                    {in: frametest.Input(strings.NewReader("Yes\n")), want: true},
		"n":                      {in: frametest.Input(strings.NewReader("n\n"))},
		"empty line":             {in: frametest.Input(strings.NewReader("\n"))},
		"anything else":          {in: frametest.Input(strings.NewReader("yesterday\n"))},
		"end of input":           {in: frametest.Input(strings.NewReader(""))},
		"--yes":                  {in: strings.NewReader(""), yes: true, want: true},
		"no terminal":            {in: strings.NewReader("y\n"), err: "This resets 3 targets. Add --yes to confirm"},
		"--yes asks for nothing": {in: frametest.Input(strings.NewReader("n\n")), yes: true, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			s := &Streams{In: tt.in, Out: &out, Err: &errs}
			got, err := s.Confirm(context.Background(), "This resets 3 targets.", tt.yes)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || !isUsage(err) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("got %v, %v", got, err)
			}
			if asked := errs.String() == "This resets 3 targets. Continue? [y/N] "; asked == tt.yes || out.Len() > 0 {
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
	s := &Streams{In: frametest.Input(in), Err: io.Discard}
	if _, err := s.Confirm(ctx, "This ends.", false); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// TestTableFits: on a terminal the widest text gets shorter, then columns go from the end; in a pipe and a
// file nothing does.
func TestTableFits(t *testing.T) {
	t.Parallel()
	fresh := func() *Table {
		tab := NewTable("id", "name", "pages", "note")
		tab.Row("12", "東京都の水道工事の店", int64(1234), "a note that is longer than all else")
		tab.Row("7", "Jose\u0301", int64(5), "-")
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
		s := &Streams{Out: &frametest.Terminal{Columns: width}, NoColor: true}
		if width < 0 {
			s.Out = &out
		}
		storetest.NoError(t, fresh().flush(s, &out))
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
	tab := Facts("demo/1", "Joe's", "about", "one two three four five six", "website", "https://joes-plumbing.example/")
	storetest.NoError(t, tab.flush(&Streams{Out: &frametest.Terminal{Columns: 24}, NoColor: true}, &out))
	want := "demo/1   Joe's\nabout    one two three\n           four five six\nwebsite  https://joes-plumbing.example/\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNotesFold: a line for people goes on below itself on a terminal, and stays one line elsewhere; what a file name or a
// page holds moves no terminal.
func TestNotesFold(t *testing.T) {
	t.Parallel()
	terminal, pipe := &frametest.Terminal{Columns: 24}, &bytes.Buffer{}
	for _, w := range []io.Writer{terminal, pipe} {
		(&Streams{Err: w}).Note("Nothing was planned or crawled %s.\n  ypcrawl run --states CA TX", "yet\x1b")
	}
	if want := "Nothing was planned or\n  crawled yet\\x1b.\n  ypcrawl run --states CA TX\n"; terminal.String() != want {
		t.Errorf("got %q, want %q", terminal.String(), want)
	}
	if want := "Nothing was planned or crawled yet\\x1b.\n  ypcrawl run --states CA TX\n"; pipe.String() != want {
		t.Errorf("got %q, want %q", pipe.String(), want)
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string `json:"name"`
	}
	for name, c := range map[string]struct {
		out  shown
		rows []row
		want string
	}{
		"one line for programs": {&bytes.Buffer{}, []row{{"Tom & <Sons>"}, {"B"}}, `[{"name":"Tom & <Sons>"},{"name":"B"}]` + "\n"},
		"indented for people":   {&frametest.Terminal{}, []row{{"A"}}, "[\n  {\n    \"name\": \"A\"\n  }\n]\n"},
	} {
		if err := WriteJSON(c.out, c.rows); err != nil || c.out.String() != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, c.out.String(), err, c.want)
		}
	}
	t.Run("ControlCharacters", func(t *testing.T) {
		t.Parallel()
		const name = "a\x1b[2J\u202eb\u009bc\x7f\U000e0041é"
		out := &frametest.Terminal{}
		storetest.NoError(t, WriteJSON(out, row{name}))
		if strings.ContainsAny(out.String(), "\x1b\u202e\u009b\x7f\U000e0041") {
			t.Errorf("raw: %q", out.String())
		}
		var back row
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back.Name != name {
			t.Errorf("reads back as %q, %v", back.Name, err)
		}
	})
	t.Run("WriteError", func(t *testing.T) {
		t.Parallel()
		r, w := io.Pipe()
		_ = r.CloseWithError(io.ErrClosedPipe)
		if err := WriteJSON(w, []row{{"A"}}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	})
}

// TestTable: numbers are aligned to the right, what is not known is a dash, and nothing in a cell acts on a terminal.
func TestTable(t *testing.T) {
	t.Parallel()
	tab := NewTable("state", "targets", "note", "name")
	tab.Row("CA", int64(200), "x", "San José")
	tab.Row("TX", int64(12345), "y", "\x1b[31mred\u202e")
	tab.Row("WY", nil)
	tab.Remove(2)
	for _, out := range []shown{&bytes.Buffer{}, &frametest.Terminal{Columns: defaultWidth}} {
		head := "state  targets  name"
		if _, terminal := out.(*frametest.Terminal); terminal {
			head = "\x1b[1m" + head + "\x1b[0m"
		}
		want := head + `
CA         200  San José
TX      12,345  \x1b[31mred\u202e
WY           –
`
		if err := tab.flush(&Streams{Out: out, Getenv: frametest.Env(nil)}, out); err != nil || out.String() != want {
			t.Errorf("%v: got\n%s\nwant\n%s", err, out, want)
		}
	}
}
