package fetch

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// cookieSite gives a cookie to who has none and tells what it was sent.
func cookieSite(t *testing.T) *target {
	t.Helper()
	return newTarget(t, "http", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") == "" {
			http.SetCookie(w, &http.Cookie{Name: "id", Value: r.URL.Path[1:], Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "all", Value: "com", Domain: "com", Path: "/"}) // a public suffix
		}
		_, _ = io.WriteString(w, r.Header.Get("Cookie"))
	})
}

func TestCookiesStayWithinASession(t *testing.T) {
	t.Parallel()
	site := cookieSite(t)
	p := (&proxyServer{hosts: site.hosts()}).start(t, "http")
	c := newProxied(t, noRobots())
	for _, id := range []string{"a", "b"} {
		s := session(t, c, p)
		for i, want := range []string{"", "id=" + id, "id=" + id} {
			if got, err := fetchVia(t, c, s, site, "/"+id); err != nil || got != want {
				t.Errorf("session %s, page %d: cookies %q, %v", id, i, got, err)
			}
		}
	}
}

// More cookies than a browser would keep are not sent.
func TestCookiesAreBounded(t *testing.T) {
	t.Parallel()
	var n, sent int
	s := newSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
		n++
		http.SetCookie(w, &http.Cookie{Name: fmt.Sprintf("page%d", n), Value: "x"})
		sent = len(r.Cookies())
	})
	browser, err := s.client.NewSession(SessionConfig{Identity: Browsers()[0]})
	if err != nil {
		t.Fatal(err)
	}
	for range maxCookies + 20 {
		r, err := s.client.Get(t.Context(), Request{URL: s.URL, Session: browser})
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	if sent != maxCookies {
		t.Errorf("%d cookies sent", sent)
	}
}

// What a proxy sets with its refusal is no cookie of the site.
func TestCookiesOfTheProxy(t *testing.T) {
	t.Parallel()
	site := cookieSite(t)
	p := (&proxyServer{user: "scout", password: "x", hosts: site.hosts()}).start(t, "http")
	c := newProxied(t, noRobots())
	s := session(t, c, p)
	p.password = "changed"
	if _, err := fetchVia(t, c, s, site, "/a"); !asError(t, err).Proxy {
		t.Errorf("error %v", err)
	}
	p.password = "x"
	if got, err := fetchVia(t, c, s, site, "/a"); err != nil || got != "" {
		t.Errorf("cookies %q, %v", got, err)
	}
}
