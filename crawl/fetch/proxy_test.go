package fetch

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

func TestParseProxy(t *testing.T) {
	for _, tt := range []struct{ text, want, name string }{ // want "" = refused
		{"http://proxy.com:8080", "http://proxy.com:8080", ""},
		{"proxy.com:8080", "http://proxy.com:8080", ""},
		{"proxy.com", "", ""},
		{"me:sekret@proxy.com", "", ""},
		{"[::1]", "", ""},
		{" https://proxy.com ", "https://proxy.com:443", ""},
		{"socks5://proxy.com", "socks5://proxy.com:1080", ""},
		{"SOCKS5H://Proxy.COM/", "socks5h://proxy.com:1080", ""},
		{"10.0.0.1:3128", "http://10.0.0.1:3128", ""},
		{"[::1]:3128", "http://[::1]:3128", ""},
		{"socks5://[2001:DB8::1]", "socks5://[2001:db8::1]:1080", ""},
		{"http://my_proxy:08080", "http://my_proxy:8080", ""},
		{"http://münchen.de", "http://xn--mnchen-3ya.de:80", ""},
		{"scout:pw@proxy.com:8080", "http://scout:pw@proxy.com:8080", "http://scout:xxxxx@proxy.com:8080"},
		{"http://scout@proxy.com", "http://scout@proxy.com:80", ""},
		{"http://scout:p%40ss%2Fw@proxy.com", "http://scout:p%40ss%2Fw@proxy.com:80", "http://scout:xxxxx@proxy.com:80"},
		{"scout:p@ss@proxy.com:80", "http://scout:p%40ss@proxy.com:80", "http://scout:xxxxx@proxy.com:80"},
		{"socks5://scout:pw@proxy.com", "socks5://scout:pw@proxy.com:1080", "socks5://scout:xxxxx@proxy.com:1080"},

		{"", "", ""},
		{"http://", "", ""},
		{"http://:8080", "", ""},
		{":8080", "", ""},
		{"ftp://proxy.com", "", ""},
		{"socks4://proxy.com", "", ""},
		{"javascript:alert(1)", "", ""},
		{"http:proxy.com", "", ""},
		{"http://proxy.com:0", "", ""},
		{"http://proxy.com:65536", "", ""},
		{"http://proxy.com:port", "", ""},
		{"http://proxy.com/path", "", ""},
		{"http://proxy.com?x=y", "", ""},
		{"http://proxy.com#x", "", ""},
		{"http://pro xy.com", "", ""},
		{"http://[fe80::1%25eth0]:1", "", ""},
		{"http://pro\"xy.com", "", ""},
		{"1.2.3.4:8080:scout:pw", "", ""},
		{"http://scout:pa/ss@proxy.com", "", ""},
		{"http://scout:50%off@proxy.com", "", ""},
		{"http://a%3Ab:pw@proxy.com", "", ""},
		{"socks5://:pw@proxy.com", "", ""},
		{"socks5://scout:" + strings.Repeat("p", 256) + "@proxy.com", "", ""},
	} {
		u, name, err := ParseProxy(tt.text)
		if tt.want == "" {
			if !errors.Is(err, ErrBadProxy) || u != nil || name != "" {
				t.Errorf("%q: %v, %q, %v", tt.text, u, name, err)
			}
			continue
		}
		if tt.name == "" {
			tt.name = tt.want
		}
		if err != nil || u.String() != tt.want || name != tt.name {
			t.Errorf("%q: %v, %q, %v", tt.text, u, name, err)
		}
	}
}

func TestParseProxies(t *testing.T) {
	list, err := ParseProxies(strings.NewReader("\ufeff# ours\r\n\r\nproxy.com:1 # the first\r\n  socks5://scout:pw@b.com\t# the second\n\n#http://c.com\nPROXY.com:1\nhttps://d.com"))
	noErr(t, err)
	var got []string
	for _, p := range list {
		got = append(got, p.URL.String()+" "+p.Name)
	}
	want := []string{
		"http://proxy.com:1 http://proxy.com:1", "socks5://scout:pw@b.com:1080 socks5://scout:xxxxx@b.com:1080", "https://d.com:443 https://d.com:443",
	}
	storetest.Diff(t, got, want)
	list, err = ParseProxies(strings.NewReader("a.com:1\nftp://scout:" + "hunter2@b.com\n\nhttp://scout:hunt/er2@c.com\nd.com:1"))
	if len(list) != 2 || !errors.Is(err, ErrBadProxy) || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), "line 4: ") || strings.Contains(err.Error(), "hunt") {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := ParseProxies(strings.NewReader(strings.Repeat("x", 1<<20))); err == nil || strings.Contains(err.Error(), "xx") {
		t.Errorf("error %.100v", err)
	}
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]Policy{"off": PolicyOff, " Prefer ": PolicyPrefer, "REQUIRE": PolicyRequire, "": "", "on": ""} {
		got, err := ParsePolicy(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "[off prefer require]") {
			t.Errorf("error %v does not name the policies", err)
		}
	}
}

func FuzzParseProxy(f *testing.F) {
	for _, seed := range []string{
		"http://scout:hunter2@proxy.com:8080", "proxy.com", "socks5h://[::1]", "scout:hunter2@10.0.0.1:1", "http://scout:hu/nt?er#2@x", "https://%zz:%@x:99999", "://", "a:b:c@d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, name, err := ParseProxy(text)
		if err != nil {
			if !errors.Is(err, ErrBadProxy) {
				t.Errorf("error %v", err)
			}
			if _, again := errorTexts[err.Error()]; !again {
				t.Errorf("the error quotes: %v", err)
			}
			return
		}
		if proxyPorts[u.Scheme] == "" || u.Hostname() == "" || u.Port() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%q: %v", text, u)
		}
		again, same, err := ParseProxy(u.String())
		if err != nil || again.String() != u.String() || same != name {
			t.Errorf("%q: %q, then %v, %v", text, u, again, err)
		}
		if _, ok := u.User.Password(); ok {
			without := *u
			without.User = url.UserPassword(u.User.Username(), "xxxxx")
			storetest.Equal(t, name, without.String(), "the name of", text)
		} else if name != u.String() {
			t.Errorf("%q: name %q of %q", text, name, u)
		}
	})
}

// errorTexts are all that ParseProxy says: fixed texts, so none can quote.
var errorTexts = func() map[string]bool {
	texts := map[string]bool{}
	for _, text := range []string{
		"http://%zz", "ftp://x", "http://x/y", "http://x:0", "http://", "http://x\"y", "socks5://:p@x", "http://a%3Ab:p@x", "x",
	} {
		_, _, err := ParseProxy(text)
		texts[err.Error()] = true
	}
	return texts
}()
