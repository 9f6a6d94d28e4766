package region

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"ypcrawl/crawl/site/region/regiontest"
)

// yellow are containers as a definition names them.
func yellow(t testing.TB) *Containers {
	t.Helper()
	c := &Containers{}
	for _, sel := range []string{"#main-content", "#main-aside", ".search-results", ".featured-listings", ".pagination", ".showing-count"} {
		if err := c.Add(sel); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func goldenPages(t testing.TB) map[string]string {
	t.Helper()
	return regiontest.Golden(t, "../../../testdata/pages")
}

// checkEqual compares what a Parser builds of a page with the same containers in the tree
// of the whole page. It reports whether the Parser took the page on at all.
func checkEqual(t testing.TB, in *Containers, page []byte) (scanned bool) {
	t.Helper()
	var p Parser
	_, scripts, ok := p.Parse(string(page), in)
	if !ok {
		return false
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("the parser took a page that html.Parse refuses: %v", err)
	}
	if want := Scripts(doc); !slices.Equal(scripts, want) {
		t.Fatalf("scripts:\ngot  %q\nwant %q", scripts, want)
	}
	href, based := p.Base()
	if want, ok := Base(doc); href != want || based != ok {
		t.Fatalf("base: got %q, %t, want %q, %t", href, based, want, ok)
	}
	roots := in.Find(doc)
	if len(p.roots) != len(roots) {
		t.Fatalf("containers: got %d, want %d", len(p.roots), len(roots))
	}
	for i := range roots {
		if diff := treeDiff(p.roots[i], roots[i], "container"); diff != "" {
			t.Fatalf("container %d: %s", i, diff)
		}
	}
	return true
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

func TestRegionEqualsWhole(t *testing.T) {
	t.Parallel()
	in, pages := yellow(t), goldenPages(t)
	t.Run("GoldenPages", func(t *testing.T) {
		for _, page := range pages {
			checkEqual(t, in, []byte(page))
		}
	})
	t.Run("MutatedPages", func(t *testing.T) {
		names := slices.Sorted(maps.Keys(pages))
		scanned := 0
		rapid.Check(t, func(rt *rapid.T) {
			pick := func(what string, most int) int { return rapid.IntRange(0, most).Draw(rt, what) }
			if checkEqual(t, in, []byte(regiontest.Mutate(pages[names[pick("page", len(names)-1)]], pick))) {
				scanned++
			}
		})
		t.Logf("the parser took on %d pages", scanned)
		if scanned == 0 {
			t.Error("the parser took none of the pages: the test proves nothing")
		}
	})
	t.Run("WithoutHead", func(t *testing.T) {
		for head, plain := range map[string]bool{
			"": true, "<title>x | The Real Yellow Pages</title>": true, "<noscript><img></noscript>": true,
			"<!-- c --><meta charset=utf-8>\n<title>t</title><script>1<2</script>": true, "<head></head>": true,
			"<base><BASE target=x href='/a?b&amp;c'><base href=/d>": true, "<head><base href=/a></head>": true, "<noscript><base href=/a></noscript>": true,
			"<head></head><base href=/a>": false, "<template><base href=/a></template>": false, "<HEAD><title>t</title></HEAD>": true,
			"</head>": false, "x": false, "<div></div>": false, "<header></header>": false, "<title>t</title></head>": false, "<svg><title>t</title></svg>": false,
		} {
			page := []byte("<!DOCTYPE html><html>" + head + `<body><div id="main-content"><p>x</p></div></body></html>`)
			if checkEqual(t, in, page) != plain {
				t.Errorf("read by containers: %t, of %s", !plain, page)
			}
		}
	})
	t.Run("Fragments", func(t *testing.T) {
		for _, a := range regiontest.Fragments {
			for _, b := range regiontest.Fragments {
				checkEqual(t, in, []byte(regiontest.Shell(a+b+"x")))
				checkEqual(t, in, []byte(regiontest.Shell(a+`<div id="main-content">`+b+`y</div>z`)))
			}
		}
	})
}

func FuzzRegionEqualsWhole(f *testing.F) {
	in := yellow(f)
	for _, page := range goldenPages(f) {
		f.Add([]byte(page))
	}
	for _, fragment := range regiontest.Fragments {
		f.Add([]byte(regiontest.Shell(fragment)))
	}
	f.Fuzz(func(t *testing.T, page []byte) { checkEqual(t, in, page) })
}

// FuzzAttrText compares what is made of an attribute's value with what the
// tokenizer makes of it.
func FuzzAttrText(f *testing.F) {
	for _, s := range []string{
		"", "a", "&amp;", "&", "&&", "a&", "&a", "&amp", "&amp=", "&lt;&gt;&quot;", "?a=1&b=2&copy=3&lt", "&copy", "&copy;", "&notit;", "&#38;",
		"&#x26", "&#", "&#x", "&;", "& amp;", "\r\n&\r", "{&quot;a&quot;:1}", "&nbsp;", "&Aacute", "&ampamp;", "&a;&b;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\"\x00") {
			return
		}
		z := html.NewTokenizer(strings.NewReader(`<a b="` + s + `">`))
		z.Next()
		z.TagName()
		_, want, _ := z.TagAttr()
		if got := attrText(s); got != string(want) {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	})
}

func TestBase(t *testing.T) {
	t.Parallel()
	const main = `<div id="main-content"><p>x</p></div>`
	for page, want := range map[string]string{
		`<head><base target="_top"><base href="/a&amp;b"><base href="/c"></head><body>` + main: "/a&b",
		`<body><base href="/a">` + main:                                                      "/a",
		`<body>` + main + `<base href="">` + `<base href="/b">`:                              "",
		`<body><template><base href="/a"></template>` + main:                                 "none",
		`<body><svg><base href="/a"></base></svg>` + main:                                    "none",
		`<head><noscript><base href="/a"></noscript></head>` + main:                          "none",
		`<head><!-- <base href="/a"> --><title><base href="/b"></title></head><body>` + main: "none",
		`<body><table><base href="/a"><tr><td>x</table>` + main:                              "/a",
		"<head><base href=\"/a\nb\"></head><body>" + main:                                    "/a\nb",
	} {
		doc, err := html.Parse(strings.NewReader("<!DOCTYPE html><html>" + page + "</body></html>"))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Base(doc)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", page, got, want)
		}
		checkEqual(t, yellow(t), []byte("<!DOCTYPE html><html>"+page+"</body></html>"))
	}
}
