package fetch

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func checkUTF8(t *testing.T, b []byte) {
	t.Helper()
	if !utf8.Valid(b) {
		t.Errorf("not UTF-8: %q", b[:min(len(b), 100)])
	}
}

func TestCharset(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("x", 2000) // beyond what the library's sniffing sees
	tests := []struct{ name, contentType, body, want string }{
		{"UTF-8", "text/html; charset=utf-8", "caf\u00e9", "café"},
		{"UTF-8 undeclared", "text/html", "caf\u00e9", "café"},
		{"UTF-8 undeclared, first seen late", "text/html", far + "caf\u00e9", far + "café"},
		{"UTF-8 that says it is Latin-1", "text/html; charset=iso-8859-1", "caf\u00e9", "café"},
		{"UTF-8 with a mark", "text/html", "\xef\xbb\xbfcafé", "café"},
		{"UTF-8 with one damaged rune", "text/html", far + "café café caf\xc3 end", far + "café café cafÃ end"},
		{"damaged UTF-8 with a mark", "text/html; charset=utf-8", "\xef\xbb\xbfa\xffb", "aÿb"},
		{"Latin-1 by header", "text/html; charset=ISO-8859-1", "caf\xe9", "café"},
		{"windows-1252 by header", "text/html; charset=windows-1252", "\x93caf\xe9\x94", "“café”"},
		{"Latin-1 by meta", "text/html", `<meta charset="iso-8859-1">caf` + "\xe9", `<meta charset="iso-8859-1">café`},
		{"Latin-1 undeclared", "text/html", "caf\xe9", "café"},
		{"Latin-1 that says it is UTF-8", "text/html; charset=utf-8", "caf\xe9!", "café!"},
		{"the same by meta", "text/html", `<meta charset="utf-8">caf` + "\xe9!", `<meta charset="utf-8">café!`},
		{"windows-1252 that says it is UTF-8", "text/html; charset=utf-8", "\x93Jos\xe9\x94 \x96 Espa\xf1a", "“José” – España"},
		{"UTF-8 that says so, with one damaged rune", "text/html; charset=utf-8", "café café caf\xc3 end", "café café cafÃ end"},
		{"Latin-1 names in a page of UTF-8", "text/html; charset=utf-8", "café café © Jos\xe9 Pe\xf1a", "café café © José Peña"},
		{"Windows-1252 apostrophe in a page of UTF-8", "text/html; charset=utf-8", "© ® · Joe\x92s", "© ® · Joe’s"},
		{"Windows-1252 letter that begins a rune", "text/html; charset=utf-8", "© ® · Ch\xe2teau", "© ® · Château"},
		{"Windows-1252 capitals in a page of UTF-8", "text/html; charset=utf-8", "® ® ® S\xc3O PAULO", "® ® ® SÃO PAULO"},
		{"Windows-1252 letter and apostrophe", "text/html; charset=utf-8", "® ® ® Jos\xe9\x92s", "® ® ® José’s"},
		{"cut quote and cut picture", "text/html; charset=utf-8", "é é é é é é a\xe2\x80 b\xf0\x9f\x98 c", "é é é é é é a b c"},
		{"Shift-JIS", "text/html; charset=shift_jis", "\x93\xfa\x96\x7b", "日本"},
		{"UTF-16 with a mark", "text/html", "\xff\xfeh\x00i\x00", "hi"},
		{"UTF-16 by header", "text/html; charset=utf-16le", "h\x00i\x00", "hi"},
		{"ISO-2022-JP by header", "text/html; charset=iso-2022-jp", "\x1b$BF|K\\\x1b(B", "日本"},
		{"unknown charset", "text/html; charset=klingon", "caf\xe9", "café"},
		{"broken Content-Type", "text/html; charset", "caf\xe9", "café"},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = io.WriteString(w, tt.body)
			})
			for range 2 {
				if got := s.page(t, "/"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

// TestNoReplacementCharacter puts every stray byte between all that may stand around it.
func TestNoReplacementCharacter(t *testing.T) {
	t.Parallel()
	around := []string{"", " ", "a", "é", "\x80", "\xc3", "\xe2", "\xf0\x9f"}
	for b := utf8.RuneSelf; b < 256; b++ {
		for _, before := range around {
			for _, after := range around {
				body := before + string([]byte{byte(b)}) + after
				got := appendValid(nil, []byte(body))
				checkUTF8(t, got)
				if strings.ContainsRune(string(got), utf8.RuneError) {
					t.Errorf("%q: got %q", body, got)
				}
			}
		}
	}
}
