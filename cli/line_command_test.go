package cli

import (
	"errors"
	"testing"

	"ypcrawl/crawl"
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
