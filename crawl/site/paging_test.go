package site

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/site/region"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const list2 = "https://www.yellowpages.com/springfield-il/plumbers?page=2"

// pageWith is page 2 of a list with one card, and some HTML behind it.
func pageWith(more string) string {
	return `<!doctype html><html><head><title>x</title></head><body><div id="main-header">x</div><div class="search-results organic"><div class="result" data-ypid="1"><a class="business-name" href="/springfield-il/mip/a-1">A</a></div></div>` + more + `</body></html>`
}

// TestPaging reads paginations of all kinds on page 2 of a list.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := yellowWith(t, "next: [{css: a.renamed, attr: href}]") // a rule that finds nothing any more
	for name, c := range map[string]struct {
		html string
		want string // next page=N; or of the pagination: none, whole, odd, later, and what can't be followed
	}{
		"nothing":                       {``, "none"},
		"empty":                         {`<div class="pagination"></div>`, "none"},
		"back alone":                    {`<div class="pagination"><a href="?page=1">1</a> <span>2</span></div>`, "whole"},
		"back and a disabled next":      {`<div class="pagination"><a href="/springfield-il/plumbers">« Prev</a> <a class="next disabled" href="#">Next</a></div>`, "whole"},
		"a disabled item":               {`<ul class="pagination"><li><a href="/springfield-il/plumbers">1</a></li><li class="active"><a href="#">2</a></li><li class="page-item disabled"><a href="#">Next</a></li></ul>`, "whole"},
		"a disabled button":             {`<nav aria-label="Pagination"><button>1</button><button aria-current="page">2</button><button disabled>Next</button></nav>`, "whole"},
		"page 3 by its number":          {`<div class="pagination"><a href="?page=1">1</a> <span>2</span> <a href="?page=3">3</a></div>`, "page=3"},
		"page 3 by a label":             {`<div class="pagination"><a href="?page=3">Weiter ›</a></div>`, "page=3"},
		"page 3 by a label alone":       {`<p><a href="?page=3">Next</a></p>`, "page=3"},
		"page 3 by the search's":        {`<div class="pager"><a href="/search?search_terms=Plumbers&amp;geo_location_terms=Springfield%2C+IL&amp;page=3">3</a></div>`, "page=3"},
		"page 4 without page 3":         {`<div class="pagination"><a href="?page=1">1</a> <span>2</span> … <a href="?page=4">4</a></div>`, `later "4": it leads to page 4, but this is page 2`},
		"numbers that fit nothing":      {`<div class="pagination"><a href="/x/1">1</a> <b>2</b> <a href="/x/3">3</a></div>`, `later "3": its address matches neither urls.target nor urls.search: /x/3`},
		"a script":                      {`<div class="pagination"><a class="next" href="javascript:goPage(3)">Next</a></div>`, `"Next": a script`},
		"a script behind #":             {`<div class="pagination"><a href="#" onclick="more()">»</a></div>`, `"»": a script`},
		"a form":                        {`<form method="post" action="/more"><input type="hidden" name="p" value="3"><button>Load more</button></form>`, `"Load more": a form`},
		"a button":                      {`<button type="button" class="btn">Show 20 more results</button>`, `"Show 20 more results": a script`},
		"a submit":                      {`<form method="post"><input type="submit" value="Mehr Ergebnisse"></form>`, `"Mehr Ergebnisse": a form`},
		"a role":                        {`<div role="button" tabindex="0">Load more</div>`, `"Load more": a script`},
		"an icon":                       {`<div class="pagination"><a href="?page=1">1</a><b>2</b><a href="javascript:void(0)"><i aria-label="Next"></i></a></div>`, `"Next": a script`},
		"another site":                  {`<div class="pagination"><a href="https://other.example/?page=3">Next</a></div>`, `"Next": another host: other.example`},
		"a block of pages and a script": {`<div class="pagination"><a href="?page=1">1</a><strong>2</strong><a href="javascript:block(2)">»</a></div>`, `"»": a script`},
		"the rule's own, a script":      {`<a class="renamed" href="javascript:next()">›</a>`, `"›": a script`},
		"the rule's own, with a user":   {`<a class="renamed" href="https://me@www.yellowpages.com/springfield-il/plumbers?page=3">›</a>`, `"›": a user name in the address`},
		"the rule's own, behind #":      {`<a class="renamed" href="#">›</a>`, `"›": a script`},
		"the rule's own, this page":     {`<a class="renamed" href="?page=2">›</a>`, "none"},
		"the rule's own, disabled":      {`<a class="renamed disabled" href="javascript:next()">›</a>`, "none"},
		"the rule's own, page 3":        {`<a class="renamed" href="?page=3">›</a>`, "page=3"},
		"classes of Tailwind":           {`<nav aria-label="pagination"><a href="?page=3" class="disabled:opacity-50">Next</a></nav>`, "page=3"},
		"not disabled":                  {`<nav aria-label="pagination"><button class="not-disabled">Next</button></nav>`, `"Next": a script`},
		"an offset":                     {`<div class="pagination"><a href="?start=60">Next</a></div>`, `"Next": its address matches neither urls.target nor urls.search: /springfield-il/plumbers?start=60`},
		"a cursor without words":        {`<div class="pagination"><a href="?cursor=abc"><svg></svg></a></div>`, "odd"},
		"letters":                       {`<div class="pagination"><a href="?letter=A">A</a><a href="?letter=B">B</a></div>`, "odd"},
		"an order":                      {`<div class="pagination"><a href="?page=1">1</a> <b>2</b> <a href="?page=3&amp;sort=name">Sort by name</a></div>`, "odd"},
		"a page of 30 digits":           {`<div class="pagination"><a href="?page=999999999999999999999999999999">»</a></div>`, `"»": its address matches neither urls.target nor urls.search: /springfield-il/plumbers?page=999999999999999999999999999999`},
		"numbers that are no links":     {`<ul class="pagination"><li class="active"><a>2</a></li><li><a>3</a></li><li><a>Next</a></li></ul>`, "odd"},
		"page 2 of 3":                   {`<div class="pagination"><a href="?page=1">1</a> Page <b>2</b> of <b>3</b></div>`, "odd"},
		"words that are no link":        {`<nav class="pagination"><button disabled>Prev</button><div class="next-btn" tabindex=0>Next</div></nav>`, "odd"},
		"top of the page":               {`<div class="pager"><a href="#">Top</a></div>`, "odd"},
		"beside a full count":           {`<p class="showing-count">Showing 1-1 of 1</p><div class="pagination"><a href="javascript:p(3)">3</a></div>`, `later "3": a script`},
		"within a footer":               {`<footer><nav class="pagination"><a href="javascript:p(3)">3</a></nav></footer>`, `later "3": a script`},
		"facets, guides and questions":  {`<div class="facet"><button class="toggle">Show more</button></div><div class="faq"><a href="javascript:;">Show more</a></div><a href="/guides">See more</a><a href="/blog/older">Older</a><a rel="next" href="/blog/how-to">How to</a>`, "none"},
		"a form that people fill in":    {`<form action="/quote"><input type="text" name="zip"><button>Next</button></form>`, "none"},
		"the results themselves":        {`<div id="pageResults"><button><svg></svg></button></div>`, "none"},
		"sizes of pages":                {`<div class="pagination-size"><a href="?per=25">25</a><a href="?per=50">50</a></div>`, "odd"},
		"hidden by its class":           {`<div class="pagination"><a href="?page=1">1</a><b>2</b><a class="load-more d-none" href="javascript:m()">Load more</a></div>`, "odd"},
		"switched off by its class":     {`<div class="pagination"><a href="?page=1">1</a><b>2</b><a class="next off" href="javascript:void(0)">›</a></div>`, "whole"},
		"comments":                      {`<div class="comments-pagination"><a href="javascript:c()">Next</a></div>`, "none"},
		"a button for a gallery":        {`<div class="carousel"><button>Next</button></div><header><button>More results</button></header>`, "none"},
		"hidden":                        {`<div style="display: none"><button>Load more</button></div><button hidden>Load more</button>`, "none"},
		"more of something":             {`<a href="/about">More info</a><a href="/springfield-il/mip/a-1">Read more</a>`, "none"},
		"a link elsewhere":              {`<div class="pagination"><a href="?page=1">1</a><b>2</b><a href="/springfield-il/electricians">Electricians</a></div>`, "odd"},
		"numbers of listings":           {`<div class="pagination"><p>Showing <span>31</span>-<span>60</span> of <b>1108</b></p><a href="?page=1">1</a> <a href="?page=3">3</a></div>`, "page=3"},
		"no language that is known":     {`<div class="pagination"><a href="?page=1">1</a> <a href="?page=3">Mbele</a></div>`, "page=3"},
		"Japanese":                      {`<div class="pagination"><a href="javascript:n()">次へ</a></div>`, `"次へ": a script`},
	} {
		body := pageWith(c.html)
		p, err := s.parseWhole([]byte(body), urlOf(t, list2), 200)
		noError(t, err)
		storetest.Equal(t, said(p), c.want, name)
		byRegion, more := s.parseRegions([]byte(body), urlOf(t, list2))
		if byRegion == nil {
			t.Errorf("%s: not read from its regions", name)
			continue
		}
		if more {
			s.findNext(byRegion, []byte(body), urlOf(t, list2))
		}
		storetest.Equal(t, said(byRegion), c.want, name+", from the regions")
	}
}

