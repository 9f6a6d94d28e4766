package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// eachWay runs f for every kind of proxy and of target.
func eachWay(t *testing.T, f func(t *testing.T, proxy, target string)) {
	t.Helper()
	for _, proxy := range proxySchemes {
		for _, target := range []string{"http", "https"} {
			t.Run(proxy+" to "+target, func(t *testing.T) {
				t.Parallel()
				f(t, proxy, target)
			})
		}
	}
}

// Everything goes through the proxy, pages, redirects and robots.txt alike: without it nobody finds the host.
func TestEveryByteThroughTheProxy(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		for _, user := range []string{"", "scout"} {
			site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/robots.txt":
					_, _ = io.WriteString(w, "User-agent: *\nDisallow: /x")
				case "/2":
					http.Redirect(w, r, to+"://m.example.com/moved", http.StatusFound)
				default:
					_, _ = fmt.Fprint(w, r.URL.Path, r.Header.Get("Proxy-Authorization"))
				}
			})
			p := (&proxyServer{user: user, password: secret, hosts: site.hosts()}).start(t, scheme)
			var seen []Observation
			var mu sync.Mutex
			c := newProxied(t, Config{Observe: func(o Observation) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, o)
			}})
			s := session(t, c, p)
			atOnce(6, func(i int) {
				want := fmt.Sprintf("/%d", i)
				if i == 2 {
					want = "/moved"
				}
				if got, err := fetchVia(t, c, s, site, fmt.Sprintf("/%d", i)); err != nil || got != want {
					t.Errorf("%q, %v", got, err)
				}
			})
			want := []string{"/0", "/1", "/2", "/3", "/4", "/5", "/moved", "/robots.txt", "/robots.txt"}
			storetest.Diff(t, site.seen(), want, "hits of user", user)
			for _, o := range seen {
				if o.Proxy != s.Proxy() || o.Via != ViaProxy || o.Identity != "honest" || o.ProxyFailed || o.Status >= 400 {
					t.Errorf("observed %+v", o)
				}
			}
			storetest.Equal(t, len(seen), len(want), "observed requests, beside the host's")
		}
	})
}

// An http host is asked for as it is, an https one through a tunnel, both by
// name; CONNECT says the same User-Agent as the page's request.
func TestWhatTheProxyIsAsked(t *testing.T) {
	t.Parallel()
	asked := map[string]string{
		"http to http": "GET http://www.example.com/a", "http to https": "CONNECT www.example.com:443",
		"socks to http": "SOCKS www.example.com:80", "socks to https": "SOCKS www.example.com:443",
	}
	kind := map[string]string{"http": "http", "https": "http", "socks5": "socks", "socks5h": "socks"}
	eachWay(t, func(t *testing.T, scheme, to string) {
		site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
		p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
		c := newProxied(t, Config{IgnoreRobots: true, UserAgent: "ypcrawl/1.0"})
		s := session(t, c, p)
		for range 3 {
			got, err := fetchVia(t, c, s, site, "/a")
			if want := map[string]string{"http": "HTTP/1.1", "https": "HTTP/2.0"}[to]; err != nil || got != want {
				t.Errorf("%q, %v", got, err)
			}
		}
		want := asked[kind[scheme]+" to "+to]
		if p.asked[0] != want || p.accepted != 1 {
			t.Errorf("asked %v on %d connections, want %q on one", p.asked, p.accepted, want)
		}
		for _, agent := range p.agents {
			storetest.Equal(t, agent, "ypcrawl/1.0", "User-Agent")
		}
	})
}

