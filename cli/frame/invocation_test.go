package frame

import "testing"

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
			p := &Invocation{Args: tc.args}
			if got := p.CommandLine(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
