package yp

import (
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"": 0, "Joe's Plumbing": 14, "San José": 8, "Jose\u0301": 4, "東京": 4, "👩‍🔧": 2, "🇺🇸": 2, "█": 1} {
		if got := Columns(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		text      string
		n         int
		cut, want string
	}{
		{"Plumbers", 8, "Plumbers", "Plumbers"},
		{"Plumbers", 7, "Plumber", "Plumbe…"},
		{"A B Plumbers", 3, "A B", "A…"}, // no space before the sign
		{"東京都", 5, "東京", "東京…"},
		{"東京都", 4, "東京", "東…"}, // half a character is not shown
		{"東京都", 2, "東", "…"},
		{"Jose\u0301 B", 5, "Jose\u0301 ", "Jose\u0301…"},
		{"👩‍🔧👩‍🔧", 3, "👩‍🔧", "👩‍🔧…"},
		{"Plumbers", 1, "P", "…"},
		{"Plumbers", 0, "", ""},
		{"Plumbers", -1, "", ""},
	} {
		if got := Cut(tt.text, tt.n); got != tt.cut {
			t.Errorf("cut %q to %d: got %q, want %q", tt.text, tt.n, got, tt.cut)
		}
		if got := Shorten(tt.text, tt.n); got != tt.want {
			t.Errorf("shorten %q to %d: got %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("San José 東京 👩‍🔧\x1b[2J", 9)
	f.Fuzz(func(t *testing.T, text string, n int) {
		text = Printable(text)
		short, cut := Shorten(text, n), Cut(text, n)
		if Columns(short) > max(n, 0) || Columns(cut) > max(n, 0) || !strings.HasPrefix(text, cut) || (short == text) != (Columns(text) <= n || text == "") {
			t.Errorf("%q in %d columns: %q, %q", text, n, short, cut)
		}
	})
}
