package yp

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestCanonicalEmail(t *testing.T) {
	for in, want := range map[string]string{
		"info@acme.com":    "info@acme.com",
		" Info@ACME.com. ": "Info@acme.com",
		"mailto:info@acme.com?subject=Hi&cc=x@y.z": "info@acme.com",
		"MAILTO:%20a%40acme.com":                   "a@acme.com",
		"Joe <joe@acme.com>":                       "joe@acme.com",
		"a@acme.com, b@acme.com":                   "a@acme.com",
		"a@bücher.example":                         "a@xn--bcher-kva.example",
		"_a@acme.com":                              "_a@acme.com",
		"acme.com":                                 "",
		"a@":                                       "",
		"a@localhost":                              "",
		"a@127.0.0.1":                              "",
		"a@b@acme.com":                             "",
		"a.@acme.com":                              "",
		"a..b@acme.com":                            "",
		"-a@acme.com":                              "",
		`"a b"@acme.com`:                           "",
		"a\x00@acme.com":                           "",
		"a@-acme.com":                              "",
		"a@ac_me.com":                              "",
		"a@acme.123":                               "",
		"logo@2x.png":                              "",
		"[email protected]":                        "",
		"mailto:a%zz@acme.com":                     "",
		"mailto:a%0a@acme.com":                     "a@acme.com",
		strings.Repeat("a", 64) + "@acme.com":      strings.Repeat("a", 64) + "@acme.com",
		strings.Repeat("a", 65) + "@acme.com":      "",
		"a@" + strings.Repeat("abcdefgh.", 28) + "com": "",
		strings.Repeat(" ", 2000) + "a@acme.com":       "",
		"josé@acme.com":                                "",
	} {
		got, ok := CanonicalEmail(in)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", in, got, ok, want)
		}
	}
}

func FuzzCanonicalEmail(f *testing.F) {
	for _, s := range []string{"info@acme.com", "mailto:a%40b.example?x", "Joe <joe@bücher.example>", "a@b@c", "\x00@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := CanonicalEmail(s)
		if !ok {
			if got != "" {
				t.Fatalf("%q: refused, yet %q", s, got)
			}
			return
		}
		if again, ok := CanonicalEmail(got); !ok || again != got {
			t.Fatalf("%q: %q becomes %q", s, got, again)
		}
		if len(got) > maxMail || strings.Count(got, "@") != 1 || Printable(got) != got || strings.ContainsAny(got, " \"<>,;") {
			t.Fatalf("%q: %q", s, got)
		}
	})
}

// FuzzFindEmail hides texts as Cloudflare does.
func FuzzFindEmail(f *testing.F) {
	f.Add("joe@joes.example", byte(0x5a))
	f.Add("joe@joes.example?subject=x", byte(0))
	f.Add("\x00\xff", byte(0xff))
	f.Fuzz(func(t *testing.T, text string, key byte) {
		b := []byte{key}
		for _, c := range []byte(text) {
			b = append(b, c^key)
		}
		hidden := hex.EncodeToString(b)
		got, ok := cloudflareEmail(hidden)
		if fits := 2+2*len(text) <= maxMailText && text != ""; ok != fits || ok && got != text {
			t.Fatalf("%q with key %#x: got %q, %t", text, key, got, ok)
		}
		for _, v := range []string{text, "/cdn-cgi/l/email-protection#" + text, hidden} {
			email, _ := FindEmail(v)
			if email != "" && (strings.Count(email, "@") != 1 || len(email) > 254 || strings.ContainsAny(email, " \x00\x1b<>\"")) {
				t.Fatalf("%q: %q", v, email)
			}
		}
	})
}
