package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var noErr = storetest.NoError

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http writes a line there for each odd frame
	goleak.VerifyTestMain(m)
}

// site is a local web server and a client for it.
type site struct {
	*httptest.Server
	client *Client
	base   *url.URL

	mu   sync.Mutex
	seen []Observation
}

// patiently: no test but those of time-outs is about time, however slow the
// machine.
func patiently(cfg Config) Config {
	cfg.Timeout = orDefault(cfg.Timeout, 10*time.Minute)
	cfg.HeaderTimeout, cfg.StallTimeout = orDefault(cfg.HeaderTimeout, cfg.Timeout), orDefault(cfg.StallTimeout, cfg.Timeout)
	return cfg
}

func newSite(t *testing.T, cfg Config, h http.HandlerFunc) *site {
	t.Helper()
	s := &site{Server: httptest.NewServer(h)}
	s.start(t, cfg)
	return s
}

func (s *site) start(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Observe = func(o Observation) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, o)
	}
	s.client = New(patiently(cfg))
	t.Cleanup(func() {
		s.client.Close()
		s.CloseClientConnections()
		s.Close()
	})
	s.base = parse(t, s.URL)
}

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	noErr(t, err)
	return u
}

func (s *site) get(t *testing.T, path string) (*Response, error) {
	t.Helper()
	return s.client.Get(t.Context(), Request{URL: s.URL + path, Base: s.base})
}

func (s *site) page(t *testing.T, path string) string {
	t.Helper()
	r, err := s.get(t, path)
	noErr(t, err)
	defer r.Release()
	return string(r.Body)
}

func (s *site) observed() []Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Observation(nil), s.seen...)
}

// failure gets path and returns the *Error that must come of it.
func (s *site) failure(t *testing.T, path string) *Error {
	t.Helper()
	r, err := s.get(t, path)
	if err == nil {
		defer r.Release()
		t.Fatalf("got a page of %d bytes with status %d, want an error", len(r.Body), r.Status)
	}
	return asError(t, err)
}

// mustGet gets a page that must come.
func mustGet(t *testing.T, c *Client, req Request) {
	t.Helper()
	r, err := c.Get(t.Context(), req)
	noErr(t, err)
	r.Release()
}

// mustFail gets a page that must not come, for the *Error instead.
func mustFail(t *testing.T, c *Client, req Request) *Error {
	t.Helper()
	_, err := c.Get(t.Context(), req)
	return asError(t, err)
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is no *Error", err, err)
	}
	return e
}

// newClient is a client that is closed with the test.
func newClient(t testing.TB, cfg Config) *Client {
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// noRobots is the configuration of tests that are not about robots.txt.
func noRobots() Config { return Config{IgnoreRobots: true} }

func TestPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{UserAgent: "ypcrawl/1.0"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if r.Header.Get("User-Agent") != "ypcrawl/1.0" || r.Header.Get("Accept-Encoding") != acceptEncoding {
			w.WriteHeader(http.StatusBadRequest)
		}
		w.Header().Set("X-Kept", "yes")
		_, _ = io.WriteString(w, "<p>hello</p>")
	})
	r, err := s.get(t, "/a?b=c#d")
	noErr(t, err)
	if string(r.Body) != "<p>hello</p>" || r.Status != 200 || r.WireBytes != 12 || r.Header.Get("X-Kept") != "yes" {
		t.Errorf("response %+v", r)
	}
	storetest.Equal(t, r.URL.String(), s.URL+"/a?b=c", "final URL")
	r.Release()
	r.Release() // harmless
	if r.Body != nil {
		t.Error("body outlives Release")
	}
	seen := s.observed()
	if len(seen) != 2 || !seen[0].Robots || seen[0].Status != 404 || seen[1].Robots || seen[1].Status != 200 ||
		seen[1].Class != "" || seen[1].WireBytes != 12 || seen[1].Bytes != 12 || seen[1].Host != keyOf(s.base.Host) {
		t.Errorf("observed %+v", seen)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 200)
	for _, tt := range []struct {
		status    int
		body      string
		class     yp.ErrorClass // "" = a page
		code      yp.ErrorCode
		retryable bool
	}{
		{200, long, "", "", false},
		{204, "", "", "", false},
		{202, long, "", "", false},
		{202, "please wait", yp.ClassChallenge, yp.CodeBlockedProxy, false},
		{206, long, yp.ClassUnknown, yp.CodeUnknown, true},
		{404, "gone fishing", "", "", false},
		{410, "gone", "", "", false},
		{302, long, yp.ClassUnknown, yp.CodeUnknown, true}, // without Location
		{304, "", yp.ClassUnknown, yp.CodeUnknown, true},
		{400, long, yp.ClassUnknown, yp.CodeUnknown, true},
		{402, long, yp.ClassUnknown, yp.CodeBlockedProxy, false},
		{401, long, yp.ClassAuthError, yp.CodeAuthFailed, false},
		{403, long, yp.ClassHTTP403, yp.CodeBlockedProxy, false},
		{405, long, yp.ClassUnknown, yp.CodeUnknown, true},
		{406, long, yp.ClassUnknown, yp.CodeBlockedProxy, false},
		{407, long, yp.ClassAuthError, yp.CodeAuthFailed, false},
		{408, long, yp.ClassTimeout, yp.CodeTimeout, true},
		{412, long, yp.ClassUnknown, yp.CodeBlockedProxy, false},
		{414, long, yp.ClassUnknown, yp.CodeUnknown, true},
		{418, long, yp.ClassUnknown, yp.CodeBlockedProxy, false},
		{422, long, yp.ClassUnknown, yp.CodeUnknown, true},
		{428, long, yp.ClassUnknown, yp.CodeBlockedProxy, false},
		{429, long, yp.ClassHTTP429, yp.CodeRateLimited, true},
		{451, long, yp.ClassUnknown, yp.CodeBlockedProxy, false},
		{500, long, yp.ClassHTTP5xx, yp.CodeNetworkError, true},
		{503, long, yp.ClassHTTP5xx, yp.CodeNetworkError, true},
		{522, long, yp.ClassHTTP5xx, yp.CodeNetworkError, true},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", tt.status, len(tt.body)), func(t *testing.T) {
			s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			if tt.class == "" {
				r, err := s.get(t, "/")
				if err != nil || r.Status != tt.status || string(r.Body) != tt.body {
					t.Fatalf("got %+v, %v", r, err)
				}
				r.Release()
				return
			}
			e := s.failure(t, "/")
			if e.Class != tt.class || e.Code() != tt.code || e.Retryable() != tt.retryable || e.Status != tt.status {
				t.Errorf("class %s, code %s, retryable %v, status %d; %v", e.Class, e.Code(), e.Retryable(), e.Status, e)
			}
			if o := s.observed(); len(o) != 1 || o[0].Class != tt.class || o[0].Status != tt.status {
				t.Errorf("observed %+v", o)
			}
		})
	}
}

