package site

import (
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// Some directories describe a page of results as one business, which has the search as its name, "Plumbers in Mumbai", and the
// page as its address. It is none.

// pageHead is what a page says of itself.
type pageHead struct {
	path   string   // of the address that it calls its own (rel=canonical), "" = none on this host
	titles []string // its title and its headings of the first rank, see yp.NormalName
}

// thisList reports whether an escaped path is that of the page of results itself: where it is, the address that it calls its
// own, or the first page of its list ("/austin/plumbers" of "/austin/plumbers/2" and "/austin/plumbers/page-2").
func (r *businessReader) thisList(path string) bool {
	here := strings.TrimRight(r.at.self.EscapedPath(), "/")
	if path == here || path == r.ofPage().path || pageless(path) == pageless(here) {
		return true
	}
	number, ok := strings.CutPrefix(here, path+"/")
	return ok && isPageNumber(number)
}

// pageless returns a path without "/page-2" at its end.
func pageless(path string) string {
	i := strings.LastIndexByte(path, '/')
	if number, ok := strings.CutPrefix(strings.ToLower(path[i+1:]), "page"); ok && isPageNumber(strings.TrimLeft(number, "-_=")) {
		return path[:max(i, 0)]
	}
	return path
}

func isPageNumber(s string) bool { return s != "" && len(s) < 4 && yp.AllDigits(s) }

// titled reports whether a name is what the page is titled.
func (r *businessReader) titled(name string) bool {
	name = yp.NormalName(name)
	for _, title := range r.ofPage().titles {
		if name != "" && name == title {
			return true
		}
	}
	return false
}

// ofPage looks for what the page says of itself, once.
func (r *businessReader) ofPage() *pageHead {
	if r.head == nil {
		r.head = &pageHead{}
		if r.doc != nil {
			r.readHead(r.doc)
		}
	}
	return r.head
}

// maxTitles bounds the titles that are kept: a page has two.
const maxTitles = 4

func (r *businessReader) readHead(n *html.Node) {
	h := r.head
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || region.Unseen(c.Data):
		case (c.Data == "title" || c.Data == "h1") && len(h.titles) < maxTitles:
			h.titles = append(h.titles, yp.NormalName(structured.Text(c)))
		case c.Data == "link" && h.path == "" && strings.EqualFold(region.Attr(c, "rel"), "canonical"):
			if a, own, reason := r.src.resolve(r.at, region.Attr(c, "href")); own && reason == "" && queryID(a.URL()) == "" {
				h.path = strings.TrimRight(a.EscapedPath(), "/")
			}
		default:
			r.readHead(c)
		}
	}
}
