//go:build unix && !race

package site

import (
	"cmp"
	"errors"
	"runtime"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/region/regiontest"
)

// mostTime is what reading any page may take of a processor.
const mostTime = 5 * time.Second

// measured returns by how much the heap grew at most while f ran, and what f took of
// the processors: the time on the wall is also that of whoever shares the machine.
func measured(t *testing.T, f func()) (grown uint64, took time.Duration) {
	t.Helper()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	before, top := heap(), uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			top = max(top, heap())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	used := spent(t)
	f()
	took = spent(t) - used
	close(stop)
	<-done
	return max(top, before) - before, took
}

// spent is what this process has taken of the processors so far.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	noError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// aims tells which pages aim at another reader than that of results.
var aims = map[string]string{
	"links to cities": "index", "links of percent signs": "index", "links in letters": "index", "links in folders": "index", "links below a long base": "index", "links to users": "index",
	"links of cards": "results", "detail, lists": "detail", "detail, one list": "detail", "cards deep in long classes": "detail",
	"microdata, deep": "own page", "deep and wide": "results",
}

// TestWorstPages reads the worst pages known in full, and as much of them as is let
// through to the parser. It is not parallel: it measures.
func TestWorstPages(t *testing.T) {
	if testing.Short() {
		t.Skip("reads pages of 10 MB")
	}
	all := readers(t)
	check := func(kind string, n int, body []byte, name string) (err error) {
		grown, took := measured(t, func() { err = all[name](body) })
		if testing.Verbose() && (took > time.Second || grown > 100<<20) {
			t.Logf("%s, %d bytes, read as %s: %d MB, %s", kind, n, name, grown>>20, took)
		}
		if grown > mostMemory || took > mostTime {
			t.Errorf("%s, %d bytes, read as %s, took %d MB and %s", kind, n, name, grown>>20, took)
		}
		return err
	}
	admitted := map[string]bool{}
	for n := pageLimit; n > 50_000; n /= 4 {
		for kind, page := range regiontest.Hostile(n) {
			body := []byte(page[:min(len(page), pageLimit)])
			if n == pageLimit && errors.Is(check(kind, len(body), body, "results"), region.ErrTooBig) {
				continue // for every reader
			}
			if !admitted[kind] {
				admitted[kind] = !errors.Is(check(kind, len(body), body, cmp.Or(aims[kind], "structured")), region.ErrTooBig)
			}
		}
	}
}

// TestWorstScripts reads as many of the worst scripts of JSON-LD as a page may have. It is not parallel: it measures.
func TestWorstScripts(t *testing.T) {
	const most = 500 * time.Millisecond
	for _, part := range []string{`"`, `""`, `"\`, "/*", "//", "// ", "<!--", "-->", "]]>", ",", "[1,", "0", "a:", ",0", ",0e", `{"a":`, ";", "\\'"} {
		script := `<script type="application/ld+json">[` + strings.Repeat(part, 1_000_000/len(part)) + `</script>`
		body := []byte(siteHTML(strings.Repeat(script, 9)))
		if _, took := measured(t, func() { _ = readers(t)["results"](body) }); took > most {
			t.Errorf("%q: took %s", part, took)
		} else {
			t.Logf("%q: %s", part, took)
		}
	}
}