// The honest direct session keeps no cookies; a browser's does, and sends what
// a browser sends.
func TestDirectSessions(t *testing.T) {
	t.Parallel()
	var got http.Header
	s := newSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
	})
	browser := open(t, s.client, nil, Browsers()[0])
	honest := open(t, s.client, nil, Honest(""))
	for _, tt := range []struct {
		name, identity, via, agent, cookie string
		session                            *Session
	}{
		{"none", "honest", ViaNone, "ypcrawl", "", nil},
		{"honest", "honest", ViaNone, "ypcrawl", "", honest},
		{"browser", "chrome-154-windows", ViaBrowser, Browsers()[0].header.Get("User-Agent"), "a=b", browser},
	} {
		var seen []Observation
		for range 2 {
			mustGet(t, s.client, Request{URL: s.URL, Session: tt.session, Observe: func(o Observation) { seen = append(seen, o) }})
		}
		if got.Get("User-Agent") != tt.agent || got.Get("Cookie") != tt.cookie || got.Get("Sec-Ch-Ua") != "" {
			t.Errorf("%s: sent %v", tt.name, got)
		}
		for _, o := range seen {
			if o.Proxy != "" || o.Identity != tt.identity || o.Via != tt.via {
				t.Errorf("%s: observed %+v", tt.name, o)
			}
		}
		storetest.Equal(t, len(seen), 2, "observed requests", tt.name)
	}
	want := http.Header{
		"User-Agent": {"ypcrawl"}, "Accept-Encoding": {acceptEncoding}, "Accept-Language": {"en-US,en;q=0.8"},
		"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
	}
	if _, err := s.get(t, "/"); err != nil || !headersEqual(got, want) {
		t.Errorf("the honest session sent %v, %v", got, err)
	}
}

func headersEqual(a, b http.Header) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// A browser's Sec- headers go over TLS only.
func TestBrowserOverTLS(t *testing.T) {
	t.Parallel()
	var got http.Header
	s := newTLSSite(t, func(_ http.ResponseWriter, r *http.Request) {
		if got = r.Header; r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
	})
	id := Browsers()[0]
	browser := open(t, s.client, nil, id)
	mustGet(t, s.client, Request{URL: s.URL, Session: browser})
	if !headersEqual(got, id.header) {
		t.Errorf("sent %v", got)
	}
}

// Closing a session cuts nobody off, ends with its last request, and leaves no
// connection behind.
func TestSessionClose(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		arrived, release := make(chan struct{}), make(chan struct{})
		site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(arrived)
				<-release
			}
			_, _ = io.WriteString(w, "page")
		})
		p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
		c := newProxied(t, Config{})
		s := session(t, c, p)
		_, err := fetchVia(t, c, s, site, "/quick")
		noErr(t, err)
		done := make(chan error)
		go func() {
			got, err := fetchVia(t, c, s, site, "/slow")
			if got != "page" {
				t.Errorf("got %q", got)
			}
			done <- err
		}()
		<-arrived
		s.Close()
		s.Close() // harmless
		if _, err := fetchVia(t, c, s, site, "/quick"); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		close(release)
		noErr(t, <-done) // under way
		p.until(0)
		storetest.Equal(t, len(c.sessions), 0, "sessions are still known")
	})
}

func TestClientClosesSessions(t *testing.T) {
	t.Parallel()
	site := newTarget(t, "https", func(http.ResponseWriter, *http.Request) {})
	p := (&proxyServer{hosts: site.hosts()}).start(t, "http")
	c := newProxied(t, Config{})
	s := session(t, c, p)
	_, err := fetchVia(t, c, s, site, "/")
	noErr(t, err)
	c.Close()
	if _, err := fetchVia(t, c, s, site, "/"); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	if _, err := c.open(nil, Honest("")); !errors.Is(err, ErrClosed) {
		t.Errorf("new session: %v", err)
	}
	s.Close()
	p.until(0)
}

// One pace for a host, whatever the way.
func TestPaceIsTheHosts(t *testing.T) {
	t.Parallel()
	site := newTarget(t, "http", func(http.ResponseWriter, *http.Request) {})
	p := (&proxyServer{hosts: site.hosts()}).start(t, "http")
	c := newProxied(t, Config{IgnoreRobots: true, DelayMin: time.Hour})
	_, err := fetchVia(t, c, session(t, c, p), site, "/")
	noErr(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	for _, s := range []*Session{nil, session(t, c, p)} {
		if _, err := c.Get(ctx, Request{URL: site.base.String(), Session: s}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", s, err)
		}
	}
}

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
	browser := open(t, s.client, nil, Browsers()[0])
	for range maxCookies + 20 {
		mustGet(t, s.client, Request{URL: s.URL, Session: browser})
	}
	storetest.Equal(t, sent, maxCookies, "cookies sent")
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
