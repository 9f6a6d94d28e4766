//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/store"
)

// BenchmarkCrawl crawls demo CA+TX (1,083 pages of about 250 KB) in a process of its own against
// a server in another, and reports CPU (user + system) a page and the crawl's peak memory.
// BenchmarkPageCost of crawl compares it with a bare loop.
func BenchmarkCrawl(b *testing.B) {
	for _, workers := range []int{5, 16} {
		if workers > 5 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			base := serveDemoChild(b)
			var cpu, wall time.Duration
			var pages, peak int64
			for range b.N {
				dir, began := b.TempDir(), time.Now()
				cmd := command(dir, nil, "run", "--source", "demo", "--base-url", base, "--states", "CA", "TX",
					"--delay", "0", "--workers", strconv.Itoa(workers), "--concurrency-per-host", strconv.Itoa(workers), "--quiet")
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				wall += time.Since(began)
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
					peak = max(peak, ru.Maxrss)
				}
				pages += committed(b, dir)
			}
			b.ReportMetric(cpu.Seconds()*1000/float64(pages), "crawl-ms/page")
			b.ReportMetric(float64(peak)/1024, "peak-MB")
			b.ReportMetric(float64(pages)/wall.Seconds(), "pages/s")
		})
	}
}

// serveDemoChild serves the demo directory in another process.
func serveDemoChild(b *testing.B) string {
	b.Helper()
	cmd := command(b.TempDir(), nil, "demo", "serve")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// committed counts the pages that a crawl has committed.
func committed(b *testing.B, dir string) (pages int64) {
	b.Helper()
	db, err := store.Open(b.Context(), store.Config{Path: filepath.Join(dir, "ypcrawl.db"), Schema: schema, ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	all, err := store.All(db.Reader(b.Context()), `SELECT sum(page_current) FROM targets`, nil, func(n *int64) []any { return []any{n} })
	if err != nil || all[0] == 0 {
		b.Fatal(all, err)
	}
	return all[0]
}
