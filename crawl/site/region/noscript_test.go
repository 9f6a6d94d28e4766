package region

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region/regiontest"
)

// TestInNoscript: what Find finds in noscript, by whether it was told to.
func TestInNoscript(t *testing.T) {
	for name, c := range map[string]struct {
		page, in string // the selector that counts in noscript
		want     int    // elements; -1 = as many as outside
	}{
		"Class":         {`<noscript><div class="card">x</div></noscript>`, ".card", 1},
		"Other":         {`<noscript><div class="card">x</div></noscript>`, ".next", 0},
		"Outside":       {`<div class="card"></div><noscript><div class="card">x</div></noscript>`, ".card", 2},
		"Around":        {`<div class="list"><noscript><p><b class="card">x</b></noscript></div>`, ".list .card", 1},
		"Parent":        {`<div class="list"><noscript><b class="card">x</b></noscript></div>`, ".list > .card", 0},
		"Tag":           {`<noscript><A HREF="x">x</A></noscript>`, "a", 1},
		"Attribute":     {`<noscript><a rel="x next">x</a></noscript>`, "a[rel~=next]", 1},
		"Not":           {`<noscript><a class="next off">x</a><a class="next">x</a></noscript>`, "a.next:not(.off)", 1},
		"Any":           {`<noscript><i id="x">x</i></noscript>`, "*", -1},
		"Entity":        {`<noscript><i class="c&#97;rd">x</i></noscript>`, ".card", 1},
		"Image":         {`<noscript><img class="card" src="x"></noscript>`, ".card", 0},
		"Text":          {`<noscript>.card &lt;i class="card"&gt;</noscript>`, ".card", 0},
		"NoAttribute":   {`<noscript><article>x</article></noscript>`, "article", 0},
		"Template":      {`<noscript><template><i class="card">x</i></template></noscript>`, ".card", 0},
		"InTemplate":    {`<template><noscript><i class="card">x</i></noscript></template>`, ".card", 0},
		"Head":          {`<head><noscript><link rel="next" href="x"></noscript></head>`, "link[rel~=next]", 1},
		"Nested":        {`<noscript><noscript><i class="card">x</i></noscript>`, ".card", 1},
		"NestedThrice":  {`<noscript><noscript><noscript><i class="card">x</i></noscript>`, ".card", 0},
		"SVG":           {`<svg><noscript><i class="card">x</i></noscript></svg>`, ".card", 0},
		"Unclosed":      {`<noscript><i class="card">x`, ".card", 1},
		"TooDeep":       {`<noscript>` + strings.Repeat("<i class=x>", 600) + `<i class="card">x</noscript>`, ".card", 0},
		"TooLong":       {`<noscript><i class="card">` + strings.Repeat("x", maxNoscriptText) + `</noscript>`, ".card", 0},
		"ClassOfItsOwn": {`<noscript class="card"><i class="x">x</i></noscript>`, ".card", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var x Selectors
			for _, text := range []string{".list", ".card", ".next", c.in} {
				if _, err := x.Add(text); err != nil {
					t.Fatal(err)
				}
			}
			id, _ := x.Add(c.in)
			doc, _, err := Parse([]byte(c.page))
			if err != nil {
				t.Fatal(err)
			}
			outside := x.NewHits()
			x.Find(doc, outside, nil)
			x.InNoscript(id)
			for range 2 { // a noscript is opened once
				found := x.NewHits()
				x.Find(doc, found, nil)
				if n := len(found[id]); c.want >= 0 && n != c.want || c.want < 0 && n <= len(outside[id]) {
					t.Errorf("found %d, want %d", n, c.want)
				}
			}
			if text := string(AppendText(nil, doc, 1000)); strings.Contains(text, "x") && !strings.HasPrefix(c.page, `<div class="card">`) && name != "SVG" {
				t.Errorf("texts of noscript are the page's: %q", text)
			}
		})
	}
}

// TestLeftToWhole: which noscripts leave a page to Parse, and which of them only tell that there may be more outside.
func TestLeftToWhole(t *testing.T) {
	in := yellow(t)
	var x Selectors
	card, _ := x.Add(".search-results .result")
	next, _ := x.Add("a.next")
	x.InNoscript(card, next)
	in.InNoscript(&x)
	for content, want := range map[string]struct{ outside, inside, more bool }{
		`<img src="x" class="next">`:                    {true, true, false},
		`<p>Turn on scripts</p>`:                        {true, true, false},
		`<p class="x">Turn on <a href="y">it</a></p>`:   {true, true, false},
		`<a class="next" href="x">n</a>`:                {true, false, true},
		`<i class="result">x</i>`:                       {true, false, true},
		`<div class="pagination"><a href=x>2</a></div>`: {false, true, false},
		`<div id="main-content"><i class=x></i></div>`:  {false, true, false},
		`<div class="p&#97;gination"></div>`:            {false, false, true},
	} {
		var p Parser
		_, _, ok := p.Parse("<html><body><noscript>"+content+"</noscript><div id=main-content>x</div></body></html>", in)
		if more := ok && p.Outside(); ok != want.outside || more != (want.more && want.outside) {
			t.Errorf("outside: read %t, more %t: %s", ok, more, content)
		}
		if _, _, ok = p.Parse("<html><body><div id=main-content><noscript>"+content+"</noscript></div></body></html>", in); ok != want.inside {
			t.Errorf("inside: read %t: %s", ok, content)
		}
	}
}

// FuzzNoscript opens all noscripts of a page: the census has counted what comes of them, and no element that Find
// finds there is missed for what its text says.
func FuzzNoscript(f *testing.F) {
	for _, page := range regiontest.Hostile(600) {
		f.Add("<noscript>"+page+"</noscript>", uint8(3))
	}
	for _, fragment := range regiontest.Fragments {
		f.Add("<noscript>"+fragment+`<i class="card next" href=x>`+fragment, uint8(1))
	}
	var x Selectors
	for _, text := range []string{".card", "a.next", "[rel~=next]", "#main-content", "b"} {
		if _, err := x.Add(text); err != nil {
			f.Fatal(err)
		}
	}
	all := x.AllInNoscript()
	f.Fuzz(func(t *testing.T, page string, times uint8) {
		if len(page) > 4000 {
			return
		}
		page = strings.Repeat(page, 1+int(times%20))
		c := census{body: []byte(page)}
		if c.take() != nil {
			return
		}
		doc, _, err := Parse([]byte(page))
		if err != nil {
			return
		}
		found := all.NewHits()
		all.Find(doc, found, nil)
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && n.Data == "noscript" {
				OpenNoscript(n)
			}
		}
		if got := treeUnits(doc); got > 2*c.units+8 { // formatting that is opened anew counts half its attributes
			t.Errorf("the tree has %d units, the census counted %d of %.300q", got, c.units, page)
		}
		for id := range found {
			if more := all.NewHits(); len(found[id]) < MaxHits {
				all.Find(doc, more, nil)
				if !strings.Contains(page, "&") && !slices.Equal(found[id], more[id]) {
					t.Errorf("%q: %d elements, %d when all is open, of %.300q", all.Texts()[id], len(found[id]), len(more[id]), page)
				}
			}
		}
	})
}
