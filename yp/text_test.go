package yp

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"Empty", "", ""},
		{"AsIs", "Acme Plumbing, Inc.", "Acme Plumbing, Inc."},
		{"Trim", "  a b\n", "a b"},
		{"Fold", "a \t\r\n  b", "a b"},
		{"LineSeparator", "a\u2028b\u2029c\u0085d", "a b c d"},
		{"Windows1252", "Joe\u0092s \u0093Best\u0094 \u0096 \u0080 5\u0099", "Joe's “Best” – € 5™"},
		{"Windows1252Quote", "the Joneses\u0092 \u0091x\u0092", "the Joneses’ ‘x’"},
		{"Windows1252Undefined", "a\u0081b\u009dc", "abc"},
		{"NUL", "a\x00b", "ab"},
		{"Escape", "\x1b[31mred\x1b[0m\x7f", "[31mred[0m"},
		{"Bidi", "\u202egnp.exe\u202c \u2066x\u2069", "gnp.exe x"},
		{"ZeroWidth", "a\u200bb\u200dc\ufeffd\u00ade", "abcde"},
		{"Filler", "\u3164\u115f", ""},
		{"Tags", "a\U000e0041b", "ab"},
		{"InvalidUTF8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"ReplacementKept", "a\ufffdb", "a\ufffdb"},
		{"SpaceAroundHidden", "a \u200b b", "a b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Clean(test.in); got != test.want {
				t.Errorf("Clean(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"AsIs", `Acme \ Café 🔧 a  b`, `Acme \ Café 🔧 a  b`},
		{"Escape", "\x1b[31m\x7f", `\x1b[31m\x7f`},
		{"Lines", "a\r\n\tb\u2028", `a\r\n\tb\u2028`},
		{"C1", "\u009b", `\u009b`},
		{"Bidi", "\u202eabc", `\u202eabc`},
		{"Invalid", "a\xff", `a\xff`},
		{"Tags", "\U000e0041", `\U000e0041`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Printable(test.in); got != test.want {
				t.Errorf("Printable(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

// textSeeds are awkward texts for the fuzz targets of this package.
func textSeeds(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		"", " ", "Acme Plumbing & Heating, Inc.", "Café Olé", "a\x00b\xff\u202e", "St. Louis", "Co", "Inc Inc", "& Co.",
		"İstanbul", "ﬁne Ⓐ ½", "Straße", "Kapa‘a", "ϴ", "\u0130", "𝔄𝔅", "a\u0301", "日本", "각", "\u1e9e", "ǆ", "L.L.C", strings.Repeat("é ", 200),
	} {
		f.Add(s)
	}
}

func FuzzText(f *testing.F) {
	textSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		clean := Clean(s)
		if again := Clean(clean); again != clean {
			t.Errorf("Clean(%q) = %q, then %q", s, clean, again)
		}
		if !utf8.ValidString(clean) || strings.Contains(clean, "  ") || strings.TrimSpace(clean) != clean {
			t.Errorf("Clean(%q) = %q", s, clean)
		}
		shown := Printable(s)
		if again := Printable(shown); again != shown || !utf8.ValidString(shown) {
			t.Errorf("Printable(%q) = %q, then %q", s, shown, again)
		}
		if strings.ContainsFunc(clean+shown, hidden) {
			t.Errorf("%q, %q: hidden characters are left of %q", clean, shown, s)
		}
		if Printable(clean) != clean {
			t.Errorf("clean text is not printable: %q", clean)
		}
	})
}
