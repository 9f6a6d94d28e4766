package yp

import (
	"net/url"
	"strings"
	"testing"
)

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCanonicalURL(t *testing.T) {
	base := mustURL(t, "https://www.YellowPages.com:443/los-angeles-ca/plumbers?page=2")
	const host = "https://www.yellowpages.com"
	for _, test := range []struct{ name, in, want string }{
		{"RootRelative", "/austin-tx/mip/acme-1?lid=2", host + "/austin-tx/mip/acme-1"},
		{"Parent", "../mip/acme-1#x", host + "/mip/acme-1"},
		{"SchemeRelative", "//other.com/a", "https://other.com/a"},
		{"Absolute", "HTTP://Other.COM:80/A?b#c", "http://other.com/A"},
		{"NoPath", "http://other.com?x=1", "http://other.com/"},
		{"OtherPort", "http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"},
		{"EncodedSlash", "/a%2fb", host + "/a%2fb"},
		{"Unicode", "/café", host + "/caf%C3%A9"},
		{"Space", " /a b ", host + "/a%20b"},
		{"StrayPercent", "/100%-natural", host + "/100%25-natural"},
		{"Control", "/a\x01b", host + "/a%01b"},
		{"BadFragment", "/a#%zz", host + "/a"},
		{"LineBreak", "/a\n/b", host + "/a/b"},
		{"UserInfo", "http://u:p@other.com/a", "http://other.com/a"},
		{"Empty", "", ""},
		{"OnlyQuery", "?page=3", ""},
		{"JavaScript", "javascript:void(0)", ""},
		{"NoHost", "http:///a", ""},
		{"Huge", "/" + strings.Repeat("a", 1<<20), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := CanonicalURL(base, test.in); got != test.want || ok != (test.want != "") {
				t.Errorf("CanonicalURL(%.60q) = %q, %t; want %q", test.in, got, ok, test.want)
			}
		})
	}
	t.Run("NoBase", func(t *testing.T) {
		if got, ok := CanonicalURL(nil, "http://a.com/b"); got != "http://a.com/b" || !ok {
			t.Errorf("absolute: %q, %t", got, ok)
		}
		if got, ok := CanonicalURL(nil, "/b"); ok {
			t.Errorf("relative: %q", got)
		}
	})
}

func FuzzCanonicalURL(f *testing.F) {
	base := mustURL(f, "https://www.yellowpages.com/los-angeles-ca/plumbers?page=2")
	for _, s := range []string{"/a/b-1?lid=2", "../x", "//h/y", "http://H:80/%2f", "/100%", "/a\x00", "a:b", "/.", "/a/..", "/a/.b", "http://a.b/c", "https://a/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := CanonicalURL(base, s)
		if !ok {
			return
		}
		if again, ok := CanonicalURL(base, got); again != got || !ok {
			t.Errorf("%q: %q, then %q", s, got, again)
		}
		if strings.ContainsAny(got, "?#") || Clean(got) != got {
			t.Errorf("%q: %q", s, got)
		}
		if again, err := url.Parse(s); plainAddress(s) && (err != nil || again.String() != s || !strings.HasPrefix(again.Path, "/")) {
			t.Errorf("%q is no plain address: %v, %v", s, again, err)
		}
		if fast, ok := rootRelative(base, s); ok {
			if slow := base.ResolveReference(mustURL(t, s)).String(); slow != fast {
				t.Errorf("%q: the short way gives %q, the long one %q", s, fast, slow)
			}
		}
	})
}
