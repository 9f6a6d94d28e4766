package cli

import (
	"errors"
	"strings"
	"testing"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl"
)

// TestResumeLine: what is printed to go on with can be pasted: values that are secret are left out, with their flag if it has no other.
func TestResumeLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want, without string }{
		{"run --states CA TX --max-pages 1", "ypcrawl run --states CA TX --max-pages 1", ""},
		{"--db a.db run --proxy http://me:secret@h:1 --states CA", "ypcrawl --db a.db run --states CA", "proxy"},
		{"run --proxy http://me:secret@h:1 http://h:2 --states CA", "ypcrawl run --proxy http://h:2 --states CA", "proxy"},
		{"run --proxy=http://me:secret@h:1 --proxy=http://h:2 --quiet", "ypcrawl run --proxy=http://h:2 --quiet", "proxy"},
		{"run --notify https://hc.example/token --ping=https://hc.example/token --states CA", "ypcrawl run --states CA", "notify ping"},
		{"run --states CA --notify https://hc.example/token", "ypcrawl run --states CA", "notify"},
		{"run --base-url http://me:secret@h --watch -s TX", "ypcrawl run --watch -s TX", "base-url"},
	} {
		p := &Program{Invocation: frame.Invocation{Args: append([]string{"ypcrawl"}, strings.Fields(tt.args)...), Secrets: []frame.Secret{secretOf("https://hc.example/token")}}}
		if got, without := p.resumeLine(); got != tt.want || strings.Join(without, " ") != tt.without {
			t.Errorf("%s:\ngot  %s, without %s\nwant %s, without %s", tt.args, got, without, tt.want, tt.without)
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
