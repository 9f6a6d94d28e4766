package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// web is a made internet: names lead to one server of https at port 443 and to one of http at all others,
// which have the same handler.
type web struct {
	client *Client

	mu   sync.Mutex
	hits []string // "https://example.com/a"
	seen []Observation
}

func newWeb(t *testing.T, cfg Config, h http.HandlerFunc) *web {
	t.Helper()
	w := &web{}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.hits = append(w.hits, scheme(r)+"://"+r.Host+r.URL.RequestURI())
		w.mu.Unlock()
		h(rw, r)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	cfg.Roots = x509.NewCertPool()
	cfg.Roots.AddCert(secure.Certificate())
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		to := plain.Listener.Addr()
		if strings.HasSuffix(addr, ":443") {
			to = secure.Listener.Addr()
		}
		return (&net.Dialer{}).DialContext(ctx, network, to.String())
	}
	cfg.Observe = func(o Observation) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, o)
	}
	w.client = New(patiently(cfg))
	t.Cleanup(func() {
		w.client.Close()
		for _, s := range []*httptest.Server{plain, secure} {
			s.CloseClientConnections()
			s.Close()
		}
	})
	return w
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// get asks for an address of a source whose base is base, and returns where the page came from.
func (w *web) get(t *testing.T, base, address string) (final string, err error) {
	t.Helper()
	r, err := w.client.Get(t.Context(), Request{URL: address, Base: parse(t, base)})
	if err != nil {
		return "", err
	}
	defer r.Release()
	return r.URL.String(), nil
}

func (w *web) asked(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	storetest.Diff(t, w.hits, want, "requests")
	w.hits = nil
}

// leads is a server whose addresses redirect as a table says; all others are pages.
func leads(table map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if to, ok := table[scheme(r)+"://"+r.Host+r.URL.RequestURI()]; ok {
			http.Redirect(w, r, to, http.StatusMovedPermanently)
			return
		}
		_, _ = fmt.Fprint(w, "page")
	}
}

// A server that has https before it writes http into its redirects: a browser is sent on to https by the next one.
func TestDownToHTTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, base, address string
		leads               map[string]string
		final               string // "" = it fails
		asked               []string
		want                error
		says                string
	}{
		{
			name: "a slash", base: "https://example.com", address: "/a",
			leads: map[string]string{"https://example.com/a": "http://example.com/a/"},
			final: "https://example.com/a/",
			asked: []string{"https://example.com/a", "https://example.com/a/"},
		},
		{
			name: "a www and a slash", base: "https://example.com", address: "/a",
			leads: map[string]string{"https://example.com/a": "http://www.example.com/a", "https://www.example.com/a": "http://www.example.com:80/a/"},
			final: "https://www.example.com/a/",
			asked: []string{"https://example.com/a", "https://www.example.com/a", "https://www.example.com/a/"},
		},
		{
			name: "a base of http", base: "http://example.com", address: "/a",
			leads: map[string]string{"http://example.com/a": "https://example.com/a", "https://example.com/a": "http://example.com/a/"},
			final: "https://example.com/a/",
			asked: []string{"http://example.com/a", "https://example.com/a", "https://example.com/a/"},
		},
		{
			name: "no https", base: "https://example.com", address: "/a",
			leads: map[string]string{"https://example.com/a": "http://example.com/a"},
			asked: []string{"https://example.com/a"},
			want:  ErrNoHTTPS, says: "this site has no https: use base_url http://example.com,",
		},
		{
			name: "no https at the www", base: "https://example.com", address: "/a",
			leads: map[string]string{"https://example.com/a": "http://www.example.com/a", "https://www.example.com/a": "http://www.example.com/a"},
			asked: []string{"https://example.com/a", "https://www.example.com/a"},
			want:  ErrNoHTTPS, says: "this site has no https: use base_url http://www.example.com,",
		},
		{
			name: "no https, in a round", base: "https://example.com", address: "/a",
			leads: map[string]string{"https://example.com/a": "http://example.com/b", "https://example.com/b": "http://example.com/a"},
			asked: []string{
				"https://example.com/a", "https://example.com/b", "https://example.com/a",
				"https://example.com/b", "https://example.com/a", "https://example.com/b",
			},
			want: ErrNoHTTPS, says: "this site has no https: use base_url http://example.com,",
		},
		{
			name: "a base of http, where https leads back", base: "http://example.com", address: "/a",
			leads: map[string]string{"http://example.com/a": "https://example.com/welcome", "https://example.com/welcome": "http://example.com/b", "https://example.com/b": "http://example.com/b"},
			final: "http://example.com/b",
			asked: []string{"http://example.com/a", "https://example.com/welcome", "https://example.com/b", "http://example.com/b"},
		},
		{
			name: "http and https in a round", base: "http://example.com", address: "/a",
			leads: map[string]string{"http://example.com/a": "https://example.com/a", "https://example.com/a": "http://example.com/a"},
			asked: []string{
				"http://example.com/a", "https://example.com/a", "http://example.com/a",
				"https://example.com/a", "http://example.com/a", "https://example.com/a",
			},
			want: ErrTooManyRedirects,
		},
		{
			name: "off the domain by http", base: "https://example.com", address: "/a",
			leads: map[string]string{"https://example.com/a": "http://example.org/a"},
			asked: []string{"https://example.com/a"},
			want:  ErrRedirectedAway,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, noRobots(), leads(tt.leads))
			final, err := w.get(t, tt.base, tt.address)
			if final != tt.final || !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v", final, err)
			}
			w.asked(t, tt.asked...)
			if e, ok := errors.AsType[*Error](err); ok && (e.Class != yp.ClassUnknown || errors.Is(e, ErrNoHTTPS) && (e.Cause() != yp.CauseOther || e.Retryable())) {
				t.Errorf("class %s, cause %s, retryable %v", e.Class, e.Cause(), e.Retryable())
			}
		})
	}
}

// A cookie that comes with the step down makes the same address answer otherwise.
func TestDownToHTTPWithCookie(t *testing.T) {
	t.Parallel()
	w := newWeb(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("seen"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			http.Redirect(w, r, "http://example.com/a", http.StatusFound)
		}
	})
	final, err := w.get(t, "https://example.com", "/a")
	storetest.Equal(t, final, "https://example.com/a", "page", err)
	w.asked(t, "https://example.com/a", "https://example.com/a")
}

// Of a site without https robots.txt can't be had by https either: the page's own error says so.
func TestRobotsDownToHTTP(t *testing.T) {
	t.Parallel()
	for want, table := range map[error]map[string]string{
		nil: {"https://example.com/robots.txt": "http://www.example.com/robots.txt"},
		ErrNoHTTPS: {
			"https://example.com/robots.txt": "http://example.com/robots.txt", "https://example.com/a": "http://example.com/a",
		},
	} {
		w := newWeb(t, Config{}, leads(table))
		if _, err := w.get(t, "https://example.com", "/a"); !errors.Is(err, want) || errors.Is(err, ErrRobotsUnavailable) {
			t.Errorf("error %v, want %v", err, want)
		}
		if until, why := w.client.HeldUntil("example.com"); !until.IsZero() {
			t.Errorf("held until %s: %s", until, why)
		}
	}
}
