package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

func TestFence(t *testing.T) {
	for _, tt := range []struct {
		name, from, location, want string // want "" = refused
	}{
		{"same host", "https://www.acme.com/a", "/b", "https://www.acme.com/b"},
		{"relative", "https://www.acme.com/a/b", "c?d#e", "https://www.acme.com/a/c?d"},
		{"no scheme", "https://www.acme.com/", "//acme.com/x", "https://acme.com/x"},
		{"subdomain", "https://acme.com/", "https://m.acme.com/", "https://m.acme.com/"},
		{"up to https", "http://acme.com/", "https://acme.com/", "https://acme.com/"},
		{"http stays http", "http://acme.com/", "http://www.acme.com/", "http://www.acme.com/"},
		{"capitals and final dot", "https://acme.com/", "https://WWW.ACME.COM./", "https://www.acme.com./"},
		{"unicode name", "https://xn--mnchen-3ya.de/", "https://www.münchen.de/", "https://www.xn--mnchen-3ya.de/"},
		{"user and password dropped", "https://acme.com/", "https://u:p@acme.com/", "https://acme.com/"},
		{"private host, same", "http://127.0.0.1:8080/", "/b", "http://127.0.0.1:8080/b"},
		{"localhost, same", "http://localhost:8080/", "http://localhost:8080/b", "http://localhost:8080/b"},

		{"up to https, ports named", "http://acme.com:80/", "https://acme.com:443/", "https://acme.com/"},

		{"another port", "http://127.0.0.1:8080/", "http://127.0.0.1:8081/", ""},
		{"another port of the name", "https://acme.com/", "https://acme.com:8443/", ""},
		{"another port of a subdomain", "https://acme.com/", "https://www.acme.com:8443/", ""},
		{"the scheme's own port from another", "http://acme.com:8080/", "http://acme.com/", ""},
		{"up to https at another port", "http://acme.com:8080/", "https://acme.com:8443/", ""},
		{"down to http", "https://acme.com/a", "http://acme.com/a/", "https://acme.com/a/"},
		{"down to http, its port named", "https://acme.com/a", "http://www.acme.com:80/a", "https://www.acme.com/a"},
		{"down to http, at the source's own port", "https://acme.com:8443/a", "http://acme.com:8443/a/", "https://acme.com:8443/a/"},
		{"down to http, at the port of https", "https://acme.com/a", "http://acme.com:443/a/", "https://acme.com/a/"},
		{"down to http, from another port", "https://acme.com:8443/a", "http://acme.com/a/", ""},
		{"down to http elsewhere", "https://acme.com/", "http://other.com/", ""},
		{"other domain", "https://acme.com/", "https://other.com/", ""},
		{"look-alike", "https://acme.com/", "https://acme.com.other.com/", ""},
		{"other owner on a shared suffix", "https://a.github.io/", "https://b.github.io/", ""},
		{"other owner below co.uk", "https://a.co.uk/", "https://b.co.uk/", ""},
		{"user that looks like the host", "https://acme.com/", "https://acme.com@other.com/", ""},
		{"javascript", "https://acme.com/", "javascript:alert(1)", ""},
		{"file", "https://acme.com/", "file:///etc/passwd", ""},
		{"metadata address", "https://acme.com/", "https://169.254.169.254/latest", ""},
		{"loopback", "http://acme.com/", "http://127.0.0.1/", ""},
		{"loopback to another", "http://127.0.0.1/", "http://127.0.0.2/", ""},
		{"loopback to private", "http://127.0.0.1/", "http://10.0.0.1/", ""},
		{"loopback to metadata", "http://127.0.0.1/", "http://169.254.169.254/", ""},
		{"loopback by another name", "http://127.0.0.1/", "http://localhost/", ""},
		{"malformed", "https://acme.com/", "https://acme.com:port/", ""},
		{"control character", "https://acme.com/", "/a\x01b\x01", "https://acme.com/a%01b"},
		{"blank", "https://acme.com/", "/a b?geo=New York", "https://acme.com/a%20b?geo=New%20York"},
		{"line break", "https://acme.com/", "/a\tb", "https://acme.com/ab"},
		{"backslashes", "https://acme.com/a", `\b\c`, "https://acme.com/b/c"},
		{"backslashes before a host", "https://acme.com/a", `\\other.com/b`, ""},
		{"stray percent", "https://acme.com/", "/100%?q=5%", "https://acme.com/100%25?q=5%"},
		{"UTF-8", "https://acme.com/", "/café?q=é", "https://acme.com/caf%C3%A9?q=%C3%A9"},
		{"Latin-1", "https://acme.com/", "/caf\xe9?q=\xe9", "https://acme.com/caf%E9?q=%E9"},
		{"loopback written in hexadecimal", "http://127.0.0.1:8080/", "http://0x7f.1:8080/b", "http://127.0.0.1:8080/b"},
		{"loopback written in hexadecimal, elsewhere", "https://acme.com/", "https://0x7f.1/", ""},
		{"metadata address as a number", "http://127.0.0.1/", "http://2852039166/", ""},
		{"too long", "https://acme.com/", "/" + strings.Repeat("a", weburl.MaxLen), ""},
	} {
		from := parse(t, tt.from)
		got, err := follow(newFence(from, false), from, tt.location)
		switch {
		case tt.want == "" && !errors.Is(err, ErrRedirectedAway):
			t.Errorf("%s: got %v, %v; want it refused", tt.name, got, err)
		case tt.want != "" && (err != nil || got.String() != tt.want):
			t.Errorf("%s: got %v, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

// follow is one step of a redirect.
func follow(f fence, from *url.URL, location string) (*url.URL, error) {
	to, err := resolveLocation(from, location)
	if err == nil {
		to, _, err = f.enter(from, to)
	}
	return to, err
}

func TestHostKey(t *testing.T) {
	for host, want := range map[string]string{
		"Acme.com": "acme.com", "acme.com:80": "acme.com", "acme.com:443": "acme.com", "acme.com.": "acme.com",
		"acme.com:8080": "acme.com:8080", "[::1]:80": "[::1]", "[::1]:8080": "[::1]:8080", "münchen.de": "xn--mnchen-3ya.de",
	} {
		storetest.Equal(t, keyOf(host), want, host)
		storetest.Equal(t, keyOf(want), want, "again", want)
	}
}

func TestAddress(t *testing.T) {
	const no, yes = false, true
	for _, tt := range []struct {
		addr                string
		public              bool
		intranet, literally bool // may demo.local be there; may a base URL name it
	}{
		{"93.184.216.34", yes, yes, yes},
		{"2606:2800:220:1::1", yes, yes, yes},
		{"127.0.0.1", no, yes, yes},
		{"127.8.8.8", no, yes, yes},
		{"::1", no, yes, yes},
		{"::ffff:127.0.0.1", no, yes, yes},
		{"10.1.2.3", no, yes, yes},
		{"172.16.0.1", no, yes, yes},
		{"172.32.0.1", yes, yes, yes},
		{"192.168.1.1", no, yes, yes},
		{"fd00::1", no, yes, yes},
		{"169.254.169.254", no, no, yes},
		{"::ffff:169.254.169.254", no, no, yes},
		{"fe80::1", no, no, yes},
		{"100.100.100.200", no, no, yes},
		{"192.0.0.192", no, no, yes},
		{"0.0.0.0", no, no, yes},
		{"0.1.2.3", no, no, yes},
		{"::", no, no, yes},
		{"224.0.0.1", no, no, yes},
		{"255.255.255.255", no, no, yes},
		{"ff02::1", no, no, yes},
		{"198.18.0.1", no, no, yes},
		{"64:ff9b::7f00:1", no, no, yes},
		{"64:ff9b::5db8:d822", yes, yes, yes},
		{"2002:a9fe:a9fe::1", no, no, yes},
		{"2002:5db8:d822::1", yes, yes, yes},
		{"2001:0:1::1", no, no, yes},
		{"2001:db8::1", no, no, yes},
	} {
		a := netip.MustParseAddr(tt.addr)
		for host, want := range map[string]bool{"acme.com": tt.public, "a.github.io": tt.public, "demo.local": tt.intranet, "localhost": tt.intranet, tt.addr: tt.literally} {
			err := dialGuard{host: host}.check(a)
			if (err == nil) != want || (err != nil && !errors.Is(err, ErrRedirectedAway)) {
				t.Errorf("%s at %s: %v, want allowed %v", host, tt.addr, err, want)
			}
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch left, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/left/")); {
		case err == nil && left > 0:
			http.Redirect(w, r, fmt.Sprintf("/left/%d", left-1), []int{301, 302, 303, 307, 308}[left%5])
		case r.URL.Path == "/self":
			http.Redirect(w, r, "/self", http.StatusFound)
		case r.URL.Path == "/loop/a":
			http.Redirect(w, r, "/loop/b", http.StatusFound)
		case r.URL.Path == "/loop/b":
			http.Redirect(w, r, "/loop/a", http.StatusFound)
		case r.URL.Path == "/to":
			http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
		default:
			_, _ = fmt.Fprintf(w, "at %s", r.URL.Path)
		}
	}
	s := newSite(t, noRobots(), handler)
	r, err := s.get(t, "/left/5")
	if err != nil || string(r.Body) != "at /left/0" || r.URL.Path != "/left/0" {
		t.Fatalf("five redirects: %+v, %v", r, err)
	}
	r.Release()
	seen := s.observed()
	for i, o := range seen {
		if o.Hop != i || (o.Status >= 300) != (i < 5) || o.Class != "" {
			t.Errorf("hop %d: observed %+v", i, o)
		}
	}
	storetest.Equal(t, len(seen), 6, "requests")
	for _, tt := range []struct {
		path string
		want error
	}{
		{"/left/6", ErrTooManyRedirects},
		{"/self", ErrTooManyRedirects},
		{"/loop/a", ErrTooManyRedirects},
		{"/to?https://other.com/", ErrRedirectedAway},
		{"/to?http://169.254.169.254/latest/meta-data/", ErrRedirectedAway},
		{"/to?" + other.URL, ErrRedirectedAway},
	} {
		if e := s.failure(t, tt.path); !errors.Is(e, tt.want) || e.Class != yp.ClassUnknown || e.Status != 302 && e.Status != 301 {
			t.Errorf("%s: error %v, status %d", tt.path, e, e.Status)
		}
	}
}

// A proxy must not become a way into a private network.
func TestFenceThroughProxy(t *testing.T) {
	for _, tt := range []struct {
		name, base, url string
		direct, proxied bool // within the fence
	}{
		{"same host", "https://www.acme.com/", "/b", true, true},
		{"subdomain", "https://acme.com/", "https://m.acme.com/", true, true},
		{"other domain", "https://acme.com/", "https://other.com/", false, false},
		{"metadata address", "https://acme.com/", "https://169.254.169.254/", false, false},
		{"the base's own address", "http://10.0.0.1/", "/b", true, true},
		{"the base's own port", "http://127.0.0.1:80/", "http://127.0.0.1:8080/", true, true},
		{"another private address", "http://10.0.0.1/", "http://10.0.0.2/", false, false},
		{"the base's own private name", "http://demo.internal/", "/b", true, true},
		{"a name below it", "http://demo.internal/", "http://metadata.demo.internal/", true, false},
		{"a name beside it", "http://www.demo.internal/", "http://metadata.demo.internal/", true, false},
		{"localhost of localhost", "http://localhost/", "http://localhost:1/", true, true},
		{"localhost", "http://acme.com/", "http://localhost/", false, false},
		{"an address in other digits", "http://acme.com/", "http://2130706433/", false, false},
		{"an address in fewer parts", "http://acme.com/", "http://127.1/", false, false},
		{"a URL of its own", "", "http://192.168.1.1/", true, true},
	} {
		req := Request{URL: tt.url}
		if tt.base != "" {
			req.Base = parse(t, tt.base)
		}
		for proxied, want := range map[bool]bool{false: tt.direct, true: tt.proxied} {
			_, f, err := resolve(req, proxied)
			if (err == nil) != want || (err != nil && !errors.Is(err, ErrRedirectedAway)) {
				t.Errorf("%s: proxied %v: %v", tt.name, proxied, err)
			}
			if req.Base != nil { // a redirect is judged like a request, but for its port
				samePort := yp.OwnPort(req.Base.ResolveReference(parse(t, tt.url))) == yp.OwnPort(req.Base)
				if _, err := follow(f, req.Base, tt.url); (err == nil) != (want && samePort) {
					t.Errorf("%s: redirect, proxied %v: %v", tt.name, proxied, err)
				}
			}
		}
	}
}
