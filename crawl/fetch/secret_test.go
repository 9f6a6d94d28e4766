package fetch

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

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
			if err != nil {
				t.Fatal(err)
			}
			cfg, proxy := SessionConfig{Proxy: u, Identity: Browsers()[0]}, Proxy{ID: 7, URL: u, Name: name}
			s, err := c.NewSession(cfg)
			if err != nil {
				t.Fatal(err)
			}
			pool := NewPool(c, PoolConfig{Policy: PolicyRequire, Proxies: []Proxy{proxy}, Changed: func(st ProxyState) { fmt.Fprintf(&out, "%+v %#v\n", st, st) }})
			taken, err := pool.Take()
			if err != nil {
				t.Fatal(err)
			}
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
			fmt.Fprintf(&out, "%v %v %+v %#v %v %+v %#v %+v %+v %#v %+v\n", err, s, s, s, cfg, cfg, cfg, proxy, PoolConfig{Proxies: []Proxy{proxy}}, []Proxy{proxy}, req)
			fmt.Fprintf(&out, "%s %s %s\n", s.Proxy(), s.Identity(), name)
			zl := zerolog.New(&out)
			zl.Info().Interface("proxy", proxy).Interface("config", cfg).Interface("session", s).Stringer("s", s).Msg("")
		}
		if tells(out.String()) {
			t.Errorf("found in\n%s", out.String())
		}
		if !strings.Contains(out.String(), scheme+"://scout:xxxxx@127.0.0.1:") {
			t.Error("the proxy is not named")
		}
	})
}

// A proxy that echoes what it was sent, as no answer at all.
func TestPasswordEchoed(t *testing.T) {
	t.Parallel()
	echo := base64.StdEncoding.EncodeToString([]byte("scout:" + secret))
	for _, says := range []string{"Basic " + echo + "\r\n\r\n", "HTTP/1.1 200 OK\r\n" + echo + "\r\n\r\n", "HTTP/1.1 abc " + echo + "\r\n\r\n"} {
		for _, to := range []string{"http", "https"} {
			p := (&proxyServer{says: says, user: "scout", password: secret}).start(t, "http")
			c := newProxied(t, noRobots())
			_, err := c.Get(t.Context(), Request{URL: to + "://www.example.com/", Session: session(t, c, p)})
			e := asError(t, err)
			if e.Class != yp.ClassUnknown || e.Code() != yp.CodeNetworkError || e.Proxy != (to == "https") {
				t.Errorf("%s: blame %v, code %s: %v", to, e.Proxy, e.Code(), err)
			}
			for err := error(e); err != nil; err = errors.Unwrap(err) {
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); tells(text) {
					t.Errorf("%s: %s", to, text)
				}
			}
		}
	}
}
