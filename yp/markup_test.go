package yp

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"Acme Plumbing":                       "Acme Plumbing",
		"<p>Best &amp; <b>fast</b></p>":       "Best & fast",
		"12 Main St<br>Suite 5":               "12 Main St Suite 5",
		"12 Main St<br/>Suite 5<BR />Floor 2": "12 Main St Suite 5 Floor 2",
		"Joe&#39;s":                           "Joe's",
		"Joe&amp;#39;s":                       "Joe's",
		"Joe&#x27;s &amp;amp; Sons":           "Joe's & Sons",
		"Caf&eacute;":                         "Café",
		"&lt;p&gt;Best&lt;/p&gt;":             "Best",
		"&amp;lt;b&amp;gt;Best&amp;lt;/b&amp;gt;": "Best",
		"A < B":                            "A < B",
		"A &lt; B":                         "A < B",
		"5 <6":                             "5 <6",
		"5 <6> 7":                          "5 <6> 7",
		"<3 pizza>":                        "<3 pizza>",
		"if a <b and c> d":                 "if a <b and c> d",
		"Joe <joe@acme.com>":               "Joe <joe@acme.com>",
		`<a href="/x" class='y'>Joe</a>'s`: "Joe's",
		"AT&T; more":                       "AT&T; more",
		"R&D &copy Acme":                   "R&D &copy Acme",
		"a<!-- x -->b":                     "ab",
		"a <b":                             "a <b",
		"a<span>b</span>c":                 "abc",
		"a&nbsp;b":                         "a b",
		"a&#8203;b&shy;c":                  "abc",
		"&#0;a":                            "\ufffda",
		"Tom &amp; Jerry":                  "Tom & Jerry",
		strings.Repeat("<", 3000):          strings.Repeat("<", 3000),
	} {
		if got := Plain(in); got != want {
			t.Errorf("%.60q: got %.60q, want %.60q", in, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Plain("Bolt & Sons <3") }); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// FuzzPlain: a clean text stays clean, and no longer than it was but for what entities stand for.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"<p>Best &amp; <b>fast</b></p>", "Joe&amp;#39;s", "A < B &lt", "<br"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := Plain(Clean(s)); got != Clean(got) || len(got) > 2*len(Clean(s)) {
			t.Fatalf("%q: %q", s, got)
		}
	})
}
