package site

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// genericNext finds the link to the next page as most sites mark it. In this
// order: link rel=next, a rel=next, a link of class next, one labelled "Next",
// and, within a pagination, one that reads "Next", "›" or "»". It stays on the
// source's host, or is ""; host is then the one that such a link leads to.
func (s *Source) genericNext(doc *html.Node, final *url.URL) (next, host string) {
	var f nextFinder
	f.walk(doc, false)
	for _, refs := range f.found {
		for _, ref := range refs {
			ref = yp.Clean(ref)
			if next = s.nextURL(final, ref); next != "" {
				return next, ""
			}
			if host == "" {
				host = s.otherHost(final, ref)
			}
		}
	}
	return "", host
}

// nextFinder holds the links found, by how sure it is that they lead on.
type nextFinder struct{ found [5][]string }

func (f *nextFinder) walk(n *html.Node, paging bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || skipped(c.Data) {
			continue
		}
		in := paging || isPagination(c)
		if href := attrOf(c, "href"); href != "" && !disabled(c) {
			f.link(c, href, in)
		}
		f.walk(c, in)
	}
}

func (f *nextFinder) link(n *html.Node, href string, paging bool) {
	switch rel := strings.ToLower(attrOf(n, "rel")); {
	case n.Data == "link" && hasClass(rel, "next"):
		f.add(0, href)
	case n.Data != "a":
	case hasClass(rel, "next"):
		f.add(1, href)
	case hasClass(strings.ToLower(attrOf(n, "class")), "next"):
		f.add(2, href)
	case saysNext(attrOf(n, "aria-label")):
		f.add(3, href)
	case paging && saysNext(nodeText(n)):
		f.add(4, href)
	}
}

func (f *nextFinder) add(rank int, href string) {
	if len(f.found[rank]) < maxTries {
		f.found[rank] = append(f.found[rank], href)
	}
}

// saysNext reports whether a label leads to the next page.
func saysNext(s string) bool {
	switch strings.ToLower(strings.Trim(s, " \u00a0>›»→")) {
	case "next", "next page":
		return true
	case "": // nothing but the arrow, one of those that are no step to the end
		s = strings.TrimSpace(s)
		return s == "›" || s == "»" || s == ">" || s == "→"
	}
	return false
}

// isPagination reports whether an element is what holds the links to a list's
// pages.
func isPagination(n *html.Node) bool {
	for _, key := range [...]string{"class", "id", "aria-label"} {
		s := strings.ToLower(attrOf(n, key))
		if strings.Contains(s, "pagination") || strings.Contains(s, "pager") || strings.Contains(s, "paging") || strings.Contains(s, "page-nav") {
			return true
		}
	}
	return false
}

// disabled reports whether a link is switched off, as it is on a last page.
func disabled(n *html.Node) bool {
	switch {
	case hasClass(attrOf(n, "class"), "disabled"), attrOf(n, "aria-disabled") == "true":
		return true
	case n.Parent != nil && hasClass(attrOf(n.Parent, "class"), "disabled"):
		return true
	}
	return false
}
