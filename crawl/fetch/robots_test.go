package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// script answers robots.txt with one handler after the other, the last one
// again and again, and pages with a page.
func script(robots ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			_, _ = io.WriteString(w, "page")
			return
		}
		i := int(n.Add(1)) - 1
		robots[min(i, len(robots)-1)](w, r)
	}
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestRobotsAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   error // nil = the page is fetched
	}{
		{"allows", text("User-agent: *\nDisallow: /b"), nil},
		{"forbids", text("User-agent: *\nDisallow: /a"), ErrDisallowed},
		{"is empty", text(""), nil},
		{"is HTML", text("<!doctype html><title>Home</title>"), nil},
		{"names a vendor's path", text("User-agent: *\nDisallow: /_Incapsula_Resource"), nil},
		{"forbids beyond 500 KiB", text(pad("User-agent: *\n", "\nDisallow: /a", 700<<10)), nil},
		{"is cut at 500 KiB within a rule", text(pad("User-agent: *\n", "\nDisallow: /", robotsMax) + "b\nAllow: /"), nil},
		{"forbids in the last line within 500 KiB", text(pad("User-agent: *\n", "\nDisallow: /a", robotsMax) + "\nAllow: /"), ErrDisallowed},
		{"is cut at 500 KiB within a rule, with a mark", text("\xef\xbb\xbf" + pad("User-agent: *\n", "\nDisallow: /", robotsMax-3) + "b"), nil},
		{"is cut at 500 KiB within a rule, in UTF-16", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-16le")
			file := pad("User-agent: *\n", "\nDisallow: /", robotsMax/2) + "b\nAllow: /"
			_, _ = io.WriteString(w, strings.Join(strings.Split(file, ""), "\x00")+"\x00")
		}, nil},
		{"is endless", text("User-agent: *\nDisallow: /a\n" + strings.Repeat("#", 20<<20)), ErrDisallowed},
		{"400", status(400), nil},
		{"401", status(401), nil},
		{"403", status(403), nil},
		{"404", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /")
		}, nil},
		{"410", status(410), nil},
		{"429", status(429), ErrRobotsUnavailable},
		{"500", status(500), ErrRobotsUnavailable},
		{"503", status(503), ErrRobotsUnavailable},
		{"a challenge with status 200", text("<title>Just a moment...</title>"), ErrRobotsUnavailable},
		{"a redirect loop", status(301, "Location", "/robots.txt"), nil},
		{"redirects to a private address", status(301, "Location", "https://10.0.0.1/robots.txt"), ErrRobotsUnavailable},
		{"redirects to a public address without a name", status(301, "Location", "https://93.184.216.34/robots.txt"), ErrRobotsUnavailable},
		{"redirects to a private name", status(301, "Location", "http://wiki.internal/robots.txt"), ErrRobotsUnavailable},
		{"redirects to another port of a private address", status(301, "Location", "http://127.0.0.1:1/robots.txt"), ErrRobotsUnavailable},
		{"redirects to no web address", status(301, "Location", "ftp://other.com/robots.txt"), ErrRobotsUnavailable},
		{"is not what its encoding says", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "User-agent: *")
		}, ErrRobotsUnavailable},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, ErrRobotsUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, Config{}, script(tt.answer))
			r, err := s.get(t, "/a")
			if tt.want == nil {
				noErr(t, err)
				r.Release()
				return
			}
			e := asError(t, err)
			temporary := tt.want == ErrRobotsUnavailable //nolint:errorlint // the table's own
			if !errors.Is(e, tt.want) || e.Retryable() != temporary || errors.Is(e, ErrDisallowed) == temporary {
				t.Errorf("error %v, retryable %v", e, e.Retryable())
			}
			if temporary && e.RetryAfter <= 0 {
				t.Error("the error does not say when to try again")
			}
		})
	}
}

// A robots.txt that is cut short says nothing: what is missing may be what forbids the
// page. Only our own limit may cut it.
func TestRobotsCutShort(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	const half = "User-agent: *\nDisallow: /b\n" // and then "Disallow: /a"
	gz := string(compress(t, "gzip", []byte(half+"Disallow: /a\n"+strings.Repeat("# and so on\n", 5000))))
	member := string(compress(t, "gzip", []byte(half)))
	for _, tt := range []struct{ name, answer string }{
		{"short of its Content-Length", head + "Content-Length: 1000\r\n\r\n" + half},
		{"broken chunks", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(half)},
		{"gzip cut in two", fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", head, len(gz)/2, gz[:len(gz)/2])},
		{"the second gzip member is missing", head + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(member)},
		{"206", strings.Replace(head, "200 OK", "206 Partial Content", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(half), half)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules, page := robotsThatBreakOff(t, tt.answer)
			c := newClient(t, patiently(Config{}))
			if e := mustFail(t, c, Request{URL: rules + "/a"}); !errors.Is(e, ErrRobotsUnavailable) || !e.Retryable() || e.RetryAfter <= 0 {
				t.Errorf("error %v", e)
			}
			if page.Load() > 0 {
				t.Error("the page was asked for")
			}
		})
	}
	t.Run("a 404 that breaks off is one", func(t *testing.T) {
		rules, pages := robotsThatBreakOff(t, "HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n<html>")
		c := newClient(t, patiently(Config{}))
		_, err := c.Get(t.Context(), Request{URL: rules + "/a"})
		if errors.Is(err, ErrRobotsUnavailable) || pages.Load() == 0 {
			t.Errorf("error %v, %d pages", err, pages.Load())
		}
	})
}

