package site

import (
	"strings"
	"testing"

	"ypcrawl/yp"
)

func TestSourceEmail(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	for in, want := range map[string]string{
		"joe@joes.example":                  "joe@joes.example",
		"mailto:joe@joes.example":           "joe@joes.example",
		"Write to <joe@joes.example>, soon": "joe@joes.example",
		"E-mail:joe@joes.example.":          "joe@joes.example",
		hide("joe@joes.example", 0):         "joe@joes.example",
		"/cdn-cgi/l/email-protection#" + hide("joe@joes.example?subject=a%20b", 0x42): "joe@joes.example",
		"/cdn-cgi/l/email-protection":                           "",
		"/cdn-cgi/l/email-protection#":                          "",
		"/cdn-cgi/l/email-protection#5":                         "",
		"/cdn-cgi/l/email-protection#5a3":                       "",
		"/cdn-cgi/l/email-protection#xyz1":                      "",
		"/cdn-cgi/l/email-protection#" + hide("\x00\x1b[2J", 9): "",
		"help@yellowpages.com":                                  "",
		"help@mail.yellowpages.com":                             "",
		"joe at joes.example":                                   "",
		"@joe":                                                  "",
		strings.Repeat("a", 5000) + "@b.com":                    "",
		hide(strings.Repeat("a", 600)+"@b.com", 1):              "",
	} {
		if got := s.email(in); got != want {
			t.Errorf("%q: got %q, want %q", yp.Clip(in, 80), got, want)
		}
	}
}
