//go:build unix

package fetch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// pageServer serves one 250 KB page, compressed beforehand, so that the server
// takes as little of the process's CPU time as it can.
func pageServer(b *testing.B, encoding string) string {
	b.Helper()
	wire := compress(b, encoding, benchPage(b))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(wire)))
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		_, _ = w.Write(wire)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

func benchPage(b *testing.B) []byte {
	b.Helper()
	if name := os.Getenv("YPCRAWL_BENCH_PAGE"); name != "" { // a real page instead
		page, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		return page
	}
	return htmlPage(250 << 10)
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// measure reports CPU time (of client and server together) beside wall time.
func measure(b *testing.B, get func() int) {
	b.Helper()
	want := get() // warm: connection, pools, robots.txt
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		if got := get(); got != want || got < 100_000 {
			b.Fatalf("%d bytes, want %d", got, want)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func BenchmarkGet(b *testing.B) {
	for _, enc := range []string{"", "gzip", "zstd", "br"} {
		b.Run("encoding="+enc, func(b *testing.B) {
			url := pageServer(b, enc)
			c := New(Config{})
			defer c.Close()
			measure(b, func() int {
				r, err := c.Get(b.Context(), Request{URL: url})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Release()
				return len(r.Body)
			})
		})
	}
}

// BenchmarkBare is what BenchmarkGet is measured against: http.Get, gzip left
// to net/http, io.ReadAll.
func BenchmarkBare(b *testing.B) {
	for _, enc := range []string{"", "gzip"} {
		b.Run("encoding="+enc, func(b *testing.B) {
			url := pageServer(b, enc)
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			measure(b, func() int {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					b.Fatal(err)
				}
				return len(body)
			})
		})
	}
}
