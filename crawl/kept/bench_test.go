package kept

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ypcrawl/crawl/demo"
	"ypcrawl/yp/gazetteer"
)

// demoPages are pages of the demo directory, those of results of about 250 KB or those of listings.
func demoPages(tb testing.TB, paths []string) (pages [][]byte) {
	tb.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		tb.Fatal(err)
	}
	site, err := demo.New(demo.Config{Places: 20}, g)
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range paths {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code == http.StatusOK && rec.Body.Len() > 10_000 {
			pages = append(pages, rec.Body.Bytes())
		}
	}
	if len(pages) < 20 {
		tb.Fatalf("%d pages", len(pages))
	}
	return pages
}

func resultPaths() (paths []string) {
	for _, city := range []string{"los-angeles-ca", "san-diego-ca", "san-jose-ca", "fresno-ca", "oakland-ca"} {
		for _, category := range []string{"plumbers", "dentists", "restaurants", "electricians"} {
			for n := 1; n <= 2; n++ {
				paths = append(paths, fmt.Sprintf("/%s/%s?page=%d", city, category, n))
			}
		}
	}
	return paths
}

// BenchmarkKeep keeps pages of results. ratio is what a page takes on the disk, of what it
// has; the levels and the runs without a dictionary are there to compare with.
func BenchmarkKeep(b *testing.B) {
	pages := demoPages(b, resultPaths())
	b.Run("writer", func(b *testing.B) {
		dir := b.TempDir()
		w, err := Open(Config{Dir: dir, Run: "run1", Days: 1, MaxBytes: 1 << 40})
		if err != nil {
			b.Fatal(err)
		}
		for n := range sampleCount { // until there is a dictionary
			w.Keep(page("a", n, day1), reading, pages[n])
		}
		before, _, _ := Usage(dir)
		n, size := 0, int64(0)
		for b.Loop() {
			body := pages[sampleCount+n%(len(pages)-sampleCount)]
			w.Keep(page("a", n, day1), reading, body)
			size += int64(len(body))
			n++
		}
		after, _, _ := Usage(dir)
		b.ReportMetric(float64(after-before)/float64(size), "ratio")
		b.ReportMetric(float64(after-before)/float64(n), "bytes/page")
		b.ReportMetric(float64(size)/float64(n), "page-bytes")
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	})
	dict := buildDict(pages[:sampleCount])
	for name, options := range map[string][]zstd.EOption{
		"fastest/dictionary": {zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderDict(dict)},
		"fastest/none":       {zstd.WithEncoderLevel(zstd.SpeedFastest)},
		"default/dictionary": {zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderDict(dict)},
		"default/none":       {zstd.WithEncoderLevel(zstd.SpeedDefault)},
	} {
		b.Run(name, func(b *testing.B) {
			enc, err := zstd.NewWriter(nil, append(options, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))...)
			if err != nil {
				b.Fatal(err)
			}
			var packed []byte
			n, size, kept := 0, 0, 0
			for b.Loop() {
				body := pages[sampleCount+n%(len(pages)-sampleCount)]
				packed = enc.EncodeAll(body, packed[:0])
				n, size, kept = n+1, size+len(body), kept+len(packed)
			}
			b.ReportMetric(float64(kept)/float64(size), "ratio")
		})
	}
}
