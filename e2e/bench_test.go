//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/store"
)

// BenchmarkCrawl crawls demo CA+TX (1,083 pages of about 250 KB) in a process of
// its own against a server in another, then fetches the same pages by the bare
// loop, and reports CPU (user + system) a page of both, their ratio, and the
// crawl's peak memory.
func BenchmarkCrawl(b *testing.B) {
	for _, workers := range []int{5, 16} {
		if workers > 5 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			base := serveDemoChild(b)
			var ours, bare usage
			for range b.N {
				dir := b.TempDir()
				ours.add(runChild(b, asMain+"=main", "", dir, "run", "--source", "demo", "--base-url", base, "--states", "CA", "TX",
					"--delay", "0", "--workers", strconv.Itoa(workers), "--concurrency-per-host", strconv.Itoa(workers), "--quiet"))
				urls := pageURLs(b, dir, base)
				ours.pages += len(urls)
				bare.add(runChild(b, asMain+"=bare", strings.Join(urls, "\n"), dir, filepath.Join(dir, "bare.db")))
				bare.pages += len(urls)
			}
			b.ReportMetric(ours.perPage(), "crawl-ms/page")
			b.ReportMetric(bare.perPage(), "bare-ms/page")
			b.ReportMetric(ours.perPage()/bare.perPage(), "ratio")
			b.ReportMetric(float64(ours.peak)/1024, "peak-MB")
			b.ReportMetric(float64(ours.pages)/ours.wall.Seconds(), "pages/s")
		})
	}
}

// usage is what children took.
type usage struct {
	cpu, wall time.Duration
	peak      int64 // KiB
	pages     int
}

func (u *usage) add(o usage) {
	u.cpu += o.cpu
	u.wall += o.wall
	u.peak = max(u.peak, o.peak)
}

func (u *usage) perPage() float64 { return u.cpu.Seconds() * 1000 / float64(u.pages) }

func runChild(b *testing.B, as, stdin, dir string, args ...string) usage {
	b.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), as), strings.NewReader(stdin)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
	ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("no resource usage")
	}
	return usage{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: time.Since(began), peak: ru.Maxrss}
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

// pageURLs lists the pages that a crawl has committed.
func pageURLs(b *testing.B, dir, base string) (urls []string) {
	b.Helper()
	db, err := store.Open(b.Context(), store.Config{Path: filepath.Join(dir, "ypcrawl.db"), Schema: schema, ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	type pages struct {
		path string
		n    int
	}
	all, err := store.All(db.Reader(b.Context()), `SELECT '/' || c.slug || '/' || k.slug, t.page_current FROM targets t
		JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id`, nil, func(p *pages) []any { return []any{&p.path, &p.n} })
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range all {
		for n := 1; n <= p.n; n++ {
			u := base + p.path
			if n > 1 {
				u += "?page=" + strconv.Itoa(n)
			}
			urls = append(urls, u)
		}
	}
	return urls
}
