package gazetteer

import (
	"runtime"
	"testing"
)

// BenchmarkRetained reports the memory that a loaded gazetteer keeps.
func BenchmarkRetained(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		g := load(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "retained-B")
		runtime.KeepAlive(g)
	}
}
