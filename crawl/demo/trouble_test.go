package demo_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
)

// TestFailureRates: every kind comes as often as asked for, and a retry can
// succeed.
func TestFailureRates(t *testing.T) {
	t.Parallel()
	want := map[string]float64{"429": 0.2, "503": 0.1, "challenge": 0.1, "truncate": 0.1}
	d, g := setup(t, demo.Config{Seed: 5, Fail: want})
	n, recovered := 0, 0
	for _, p := range g.In("CA")[:40] {
		for _, cat := range []string{"plumbers", "dentists"} {
			for attempt := range 20 {
				n++
				w := get(d, "/"+p.Slug+"/"+cat)
				if w.Code == http.StatusOK && attempt > 0 {
					recovered++
				}
			}
		}
	}
	for kind, p := range want {
		got, sigma := float64(d.Stats().ByFailure[kind])/float64(n), math.Sqrt(p*(1-p)/float64(n))
		if math.Abs(got-p) > 5*sigma {
			t.Errorf("%s: rate %.3f over %d requests, want %.3f", kind, got, n, p)
		}
	}
	if recovered == 0 {
		t.Error("no retry succeeded")
	}
}

// TestFailuresRepeat: one seed fails the same attempts in every process.
func TestFailuresRepeat(t *testing.T) {
	t.Parallel()
	cfg := demo.Config{Seed: 9, Fail: map[string]float64{"503": 0.5}}
	run := func() (codes string) {
		d, _ := setup(t, cfg)
		for range 30 {
			codes += fmt.Sprint(get(d, "/austin-tx/plumbers").Code, " ")
		}
		return codes
	}
	first := run()
	if second := run(); first != second || !strings.Contains(first, "200") || !strings.Contains(first, "503") {
		t.Errorf("one run %s, another %s", first, second)
	}
}

func TestFailureShapes(t *testing.T) {
	t.Parallel()
	for kind, check := range map[string]func(*testing.T, *httptest.ResponseRecorder){
		"429": func(t *testing.T, w *httptest.ResponseRecorder) {
			if w.Code != 429 || w.Header().Get("Retry-After") != "1" {
				t.Errorf("status %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
			}
		},
		"503": func(t *testing.T, w *httptest.ResponseRecorder) {
			if w.Code != 503 || w.Header().Get("Retry-After")+w.Header().Get("Cf-Mitigated") != "" {
				t.Errorf("status %d, %v", w.Code, w.Header())
			}
		},
		"challenge": func(t *testing.T, w *httptest.ResponseRecorder) {
			if w.Code != 403 || w.Header().Get("Cf-Mitigated") != "challenge" || !strings.Contains(w.Body.String(), "Just a moment") {
				t.Errorf("status %d, %v", w.Code, w.Header())
			}
		},
		"truncate": func(t *testing.T, w *httptest.ResponseRecorder) {
			if got, said := w.Body.Len(), w.Header().Get("Content-Length"); w.Code != 200 || fmt.Sprint(got) == said || got < 50_000 {
				t.Errorf("status %d, %d bytes of %s", w.Code, got, said)
			}
		},
		"layout": func(t *testing.T, w *httptest.ResponseRecorder) {
			if body := w.Body.String(); w.Code != 200 || strings.Contains(body, `class="result"`) || !strings.Contains(body, "/mip/") {
				t.Errorf("status %d, a page of %d bytes", w.Code, len(body))
			}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d, _ := setup(t, demo.Config{Fail: map[string]float64{kind: 1}})
			check(t, get(d, "/austin-tx/plumbers"))
			if n := d.Stats().ByFailure[kind]; n != 1 {
				t.Errorf("%d failures counted, want 1", n)
			}
		})
	}
}

// TestLayoutIsChanged: the parser takes a redesigned page for what it is.
func TestLayoutIsChanged(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{Fail: map[string]float64{"layout": 1}})
	src, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"/austin-tx/plumbers", "/los-angeles-ca/dentists?page=2", "/dallas-tx/restaurants", "/houston-tx/electricians"} {
		if page := parse(t, d, src, uri); page.Outcome != site.HTMLChanged {
			t.Errorf("%s: outcome %v (%s)", uri, page.Outcome, page.Reason)
		}
	}
	if w := get(d, "/state-ca"); !strings.Contains(w.Body.String(), `class="letters"`) {
		t.Error("an index page was redesigned too")
	}
}

// TestTimeoutIsBounded: without a client's patience ending, a held request
// ends by itself.
func TestTimeoutIsBounded(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{Fail: map[string]float64{"timeout": 1}, Latency: time.Second})
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("ended by %v", err)
			}
			if took := time.Since(started); took != 61*time.Second {
				t.Errorf("took %v, want the latency and 60 s", took)
			}
		}()
		get(d, "/austin-tx/plumbers")
	})
}

func TestFailRefused(t *testing.T) {
	t.Parallel()
	_, g := setup(t, demo.Config{})
	if _, err := demo.New(demo.Config{Fail: map[string]float64{"418": 0.1}}, g); !errors.Is(err, demo.ErrFailSpec) {
		t.Errorf("error %v, want ErrFailSpec", err)
	}
}

// FuzzServe: no address makes the directory panic or answer 5xx.
func FuzzServe(f *testing.F) {
	for _, uri := range samples() {
		f.Add(uri)
	}
	f.Add("/state-")
	f.Add("/state-ca?page=%ff")
	f.Add("//mip/")
	d, _ := setup(f, demo.Config{})
	f.Fuzz(func(t *testing.T, uri string) {
		r, err := http.NewRequest(http.MethodGet, uri, nil)
		if err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			return
		}
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code >= 500 || w.Body.Len() == 0 && w.Code != http.StatusMovedPermanently {
			t.Errorf("%q: status %d, %d bytes", uri, w.Code, w.Body.Len())
		}
	})
}

func TestStats(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{})
	for _, uri := range []string{"/austin-tx/plumbers?page=2", "/robots.txt", "/austin-tx/plumbers?page=2", "/nowhere/at/all"} {
		get(d, uri)
	}
	if s := d.Stats(); s.Requests != 4 || s.URLs["/austin-tx/plumbers?page=2"] != 2 || len(s.URLs) != 3 {
		t.Errorf("stats %+v", s)
	}
}
