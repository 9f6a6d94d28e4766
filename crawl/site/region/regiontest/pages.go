// Package regiontest holds the pages on which the readers of HTML are tested: those of
// package region, and those of package site that read what it builds.
package regiontest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Golden returns the golden pages in a folder, by the names of their files.
func Golden(t testing.TB, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.html"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages in %s: %v", folder, err)
	}
	pages := map[string]string{"empty": ""}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(b)
	}
	return pages
}

// Shell puts content into the body of a page in good order, in and beside a container.
func Shell(content string) string {
	return "<!DOCTYPE html><html><head><title>t</title></head><body><div>a" + content +
		`</div><main id="main-content"><p>b</p>` + content + `</main></body></html>`
}

// Fragments are what mutations put into pages: everything that can make the
// tree of a region differ from the nesting of its tags.
var Fragments = []string{
	"<p>", "</p>", "<li>", "</li>", "<dd>", "<dt>", "<option>", "</option>", "<optgroup>", "<div>", "</div>", "<span>", "</span>",
	"<b>", "</b>", "<i>", "</i>", "<a href=x>", "</a>", "<nobr>", "<font color=red>", "</font>", "<em><strong>", "</em></strong>",
	"<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<tbody>", "<caption>", "<col>", "<table><tr><td>x</td></tr></table>",
	"<table><tbody><tr><th>a</th></tr></tbody> <tfoot></tfoot></table>", "<table>x</table>", "<table><tr>\n<td><b>a</td></tr></table>",
	"<select>", "</select>", "<select><option>a</option></select>", "<input>", "<button>", "</button>", "<form>", "</form>",
	"<h2>", "</h2>", "<h3>a</h3>", "<ul><li>a</li></ul>", "<dl><dt>a</dt><dd>b</dd></dl>", "<ruby><rt>", "<hr>", "<hr/>", "<br>", "<br/>", "</br>",
	"<svg>", "</svg>", `<svg viewBox="0 0 1 1"><path d="M0"/></svg>`, "<svg><g><p></g></svg>", "<svg><title>x</title></svg>", "<math>", "<svg/>",
	`<svg><use xlink:href="#a"></use></svg>`, "<svg><style></style></svg>", "<svg><![CDATA[x]]></svg>", "<svg><foreignObject><div>",
	"<template>", "</template>", "<noscript><p></noscript>", "<noscript>", "<iframe></iframe>", "<iframe>", "<textarea>\n", "</textarea>",
	"<title>", "<style>", "</style>", "<script>", "</script>", "<script><!--</script>", "<script><!--<script></script>", "<script></SCRIPT >",
	`<script type="application/ld+json">{"@type":"LocalBusiness"}</script>`, `<script type='application/LD+json' src=x></script>`,
	"<pre>\n", "</pre>", "<plaintext>", "<xmp>", "<frameset>", "<body class=x>", "<html id=y>", "<head>", "</body>", "</html>", "</head>",
	"<!-- c -->", "<!-->", "<!--->", "<!-- a --!> b -->", "<!---->", "<!doctype html>", "<?php ?>", "<![CDATA[x]]>", "<!x>", "</>", "</ x>", "<", "< ", "<3",
	"\x00", "\r", "\r\n", "&nbsp;", "&amp", "&ampx;", "&copy=", "&notit;", "&#0;", "&#x80;", "&#13;", "&", "\ufeff", "\x1b", "\xff",
	`<div id="main-content">`, `<div class="search-results organic">`, `<div class="result" data-ypid="77"><a class="business-name">X</a></div>`,
	`<div class="pagination"><a class="next" href="?page=3&amp;s=1&x=2&copy=3&lt;">n</a></div>`, `<div class=pagination>`, `<div CLASS="search-results">`,
	`<div class="search-results&#32;x">`, `<div id=main-content/>`, `<div class=a class=search-results>`, `<div a=1 a=2 A=3>`, `<div a='"'>`, `<div a="x"b="y">`,
	`<div "a">`, `<div a=">">`, `<div a=b=c>`, `<div =a>`, `<div a = b>`, `<div / a>`, `<div a/>`, `<DIV>`, `</DIV>`, `</div >`, `</div x>`, `<x-y>`, `</x-y>`,
	"<base>", "<base href=/a>", "<base HREF='/b&amp;c'/>", "<base href='' href=/d>", "<noscript><base href=/e></noscript>", "<template><base href=/f></template>", "<svg><base href=/g></svg>",
	"<marquee>", "<object>", "<applet>", "<image>", "<keygen>", "<menuitem>", "<search></search>", "<dialog></dialog>", "<center>", "<address>",
}

