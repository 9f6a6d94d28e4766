package cli

import (
	"errors"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"Plain":     {[]string{"ypcrawl", "run", "--states", "CA", "TX"}, "ypcrawl run --states CA TX"},
		"Spaces":    {[]string{"./ypcrawl", "run", "--cities", "El  Paso"}, "./ypcrawl run --cities 'El  Paso'"},
		"Quote":     {[]string{"ypcrawl", "--cities=Joe's"}, `ypcrawl '--cities=Joe'\''s'`},
		"Empty":     {[]string{"ypcrawl", ""}, "ypcrawl ''"},
		"Shell":     {[]string{"ypcrawl", "$(rm -r /)", "a;b", "*"}, "ypcrawl '$(rm -r /)' 'a;b' '*'"},
		"Password":  {[]string{"ypcrawl", "--proxy=http://me:secret@host:1"}, "ypcrawl --proxy=http://me:xxxxx@host:1"},
		"Password2": {[]string{"ypcrawl", "--proxy", "http://me:secret@host:1"}, "ypcrawl --proxy http://me:xxxxx@host:1"},
		"Controls":  {[]string{"ypcrawl", "a\x1b[31m\u202eb"}, "ypcrawl 'a[31mb'"},
		"GoRun":     {[]string{"/tmp/go-build12/b001/exe/ypcrawl", "run"}, "go run . run"},
		"None":      {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Program{args: tc.args}
			if got := p.commandLine(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// manyStates is a progress over n states with a worker and an error.
func manyStates(n int) *report.Progress {
	table := func(show string, rows ...[]any) *report.Table {
		return &report.Table{Part: report.Part{Show: show}, Columns: strings.Fields(show), Rows: rows}
	}
	pr := &report.Progress{
		Rate: 1, Left: report.Left{Seconds: 60}, States: table("state percent companies"),
		Workers: table("worker target page", []any{"amber (1)", "Plumbers in Austin, TX", int64(1)}),
		Errors:  table("error status targets message", []any{"TIMEOUT", "FAILED", int64(1), strings.Repeat("long ", 50)}),
	}
	for i := range n {
		pr.States.Rows = append(pr.States.Rows, []any{string(rune('A'+i/26)) + string(rune('A'+i%26)), 1.0, int64(1)})
	}
	return pr
}

func TestScreenFits(t *testing.T) {
	t.Parallel()
	p := &Program{Streams: Streams{Out: &tty{width: 80}, Getenv: env(nil)}}
	for _, height := range []int{1, 5, 12, 23, 40, 80} {
		lines, err := p.screen(manyStates(51), height)
		storetest.NoError(t, err)
		if len(lines) > height {
			t.Errorf("%d lines on a screen of %d", len(lines), height)
		}
		text := strings.Join(lines, "\n")
		if height >= 12 && !strings.Contains(text, "TIMEOUT") {
			t.Errorf("height %d: the errors were left out before the states:\n%s", height, text)
		}
		if all := strings.Contains(text, "\nBY "); all != (height >= 80) {
			t.Errorf("height %d: the last state is there: %t", height, all)
		}
		if height == 23 && !strings.Contains(text, " more") {
			t.Errorf("it is not said that states were left out:\n%s", text)
		}
	}
}

// TestWorst: what ended all sources comes first, then what most needs somebody to look.
func TestWorst(t *testing.T) {
	t.Parallel()
	broken, blocked := errors.New("broken"), &crawl.BlockedError{Source: "a"}
	ends := func(errs ...error) (all []ending) {
		for _, err := range errs {
			all = append(all, ending{Result: crawl.Result{Err: err}})
		}
		return all
	}
	for name, tt := range map[string]struct {
		run   error
		ended []ending
		want  error
	}{
		"Done":       {nil, ends(nil, nil), nil},
		"Stopped":    {crawl.ErrInterrupted, ends(crawl.ErrInterrupted, crawl.ErrLayout), crawl.ErrInterrupted},
		"Error":      {nil, ends(blocked, crawl.ErrLayout, broken), broken},
		"Layout":     {nil, ends(blocked, crawl.ErrNoProxies, crawl.ErrLayout), crawl.ErrLayout},
		"NoProxies":  {nil, ends(nil, blocked, crawl.ErrNoProxies), crawl.ErrNoProxies},
		"Blocked":    {nil, ends(nil, blocked), blocked},
		"BudgetJust": {nil, ends(crawl.ErrBudget), nil}, // it was just enough
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := worst(tt.run, tt.ended); !errors.Is(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDrawnScreenWrapsNowhere(t *testing.T) {
	t.Parallel()
	var out tty
	lines := []string{string(bold) + strings.Repeat("h", 99) + plain, strings.Repeat("é", 99), "short"}
	storetest.NoError(t, drawScreen(&out, lines, 40))
	want := "\x1b[H" + string(bold) + strings.Repeat("h", 40) + plain + "\r\n" + strings.Repeat("é", 40) + "\r\nshort\x1b[K\r\n\x1b[J"
	if got := out.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