// robotsThatBreakOff gives one answer for everything, closes the connection behind it, and
// counts the pages that it is asked for.
func robotsThatBreakOff(t *testing.T, answer string) (url string, pages *atomic.Int64) {
	t.Helper()
	pages = &atomic.Int64{}
	return rawServer(t, func(conn net.Conn) {
		if requestFor(conn) != "/robots.txt" {
			pages.Add(1)
		}
		_, _ = io.WriteString(conn, answer)
	}), pages
}

// requestFor reads a request and returns its path.
func requestFor(conn net.Conn) string {
	buf := make([]byte, 4096)
	n, _ := conn.Read(buf)
	_, rest, _ := strings.Cut(string(buf[:n]), " ")
	path, _, _ := strings.Cut(rest, " ")
	return path
}

func TestRobotsRedirect(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/r/4", http.StatusMovedPermanently)
		case "/r/4", "/r/3", "/r/2", "/r/1":
			http.Redirect(w, r, fmt.Sprintf("/r/%c", r.URL.Path[3]-1), http.StatusFound)
		case "/r/0":
			_, _ = io.WriteString(w, "User-agent: ypcrawl\nDisallow: /a")
		}
	})
	if e := s.failure(t, "/a"); !errors.Is(e, ErrDisallowed) || e.Code() != yp.CauseDisallowed.Policy().Code {
		t.Errorf("error %v", e)
	}
}

// A redirect must not lead where robots.txt would not let us go.
func TestRobotsOfRedirectTarget(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private")
		case "/a":
			http.Redirect(w, r, "/private", http.StatusFound)
		default:
			t.Errorf("%s was fetched", r.URL.Path)
		}
	})
	if e := s.failure(t, "/a"); !errors.Is(e, ErrDisallowed) || !strings.HasSuffix(e.URL, "/private") {
		t.Errorf("error %v", e)
	}
	if e := s.failure(t, "/x/../private/y"); !errors.Is(e, ErrDisallowed) {
		t.Errorf("dot segments: error %v", e)
	}
}

// Sixteen workers at once need one robots.txt, and the first one's giving up
// takes it from nobody.
func TestRobotsFetchedOnce(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	release := make(chan struct{})
	var robots atomic.Int64
	s := newSite(t, Config{ConcurrencyPerHost: 16}, script(func(w http.ResponseWriter, r *http.Request) {
		robots.Add(1)
		close(asked)
		<-release
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /b")
	}))
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := s.client.Get(ctx, Request{URL: s.URL + "/a"})
		first <- err
	}()
	<-asked
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			r, err := s.get(t, "/a")
			if err != nil {
				t.Error(err)
			}
			r.Release()
		})
	}
	close(release)
	wg.Wait()
	storetest.Equal(t, robots.Load(), 1, "requests for robots.txt")
}

func TestRobotsCachedForADay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{}, script(text("User-agent: *\nDisallow: /x"), text("User-agent: *\nDisallow: /a"), status(500), text("")))
		ctx := t.Context()
		for range 2 {
			noErr(t, s.get(ctx, "/a"))
		}
		time.Sleep(robotsTTL)
		if err := s.get(ctx, "/a"); !errors.Is(err, ErrDisallowed) {
			t.Errorf("after a day: %v", err)
		}
		time.Sleep(robotsTTL)
		for range 2 { // can't be renewed: the old rules hold
			if err := s.get(ctx, "/a"); !errors.Is(err, ErrDisallowed) {
				t.Errorf("after two days: %v", err)
			}
		}
		time.Sleep(robotsStale)
		noErr(t, s.get(ctx, "/a")) // once renewed
		s.expect(t, "0s /robots.txt", "0s /a", "0s /a", "24h0m0s /robots.txt", "48h0m0s /robots.txt", "48h10m0s /robots.txt", "48h10m0s /a")
	})
}

// Closing the client ends a wait for robots.txt as well.
func TestCloseWhileRobotsWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{}, script(status(503)))
		if err := s.get(t.Context(), "/a"); err == nil {
			t.Fatal("no error")
		}
		done := make(chan error)
		go func() { done <- s.get(t.Context(), "/a") }()
		synctest.Wait()
		s.client.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}

// Stop bounds the waits: for the turn and for robots.txt.
func TestStopEndsWaits(t *testing.T) {
	t.Parallel()
	for wait, robots := range map[string]http.HandlerFunc{"turn": text(""), "robots.txt": status(503)} {
		inBubble(t, wait, func(t *testing.T) {
			s := newPipeSite(t, Config{DelayMin: time.Hour}, script(robots))
			if wait == "robots.txt" {
				if err := s.get(t.Context(), "/a"); !errors.Is(err, ErrRobotsUnavailable) {
					t.Errorf("error %v", err)
				}
			}
			stop, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := s.client.Get(t.Context(), Request{URL: "http://acme.com/a", Stop: stop})
				done <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			s.expect(t, "0s /robots.txt")
		})
	}
}

// Redirects take turns like any request.
func TestRedirectsArePaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, Config{DelayMin: 2 * time.Second, ConcurrencyPerHost: 1}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a" {
				http.Redirect(w, r, "/b", http.StatusFound)
			}
		})
		noErr(t, s.get(t.Context(), "/a"))
		s.expect(t, "0s /robots.txt", "2s /a", "4s /b")
	})
}