// Mutate cuts, doubles and inserts at places that pick chooses, from 0 to most.
func Mutate(page string, pick func(what string, most int) int) string {
	for range pick("mutations", 4) {
		at := pick("at", len(page))
		if j := strings.IndexByte(page[at:], '<'); j >= 0 && pick("at a tag", 1) == 1 {
			at += j
		}
		switch pick("kind", 3) {
		case 0:
			end := min(len(page), at+1+pick("length", 39))
			page = page[:at] + page[end:]
		case 1:
			end := min(len(page), at+1+pick("length", 199))
			page = page[:end] + page[at:end] + page[end:]
		default:
			page = page[:at] + Fragments[pick("fragment", len(Fragments)-1)] + page[at:]
		}
	}
	return page
}

// Hostile returns the worst pages known, by what they aim at. Each is made as large
// as it must be to hurt, up to n bytes.
func Hostile(n int) map[string]string {
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
	pages := map[string]string{
		"formatting reopened": fill(open+"<p>"+each("<b x=%d>", 450)+"</p>", "<p>x", end), "equal formatting": fill(open+"<p>"+strings.Repeat("<b>", 400), "<p>x", end),
		"links in blocks":             fill(open, "<a href=1><div><div><div><div><div><div><div><div><div>x</a></div></div></div></div></div></div></div></div></div>", "<p>x"+end),
		"many left in blocks":         fill(open+each("<b x=%d><div><div><div><div><div><div><div><div><div></b></div></div></div></div></div></div></div></div></div>", 400), "<p>x</p>", end),
		"end tags stopped by objects": fill(open+each("<b x=%d><object></b></object>", 450), "<p>x</p>", end),
		"end tags stopped by tables":  fill(open+each("<b x=%d><table></b></table>", 450), "<p>x</p>", end),
		"end tags stopped by selects": fill(open+each("<b x=%d><select></b></select>", 450), "<p>x</p>", end),
		"four equal":                  fill(open+each("<b x=%[1]d><p><b x=%[1]d><b x=%[1]d><b x=%[1]d></p></b></b></b></b>", 450), "<p>x</p>", end),
		"nobr":                        fill(open+each("<nobr x=%d>", 400)+"</p>", "<p><nobr>x", end),
		"hidden in a title of an svg": fill(open+"<svg><title>", each("<b x=%d>", 300)+strings.Repeat("<p>x", 3000), "</title>"+end),
		"hidden in a script":          fill(open+"<svg><desc></svg><script>", each("<b x=%d>", 300)+strings.Repeat("<p>x", 3000), "</script>"+end),
		"hidden in CDATA":             fill(open+"<svg><desc></desc><![CDATA[", each("<b x=%d>", 300)+strings.Repeat("<p>x", 3000), "]]>"+end),
		"breaks in the regions":       fill("<html><head></head><body><div id=\"main-content\">", "<br>", "</div>"+end),
		"comments in the regions":     fill("<html><head></head><body><div id=\"main-content\">", "<!---->", "</div>"+end), "text in a table": fill(open+"<table>", "a<tr>", end),
		"nested tables": fill(open, strings.Repeat("<table>a<tr>b<td>", 100)+strings.Repeat("</table>", 100), end), "attributes of one tag": open + "<p" + each(" a%d", n/9) + ">" + end,
		"attributes of the body": open + each("<body a%d>", n/14) + end, "deep and wide": fill(open, strings.Repeat("<div>", 400)+strings.Repeat("</div>", 400), end),
		"noscripts": fill(open, `<noscript><a href=x class="next result"><b class=x>`+"</noscript>", end), "noscripts in noscripts": fill(open, "<noscript><a href=x class=next>", end),
		"formatting in noscripts": fill(open+"<noscript><p>"+each("<b x=%d>", 450)+"</p>", "<p>x", "</noscript>"+end),
		"many in noscripts":       fill(open, "<noscript><p>"+each("<b class=result x=%d>", 40)+strings.Repeat("<p>", 40)+"</noscript>", end),
		"cards of noscripts":      fill("<html><head></head><body><div class=\"search-results organic\">"+strings.Repeat(`<div class="result">`, 450), "<noscript><a class=x></a></noscript>", strings.Repeat("</div>", 451)+end),
		"framesets":               fill("<html><frameset>", "<frame><noframes>x</noframes>", "</frameset></html>"), "cards": fill(open+"<div class=search-results>", "<p class=result>", end),
		"cards in the regions":       fill("<html><head></head><body><div class=\"search-results organic\">", `<div class="result"></div>`, "</div>"+end),
		"cards deep in long classes": fill(open+strings.Repeat("<div class=\""+strings.Repeat("search-result ", 700)+"\">", 400), `<p class=result>`, end),
		"cards around cards":         fill("<html><head></head><body><div class=\"search-results organic\">"+strings.Repeat(`<div class="result">`, 450), "<a class=x></a>", strings.Repeat("</div>", 451)+end),
		"named cards around cards":   fill("<html><head></head><body><div class=\"search-results organic\">"+each(`<div class="result" data-ypid="%d"><b class="business-name">x</b>`, 450), "<a class=x></a>", strings.Repeat("</div>", 451)+end),
		"cards in a long class":      fill(open+`<div class="search-results `+strings.Repeat("x ", min(n/3, 400_000))+`">`, `<b class=result>`, end),
		"a card of many words":       open + `<div class="search-results ` + strings.Repeat("x ", min(n/3, 400_000)) + `"><b class="` + strings.Repeat("result ", min(n/20, 60_000)) + `">` + end,
		"links to cities":            fill(open+strings.Repeat("<section class=\""+strings.Repeat("colum ", 400)+"\">", 400), "<a href=/b-az>", end),
		"links of percent signs":     fill(open, "<a href=\""+strings.Repeat("%", 2000)+"\">", end), "links in letters": fill(open, "<a href=ü>", end), "links in folders": fill(open, "<a href=\""+strings.Repeat("/|", 1000)+"\">", end),
		"links below a long base": fill(open+"<base href=\"/?"+strings.Repeat("a&", 3000)+"\">", "<a href=ü>", end), "links to users": fill(open, "<a href=//"+strings.Repeat("@", 1900)+"a.b>", end),
		"links of cards":   fill(open+"<div class=search-results>", `<div class=result data-ypid=1><a class="business-name track-visit-website" href="/mip/`+strings.Repeat("%", 1900)+`">x</a></div>`, end),
		"JSON-LD, links":   fill(open+`<script type="application/ld+json">[`, `{"@type":"Plumber","name":"x","sameAs":[`+strings.Repeat(`"ü",`, 1900)+`1]},`, `1]</script>`+end),
		"JSON-LD, deep":    open + `<script type="application/ld+json">` + strings.Repeat(`[{"a":`, n/7) + "</script>" + end,
		"JSON-LD, wide":    fill(open+`<script type="application/ld+json">[`, `{"@type":"Plumber","name":"x"},`, `1]</script>`+end),
		"microdata, names": open + `<div itemscope itemtype=Plumber><p itemprop="` + strings.Repeat("a ", n/2-200) + `">x</p></div>` + end,
		"microdata, deep":  fill(open+"<div itemscope itemtype=Plumber>"+strings.Repeat("<div itemprop=name>", 400), "<p>", end),
		"detail, lists":    fill(open+"<div id=bpp data-ypid=1><div id=business-info><dl><dt>AKA", "<dd>x</dd>", "</dl></div></div>"+end),
		"detail, one list": fill(open+"<div id=bpp data-ypid=1><div id=business-info><dl><dt>AKA<dd>", "<i>a;</i>", "</dl></div></div>"+end),
	}
	for name, unit := range map[string]string{
		"formatting left in blocks": "<b x=1><div><div><div><div><div><div><div><div><div></b></div></div></div></div></div></div></div></div></div><p>",
		"paragraphs":                "<p>", "breaks": "<br>", "end tags of paragraphs": "</p>", "long equal attributes": "<b x=" + strings.Repeat("y", 20000) + ">",
		"deep": "<div>", "templates": "<template><td></template>", "svg": "<svg><g><p>", "math": "<math><mi><b><mo>", "comments": "<!---->",
		"entities": "&notin;&ampx", "microdata, items": "<p itemscope itemtype=Plumber><b itemprop=name>x</b>",
	} {
		pages[name] = fill(open, unit, end)
	}
	return pages
}
