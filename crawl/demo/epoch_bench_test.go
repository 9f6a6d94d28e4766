package demo_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ypcrawl/crawl/demo"
)

// BenchmarkServePageLater serves a page of a large target after some steps of
// change: its slots are laid out anew for every request.
func BenchmarkServePageLater(b *testing.B) {
	d, _ := setup(b, demo.Config{Epoch: 2})
	r := httptest.NewRequest(http.MethodGet, "/los-angeles-ca/plumbers?page=2", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	b.ReportAllocs()
	for b.Loop() {
		w := nowhere{header: make(http.Header)}
		d.ServeHTTP(&w, r)
	}
}

// BenchmarkSetEpoch moves a running directory.
func BenchmarkSetEpoch(b *testing.B) {
	d, _ := setup(b, demo.Config{})
	for b.Loop() {
		if err := d.SetEpoch(3); err != nil {
			b.Fatal(err)
		}
	}
}
