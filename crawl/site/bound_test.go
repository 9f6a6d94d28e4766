package site

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// What reading any page within the fetcher's limit of 10 MiB may take.
const (
	pageLimit  = 10 << 20
	mostMemory = 300 << 20
)

// hostilePages are the worst pages known, by what they aim at. Each is made as large
// as it must be to hurt, up to n bytes.
func hostilePages(n int) map[string]string {
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, max(0, n-len(head)-len(tail))/len(unit)) + tail
	}
	each := func(format string, count int) string {
		var b strings.Builder
		for i := range count {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const end = "</body></html>"
	open := "<html><body>"
	return map[string]string{
		"formatting reopened":         fill(open+"<p>"+each("<b x=%d>", 450)+"</p>", "<p>x", end),
		"equal formatting":            fill(open+"<p>"+strings.Repeat("<b>", 400), "<p>x", end),
		"fonts in cells":              fill(open+"<table>", "<tr><td><font color=1><font color=2><b><i><p>x<p>", end),
		"links in blocks":             fill(open, "<a href=1><div><div><div><div><div><div><div><div><div>x</a></div></div></div></div></div></div></div></div></div>", "<p>x"+end),
		"formatting left in blocks":   fill(open, "<b x=1><div><div><div><div><div><div><div><div><div></b></div></div></div></div></div></div></div></div></div><p>", end),
		"many left in blocks":         fill(open+each("<b x=%d><div><div><div><div><div><div><div><div><div></b></div></div></div></div></div></div></div></div></div>", 400), "<p>x</p>", end),
		"end tags stopped by objects": fill(open+each("<b x=%d><object></b></object>", 450), "<p>x</p>", end),
		"end tags stopped by tables":  fill(open+each("<b x=%d><table></b></table>", 450), "<p>x</p>", end),
		"end tags stopped by selects": fill(open+each("<b x=%d><select></b></select>", 450), "<p>x</p>", end),
		"four equal":                  fill(open+each("<b x=%[1]d><p><b x=%[1]d><b x=%[1]d><b x=%[1]d></p></b></b></b></b>", 450), "<p>x</p>", end),
		"nobr":                        fill(open+each("<nobr x=%d>", 400)+"</p>", "<p><nobr>x", end),
		"hidden in a title of an svg": fill(open+"<svg><title>", each("<b x=%d>", 300)+strings.Repeat("<p>x", 3000), "</title>"+end),
		"hidden in a script":          fill(open+"<svg><desc></svg><script>", each("<b x=%d>", 300)+strings.Repeat("<p>x", 3000), "</script>"+end),
		"hidden in CDATA":             fill(open+"<svg><desc></desc><![CDATA[", each("<b x=%d>", 300)+strings.Repeat("<p>x", 3000), "]]>"+end),
		"paragraphs":                  fill(open, "<p>", end),
		"breaks":                      fill(open, "<br>", end),
		"breaks in the regions":       fill("<html><head></head><body><div id=\"main-content\">", "<br>", "</div>"+end),
		"comments in the regions":     fill("<html><head></head><body><div id=\"main-content\">", "<!---->", "</div>"+end),
		"end tags of paragraphs":      fill(open, "</p>", end),
		"end tags of nothing":         fill(open+strings.Repeat("<div>", 480), "</x>", end),
		"ignored tags between text":   fill(open, "a</x>", end),
		"text in a table":             fill(open+"<table>", "a<tr>", end),
		"deep text in a table":        fill(open+strings.Repeat("<div>", 480)+"<table>", "a<b>", end),
		"nested tables":               fill(open, strings.Repeat("<table>a<tr>b<td>", 100)+strings.Repeat("</table>", 100), end),
		"attributes of one tag":       open + "<p" + each(" a%d", n/9) + ">" + end,
		"attributes of many tags":     fill(open, "<p a b c d e f g h>", end),
		"attributes of the body":      open + each("<body a%d>", n/14) + end,
		"long equal attributes":       fill(open, "<b x="+strings.Repeat("y", 20000)+">", end),
		"deep":                        fill(open, "<div>", end),
		"deep and wide":               fill(open, strings.Repeat("<div>", 400)+strings.Repeat("</div>", 400), end),
		"selects":                     fill(open, "<select><option>x<optgroup>", end),
		"templates":                   fill(open, "<template><td></template>", end),
		"framesets":                   fill("<html><frameset>", "<frame><noframes>x</noframes>", "</frameset></html>"),
		"svg":                         fill(open, "<svg><g><p>", end),
		"math":                        fill(open, "<math><mi><b><mo>", end),
		"comments":                    fill(open, "<!---->", end),
		"entities":                    fill(open, "&notin;&ampx", end),
		"cards":                       fill(open+"<div class=search-results>", "<p class=result>", end),
		"cards in the regions":        fill("<html><head></head><body><div class=\"search-results organic\">", `<div class="result"></div>`, "</div>"+end),
		"cards deep in long classes":  fill(open+strings.Repeat("<div class=\""+strings.Repeat("search-result ", 700)+"\">", 400), `<p class=result>`, end),
		"cards of one id":             fill(open, `<p class=result data-ypid=1><b class=business-name>x</b>`, end),
		"cards around cards":          fill("<html><head></head><body><div class=\"search-results organic\">"+strings.Repeat(`<div class="result">`, 450), "<a class=x></a>", strings.Repeat("</div>", 451)+end),
		"named cards around cards":    fill("<html><head></head><body><div class=\"search-results organic\">"+each(`<div class="result" data-ypid="%d"><b class="business-name">x</b>`, 450), "<a class=x></a>", strings.Repeat("</div>", 451)+end),
		"cards in a long class":       fill(open+`<div class="search-results `+strings.Repeat("x ", min(n/3, 400_000))+`">`, `<b class=result>`, end),
		"a card of many words":        open + `<div class="search-results ` + strings.Repeat("x ", min(n/3, 400_000)) + `"><b class="` + strings.Repeat("result ", min(n/20, 60_000)) + `">` + end,
		"nested fields":               fill(open+"<div class=result data-ypid=1>", strings.Repeat("<i class=adr>", 300)+strings.Repeat("</i>", 300), end),
		"links to cities":             fill(open+strings.Repeat("<section class=\""+strings.Repeat("colum ", 400)+"\">", 400), "<a href=/b-az>", end),
		"JSON-LD, deep":               open + `<script type="application/ld+json">` + strings.Repeat(`[{"a":`, n/7) + "</script>" + end,
		"JSON-LD, wide":               fill(open+`<script type="application/ld+json">[`, `{"@type":"Plumber","name":"x"},`, `1]</script>`+end),
		"JSON-LD, scripts":            fill(open, `<script type="application/ld+json">[{},]</script>`, end),
		"microdata, names":            open + `<div itemscope itemtype=Plumber><p itemprop="` + strings.Repeat("a ", n/2-200) + `">x</p></div>` + end,
		"microdata, deep":             fill(open+"<div itemscope itemtype=Plumber>"+strings.Repeat("<div itemprop=name>", 400), "<p>", end),
		"microdata, items":            fill(open, "<p itemscope itemtype=Plumber><b itemprop=name>x</b>", end),
		"hCard, deep":                 fill(open+"<div class=vcard>"+strings.Repeat(`<div class="fn adr tel url">`, 400), "<p>", end),
		"hCard, classes":              open + `<div class=vcard><p class="` + strings.Repeat("fn ", n/3-200) + `">x</p></div>` + end,
		"detail, lists":               fill(open+"<div id=bpp data-ypid=1><div id=business-info><dl><dt>AKA", "<dd>x</dd>", "</dl></div></div>"+end),
		"detail, one list":            fill(open+"<div id=bpp data-ypid=1><div id=business-info><dl><dt>AKA<dd>", "<i>a;</i>", "</dl></div></div>"+end),
	}
}

// readers are all ways to a tree, by the kind of page.
func readers(t testing.TB) map[string]func(body []byte) {
	yellow, own := builtin(t, "yellowpages"), prairie(t)
	at := func(s string) *url.URL { return urlOf(t, s) }
	list, detail, index := finalURL(t), at("https://www.yellowpages.com/springfield-il/mip/x-1"), at("https://www.yellowpages.com/state-az?page=a")
	ownList, ownPage := at(prairieList), at("https://dir.example.com/biz/acme-400001")
	return map[string]func([]byte){
		"results":    func(b []byte) { _, _ = yellow.ParsePage(b, list, 200) },
		"detail":     func(b []byte) { _, _ = yellow.ParseDetail(b, detail, 200) },
		"index":      func(b []byte) { _, _ = yellow.ParseIndex(b, index, 200, "AZ") },
		"structured": func(b []byte) { _, _ = own.ParsePage(b, ownList, 200) },
		"own page":   func(b []byte) { _, _ = own.ParseDetail(b, ownPage, 200) },
	}
}

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
	for name, page := range seedPages(t) {
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
	for name, page := range hostilePages(20_000) {
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
		t.Errorf("the tree has %d units, the census counted %d", got, c.units)
	}
}

// FuzzCensus looks for pages of which html.Parse makes more than was counted. The
// input is repeated: what adds up shows.
func FuzzCensus(f *testing.F) {
	for _, page := range hostilePages(600) {
		f.Add(page, uint8(3))
	}
	for _, page := range seedPages(f) {
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

func urlOf(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
