package crawl_test

import (
	"bytes"
	"context"
	"errors"
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
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	good := ok(page("", shops(1, 3)...))
	tooMany := tooMany("1")
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
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.on(target, tt.page)
			st := w.done()
			w.is(1, yp.Done, 1, "")
			if n := len(w.asked()); n != tt.requests || st.Retries != int64(tt.requests-1) {
				t.Errorf("asked %d times with %d retries, want %d", n, st.Retries, tt.requests)
			}
			w.attempted("done SUCCESS 200:" + strings.Repeat(" retry", tt.requests-1) + " committed")
			w.tidy()
		})
	}
	inBubble(t, "429 for ever fails the target", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.on(target, status(429, "slow down"))
		began := time.Now()
		w.done()
		w.is(1, waiting, 0, yp.CodeRateLimited)
		w.onRecord(times(6, "http_429 429")...)
		w.attempted("failed RATE_LIMITED 429: retry retry retry retry retry")
		storetest.Equal(t, time.Since(began), 5*yp.DefaultRetryAfter, "it took")
	})
	parallel(t, "a failure on page 2 keeps page 1", func(t *testing.T) {
		c := newClock()
		w := setup(t, layout{now: c.Now})
		threePages(w)
		w.on(target+"?page=2", status(403, shell("no")))
		w.done()
		w.is(1, waiting, 1, yp.CodeBlockedProxy)
		threePages(w)
		c.Move(3 * time.Hour)
		w.done()
		if r := w.is(1, yp.Done, 3, ""); r.Failures != 0 || r.Attempts != 2 {
			t.Errorf("after a success: %+v", r)
		}
		w.requested(target, target+"?page=2", target+"?page=2", target+"?page=3")
	})
}

// scripted is a Fetcher that has one answer.
type scripted struct {
	unpaced
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
	parallel(t, "of the parser become an error", func(t *testing.T) {
		var broken *site.Source
		_, err := crawl.Parse(broken, (*site.Source).ParsePage, &fetch.Response{URL: &url.URL{Host: "a.example"}})
		if err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("got %v", err)
		}
	})
	parallel(t, "on a page's way fail the target, not the run", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		var log bytes.Buffer
		st := w.done(func(c *crawl.Config) {
			c.Fetch = &scripted{panic: errors.New("a bug")}
			c.Logger = zerolog.New(&log)
		})
		for id := range int64(2) {
			if r := w.is(id+1, waiting, 0, yp.CodeUnknown); !strings.Contains(r.Error, "a bug") {
				t.Errorf("last_error %q", r.Error)
			}
		}
		storetest.Equal(t, st.Waiting, 2, "targets waiting")
		if !strings.Contains(log.String(), "failure_test.go") {
			t.Error("no stack in the log")
		}
	})
	parallel(t, "after the commit lose nothing", func(t *testing.T) {
		w := setup(t, layout{})
		threePages(w)
		w.done(reached(func(p crawl.Point) {
			if p == crawl.PointCommitted {
				panic("a bug")
			}
		}))
		storetest.Equal(t, w.is(1, waiting, 1, yp.CodeUnknown).Accepted, 3, "listings accepted")
	})
}
