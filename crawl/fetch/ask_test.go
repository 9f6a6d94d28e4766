package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ypcrawl/store/storetest"
)

// heard answers with what it was asked: method, path, body and some headers.
func heard(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %d %s|%s|%s|%s|%s", r.Method, r.URL.RequestURI(), r.ContentLength, body, r.Header.Get("Content-Type"),
		r.Header.Get("X-Client"), r.Header.Get("Accept"), r.Header.Get("User-Agent"))
}

var posted = Request{
	Method: http.MethodPost, URL: "/q?a=1", Body: []byte(`{"a":1}`),
	Header: http.Header{"Content-Type": {"application/json"}, "X-Client": {"web"}, "Accept": {"application/json"}},
}

const postHeard = `POST /q?a=1 7 {"a":1}|application/json|web|application/json|ypcrawl`

// TestPost: method, body and headers arrive, by HTTP/1.1 and HTTP/2, directly and through every kind of proxy.
func TestPost(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, c *Client, s *Session, site *target) {
		t.Helper()
		req := posted
		req.Base, req.Session = site.base, s
		for range 2 { // the second one goes out on the connection of the first
			r, err := c.Get(t.Context(), req)
			noErr(t, err)
			storetest.Equal(t, string(r.Body), postHeard)
			r.Release()
		}
	}
	eachWay(t, func(t *testing.T, scheme, to string) {
		site := newTarget(t, to, heard)
		p := (&proxyServer{hosts: site.hosts()}).start(t, scheme)
		c := newProxied(t, noRobots())
		ask(t, c, session(t, c, p), site)
	})
	for _, scheme := range []string{"http", "https"} {
		t.Run("directly by "+scheme, func(t *testing.T) {
			t.Parallel()
			site := newTarget(t, scheme, heard)
			site.base = parse(t, site.URL)
			ask(t, newClient(t, Config{IgnoreRobots: true, Roots: roots(t)}), nil, site)
		})
	}
	if len(posted.Header) != 3 {
		t.Errorf("the headers of the request were changed: %v", posted.Header)
	}
}

// TestPostRedirects: 307 and 308 repeat the body on the same scheme, host and port alone; whatever makes a GET of it, is no
// answer to what was asked.
func TestPostRedirects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		to     string
		want   string // "" = redirected away
	}{
		"301":                 {301, "/there", ""},
		"302":                 {302, "/there", ""},
		"303":                 {303, "/there", ""},
		"307":                 {307, "/there", `POST https://www.example.com/there {"a":1}`},
		"308":                 {308, "/there", `POST https://www.example.com/there {"a":1}`},
		"307 to another host": {307, "https://m.example.com/there", ""},
		"308 to another site": {308, "https://www.example.org/there", ""},
		"307 down to http":    {307, "http://www.example.com/there", `POST https://www.example.com/there {"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies atomic.Pointer[[]string]
			bodies.Store(&[]string{})
			w := newWeb(t, noRobots(), func(rw http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				all := append(slices.Clone(*bodies.Load()), r.Method+" "+scheme(r)+"://"+r.Host+r.URL.Path+" "+string(body))
				bodies.Store(&all)
				if r.URL.Path == "/q" {
					rw.Header().Set("Location", c.to)
					rw.WriteHeader(c.status)
				}
			})
			req := posted
			req.Base = parse(t, "https://www.example.com")
			r, err := w.client.Get(t.Context(), req)
			r.Release()
			all := *bodies.Load()
			switch {
			case c.want == "" && (!errors.Is(err, ErrRedirectedAway) || len(all) != 1):
				t.Errorf("%v after %q", err, all)
			case c.want != "" && (err != nil || len(all) != 2 || all[1] != c.want):
				t.Errorf("%v after %q", err, all)
			}
		})
	}
}

// TestPostOnce: a POST is sent again by nobody but the caller, who is told why as for a GET.
func TestPostOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	at := rawServer(t, func(conn net.Conn) {
		br := bufio.NewReader(conn)
		for n := 0; ; n++ {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if asked.Add(1); n > 0 {
				return // the connection is lost before the answer
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := newClient(t, noRobots())
	req := posted
	req.Base = parse(t, at)
	mustGet(t, c, req)
	_, err := c.Get(t.Context(), req)
	if !errors.Is(err, ErrStale) || asked.Load() != 2 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
	req.Fresh = true
	mustGet(t, c, req)
	storetest.Equal(t, asked.Load(), 3)
}

// TestPostCleaned: a server whose answers net/http refuses gets the body too.
func TestPostCleaned(t *testing.T) {
	t.Parallel()
	at := rawServer(t, func(conn net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	c := newClient(t, noRobots())
	req := posted
	req.Base = parse(t, at)
	if _, err := c.Get(t.Context(), req); AskAgain(err) == nil {
		t.Fatal(err)
	}
	r, err := c.Get(t.Context(), req)
	noErr(t, err)
	defer r.Release()
	storetest.Equal(t, string(r.Body), `{"a":1}`)
}

// TestPostRobots: robots.txt is asked for by GET, without the headers of the request, and forbids by the path.
func TestPostRobots(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			if r.Method != http.MethodGet || r.Header.Get("X-Client") != "" {
				t.Errorf("%s with %v", r.Method, r.Header)
			}
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /q")
		}
	})
	req := posted
	req.Base = s.base
	if e := mustFail(t, s.client, req); !errors.Is(e, ErrDisallowed) || !strings.Contains(e.Error(), "/q") {
		t.Error(e)
	}
}
