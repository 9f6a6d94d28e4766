package web

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestBelowAPath: a proxy may show the page below a path of its own, of which the page knows nothing: every address in it,
// also on one that says what is wrong, and every redirect leads to a page that is there. Of addresses of one shape three are followed.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	to, err := url.Parse(b.url)
	storetest.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }} // its Host is that of the page
	front := httptest.NewServer(http.StripPrefix("/our/yp", proxy))
	defer front.Close()
	client := front.Client()
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 2 || !strings.HasPrefix(r.URL.Path, "/our/yp/") {
			return fmt.Errorf("redirected to %s", r.URL)
		}
		return nil
	}
	base, err := url.Parse(front.URL + "/our/yp/")
	storetest.NoError(t, err)
	queue, seen := []*url.URL{base}, map[string]bool{}
	for _, odd := range []string{"nothing", "states/ZZ", "states/TX/", "states/TX/and/more", "targets/x", "static/", "static", "queue?rows=7&states=TX", "/states", "states//TX"} {
		u, err := url.Parse(base.String() + odd)
		storetest.NoError(t, err)
		queue = append(queue, u)
	}
	missing, shapes := map[string]bool{}, map[string]int{}
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
		storetest.NoError(t, err)
		answer, err := client.Do(r)
		if err != nil {
			t.Error(err)
			continue
		}
		text, err := io.ReadAll(answer.Body)
		storetest.NoError(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			missing[strings.TrimPrefix(u.String(), base.String())] = true
		}
		for _, m := range addresses.FindAllStringSubmatch(string(text), -1) {
			next, err := answer.Request.URL.Parse(strings.ReplaceAll(m[2], "&amp;", "&"))
			storetest.NoError(t, err)
			next.Fragment = ""
			switch {
			case next.Scheme == "data" || seen[next.String()]:
				continue
			case !strings.HasPrefix(next.String(), base.String()):
				t.Errorf("%s leads to %s", u, next)
				continue
			}
			seen[next.String()] = true
			if shape := shapeOf(next); shapes[shape] < 3 {
				shapes[shape]++
				queue = append(queue, next)
			}
		}
	}
	if len(seen) < 300 || len(shapes) < 60 || !seen[base.String()+"static/page.css"] || !seen[base.String()+"targets/1"] {
		t.Errorf("only %d addresses of %d shapes were found", len(seen), len(shapes))
	}
	storetest.Diff(t, missing, map[string]bool{
		"nothing": true, "states/ZZ": true, "states/TX/": true, "states/TX/and/more": true, "targets/x": true, "static/": true, "static": true,
	}, "not there")
}

var digits = regexp.MustCompile("[0-9]+")

// shapeOf is what addresses have in common that differ in a number, or in the values of what they ask for.
func shapeOf(u *url.URL) string {
	return digits.ReplaceAllString(u.Path, "0") + fmt.Sprint(slices.Sorted(maps.Keys(u.Query())))
}

// TestEventsPassProxies: nginx keeps an answer back until a buffer is full, unless it is told not to.
func TestEventsPassProxies(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/", nil)
	storetest.NoError(t, err)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultTransport.RoundTrip(r)
	storetest.NoError(t, err)
	defer answer.Body.Close()
	storetest.Equal(t, answer.Header.Get("X-Accel-Buffering"), "no", "X-Accel-Buffering")
}

// TestNoHost: a load balancer asks by HTTP/1.0 and names no host; it learns whether we are well, and nothing else.
func TestNoHost(t *testing.T) {
	t.Parallel()
	well := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	b := serve(t, Config{Plain: map[string]http.Handler{"/healthz": well, "/metrics": well}, Health: "/healthz"})
	for request, want := range map[string]int{
		"GET /healthz HTTP/1.0\r\n\r\n":                                  200,
		"HEAD /healthz HTTP/1.0\r\n\r\n":                                 200,
		"GET /healthz HTTP/1.0\r\nHost: \r\n\r\n":                        200,
		"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n":            403,
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n":            403,
		"GET http://evil.example/healthz HTTP/1.0\r\n\r\n":               403,
		"GET /healthz HTTP/1.1\r\n\r\n":                                  400, // RFC 9112, 3.2
		"POST /healthz HTTP/1.0\r\nContent-Length: 0\r\n\r\n":            403,
		"GET /healthz/ HTTP/1.0\r\n\r\n":                                 403,
		"GET //healthz HTTP/1.0\r\n\r\n":                                 403,
		"GET /metrics HTTP/1.0\r\n\r\n":                                  403,
		"GET / HTTP/1.0\r\n\r\n":                                         403,
		"GET /listings HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n":    403,
		"GET / HTTP/1.0\r\nHost: " + b.url[len("http://"):] + "\r\n\r\n": 200,
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
		storetest.NoError(t, err)
		_, err = io.WriteString(conn, request)
		storetest.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		storetest.NoError(t, err)
		if answer.StatusCode != want {
			t.Errorf("%q: %d, want %d", request, answer.StatusCode, want)
		}
		_, _ = answer.Body.Close(), conn.Close()
	}
}