func TestBadURL(t *testing.T) {
	c := newClient(t, Config{})
	base := parse(t, "https://acme.com/")
	for _, tt := range []struct {
		name, url string
		base      *url.URL
		want      error
	}{
		{"relative", "a/b", nil, ErrBadURL},
		{"no host", "http:///a", nil, ErrBadURL},
		{"scheme", "ftp://acme.com/", nil, ErrBadURL},
		{"javascript", "javascript:alert(1)", base, ErrBadURL},
		{"control character", "http://acme.com/\x01", nil, ErrBadURL},
		{"off the base's domain", "https://other.com/", base, ErrRedirectedAway},
		{"look-alike", "https://notacme.com/", base, ErrRedirectedAway},
		{"look-alike below", "https://acme.com.evil.net/", base, ErrRedirectedAway},
	} {
		if e := mustFail(t, c, Request{URL: tt.url, Base: tt.base}); !errors.Is(e, tt.want) || e.Retryable() || e.Code() != yp.CodeUnknown {
			t.Errorf("%s: error %v, retryable %v", tt.name, e, e.Retryable())
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for _, ignore := range []bool{true, false} {
		c := New(Config{IgnoreRobots: ignore})
		c.Close()
		c.Close() // harmless
		if e := mustFail(t, c, Request{URL: "http://127.0.0.1:1/"}); !errors.Is(e, ErrClosed) || e.Retryable() {
			t.Errorf("error %v", e)
		}
	}
}

// The caller's own end is never a classified failure, wherever it strikes.
func TestCancel(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := newSite(t, noRobots(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/headers" {
			if r.URL.Path == "/error" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = io.WriteString(w, "first half")
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	for _, path := range []string{"/headers", "/body", "/error"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-arrived
			cancel(errors.New("budget used up"))
		}()
		_, err := s.client.Get(ctx, Request{URL: s.URL + path})
		var e *Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
			t.Errorf("%s: error %v", path, err)
		}
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v does not say where", path, err)
		}
	}
	for _, o := range s.observed() {
		if !o.Cancelled || o.Class != "" {
			t.Errorf("observed %+v", o)
		}
	}
}

// An error page that the caller no longer waits for is not the host's failure, however
// much of it has come.
func TestCancelWithinErrorPage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen Observation
		cfg := Config{IgnoreRobots: true, Observe: func(o Observation) { seen = o }}
		s := newPipeSite(t, cfg, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "first half")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second) // of the bubble's clock: the first half has arrived
			cancel()
		}()
		if err := s.get(ctx, "/error"); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
			t.Errorf("error %v", err)
		}
		if !seen.Cancelled || seen.Class != "" || seen.WireBytes == 0 {
			t.Errorf("observed %+v", seen)
		}
	})
}

func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	s := newSite(t, noRobots(), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for range 300 { // now and then it comes while the connection is made
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := s.client.Get(ctx, Request{URL: s.URL})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*Error)) {
			t.Fatalf("error %v", err)
		}
	}
}

// Buffers of one page must never show up in another.
func TestConcurrentPages(t *testing.T) {
	t.Parallel()
	encodings := []string{"", "gzip", "zstd", "br"}
	bodies, wires := map[string][]byte{}, map[string][]byte{}
	for i := range 8 {
		for j := range 4 {
			path := "/" + strings.Repeat(string(rune('a'+i)), 1+j)
			bodies[path] = bytes.Repeat([]byte(path+" "), 20_000)
			wires[path] = compress(t, encodings[j], bodies[path])
		}
	}
	s := newSite(t, Config{IgnoreRobots: true, ConcurrencyPerHost: 8}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encodings[len(r.URL.Path)-2])
		_, _ = w.Write(wires[r.URL.Path])
	})
	atOnce(8, func(i int) {
		for j := range 20 {
			path := "/" + strings.Repeat(string(rune('a'+i)), 1+j%4)
			r, err := s.client.Get(t.Context(), Request{URL: s.URL + path})
			if err != nil {
				t.Error(err)
				return
			}
			if !bytes.Equal(r.Body, bodies[path]) {
				t.Errorf("%s: another page's body", path)
			}
			r.Release()
		}
	})
}
