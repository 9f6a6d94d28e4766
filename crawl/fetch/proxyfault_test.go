package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// quickly has time-outs that end a test of a silent proxy.
func quickly(what string) Config {
	const soon = 250 * time.Millisecond
	cfg := Config{IgnoreRobots: true, Timeout: time.Minute}
	switch what {
	case "dial":
		cfg.DialTimeout = soon
	case "tls":
		cfg.TLSTimeout = soon
	case "header":
		cfg.HeaderTimeout, cfg.DialTimeout = soon, soon
	case "total":
		cfg.Timeout = soon
		cfg.DialTimeout, cfg.TLSTimeout = soon, soon
	}
	return cfg
}

// Whose fault it is, and of what class.
func TestProxyFailure(t *testing.T) {
	t.Parallel()
	const ours, hosts = true, false
	basic := base64.StdEncoding.EncodeToString([]byte("scout:" + secret))
	for _, tt := range []struct {
		name        string
		proxy       *proxyServer
		schemes, to string // "" = all
		limit       string
		wrong       bool // the password
		blame       bool // the proxy's
		class       yp.ErrorClass
		status      int
	}{
		{name: "407", proxy: &proxyServer{status: 407}, schemes: "http https", blame: ours, class: yp.ClassAuthError, status: 407},
		{name: "wrong password", proxy: &proxyServer{user: "scout", password: "x"}, wrong: true, schemes: "http https", blame: ours, class: yp.ClassAuthError, status: 407},
		{name: "wrong socks password", proxy: &proxyServer{user: "scout", password: "x"}, wrong: true, schemes: "socks5 socks5h", blame: ours, class: yp.ClassUnknown},
		{name: "CONNECT refused with 403", proxy: &proxyServer{status: 403}, schemes: "http https", to: "https", blame: ours, class: yp.ClassHTTP403, status: 403},
		{name: "CONNECT answered 502", proxy: &proxyServer{status: 502}, schemes: "http https", to: "https", blame: ours, class: yp.ClassHTTP5xx, status: 502},
		{name: "CONNECT answered 404", proxy: &proxyServer{status: 404}, schemes: "http https", to: "https", blame: ours, class: yp.ClassUnknown, status: 404},
		{name: "403 of the host, forwarded", proxy: &proxyServer{status: 403}, schemes: "http https", to: "http", blame: hosts, class: yp.ClassHTTP403, status: 403},
		{name: "502 of either, forwarded", proxy: &proxyServer{status: 502}, schemes: "http https", to: "http", blame: hosts, class: yp.ClassHTTP5xx, status: 502},
		{name: "silent on CONNECT", proxy: &proxyServer{mute: true}, schemes: "http https", to: "https", limit: "dial", blame: ours, class: yp.ClassTimeout},
		{name: "silent on a greeting", proxy: &proxyServer{mute: true}, schemes: "socks5 socks5h", limit: "dial", blame: ours, class: yp.ClassTimeout},
		{name: "silent on a handshake", proxy: &proxyServer{silent: true}, schemes: "https", limit: "tls", blame: ours, class: yp.ClassTimeout},
		{name: "silent on CONNECT for all the time", proxy: &proxyServer{mute: true}, schemes: "http https", to: "https", limit: "total", blame: ours, class: yp.ClassTimeout},
		{name: "silent on a forwarded request", proxy: &proxyServer{mute: true}, schemes: "http https", to: "http", limit: "header", blame: ours, class: yp.ClassTimeout},
		{name: "hangs up on CONNECT", proxy: &proxyServer{says: " "}, schemes: "http", to: "https", blame: ours, class: yp.ClassUnknown},
		{name: "rubbish on CONNECT, which repeats the password", proxy: &proxyServer{user: "scout", password: secret, says: "HTTP/1.1 abc Basic " + basic + "\r\n\r\n"}, schemes: "http", to: "https", blame: ours, class: yp.ClassUnknown},
		{name: "endless head on CONNECT", proxy: &proxyServer{says: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 1<<16)}, schemes: "http", to: "https", blame: ours, class: yp.ClassUnknown},
		{name: "no TLS", proxy: &proxyServer{says: "HTTP/1.1 400 Bad Request\r\n\r\n"}, schemes: "https", blame: ours, class: yp.ClassTLS},
		{name: "no SOCKS5", proxy: &proxyServer{says: "HTTP/1.1 400 Bad Request\r\n\r\n"}, schemes: "socks5 socks5h", blame: ours, class: yp.ClassUnknown},
		{name: "socks: not allowed", proxy: &proxyServer{socksCode: 2}, schemes: "socks5 socks5h", blame: ours, class: yp.ClassUnknown},
	} {
		eachWay(t, func(t *testing.T, scheme, to string) {
			if (tt.schemes != "" && !slices.Contains(strings.Fields(tt.schemes), scheme)) || (tt.to != "" && tt.to != to) {
				return
			}
			for _, cleaned := range []bool{false, true} {
				site := newTarget(t, to, func(http.ResponseWriter, *http.Request) {})
				p := newProxy(tt.proxy, site).start(t, scheme)
				if tt.wrong {
					p.password = "another"
				}
				cfg := quickly(tt.limit)
				var seen []Observation
				cfg.Observe = func(o Observation) { seen = append(seen, o) }
				c := newProxied(t, cfg)
				if cleaned {
					c.odd.add(place(site.base))
				}
				u := p.url()
				if tt.wrong {
					u.User = url.UserPassword("scout", secret)
				}
				s := open(t, c, u, Honest(""))
				_, err := fetchVia(t, c, s, site, "/a")
				e := asError(t, err)
				if e.Proxy != tt.blame || e.Class != tt.class || e.Status != tt.status {
					t.Errorf("%s: blame %v, class %s, status %d: %v", tt.name, e.Proxy, e.Class, e.Status, e)
				}
				if e.Class == yp.ClassUnknown && e.Code() != yp.CodeNetworkError {
					t.Errorf("%s: code %s", tt.name, e.Code())
				}
				if len(seen) != 1 || seen[0].ProxyFailed != tt.blame || seen[0].Class != tt.class || seen[0].Status != tt.status {
					t.Errorf("%s: observed %+v", tt.name, seen)
				}
				if d, why := c.Waiting("www.example.com"); d != 0 && !(tt.status == 429 && !tt.blame) {
					t.Errorf("%s: the host waits %s for %q", tt.name, d, why)
				}
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); tells(text) {
					t.Errorf("%s: %s", tt.name, text)
				}
				if e.Proxy && !strings.Contains(err.Error(), s.Proxy()) {
					t.Errorf("%s: %v does not name the proxy", tt.name, err)
				}
				if hits := site.seen(); tt.blame && len(hits) > 0 {
					t.Errorf("%s: the host was asked for %v", tt.name, hits)
				}
			}
		})
	}
}

