package crawl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// truncated announces more than it sends.
func truncated(w http.ResponseWriter, _ *http.Request) {
	body := page("", shops(1, 3)...)
	w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
	_, _ = w.Write([]byte(body))
	panic(http.ErrAbortHandler)
}

// reset closes the connection without an answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// layoutChanged is a page of the site whose cards have other names.
func layoutChanged() string {
	return strings.ReplaceAll(page("", shops(1, 3)...), `class="result"`, `class="tile"`)
}

func challenge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("cf-mitigated", "challenge")
	status(http.StatusForbidden, "<html><title>Just a moment...</title></html>")(w, r)
}

func huge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	block := bytes.Repeat([]byte("<p>0123456789</p>"), 1<<12)
	for sent := 0; sent < 50<<20; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	stranger := "<html><body>" + strings.Repeat("<p>Domain for sale.</p>", 50) + "</body></html>"
	for _, tt := range []struct {
		name     string
		page     http.HandlerFunc
		requests int
		status   yp.Status
		code     yp.ErrorCode
		says     string
	}{
		{"500 is retried 3 times", status(500, "oops"), 4, yp.Failed, yp.CodeNetworkError, "status 500"},
		{"503 is retried 3 times", status(503, "later"), 4, yp.Failed, yp.CodeNetworkError, "status 503"},
		{"522 is retried 3 times", status(522, "origin down"), 4, yp.Failed, yp.CodeNetworkError, "status 522"},
		{"a time-out is retried 3 times", hang, 4, yp.Failed, yp.CodeTimeout, "timeout"},
		{"a closed connection is retried 3 times", reset, 4, yp.Failed, yp.CodeNetworkError, "connection failed"},
		{"a truncated body is retried 3 times", truncated, 4, yp.Failed, yp.CodeNetworkError, "connection failed"},
		{"time-outs and network errors share their retries", inTurn(hang, status(500, ""), hang, status(500, "")), 4, yp.Failed, yp.CodeNetworkError, ""},
		{"403 is not retried", status(403, shell("no")), 1, yp.Failed, yp.CodeBlockedProxy, "403"},
		{"401 is not retried", status(401, shell("no")), 1, yp.Failed, yp.CodeAuthFailed, "401"},
		{"a challenge is not retried", challenge, 1, yp.Failed, yp.CodeBlockedProxy, "challenge"},
		{"a changed layout is not retried", ok(layoutChanged()), 1, yp.Failed, yp.CodeHTMLChanged, "links to listings"},
		{"cards that are all bad are a changed layout", ok(page("", biz{id: "1"}, biz{name: "No id"})), 1, yp.Failed, yp.CodeHTMLChanged, ""},
		{"a stranger's page is retried once", ok(stranger), 2, yp.Failed, yp.CodeBlockedProxy, "chrome"},
		{"an empty body is retried once", ok(""), 2, yp.Failed, yp.CodeBlockedProxy, ""},
		{"418 is retried once", status(418, shell("no")), 2, yp.Failed, yp.CodeUnknown, "418"},
		{"a page of 50 MB is not retried", huge, 1, yp.Failed, yp.CodeParseError, "cap"},
		{"a nesting bomb is not retried", ok(shell(strings.Repeat("<div>", 5000))), 1, yp.Failed, yp.CodeParseError, "512"},
		{"a garbled body is retried once", garbled, 2, yp.Failed, yp.CodeParseError, "decode"},
		{"a redirect off the domain is not followed", redirectTo("http://elsewhere.example/"), 1, yp.Failed, yp.CodeUnknown, "leads away"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, layout{now: newClock().Now})
			w.fetch = fetch.Config{HeaderTimeout: 50 * time.Millisecond, Timeout: 20 * time.Second}
			w.on(target, tt.page)
			st := w.done()
			r := w.is(1, tt.status, 0, tt.code)
			if !strings.Contains(r.Error, tt.says) {
				t.Errorf("last_error %q does not say %q", r.Error, tt.says)
			}
			if r.Backoff != "2026-11-20T14:00:00.000Z" || r.Failures != 1 {
				t.Errorf("backoff_until %q after %d failures, want two hours", r.Backoff, r.Failures)
			}
			again := 0
			if strings.HasPrefix(tt.name, "a closed connection") {
				again = 1 // net/http does so by itself on the connection that robots.txt came by
			}
			if n := len(w.asked()); n != tt.requests+again {
				t.Errorf("asked %d times, want %d", n, tt.requests+again)
			}
			if st.Failed != 1 || st.Retries != int64(tt.requests-1) {
				t.Errorf("stats %+v", st)
			}
			if got := w.story(); got != "start error" {
				t.Errorf("the log tells %q", got)
			}
		})
	}
}

func garbled(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	ok("<html>this is not gzip</html>")(w, r)
}

