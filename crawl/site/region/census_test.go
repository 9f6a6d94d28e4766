package region

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region/regiontest"
)

// mostMemory is what html.Parse may take for a page that the census lets through.
const mostMemory = 300 << 20

// treeUnits counts what the census counts, in a tree.
func treeUnits(n *html.Node) int {
	units := 1 + len(n.Attr)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		units += treeUnits(c)
	}
	return units
}

// TestCensus checks that pages that are merely careless pass, and that the census
// counts at least what html.Parse makes.
func TestCensus(t *testing.T) {
	t.Parallel()
	careless := map[string]string{
		"unclosed bold in cells":  "<html><body><table>" + strings.Repeat("<tr><td><b>Name</td><td><a href=x>Link</td></tr>", 3000) + "</table></body>",
		"unclosed bold":           "<html><body>" + strings.Repeat("<p><b>Name<p>Text", 5000) + "</body>",
		"unclosed anchor at top":  "<html><body><a name=top><table><tr><td>" + strings.Repeat("<div><a href=x class=y>Link</a></div>", 3000) + "</table></body>",
		"links around blocks":     "<html><body>" + strings.Repeat("<a href=x class=y><div><p>Name</p><p><span>x</span></p></div></a>", 3000) + "</body>",
		"icons":                   "<html><body>" + strings.Repeat(`<a href=x><svg viewBox="0 0 1 1"><title>x</title><path d="M0"/></svg> <strong>Name</strong></a>`, 3000) + "</body>",
		"cities":                  "<html><body><ul>" + strings.Repeat(`<li class="x"><a href="/springfield-il" class="y">Springfield</a></li>`, 20000) + "</ul></body>",
		"forms with bold options": "<html><body>" + strings.Repeat(`<b><select><option>x</option></select></b>`, 5000) + "</body>",
		"fonts of the old days":   "<html><body>" + strings.Repeat(`<table><tr><td><font face=Arial size=2><b>Name</b></font></td></tr></table>`, 5000) + "</body>",
		"tables in bold":          "<html><body>" + strings.Repeat(`<b><table><tr><td>x</td></tr></table></b>`, 5000) + "</body>",
	}
	for name, page := range goldenPages(t) {
		careless[name] = page
	}
	for name, page := range careless {
		c := census{body: []byte(page)}
		if err := c.take(); err != nil {
			t.Errorf("%s: %v after %d units", name, err, c.units)
			continue
		}
		checkCensus(t, &c)
	}
	for name, page := range regiontest.Hostile(20_000) {
		c := census{body: []byte(page)}
		if c.take() == nil && !t.Failed() {
			checkCensus(t, &c)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// checkCensus compares a census with the tree of its page: html, head and body come
// with every tree.
func checkCensus(t *testing.T, c *census) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(c.body)))
	if err != nil {
		return // too deep
	}
	if got := treeUnits(doc); got > c.units+4 {
		t.Errorf("the tree has %d units, the census counted %d of %.300q", got, c.units, c.body)
	}
}

// FuzzCensus looks for pages of which html.Parse makes more than was counted. The
// input is repeated: what adds up shows.
func FuzzCensus(f *testing.F) {
	for _, page := range regiontest.Hostile(600) {
		f.Add(page, uint8(3))
	}
	for _, page := range goldenPages(f) {
		f.Add(page, uint8(2))
	}
	f.Fuzz(func(t *testing.T, page string, times uint8) {
		if len(page) > 4000 {
			return
		}
		c := census{body: []byte(strings.Repeat(page, 1+int(times%20)))}
		if c.take() != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		checkCensus(t, &c)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > mostMemory {
			t.Errorf("html.Parse took %d MB for %d bytes", used>>20, len(c.body))
		}
	})
}