// newProxy copies the settings of one of a table.
func newProxy(p *proxyServer, site *target) *proxyServer {
	return &proxyServer{
		user: p.user, password: p.password, hosts: site.hosts(), status: p.status, socksCode: p.socksCode,
		silent: p.silent, mute: p.mute, says: p.says,
	}
}

func TestProxyNameUnknown(t *testing.T) {
	t.Parallel()
	for _, scheme := range proxySchemes {
		c := newClient(t, Config{IgnoreRobots: true, resolver: (&fakeDNS{}).resolver()})
		s := open(t, c, parse(t, scheme+"://proxy.invalid:1"), Honest(""))
		if e := mustFail(t, c, Request{URL: "http://acme.com/", Session: s}); !e.Proxy || e.Class != yp.ClassDNS {
			t.Errorf("%s: blame %v: %v", scheme, e.Proxy, e)
		}
	}
}

func TestProxyCertificateUnknown(t *testing.T) {
	t.Parallel()
	p := (&proxyServer{}).start(t, "https")
	c := newClient(t, Config{IgnoreRobots: true})
	if e := mustFail(t, c, Request{URL: "http://acme.com/", Session: session(t, c, p)}); !e.Proxy || e.Class != yp.ClassTLS {
		t.Errorf("blame %v: %v", e.Proxy, e)
	}
}

