package crawl_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// BenchmarkSources shows how throughput grows with the sources, whose servers answer
// after 20 ms, until the machine is full.
func BenchmarkSources(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("%d sources", n), func(b *testing.B) {
			pages, took := int64(0), time.Duration(0)
			cpu := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				h := newSourcesWorld(b, n)
				for _, demoSource := range h.demos {
					demoSource.wait = 20 * time.Millisecond
				}
				f := h.sources(workers(1))
				began, used := time.Now(), cpuTime()
				b.StartTimer()
				storetest.NoError(b, h.wait(h.begin(b.Context(), f)))
				b.StopTimer()
				took += time.Since(began)
				cpu += cpuTime() - used
				pages += f.Stats().Pages
				b.StartTimer()
			}
			b.ReportMetric(float64(pages)/took.Seconds(), "pages/s")
			b.ReportMetric(100*cpu.Seconds()/took.Seconds(), "%cpu")
		})
	}
}
