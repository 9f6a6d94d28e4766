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
	for kind, is := range map[string]func(w *httptest.ResponseRecorder, h http.Header, body string) bool{
		"429": func(w *httptest.ResponseRecorder, h http.Header, _ string) bool {
			return w.Code == 429 && h.Get("Retry-After") == "1"
		},
		"503": func(w *httptest.ResponseRecorder, h http.Header, _ string) bool {
			return w.Code == 503 && h.Get("Retry-After")+h.Get("Cf-Mitigated") == ""
		},
		"challenge": func(w *httptest.ResponseRecorder, h http.Header, body string) bool {
			return w.Code == 403 && h.Get("Cf-Mitigated") == "challenge" && strings.Contains(body, "Just a moment")
		},
		"truncate": func(w *httptest.ResponseRecorder, h http.Header, body string) bool {
			return w.Code == 200 && fmt.Sprint(len(body)) != h.Get("Content-Length") && len(body) >= 50_000
		},
		"layout": func(w *httptest.ResponseRecorder, _ http.Header, body string) bool {
			return w.Code == 200 && !strings.Contains(body, `class="result"`) && strings.Contains(body, "/mip/")
		},
	} {
		d, _ := setup(t, demo.Config{Fail: map[string]float64{kind: 1}})
		w := get(d, "/austin-tx/plumbers")
		if n := d.Stats().ByFailure[kind]; n != 1 || !is(w, w.Header(), w.Body.String()) {
			t.Errorf("%s: %d failures counted; status %d, %v, %d bytes", kind, n, w.Code, w.Header(), w.Body.Len())
		}
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
