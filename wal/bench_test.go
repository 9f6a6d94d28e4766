//go:build unix

package wal

import (
	"syscall"
	"testing"
	"time"
)

func BenchmarkEncode(b *testing.B) {
	e := stamped(samplePage(30))
	b.SetBytes(int64(len(lineOf(e))))
	b.ReportAllocs()
	var line []byte
	for b.Loop() {
		line, _ = e.appendTo(line[:0])
	}
}

// BenchmarkAppend is what it costs to have a page's line in the log, and on the disk before the
// page: beside the time, which is the disk's, the CPU of this process.
func BenchmarkAppend(b *testing.B) {
	for name, sync := range map[string]bool{"page": true, "interval": false} {
		b.Run(name, func(b *testing.B) {
			log := create(b, Config{Dir: b.TempDir(), NoCompress: true})
			e := samplePage(30)
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				noErr(b, log.Append(e))
				if sync {
					noErr(b, log.Sync())
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// cpu is the time that this process has had of the processors so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var ru syscall.Rusage
	noErr(b, syscall.Getrusage(syscall.RUSAGE_SELF, &ru))
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