// said is what a page says of the pages around it.
func said(p *Page) string {
	if _, page, ok := strings.Cut(p.NextURL, "page="); ok {
		return "page=" + page
	}
	switch g := p.Paging; {
	case !g.There:
		return "none"
	case g.Whole:
		return "whole"
	case g.Later:
		return strings.TrimSpace("later " + g.Unfollowed)
	case g.Unfollowed != "":
		return g.Unfollowed
	}
	return "odd"
}

// TestPagingWithoutPageInAddress: which page it is stands in the pagination alone.
func TestPagingWithoutPageInAddress(t *testing.T) {
	t.Parallel()
	s := yellowWith(t, "next: [{css: a.renamed, attr: href}]")
	at := "https://www.yellowpages.com/springfield-il/plumbers?start=60"
	links := func(ns ...int) (out string) {
		for _, n := range ns {
			out += fmt.Sprintf(`<a href="?start=%d">%d</a>`, 30*(n-1), n)
		}
		return `<div class="pagination">` + out + `<span>3</span>`
	}
	for want, html := range map[string]string{
		"whole": links(1, 2) + `</div>`,
		`later "4": its address matches neither urls.target nor urls.search: /springfield-il/plumbers?start=90`: links(1, 2) + `<a href="?start=90">4</a></div>`,
	} {
		p, err := s.parseWhole([]byte(pageWith(html)), urlOf(t, at), 200)
		noError(t, err)
		storetest.Equal(t, said(p), want, html)
	}
}

