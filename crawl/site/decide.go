package site

import (
	"fmt"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// evidence is what is there to decide about a page without listings.
type evidence struct {
	doc     *html.Node
	roots   []*html.Node // the source's regions in doc
	scripts []string
	empty   bool // no body at all
	status  int
}

// decide names the outcome of a page without listings. The order is that of
// the rules, each of which assumes that the ones before it did not apply:
// 1 and 2, errors and blocks, are told apart by the fetcher; 3, redirects, and
// 4, listings, by ParsePage.
//
//  5. the page is gone, or says that there is nothing, and is the site's: NoListings
//  6. the site's page, with signs of listings but no card: HTMLChanged
//  7. not the site's page: Unrecognised
//  8. the site's page, no sign of anything: HTMLChanged
//
// "Empty" is never inferred from the absence of cards.
func (s *Source) decide(p *Page, e *evidence) {
	chrome := s.hasChrome(e.doc)
	if chrome {
		if reason := s.saysNothing(p, e); reason != "" {
			p.Outcome, p.Reason, p.NotFound = NoListings, reason, gone(e.status)
			return
		}
		p.Outcome, p.Reason = HTMLChanged, "the site's page, but neither listings nor an empty-result marker"
		if sign := s.sign(p, e); sign != "" {
			p.Reason = "no listing could be read, yet the page has " + sign
		}
		return
	}
	p.Outcome, p.Reason = Unrecognised, "not a page of the site: none of its chrome is there"
	switch {
	case e.empty:
		p.Reason = "empty body"
	case gone(e.status):
		p.Reason = fmt.Sprintf("status %d without the site's chrome", e.status)
	}
}

func (s *Source) hasChrome(doc *html.Node) bool {
	return s.chrome.on(doc) || s.chrome.inTitle(doc) || s.chrome.inText([]*html.Node{doc}) != ""
}

// saysNothing tells in which words the page says that there is nothing, or "".
func (s *Source) saysNothing(p *Page, e *evidence) string {
	within := e.roots
	if len(within) == 0 {
		within = []*html.Node{e.doc}
	}
	switch {
	case gone(e.status):
		return fmt.Sprintf("status %d", e.status)
	case s.empty.on(e.doc):
		return "the page carries the empty-result marker"
	case p.zero:
		return "the page counts 0 listings"
	case s.empty.inTitle(e.doc):
		return "the title says that there are no results"
	}
	if text := s.empty.inText(within); text != "" {
		return fmt.Sprintf("the page says %q", text)
	}
	return ""
}

// sign names a sign of listings on the page, or "".
func (s *Source) sign(p *Page, e *evidence) string {
	switch {
	case p.Raw > 0:
		return fmt.Sprintf("%d cards without a name or an id", p.Raw)
	case p.SiteTotal > 0:
		return fmt.Sprintf("a total of %d", p.SiteTotal)
	case len(businesses(e.scripts)) > 0:
		return "JSON-LD of businesses"
	case p.NextURL != "":
		return "a next link"
	}
	doc := goquery.NewDocumentFromNode(e.doc)
	for _, m := range s.evidence {
		if doc.FindMatcher(m).Length() > 0 {
			return "links to listings"
		}
	}
	if hasPhone(pageText([]*html.Node{e.doc})) {
		return "phone numbers"
	}
	return ""
}

// on reports whether one of the elements is in the tree.
func (m *marks) on(n *html.Node) bool {
	doc := goquery.NewDocumentFromNode(n)
	for _, sel := range m.selectors {
		if doc.FindMatcher(sel).Length() > 0 {
			return true
		}
	}
	return false
}

func (m *marks) inTitle(doc *html.Node) bool {
	if len(m.titles) == 0 {
		return false
	}
	title := strings.ToLower(goquery.NewDocumentFromNode(doc).FindMatcher(titleMatcher).Text())
	for _, t := range m.titles {
		if strings.Contains(title, t) {
			return true
		}
	}
	return false
}

var titleMatcher = goquery.Single("head title")

// inText returns the first of the texts that the trees show to a reader.
func (m *marks) inText(trees []*html.Node) string {
	if len(m.texts) == 0 {
		return ""
	}
	text := strings.ToLower(pageText(trees))
	for _, t := range m.texts {
		if strings.Contains(text, t) {
			return t
		}
	}
	return ""
}

// maxPageText bounds the text that is searched for words.
const maxPageText = 256 << 10

// pageText returns the text of the trees, white space folded.
func pageText(trees []*html.Node) string {
	var b []byte
	for _, n := range trees {
		b = append(appendText(b, n, maxPageText), ' ')
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// hasPhone reports whether a text holds something of the form (ddd) ddd-dddd,
// or the same with other separators.
func hasPhone(s string) bool {
	for i := range len(s) {
		if digit(s[i]) && (i == 0 || !digit(s[i-1])) && phoneAt(s[i:]) {
			return true
		}
	}
	return false
}

// phoneAt reports whether s starts with ddd, ddd and dddd, with one to three
// separators between them.
func phoneAt(s string) bool {
	for part, n := range [...]int{3, 3, 4} {
		for range n {
			if s == "" || !digit(s[0]) {
				return false
			}
			s = s[1:]
		}
		if part == 2 {
			return s == "" || !digit(s[0])
		}
		seps := 0
		for s != "" && seps < 3 && strings.IndexByte(")-. ", s[0]) >= 0 {
			s, seps = s[1:], seps+1
		}
		if seps == 0 {
			return false
		}
	}
	return false
}

func digit(b byte) bool { return '0' <= b && b <= '9' }
