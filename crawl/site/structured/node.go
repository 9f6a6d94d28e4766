package structured

import (
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
)

func hasAttr(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// Skipped reports whether an element's content is none of the page's.
func Skipped(name string) bool {
	return name == "script" || name == "style" || name == "template" || name == "noscript"
}

// Text returns the text below an element as it reads, clean.
func Text(n *html.Node) string { return clean(string(appendText(nil, n))) }

func appendText(b []byte, n *html.Node) []byte {
	for c := n.FirstChild; c != nil && len(b) < maxText; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b = append(b, c.Data[:min(len(c.Data), maxText)]...)
		case c.Type != html.ElementNode || Skipped(c.Data):
		case ownLine(c.Data):
			b = append(appendText(append(b, ' '), c), ' ')
		default:
			b = appendText(b, c)
		}
	}
	return b
}

// ownLine reports whether an element stands on a line of its own.
func ownLine(name string) bool {
	switch name {
	case "br", "p", "div", "li", "ul", "ol", "dd", "dt", "tr", "td", "th", "section", "article", "h1", "h2", "h3", "h4":
		return true
	}
	return false
}

// linkIn returns the address of the first link that n is or holds.
func linkIn(n *html.Node) string {
	if n.Type == html.ElementNode && n.Data == "a" {
		if href := region.Attr(n, "href"); href != "" {
			return href
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if href := linkIn(c); href != "" {
			return href
		}
	}
	return ""
}

// linkAround returns the address of the link that n is, holds or stands in, within the element of
// its item.
func linkAround(n *html.Node, ofItem func(*html.Node) bool) string {
	if href := linkIn(n); href != "" {
		return href
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "a" {
			return region.Attr(p, "href")
		}
		if ofItem(p) {
			break
		}
	}
	return ""
}