// TestLastMarks: signs of a definition by which a last page is known.
func TestLastMarks(t *testing.T) {
	t.Parallel()
	s := yellowWith(t, "last: {selectors: [.the-end], texts: ['Page {n} of {n}', no more results], titles: [last page]}")
	for html, want := range map[string]string{
		`<p>page 7 of 7</p>`:                   `the words "page {n} of {n}"`,
		`<p>Page 7 of 17</p>`:                  "",
		`<p>Page 17 of 7</p>`:                  "",
		`<p>There are no  more results</p>`:    `the words "no more results"`,
		`<div class="the-end"></div>`:          "an element that the definition names",
		`<script>"no more results"</script>`:   "",
		`<p>Page 7 of 9, then page 9 of 9</p>`: `the words "page {n} of {n}"`,
	} {
		p, err := s.ParsePage([]byte(pageWith(html)), urlOf(t, list2), 200)
		noError(t, err)
		storetest.Equal(t, p.LastMark, want, html)
	}
	if s := yellowWith(t, "next: none"); !s.OnePage() || len(s.next) > 0 {
		t.Error("next: none is not read")
	}
}

// FuzzPaging: no page makes the reader of paginations fail, and what it follows is on the source's host.
func FuzzPaging(f *testing.F) {
	for _, html := range []string{`<div class="pagination"><a href="?page=3">3</a></div>`, `<button>Load more</button>`, `<ul class=pager><li>2<li><a href="#">»</a>`} {
		f.Add(html)
	}
	s := yellowWith(f, "next: none")
	f.Fuzz(func(t *testing.T, html string) {
		doc, _, err := region.Parse([]byte(pageWith(html)))
		if err != nil {
			return
		}
		p := &Page{}
		p.Listings = []yp.Listing{{ID: "1", Name: "A"}}
		s.readPaging(p, doc, s.linksAt(urlOf(t, list2)), nil)
		if p.NextURL != "" && !strings.HasPrefix(p.NextURL, "https://www.yellowpages.com/") && !strings.HasPrefix(p.NextURL, "http") {
			t.Errorf("next link %q", p.NextURL)
		}
	})
}

// TestManyControls: a page of nothing but controls costs no more than one of as many elements.
func TestManyControls(t *testing.T) {
	t.Parallel()
	s := yellowWith(t, "next: none")
	for _, one := range []string{`<button>Next</button>`, `<form><button>Load more</button></form>`, `<a href="javascript:n()">Next</a>`, `<div class="pagination"><a href="?page=9">9</a></div>`} {
		body := []byte(pageWith(strings.Repeat(one, 20_000)))
		began := time.Now()
		_, err := s.parseWhole(body, urlOf(t, list2), 200)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: %v, %v", one, took, err)
		}
	}
}