// Behind the proxy it is the host's fault.
func TestHostFailureThroughProxy(t *testing.T) {
	t.Parallel()
	silent := rawServer(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	plain := rawServer(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	for _, scheme := range proxySchemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			site := newTarget(t, "https", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
			hosts := map[string]string{
				"silent.example.com:443": strings.TrimPrefix(silent, "http://"), "plain.example.com:443": strings.TrimPrefix(plain, "http://"),
				"wrong.name.com:443": site.Listener.Addr().String(), "www.example.com:443": site.Listener.Addr().String(),
			}
			p := (&proxyServer{hosts: hosts}).start(t, scheme)
			for _, tt := range []struct {
				host, limit string
				class       yp.ErrorClass
				status      int
			}{
				{"silent.example.com", "tls", yp.ClassTimeout, 0},
				{"silent.example.com", "total", yp.ClassTimeout, 0},
				{"plain.example.com", "", yp.ClassTLS, 0},
				{"wrong.name.com", "", yp.ClassTLS, 0},
				{"www.example.com", "", yp.ClassAuthError, 407},
			} {
				if scheme == "https" && tt.limit != "" {
					continue // its own handshake would be the first to end
				}
				cfg := quickly(tt.limit)
				cfg.DialTimeout = time.Minute
				c := newProxied(t, cfg)
				if e := mustFail(t, c, Request{URL: "https://" + tt.host + "/", Session: session(t, c, p)}); e.Proxy || e.Class != tt.class || e.Status != tt.status {
					t.Errorf("%s, %s: blame %v: %v", tt.host, tt.limit, e.Proxy, e)
				}
			}
		})
	}
}

// A proxy that dies in the middle of a page, and is gone after that.
func TestProxyKilled(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		began, killed := make(chan struct{}), make(chan struct{})
		site := newTarget(t, to, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 5000))
			w.(http.Flusher).Flush()
			close(began)
			<-killed
		})
		p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
		c := newProxied(t, noRobots())
		s := session(t, c, p)
		go func() {
			<-began
			p.kill()
			close(killed)
		}()
		_, err := fetchVia(t, c, s, site, "/a")
		if e := asError(t, err); e.Proxy || e.Class != yp.ClassUnknown || e.Code() != yp.CodeNetworkError || !e.Retryable() {
			t.Errorf("in the middle: blame %v: %v", e.Proxy, err)
		}
		_, err = fetchVia(t, c, s, site, "/a")
		if e := asError(t, err); !e.Proxy || e.Class != yp.ClassConnectionRefused {
			t.Errorf("after: blame %v: %v", e.Proxy, err)
		}
	})
}

// The caller's own end is no failure of the proxy.
func TestCancelInProxy(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		p := (&proxyServer{silent: true}).start(t, scheme)
		c := newProxied(t, noRobots())
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			p.until(1)
			cancel()
		}()
		_, err := c.Get(ctx, Request{URL: to + "://www.example.com/", Session: session(t, c, p)})
		var e *Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
			t.Errorf("error %v", err)
		}
	})
}

// A proxy's refusal is no "there is no robots.txt": nothing may be fetched, and
// the host, which, is not held back.
func TestRobotsBehindBrokenProxy(t *testing.T) {
	t.Parallel()
	for _, code := range []int{403, 404, 407, 502} {
		site := newTarget(t, "https", func(http.ResponseWriter, *http.Request) {})
		bad := (&proxyServer{status: code, hosts: site.hosts()}).start(t, "http")
		good := (&proxyServer{hosts: site.hosts()}).start(t, "http")
		c := newProxied(t, Config{})
		for range 2 {
			_, err := fetchVia(t, c, session(t, c, bad), site, "/a")
			if e := asError(t, err); !e.Proxy || !errors.Is(e, ErrRobotsUnavailable) || e.Status != code || e.RetryAfter != 0 || !e.Retryable() {
				t.Errorf("%d: blame %v: %v", code, e.Proxy, err)
			}
		}
		if until, why := c.HeldUntil("www.example.com"); !until.IsZero() || why != "" {
			t.Errorf("%d: held until %s for %q", code, until, why)
		}
		if _, err := fetchVia(t, c, session(t, c, good), site, "/a"); err != nil {
			t.Errorf("%d: through a good proxy: %v", code, err)
		}
		storetest.Diff(t, site.seen(), []string{"/a", "/robots.txt"}, "hits", code)
	}
}

