package fetch

import (
	"errors"
	"net/http"
	"testing"

	"ypcrawl/yp"
)

// A proxy must not become a way into a private network.
func TestFenceThroughProxy(t *testing.T) {
	t.Parallel()
	tests := []struct {
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := Request{URL: tt.url}
			if tt.base != "" {
				req.Base = parse(t, tt.base)
			}
			for proxied, want := range map[bool]bool{false: tt.direct, true: tt.proxied} {
				_, f, err := resolve(req, proxied)
				if (err == nil) != want || (err != nil && !errors.Is(err, ErrRedirectedAway)) {
					t.Errorf("proxied %v: %v", proxied, err)
				}
				if req.Base != nil { // a redirect is judged like a request, but for its port
					samePort := yp.OwnPort(req.Base.ResolveReference(parse(t, tt.url))) == yp.OwnPort(req.Base)
					if _, err := f.follow(req.Base, tt.url); (err == nil) != (want && samePort) {
						t.Errorf("redirect, proxied %v: %v", proxied, err)
					}
				}
			}
		})
	}
}

func TestRedirectAwayThroughProxy(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+"://169.254.169.254/latest/meta-data/", http.StatusFound)
		})
		p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
		c := newProxied(t, noRobots())
		if _, err := fetchVia(t, c, session(t, c, p), site, "/a"); !errors.Is(err, ErrRedirectedAway) {
			t.Errorf("error %v", err)
		}
		if len(p.asked) != 1 {
			t.Errorf("asked %v", p.asked)
		}
	})
}
