package site

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
)

// SaysBoth reports whether a page shows organic listings and says that nothing was found, with no total above 0 to
// gainsay it: what it shows may be suggestions, or what there is nearby. Only other pages of the source can tell
// whether its signs are but furniture.
func (p *Page) SaysBoth() bool { return len(p.Nothing) > 0 && p.SiteTotal == 0 }

// spoken is what a page says to its readers outside of the cards.
type spoken struct {
	text   []byte
	found  region.Hits       // of selectors
	marker *region.Selectors // those of the definition's empty
	// bare says that no region tells where the results stand: then what frames a page does not count.
	bare bool
	// items says that listings are items of microdata.
	items bool
}

// read reads what n shows, and all below it.
func (s *spoken) read(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		s.text = append(s.text, n.Data[:min(len(n.Data), maxPageText)]...)
		return
	case n.Type == html.DocumentNode:
	case n.Type != html.ElementNode || region.Unseen(n.Data) || region.Hidden(n) || hiddenByClass(n) ||
		s.bare && frame(n) || s.items && item(n):
		return
	case s.marker != nil:
		s.marker.Try(n, s.found)
	}
	line := region.OwnLine(n.Data)
	if line {
		s.text = append(s.text, ' ')
	}
	for c := n.FirstChild; c != nil && len(s.text) < maxPageText; c = c.NextSibling {
		s.read(c)
	}
	if line {
		s.text = append(s.text, ' ')
	}
}

// frame reports whether an element frames the results of a page, or is in front of them: its header, footer and
// navigation, what is told aside, forms and dialogs. A header in main is that of the results; a form that holds the
// page's own parts, as each page of some servers is, is no form of it.
func frame(n *html.Node) bool {
	switch n.Data {
	case "footer", "nav", "aside", "dialog":
		return true
	case "header":
		return !inMain(n)
	case "form":
		return !holdsParts(n)
	}
	return region.Attr(n, "role") == "dialog"
}

func inMain(n *html.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == "main" {
			return true
		}
	}
	return false
}

func holdsParts(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && slices.Contains(pageParts[:], c.Data) {
			return true
		}
	}
	return false
}

var pageParts = [...]string{"main", "header", "footer", "nav", "h1"}

// item reports whether an element is an item of microdata that may be a listing: the page, and the list, are none.
func item(n *html.Node) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == "itemscope" {
			kind := region.Attr(n, "itemtype")
			return kind != "" && !strings.HasSuffix(kind, "Page") && !strings.HasSuffix(kind, "List")
		}
	}
	return false
}

// readSpoken reads what the regions of a page say outside of the cards, or where none is known the page.
func (s *Source) readSpoken(w *workspace, cards []card, doc *html.Node, regions []*html.Node) *spoken {
	setType(cards, html.CommentNode) // which is passed over
	defer setType(cards, html.ElementNode)
	said := &spoken{text: w.said[:0], found: w.signs, marker: &s.empty.selectors, items: s.def.Structured.On}
	if said.bare = len(regions) == 0; said.bare {
		regions = []*html.Node{doc}
	}
	for _, n := range regions {
		said.read(n)
		said.text = append(said.text, ' ')
	}
	w.said = said.text
	return said
}

func setType(cards []card, t html.NodeType) {
	for i := range cards {
		cards[i].n.Type = t
	}
}

// nothing returns in which signs a page with organic listings says that nothing was found. regions is nil where the
// source has none, or the page.
func (s *Source) nothing(p *Page, w *workspace, doc *html.Node, regions []*html.Node, title string) (signs []string) {
	if len(s.empty.texts) > 0 || len(w.signs) > 0 {
		said := s.readSpoken(w, w.cards, doc, regions)
		for id, found := range said.found {
			if len(found) > 0 {
				signs = append(signs, "has "+s.empty.selectors.Texts()[id])
			}
		}
		for _, text := range s.empty.in(said.text) {
			signs = append(signs, fmt.Sprintf("says %q", text))
		}
	}
	if text := s.empty.inTitle(title); text != "" {
		signs = append(signs, fmt.Sprintf("is titled %q", text))
	}
	return signs
}

// in returns those of the texts that a text holds, letter case and white space aside.
func (m *marks) in(text []byte) (found []string) {
	if len(m.texts) == 0 {
		return nil
	}
	folded := strings.ToLower(strings.Join(strings.Fields(string(text)), " "))
	for _, t := range m.texts {
		if strings.Contains(folded, t) {
			found = append(found, t)
		}
	}
	return found
}
