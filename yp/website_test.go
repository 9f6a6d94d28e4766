package yp

import (
	"net/url"
	"strings"
	"testing"
)

func TestCanonicalWebsite(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"SchemeFolded", "HTTP://acme.com/menu", "https://acme.com/menu"},
		{"WWW", "http://www.acme.com", "https://acme.com"},
		{"WWWIsTheDomain", "http://www.com/x", "https://www.com/x"},
		{"WWWUnderSuffix", "http://www.co.uk", "https://www.co.uk"},
		{"HostCase", "http://Acme.COM/Menu", "https://acme.com/Menu"},
		{"FinalDot", "http://acme.com./", "https://acme.com"},
		{"DefaultPort", "http://acme.com:80/a", "https://acme.com/a"},
		{"OtherPort", "http://acme.com:8080/a", "https://acme.com:8080/a"},
		{"RootSlash", "http://acme.com/", "https://acme.com"},
		{"TrailingSlash", "http://acme.com/menu/", "https://acme.com/menu"},
		{"SlashBeforeQuery", "http://acme.com/?p=3", "https://acme.com?p=3"},
		{"Fragment", "http://acme.com/a#top", "https://acme.com/a"},
		{"Tracking", "http://acme.com/a?utm_source=yp&UTM_Medium=x&gclid=1&fbclid=2&msclkid=3&mc_cid=4&y_source=5", "https://acme.com/a"},
		{"NotTracking", "http://acme.com/a?utm=1&ref=2&mc=3", "https://acme.com/a?utm=1&ref=2&mc=3"},
		{"OrderAndRepeatsKept", "http://acme.com/?b=2&a=1&b=2", "https://acme.com?b=2&a=1&b=2"},
		{"EmptyParameters", "http://acme.com/?&&a=1&", "https://acme.com?a=1"},
		{"EncodedSlash", "http://acme.com/a%2fb/c%2F", "https://acme.com/a%2fb/c%2F"},
		{"StrayPercent", "http://acme.com/100%/x", "https://acme.com/100%25/x"},
		{"Encoded", "http://acme.com/ä b\"<>", "https://acme.com/%C3%A4%20b%22%3C%3E"},
		{"Dots", "http://acme.com/a/./b/../c", "https://acme.com/a/c"},
		{"DotsAboveRoot", "http://acme.com/../../a", "https://acme.com/a"},
		{"DoubleSlash", "http://acme.com/a//b", "https://acme.com/a//b"},
		{"Bare", "acme.com/menu", "https://acme.com/menu"},
		{"SchemeRelative", "//acme.com/menu", "https://acme.com/menu"},
		{"Backslashes", `http:\\acme.com\a`, "https://acme.com/a"},
		{"UserInfo", "http://info@acme.com/a", "https://acme.com/a"},
		{"UserInfoHidesHost", "http://good.com@evil.com/", "https://evil.com"},
		{"WhiteSpace", "  http://acme.com/\r\n menu\t", "https://acme.com/%20menu"},
		{"IDN", "http://www.MÜNCHEN.de", "https://xn--mnchen-3ya.de"},
		{"Punycode", "http://XN--Mnchen-3ya.de", "https://xn--mnchen-3ya.de"},
		{"Underscore", "http://joes_shop.tripod.com", "https://joes_shop.tripod.com"},
		{"IPv4", "http://192.0.2.1:8080/a", "https://192.0.2.1:8080/a"},
		{"UnknownSuffix", "http://acme.example/", "https://acme.example"},
		{"Redirector", "http://ads.com/r?u=http://acme.com", "https://ads.com/r?u=http://acme.com"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := CanonicalWebsite(test.in)
			if got.URL != test.want || !ok {
				t.Errorf("CanonicalWebsite(%q) = %q, %t; want %q", test.in, got.URL, ok, test.want)
			}
		})
	}
}

func TestCanonicalWebsiteRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"Empty": "", "Space": " \n", "Relative": "/menu", "RelativeFile": "menu.html", "Dot": ".", "Query": "?a=b", "Fragment": "#top",
		"Mail": "info@acme.com", "MailTo": "mailto:info@acme.com", "JavaScript": "javascript:alert(1)", "Tel": "tel:+13105550123",
		"FTP": "ftp://acme.com", "Data": "data:text/html,x", "SchemeOnly": "http://", "NoHost": "http:///", "OneLabel": "http://localhost/",
		"Suffix": "http://co.uk/", "Suffix2": "http://com", "BareUnknownSuffix": "index.php", "BareIP": "1.2.3.4", "BareNumber": "3.14",
		"EmptyLabel": "http://acme..com", "LeadingDot": "http://.acme.com", "Hyphen": "http://-acme.com", "HyphenEnd": "http://acme-.com",
		"EncodedHost": "http://acme%2ecom", "SpaceInHost": "http://ac me.com", "NULInHost": "http://acme.com\x00.evil.com/",
		"InvalidUTF8Host": "http://acme\xff.com", "BadPort": "http://acme.com:http/", "HighPort": "http://acme.com:65536",
		"LongLabel": "http://" + strings.Repeat("a", 64) + ".com", "LongHost": "http://" + strings.Repeat("a.", 200) + "com",
		"Huge": "http://acme.com/" + strings.Repeat("a", 1<<20), "HugeEncoded": "http://acme.com/" + strings.Repeat("ä", 2000),
		"BadPunycode": "http://xn--a.com", "NumericHost": "http://2130706433/", "HexHost": "http://127.0.0.0x1/", "ShortIP": "http://127.1/",
		"IPv6": "http://[2001:db8::1]:8080/a", "BadIPv6": "http://[::1", "UserInfoOnly": "http://user@/",
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := CanonicalWebsite(in); ok || got != (Website{}) {
				t.Errorf("CanonicalWebsite(%.80q) = %+v", in, got)
			}
		})
	}
}

func TestWebsiteHosts(t *testing.T) {
	for _, test := range []struct {
		in, host, domain string
		shared           bool
	}{
		{"http://www.acme.com:8080/", "acme.com", "acme.com", false},
		{"http://shop.acme.co.uk", "shop.acme.co.uk", "acme.co.uk", false},
		{"https://m.facebook.com/joes", "m.facebook.com", "facebook.com", true},
		{"https://notfacebook.com/joes", "notfacebook.com", "notfacebook.com", false},
		{"https://linktr.ee/joes", "linktr.ee", "linktr.ee", true},
		{"https://sites.google.com/view/joes", "sites.google.com", "google.com", true},
		{"https://joes.business.site", "joes.business.site", "business.site", false},
		{"https://business.site", "business.site", "business.site", true},
		{"https://joes.wixsite.com/home", "joes.wixsite.com", "joes.wixsite.com", false},
		{"https://www.wixsite.com/", "wixsite.com", "wixsite.com", true},
		{"https://www.weebly.com/joes", "weebly.com", "weebly.com", true},
		{"https://joes.wordpress.com", "joes.wordpress.com", "wordpress.com", false},
		{"http://192.0.2.1/", "192.0.2.1", "192.0.2.1", false},
	} {
		t.Run(test.in, func(t *testing.T) {
			got, ok := CanonicalWebsite(test.in)
			if !ok || got.Host != test.host || got.Domain != test.domain || got.Shared != test.shared {
				t.Errorf("got %+v, %t; want %s, %s, %t", got, ok, test.host, test.domain, test.shared)
			}
		})
	}
}

func FuzzCanonicalWebsite(f *testing.F) {
	for _, s := range []string{
		"http://www.acme.com:80/a/../b%2fc/?utm_source=x&b=1#f", "acme.com", "//acme.co.uk//x//", "http:\\\\acme.com\\a", "http://münchen.de/ü",
		"http://[::1]:8080/", "http://1.2.3.4", "http://u:p@acme.com", "https://joes.wixsite.com/x?a&&b", "http://acme.com/%zz/100%", "http://www.ck/",
		"http://acme。com", "http://ﬁ.com", "http://a.com/?#", "http://acme.com/..%2f..//", "http://xn--a-ecp.ru",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := CanonicalWebsite(s)
		if !ok {
			return
		}
		if again, ok := CanonicalWebsite(got.URL); !ok || again != got {
			t.Errorf("%q: %+v, then %+v", s, got, again)
		}
		if again, ok := CanonicalWebsite(strings.TrimPrefix(got.URL, "https:")); !ok || again != got {
			t.Errorf("%q: %+v, without scheme %+v", s, got, again)
		}
		u, err := url.Parse(got.URL)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if u.Hostname() != got.Host || u.Scheme != "https" || u.Fragment != "" || u.User != nil {
			t.Errorf("%q: %q is read as %+v", s, got.URL, u)
		}
		if !strings.HasSuffix(got.Host, got.Domain) || !isASCII(got.URL) || Clean(got.URL) != got.URL {
			t.Errorf("%q: %+v", s, got)
		}
	})
}
