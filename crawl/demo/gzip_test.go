package demo_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"ypcrawl/crawl/demo"
)

// samples are pages of every kind.
func samples() []string {
	return []string{
		"/los-angeles-ca/plumbers", "/los-angeles-ca/restaurants?page=2", "/houston-tx/dentists?page=3", "/austin-tx/auto-repair-service", "/fresno-ca/electricians",
		"/search?search_terms=Plumbers&geo_location_terms=Austin%2C+TX", "/search?search_terms=x&geo_location_terms=y", "/", "/sitemap", "/state-ca", "/state-tx?page=d",
		"/austin-tx", "/nowhere-zz/plumbers", "/a/mip/b-1",
	}
}

func getGzip(t testing.TB, d http.Handler, uri string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, uri, nil)
	r.Header.Set("Accept-Encoding", "br, gzip;q=0.8")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s: not compressed", uri)
	}
	return w
}

func TestGzipEqualsPlain(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{Seed: 3, Fail: map[string]float64{"layout": 0.2}})
	same, _ := setup(t, demo.Config{Seed: 3, Fail: map[string]float64{"layout": 0.2}})
	for _, uri := range samples() {
		for range 4 { // some of them with renamed classes
			w, plain := getGzip(t, d, uri), get(same, uri)
			zr, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatalf("%s: %v", uri, err)
			}
			body, err := io.ReadAll(zr)
			if err != nil {
				t.Fatalf("%s: %v", uri, err)
			}
			if !bytes.Equal(body, plain.Body.Bytes()) {
				t.Fatalf("%s: inflated page differs from the plain one", uri)
			}
			if w.Code != plain.Code {
				t.Errorf("%s: status %d gzipped, %d plain", uri, w.Code, plain.Code)
			}
		}
	}
}

func TestGzipOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{})
	for header, want := range map[string]string{
		"": "", "identity": "", "gzip": "gzip", "zstd, gzip;q=0.8": "gzip",
	} {
		r := httptest.NewRequest(http.MethodGet, "/austin-tx", nil)
		r.Header.Set("Accept-Encoding", header)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: Content-Encoding %q, want %q", header, got, want)
		}
		if w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: no Vary", header)
		}
	}
}

// nowhere is a ResponseWriter that keeps nothing.
type nowhere struct {
	header http.Header
	n      int
}

func (w *nowhere) Header() http.Header { return w.header }
func (w *nowhere) WriteHeader(int)     {}
func (w *nowhere) Write(b []byte) (int, error) {
	w.n += len(b)
	return len(b), nil
}

// BenchmarkServePage serves a page of a large target: after some steps of change its slots are laid out anew for
// every request.
func BenchmarkServePage(b *testing.B) {
	for _, c := range []struct {
		name, encoding string
		epoch          int
	}{{"gzip", "gzip", 0}, {"identity", "identity", 0}, {"later", "gzip", 2}} {
		b.Run(c.name, func(b *testing.B) {
			d, _ := setup(b, demo.Config{Epoch: c.epoch})
			r := httptest.NewRequest(http.MethodGet, "/los-angeles-ca/plumbers?page=2", nil)
			r.Header.Set("Accept-Encoding", c.encoding)
			b.ReportAllocs()
			sent := 0
			for b.Loop() {
				w := nowhere{header: make(http.Header)}
				d.ServeHTTP(&w, r)
				sent = w.n
			}
			b.ReportMetric(float64(sent), "B/page")
		})
	}
}