func redirectTo(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	good := ok(page("", shops(1, 3)...))
	tooMany := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		status(http.StatusTooManyRequests, "slow down")(w, r)
	}
	for _, tt := range []struct {
		name     string
		page     http.HandlerFunc
		requests int
	}{
		{"429 twice with Retry-After", inTurn(tooMany, tooMany, good), 3},
		{"5xx three times", inTurn(status(500, ""), status(502, ""), status(521, ""), good), 4},
		{"a time-out, a closed connection, a truncated body", inTurn(hang, reset, truncated, good), 4},
		{"a stranger's page", inTurn(ok("<html>"+strings.Repeat("<p>x</p>", 99)), good), 2},
		{"a garbled body", inTurn(garbled, good), 2},
		{"trouble of three kinds", inTurn(status(500, ""), garbled, tooMany, status(500, ""), good), 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, layout{})
			w.fetch = fetch.Config{HeaderTimeout: 50 * time.Millisecond, Timeout: 20 * time.Second}
			w.on(target, tt.page)
			st := w.done()
			w.is(1, yp.Done, 1, "")
			if n := len(w.asked()); n != tt.requests || st.Retries != int64(tt.requests-1) {
				t.Errorf("asked %d times with %d retries, want %d", n, st.Retries, tt.requests)
			}
		})
	}
	t.Run("429 for ever fails the target", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		f := &scripted{err: &fetch.Error{Status: 429, Class: yp.ClassHTTP429}}
		w.done(func(c *crawl.Config) { c.Fetch = f })
		w.is(1, yp.Failed, 0, yp.CodeRateLimited)
		if n := f.calls.Load(); n != 6 {
			t.Errorf("asked %d times, want 1 and 5 retries", n)
		}
	})
	t.Run("a failure on page 2 keeps page 1", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		w := setup(t, layout{now: c.Now})
		threePages(w)
		w.on(target+"?page=2", status(403, shell("no")))
		w.done()
		w.is(1, yp.Failed, 1, yp.CodeBlockedProxy)
		threePages(w)
		c.add(3 * time.Hour)
		w.done()
		if r := w.is(1, yp.Done, 3, ""); r.Failures != 0 || r.Attempts != 2 {
			t.Errorf("after a success: %+v", r)
		}
		w.requested(target, target+"?page=2", target+"?page=2", target+"?page=3")
	})
	t.Run("one target's trouble is no other's", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 3})
		w.on(target, status(403, shell("no")))
		w.on("/city-1-ca/plumbers", ok(page("", shops(1, 3)...)))
		w.on("/city-2-ca/plumbers", ok(page("", shops(4, 3)...)))
		w.done()
		w.is(1, yp.Failed, 0, yp.CodeBlockedProxy)
		w.is(2, yp.Done, 1, "")
		w.is(3, yp.Done, 1, "")
	})
}

func TestRobots(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.robots = "User-agent: *\nDisallow: /city-0-ca/\n"
	st := w.done()
	r := w.is(1, yp.Parked, 0, yp.CodeUnknown)
	if !strings.Contains(r.Error, "robots.txt") {
		t.Errorf("last_error %q does not name robots.txt", r.Error)
	}
	w.requested()
	if st.Parked != 1 || st.Failed != 0 {
		t.Errorf("stats %+v", st)
	}
}

// scripted is a Fetcher that has one answer.
type scripted struct {
	calls atomic.Int64
	err   error
	panic any
	body  string
}

func (s *scripted) Get(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	s.calls.Add(1)
	if s.panic != nil {
		panic(s.panic)
	}
	if s.err != nil {
		return nil, s.err
	}
	u, err := req.Base.Parse(req.URL)
	return &fetch.Response{Status: 200, URL: u, Body: []byte(s.body)}, err
}

func TestPanics(t *testing.T) {
	t.Parallel()
	t.Run("of the parser become an error", func(t *testing.T) {
		t.Parallel()
		var broken *site.Source
		_, err := crawl.Parse(broken, &fetch.Response{URL: &url.URL{Host: "a.example"}})
		if err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("on a page's way fail the target, not the run", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{cities: 2})
		var log bytes.Buffer
		st := w.done(func(c *crawl.Config) {
			c.Fetch = &scripted{panic: errors.New("a bug")}
			c.Logger = zerolog.New(&log)
		})
		for id := range int64(2) {
			if r := w.is(id+1, yp.Failed, 0, yp.CodeUnknown); !strings.Contains(r.Error, "a bug") {
				t.Errorf("last_error %q", r.Error)
			}
		}
		if st.Failed != 2 {
			t.Errorf("stats %+v", st)
		}
		if !strings.Contains(log.String(), "failure_test.go") {
			t.Error("no stack in the log")
		}
	})
	t.Run("after the commit lose nothing", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		threePages(w)
		w.done(reached(func(p crawl.Point) {
			if p == crawl.PointCommitted {
				panic("a bug")
			}
		}))
		if r := w.is(1, yp.Failed, 1, yp.CodeUnknown); r.Accepted != 3 {
			t.Errorf("counted %+v", r)
		}
	})
}

func TestBadCards(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on(target, ok(page("", biz{id: "1", name: "Shop"}, biz{id: "2"}, biz{name: "No id"}, biz{id: "3", name: "Shop"})))
	st := w.done()
	r := w.is(1, yp.Done, 1, "")
	if r.Raw != 2 || r.Accepted != 2 || r.Bad != 2 || st.Bad != 2 {
		t.Errorf("raw %d, accepted %d, bad %d (stats %d); want 2, 2, 2", r.Raw, r.Accepted, r.Bad, st.Bad)
	}
	if w.ids() != "1 3" {
		t.Errorf("stored %q", w.ids())
	}
}