// Who waits for another's robots.txt is not told of the other's proxy.
func TestRobotsAskedAgainOnesOwnWay(t *testing.T) {
	t.Parallel()
	site := newTarget(t, "https", func(http.ResponseWriter, *http.Request) {})
	asked, answer := make(chan struct{}), make(chan struct{})
	bad := rawServer(t, func(conn net.Conn) {
		readRequest(conn)
		close(asked)
		<-answer
	})
	good := (&proxyServer{hosts: site.hosts()}).start(t, "http")
	c := newProxied(t, Config{})
	broken := open(t, c, parse(t, bad), Honest(""))
	first := make(chan error, 1)
	go func() {
		_, err := fetchVia(t, c, broken, site, "/a")
		first <- err
	}()
	<-asked
	second := make(chan error, 1)
	go func() {
		_, err := fetchVia(t, c, session(t, c, good), site, "/b")
		second <- err
	}()
	close(answer)
	if e := asError(t, <-first); !e.Proxy {
		t.Errorf("first: %v", e)
	}
	noErr(t, <-second)
}

// The password is nowhere: not in errors, sessions, observations, nor in a log
// of everything.
func TestPasswordIsNowhere(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, scheme, to string) {
		var out bytes.Buffer
		site := newTarget(t, to, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/429":
				w.WriteHeader(http.StatusTooManyRequests)
			case "/away":
				http.Redirect(w, r, "http://other.com/", http.StatusFound)
			}
		})
		for _, want := range []string{"scout", "another"} {
			p := (&proxyServer{user: want, password: secret, hosts: site.hosts()}).start(t, scheme)
			var mu sync.Mutex
			tell := func(o Observation) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&out, "%v %+v %#v\n", o, o, o)
			}
			c := newProxied(t, Config{Logger: zerolog.New(&out).Level(zerolog.TraceLevel), Observe: tell})
			u, name, err := ParseProxy(scheme + "://scout:" + url.QueryEscape(secret) + "@" + p.ln.Addr().String())
			noErr(t, err)
			proxy := Proxy{ID: 7, URL: u, Name: name}
			s := open(t, c, u, Browsers()[0])
			pool := NewPool(c, PoolConfig{Policy: PolicyRequire, Proxies: []Proxy{proxy}, Changed: func(st ProxyState) { fmt.Fprintf(&out, "%+v %#v\n", st, st) }})
			taken, err := pool.Keep(nil)
			noErr(t, err)
			for _, path := range []string{"/200", "/away", "/429", "/held"} {
				_, err := c.Get(t.Context(), Request{URL: path, Base: site.base, Session: s, MaxHold: time.Millisecond})
				fmt.Fprintf(&out, "%v %+v %#v\n", err, err, err)
				for e := err; e != nil; e = errors.Unwrap(e) {
					fmt.Fprintf(&out, "%v %+v\n", e, e)
				}
				pool.Report(taken, fmt.Errorf("an error of somebody else's: %s and %s", u, secret))
			}
			p.kill()
			_, err = c.Get(t.Context(), Request{URL: "http://www.example.com:81/", Session: s})
			req := Request{Session: s}
			fmt.Fprintf(&out, "%v %v %+v %#v %+v %+v %#v %+v\n", err, s, s, s, proxy, PoolConfig{Proxies: []Proxy{proxy}}, []Proxy{proxy}, req)
			fmt.Fprintf(&out, "%s %s %s\n", s.Proxy(), s.Identity(), name)
			zl := zerolog.New(&out)
			zl.Info().Interface("proxy", proxy).Interface("session", s).Stringer("s", s).Msg("")
		}
		if tells(out.String()) {
			t.Errorf("found in\n%s", out.String())
		}
		if !strings.Contains(out.String(), scheme+"://scout:xxxxx@127.0.0.1:") {
			t.Error("the proxy is not named")
		}
	})
}
