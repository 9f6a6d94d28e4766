//go:build unix

package site

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/html"
)

// parseCosts are the bounds of what reading a page may take of the processors, by the time of a bare loop of x/net/html's tokenizer over the same
// bytes (docs/benchmarks.md).
var parseCosts = []struct {
	name  string
	page  func() string
	bound float64
}{
	{"a page that leads on", func() string { return resultsPage(30, 95) }, 1.2},
	{"the last page", lastPage, 1.2},
	{"the only page", func() string { return strings.Replace(lastPage(), "of 1,108<", "of 30<", 1) }, 1.2},
}

// lastPage is a page without a next link.
func lastPage() string {
	before, after, _ := strings.Cut(resultsPage(30, 95), `<li><a class="next`)
	_, after, _ = strings.Cut(after, "</li>")
	return before + after
}

// TestParseCost fails when a page takes more processor time than it should, by the median of turns. It runs alone only, as a step of CI:
// beside other tests it would measure them, too.
func TestParseCost(t *testing.T) {
	if flag.Lookup("test.run").Value.String() != "^TestParseCost$" {
		t.Skip("measures: run it alone, with -run '^TestParseCost$'")
	}
	source, final := builtin(t, "yellowpages"), finalURL(t)
	for _, c := range parseCosts {
		page := []byte(c.page())
		var ratios []float64
		for range 15 {
			ratios = append(ratios, timeOf(t, func() {
				if p, err := source.ParsePage(page, final, 200); err != nil || len(p.Listings) != 30 {
					t.Fatal(p, err)
				}
			})/timeOf(t, func() { tokens(page) }))
		}
		slices.Sort(ratios)
		t.Logf("%s, %d kB: %.2f × a bare loop of the tokenizer (%.2f to %.2f), bound %.2f", c.name, len(page)/1000, ratios[7], ratios[0], ratios[14], c.bound)
		if ratios[7] > c.bound {
			t.Errorf("%s takes too much time", c.name)
		}
	}
}

// mostJSON bounds what a page of JSON with 30 listings may cost, as a share of the page of HTML with as many.
const mostJSON = 0.5

// TestJSONCost measures that: the whole way from the body to the listings.
func TestJSONCost(t *testing.T) {
	if flag.Lookup("test.run").Value.String() != "^TestJSONCost$" {
		t.Skip("measures: run it alone, with -run '^TestJSONCost$'")
	}
	source, final, api := builtin(t, "yellowpages"), finalURL(t), stores(t)
	page, items := []byte(parseCosts[0].page()), make([]string, 30)
	for i := range items {
		items[i] = strings.Replace(storeJSON, `"id":17`, fmt.Sprintf(`"id":%d,"about":%q`, 1000+i, strings.Repeat("All about it. ", 40)), 1)
	}
	body := []byte(`{"data":{"stores":{"total":300,"nodes":[` + strings.Join(items, ",") + `]}}}`)
	var ratios []float64
	for range 15 {
		ratios = append(ratios, timeOf(t, func() {
			if p, err := api.ParsePage(body, nil, 200); err != nil || len(p.Listings) != 30 {
				t.Fatal(p, err)
			}
		})/timeOf(t, func() {
			if p, err := source.ParsePage(page, final, 200); err != nil || len(p.Listings) != 30 {
				t.Fatal(p, err)
			}
		}))
	}
	slices.Sort(ratios)
	t.Logf("%d kB of JSON: %.2f × %d kB of HTML (%.2f to %.2f), bound %.2f", len(body)/1000, ratios[7], len(page)/1000, ratios[0], ratios[14], mostJSON)
	if ratios[7] > mostJSON {
		t.Error("a page of JSON takes too much time")
	}
}

// timeOf is the processor time of 20 calls, with that of the collector.
func timeOf(t *testing.T, f func()) float64 {
	t.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	runtime.GC()
	began := used()
	for range 20 {
		f()
	}
	return float64(used() - began)
}

// tokens reads each token of a page with its attributes, as any parser that is made with x/net/html must, and keeps nothing.
func tokens(page []byte) (n int) {
	for z := html.NewTokenizer(strings.NewReader(string(page))); ; n++ {
		switch z.Next() {
		case html.ErrorToken:
			return n
		case html.TextToken:
			_ = z.Text()
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, more := z.TagName(); more; {
				_, _, more = z.TagAttr()
			}
		}
	}
}
