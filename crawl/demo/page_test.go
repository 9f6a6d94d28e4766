package demo_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ypcrawl/crawl/demo"
)

// samples are pages of every kind.
func samples() []string {
	return []string{
		"/los-angeles-ca/plumbers", "/los-angeles-ca/restaurants?page=2", "/houston-tx/dentists?page=3", "/austin-tx/auto-repair-service", "/fresno-ca/electricians",
		"/san-jose-ca/plumbers", "/dallas-tx/electricians", "/search?search_terms=x&geo_location_terms=y", "/", "/sitemap", "/state-ca", "/state-tx?page=d",
		"/austin-tx", "/nowhere-zz/plumbers", "/a/mip/b-1",
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
		name  string
		epoch int
	}{{"first", 0}, {"later", 2}} {
		b.Run(c.name, func(b *testing.B) {
			d, _ := setup(b, demo.Config{Epoch: c.epoch})
			r := httptest.NewRequest(http.MethodGet, "/los-angeles-ca/plumbers?page=2", nil)
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
