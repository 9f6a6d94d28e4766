package site

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"ypcrawl/crawl/site/structured"
)

// finalURL is where the test pages are said to come from.
func finalURL(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://www.yellowpages.com/springfield-il/plumbers")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func builtin(t testing.TB, name string) *Source {
	t.Helper()
	s, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkEqual compares what the scanner builds of a page, and what ParsePage
// makes of that, with the same regions of the tree of the whole page. It reports whether the
// scanner took the page on at all.
func checkEqual(t testing.TB, s *Source, page []byte) (scanned bool) {
	t.Helper()
	checkResults(t, s, page)
	var c scanner
	c.reset(string(page), &s.regions, &arena{})
	if !c.run() {
		return false
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("the scanner took a page that html.Parse refuses: %v", err)
	}
	if got, want := c.scripts, structured.Scripts(doc); !slices.Equal(got, want) {
		t.Fatalf("scripts:\ngot  %q\nwant %q", got, want)
	}
	roots := s.regions.find(doc, nil)
	if len(c.roots) != len(roots) {
		t.Fatalf("regions: got %d, want %d", len(c.roots), len(roots))
	}
	for i := range roots {
		if diff := treeDiff(c.roots[i], roots[i], "region"); diff != "" {
			t.Fatalf("region %d: %s", i, diff)
		}
	}
	return true
}

func checkResults(t testing.TB, s *Source, page []byte) {
	t.Helper()
	final := finalURL(t)
	region := s.parseRegions(page, final)
	if region == nil {
		return
	}
	doc, end, err := parseTree(page)
	if err == nil {
		err = s.cut(OK, end, final)
	}
	if err != nil {
		t.Fatalf("regions parsed, the whole page not: %v", err)
	}
	scripts := structured.Scripts(doc)
	regions, _ := graft(s.regions.find(doc, nil))
	whole := s.extract(s.workspace(), regions, scripts, final, false)
	opts := cmp.Options{cmpopts.IgnoreFields(Page{}, "Via"), cmp.AllowUnexported(Page{})}
	if diff := cmp.Diff(whole, region, opts); diff != "" {
		t.Fatalf("results differ (-whole +region):\n%s", diff)
	}
}

// treeDiff describes the first difference between two trees, or is "". The
// parser sorts the attributes of formatting elements, so their order does not
// count.
func treeDiff(a, b *html.Node, path string) string {
	if a.Type != b.Type || a.Data != b.Data || a.DataAtom != b.DataAtom || a.Namespace != b.Namespace {
		return fmt.Sprintf("%s: got %v %q, want %v %q", path, a.Type, a.Data, b.Type, b.Data)
	}
	if x, y := sorted(a.Attr), sorted(b.Attr); !slices.Equal(x, y) {
		return fmt.Sprintf("%s <%s>: attributes: got %q, want %q", path, a.Data, x, y)
	}
	x, y, i := a.FirstChild, b.FirstChild, 0
	for ; x != nil && y != nil; x, y, i = x.NextSibling, y.NextSibling, i+1 {
		if x.Parent != a || x.NextSibling != nil && x.NextSibling.PrevSibling != x {
			return fmt.Sprintf("%s: child %d is badly linked", path, i)
		}
		if diff := treeDiff(x, y, fmt.Sprintf("%s/%s[%d]", path, a.Data, i)); diff != "" {
			return diff
		}
	}
	if x != nil || y != nil {
		return fmt.Sprintf("%s <%s>: children after %d: got %v, want %v", path, a.Data, i, x, y)
	}
	return ""
}

func sorted(attrs []html.Attribute) []html.Attribute {
	out := slices.Clone(attrs)
	slices.SortFunc(out, func(a, b html.Attribute) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// fragments are what mutations put into pages: everything that can make the
// tree of a region differ from the nesting of its tags.
var fragments = []string{
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
	"<marquee>", "<object>", "<applet>", "<image>", "<keygen>", "<menuitem>", "<search></search>", "<dialog></dialog>", "<center>", "<address>",
}

// mutate cuts, doubles and inserts at places that rapid picks.
func mutate(t *rapid.T, page string) string {
	for range rapid.IntRange(0, 4).Draw(t, "mutations") {
		at := rapid.IntRange(0, len(page)).Draw(t, "at")
		if rapid.Bool().Draw(t, "at a tag") {
			if j := strings.IndexByte(page[at:], '<'); j >= 0 {
				at += j
			}
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			end := min(len(page), at+rapid.IntRange(1, 40).Draw(t, "length"))
			page = page[:at] + page[end:]
		case 1:
			end := min(len(page), at+rapid.IntRange(1, 200).Draw(t, "length"))
			page = page[:end] + page[at:end] + page[end:]
		default:
			page = page[:at] + rapid.SampledFrom(fragments).Draw(t, "fragment") + page[at:]
		}
	}
	return page
}

func TestRegionEqualsWhole(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	pages := seedPages(t)
	t.Run("SeedPages", func(t *testing.T) {
		for name, page := range pages {
			checkEqual(t, s, []byte(page))
			_ = name
		}
	})
	t.Run("MutatedPages", func(t *testing.T) {
		names := make([]string, 0, len(pages))
		for name := range pages {
			names = append(names, name)
		}
		slices.Sort(names)
		scanned := 0
		rapid.Check(t, func(rt *rapid.T) {
			page := mutate(rt, pages[rapid.SampledFrom(names).Draw(rt, "page")])
			if checkEqual(t, s, []byte(page)) {
				scanned++
			}
		})
		t.Logf("the scanner took on %d pages", scanned)
		if scanned == 0 {
			t.Error("the scanner took none of the pages: the test proves nothing")
		}
	})
	t.Run("WithoutHead", func(t *testing.T) {
		for head, plain := range map[string]bool{
			"": true, "<title>x | The Real Yellow Pages</title>": true, "<noscript><img></noscript>": true,
			"<!-- c --><meta charset=utf-8>\n<title>t</title><script>1<2</script>": true, "<head></head>": true, "<HEAD><title>t</title></HEAD>": true,
			"</head>": false, "x": false, "<div></div>": false, "<header></header>": false, "<title>t</title></head>": false, "<svg><title>t</title></svg>": false,
		} {
			page := []byte("<!DOCTYPE html><html>" + head + `<body><div id="main-content">` + aCard + `</div></body></html>`)
			if checkEqual(t, s, page) != plain {
				t.Errorf("read by regions: %t, of %s", !plain, page)
			}
		}
	})
	t.Run("Fragments", func(t *testing.T) {
		for _, a := range fragments {
			for _, b := range fragments {
				checkEqual(t, s, []byte(shellPage(a+b+"x")))
				checkEqual(t, s, []byte(shellPage(a+`<div id="main-content">`+b+`y</div>z`)))
			}
		}
	})
}

// shellPage puts content into the body of a page in good order, in and beside
// a region.
func shellPage(content string) string {
	return "<!DOCTYPE html><html><head><title>t</title></head><body><div>a" + content +
		`</div><main id="main-content"><p>b</p>` + content + `</main></body></html>`
}

func FuzzRegionEqualsWhole(f *testing.F) {
	s := builtin(f, "yellowpages")
	for _, page := range seedPages(f) {
		f.Add([]byte(page))
	}
	for _, frag := range fragments {
		f.Add([]byte(shellPage(frag)))
	}
	f.Fuzz(func(t *testing.T, page []byte) { checkEqual(t, s, page) })
}
