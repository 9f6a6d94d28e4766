package weburl

import (
	"net/url"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

func baseOf(t testing.TB, page, charset string) Base {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	return NewBase(u, charset)
}

const page = "https://www.example.com/austin-tx/plumbers?page=2"

func TestResolve(t *testing.T) {
	t.Parallel()
	const host = "https://www.example.com"
	for _, c := range []struct{ name, ref, want string }{
		{"Root", "/austin-tx/mip/acme-1?lid=2", host + "/austin-tx/mip/acme-1?lid=2"},
		{"Beside", "roofers", host + "/austin-tx/roofers"},
		{"Above", "../mip/acme-1#top", host + "/mip/acme-1#top"},
		{"Query", "?page=3", host + "/austin-tx/plumbers?page=3"},
		{"QueryAlone", "?", host + "/austin-tx/plumbers?"},
		{"Fragment", "#top", page + "#top"},
		{"OtherHost", "//other.example/a", "https://other.example/a"},
		{"Absolute", "HTTP://Other.Example:80/A?b#c", "http://other.example/A?b#c"},
		{"NoPath", "http://other.example", "http://other.example/"},
		{"NoPathButQuery", "http://other.example?x", "http://other.example/?x"},
		{"Port", "http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"},
		{"LineBreak", "/austin-tx/\nplum\r\n\tbers?page=3", host + "/austin-tx/plumbers?page=3"},
		{"Ends", " \n /a\x00 ", host + "/a"},
		{"Blank", "/a b?geo=New York, NY&page=2", host + "/a%20b?geo=New%20York,%20NY&page=2"},
		{"StrayPercent", "/100%-natural", host + "/100%25-natural"},
		{"StrayPercentInQuery", "/a?q=100%&page=2", host + "/a?q=100%&page=2"},
		{"Escape", "/a%2fb", host + "/a%2fb"},
		{"EscapedDots", "/a/%2e%2E/b", host + "/b"},
		{"Backslash", `\mip\bell-102`, host + "/mip/bell-102"},
		{"BackslashHost", `\\other.example\a`, "https://other.example/a"},
		{"BackslashAbsolute", `https:\\other.example\a`, "https://other.example/a"},
		{"BackslashInQuery", `/a?b=\c`, host + `/a?b=\c`},
		{"Slashes", "https:///other.example/a", "https://other.example/a"},
		{"OneSlash", "http:/other.example/a", "http://other.example/a"},
		{"OwnSchemeOnly", "HTTPS:", page},
		{"OwnSchemeAndFragment", "https:#a b", page + "#a%20b"},
		{"FragmentWithBlank", "#a b", page + "#a%20b"},
		{"OwnSchemeAlone", "https:roofers", host + "/austin-tx/roofers"},
		{"Control", "/a\x01b", host + "/a%01b"},
		{"Unicode", "/café?q=é", host + "/caf%C3%A9?q=%C3%A9"},
		{"ZeroWidth", "/a\u200bb", host + "/a%E2%80%8Bb"},
		{"IDN", "https://bücher.example/", "https://xn--bcher-kva.example/"},
		{"Number", "http://0x7f.1/a", "http://127.0.0.1/a"},
		{"DecimalNumber", "http://2130706433/", "http://127.0.0.1/"},
		{"IPv6", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"},
		{"Bar", "/a|b%2Fc^", host + "/a%7Cb%2Fc%5E"},
		{"Colon", "a:b", ""},
		{"ColonBehindSlash", "./a:b", host + "/austin-tx/a:b"},
		{"EmptySegments", "/a//b", host + "/a//b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := baseOf(t, page, "")
			if got, reason := b.Resolve(c.ref); got.Text != c.want || (reason == "") != (c.want != "") {
				t.Errorf("%q: got %q, %q, want %q", c.ref, got.Text, reason, c.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"":                              "no address",
		" \n":                           "no address",
		"javascript:void(0)":            "a script",
		"Java\nScript:go(2)":            "a script",
		"mailto:a@b.example":            "not http: mailto",
		"data:image/png;base64,AAAA":    "not http: data",
		"ftp://www.example.com/a":       "not http: ftp",
		"file:///etc/passwd":            "not http: file",
		"www.example.com:8080/a":        "not http: www.example.com",
		"http://":                       "not an address",
		"http://a b/":                   "not an address",
		"http://www.example.com:99999/": "not an address",
		"https://user@/page":            "not an address",
		"https://1.2.3.256/":            "not an address",
		"http://a|b/":                   "not an address",
		"http://[::1/":                  "not an address",

		"/" + strings.Repeat("a", MaxLen): "longer than 8000 bytes",
		"/" + strings.Repeat(" ", MaxLen): "", // blanks at the ends count for nothing

		"|/.." + strings.Repeat("/a", maxSlashes): "more than 300 slashes",
		"/a?" + strings.Repeat("é", MaxLen/4):     "longer than 8000 bytes",
	} {
		b := baseOf(t, page, "")
		if _, reason := b.Resolve(ref); reason != want {
			t.Errorf("%.40q: got %q, want %q", ref, reason, want)
		}
	}
	var none Base
	if _, reason := none.Resolve("/a"); reason != isRelative {
		t.Errorf("without a page: %q", reason)
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	b := baseOf(t, "https://user:secret@www.example.com/a", "")
	if b.address.Text != "https://www.example.com/a" {
		t.Errorf("base %q", b.address.Text)
	}
	for ref, want := range map[string]string{
		"https://u:p@other.example/a?b@c": "https://other.example/a?b@c",
		`\\u@v@other.example\a`:           "https://other.example/a",
		"https:u@other.example/a":         "",
		"//:@other.example/":              "",
		"/a@b":                            "",
		"https://other.example/a@b#c@d":   "",
		"https://other.example?a@b":       "",
		"https://" + strings.Repeat("@", 3000) + "other.example/": "https://other.example/",
	} {
		a, reason := b.Resolve(ref)
		if reason != "" || a.User != (want != "") || want != "" && a.Text != want {
			t.Errorf("%.60q: got %q, %t, %q", ref, a.Text, a.User, reason)
		}
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for href, want := range map[string]string{
		"/":                        "https://www.example.com/biz/acme",
		"/us":                      "https://www.example.com/biz/acme",
		"/us/":                     "https://www.example.com/us/biz/acme",
		"https://m.example.com/x/": "https://m.example.com/x/biz/acme",
		"//cdn.example":            "https://cdn.example/biz/acme",
		"../":                      "https://www.example.com/biz/acme",
		"?a=/b/#/c/":               "https://www.example.com/austin-tx/biz/acme",
		" /u\ns/ ":                 "https://www.example.com/us/biz/acme",
		"":                         "https://www.example.com/austin-tx/biz/acme",
		"javascript:1":             "https://www.example.com/austin-tx/biz/acme",
		"data:text/html,/a/":       "https://www.example.com/austin-tx/biz/acme",
		"ftp://example.com/a/":     "https://www.example.com/austin-tx/biz/acme",
		"http://a b/":              "https://www.example.com/austin-tx/biz/acme",
	} {
		b := baseOf(t, page, "")
		within := b.Within(href)
		if got, reason := within.Resolve("biz/acme"); got.Text != want || reason != "" {
			t.Errorf("%q: got %q, %q, want %q", href, got.Text, reason, want)
		}
	}
}

func TestCharset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ charset, ref, want string }{
		{"iso-8859-1", "/münchen?ort=münchen&seite=2#ü", "/m%C3%BCnchen?ort=m%FCnchen&seite=2#%C3%BC"},
		{"windows-1252", "?p=5€", "/a?p=5%80"},
		{"windows-1251", "?q=ж&r=%D0%B6", "/a?q=%E6&r=%D0%B6"},
		{"windows-1251", "?q=é", "/a?q=%26%23233%3B"},
		{"shift_jis", "?q=ソ", "/a?q=%83\\"},
		{"gbk", "?q=中", "/a?q=%D6%D0"},
		{"euc-kr", "?q=한", "/a?q=%C7%D1"},
		{"utf-16le", "?q=é", "/a?q=%C3%A9"},
		{"utf-8", "?q=é", "/a?q=%C3%A9"},
		{"no-such", "?q=é", "/a?q=%C3%A9"},
		{"iso-8859-1", "?q=a%20b", "/a?q=a%20b"},
	} {
		b := baseOf(t, "https://www.example.com/a", c.charset)
		if got, reason := b.Resolve(c.ref); got.Text != "https://www.example.com"+c.want {
			t.Errorf("%s %q: got %q, %q", c.charset, c.ref, got.Text, reason)
		}
	}
}

// FuzzResolve holds the short way against the parser, what is cut out here against the
// parser's own reading, and each address against net/url.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{
		"/a/b-1?lid=2", "../x", "//h/y", "http://H:80/%2f", "/100%", "/a\x00", "a:b", "/.", "/a/..", "/a/.b", "?a'b", "#", "a.b", "...", ".a", "%2e",
		"https://a.b-c.example", "https://a.0x1/", "https://a--b.c/", "https:a", "https:\\\\a@b", "//@", "//a@:80", "http://-1", "/a%2e/", "/;a=|^`{}", "//i.example/a?b", "//i.example:8080", "http://127.0.0.1:8080/a", "//1.2.3", "http://a:+8/", "http://a:08/", "http://a:/", "http://-a.b", "//a", "//a.", "//",
	} {
		f.Add(s, "https://www.example.com/austin-tx/plumbers?page=2")
		f.Add(s, "http://127.0.0.1:8080/")
	}
	f.Fuzz(func(t *testing.T, ref, page string) {
		at, err := url.Parse(page)
		if err != nil {
			return
		}
		b := NewBase(at, "")
		got, reason := b.Resolve(ref)
		if (got.Text == "") == (reason == "") || len(got.Text) > MaxLen {
			t.Fatalf("%q: %q, %q", ref, got.Text, reason)
		}
		if short, ok := b.short(ref); ok {
			if slow, reason := b.parse(ref); slow != short && slashes(ref)+slashes(b.address.Text) <= maxSlashes {
				t.Fatalf("%q at %s: the short way gives %q, the parser %q, %q", ref, b.address.Text, short.Text, slow.Text, reason)
			}
		}
		if reason != "" {
			return
		}
		var own *whatwg.Url
		if b.address.Text != "" {
			own, _ = parser.Parse(b.address.Text)
		}
		u, err := parser.BasicParser(ref, own, nil, whatwg.NoState)
		if err != nil {
			t.Fatalf("%q at %s: %q, and the parser says %v", ref, b.address.Text, got.Text, err)
		}
		if user := u.Username() != "" || u.Password() != ""; user != got.User {
			t.Fatalf("%q: user information %t, not %t", ref, got.User, user)
		}
		u.SetUsername("")
		u.SetPassword("")
		if want := u.Href(false); got.Text != want {
			t.Fatalf("%q: got %q, the parser %q", ref, got.Text, want)
		}
		text, _, _ := strings.Cut(got.Text, "#")
		if again := got.URL(); again.String() != text || again.Host != got.Host() || again.User != nil ||
			again.Hostname() != got.Hostname() || again.Port() != got.Port() || again.Path != got.Path() || again.EscapedPath() != got.EscapedPath() {
			t.Fatalf("%q: net/url makes %q of %q", ref, again, text)
		}
		if twice, reason := b.Resolve(got.Text); twice.Text != got.Text || twice.User {
			t.Fatalf("%q: %q, then %q, %q", ref, got.Text, twice.Text, reason)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	base := baseOf(b, page, "")
	for b.Loop() {
		for range 30 {
			base.Resolve("/austin-tx/mip/acme-plumbing-123456?lid=1001")
		}
	}
}
