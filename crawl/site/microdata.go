package site

import (
	"strings"

	"golang.org/x/net/html"
)

// linkProp is the name under which an item keeps the link that its name is, or
// stands in: the page's own way to the business when it marks no url.
const linkProp = "~link"

// addMicrodata reads the microdata of a tree. cur is the item that the tree is
// part of, or nil. A footer's items are the directory's own.
func (g *graph) addMicrodata(n *html.Node, cur *item) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || skipped(c.Data) || cur == nil && c.Data == "footer" {
			continue
		}
		names := strings.Fields(attrOf(c, "itemprop"))
		if !hasAttr(c, "itemscope") {
			if cur != nil {
				g.microProps(c, cur, names)
			}
			g.addMicrodata(c, cur)
			continue
		}
		it := g.newItem()
		if it == nil {
			return
		}
		it.types, it.id, it.data = wordsOf(attrOf(c, "itemtype")), attrOf(c, "itemid"), dataID(c)
		g.addMicrodata(c, it)
		g.register(it)
		g.microItem(c, cur, it, names)
	}
}

// microItem gives a finished item to the one that it belongs to.
func (g *graph) microItem(n *html.Node, cur, it *item, names []string) {
	v := value{item: it}
	if len(it.props) == 0 {
		v.text = nodeText(n)
	}
	if cur == nil || len(names) == 0 {
		g.top = append(g.top, v)
		return
	}
	for _, name := range names {
		cur.add(schemaWord(name), v)
	}
}

// microProps reads the properties that an element gives an item.
func (g *graph) microProps(n *html.Node, it *item, names []string) {
	for _, name := range names {
		name = schemaWord(name)
		it.add(name, value{text: microValue(n, name)})
		if name == "name" {
			it.add(linkProp, value{text: linkAround(n)})
		}
	}
}

// microValue returns the value of a property: the attribute that holds it, or
// the text. A name that is a link reads as its text, not its address.
func microValue(n *html.Node, name string) string {
	if s := attrOf(n, "content"); s != "" {
		return s
	}
	address := attrOf(n, "href")
	if address == "" {
		address = attrOf(n, "src")
	}
	if address != "" {
		if text := nodeText(n); text != "" && !namesAddress(name) {
			return text
		}
		return address
	}
	if s := attrOf(n, "datetime"); s != "" {
		return s
	}
	if s := nodeText(n); s != "" {
		return s
	}
	return attrOf(n, "value")
}

// namesAddress reports whether a property holds a web address.
func namesAddress(name string) bool {
	switch name {
	case "url", "sameAs", "image", "logo", "photo", "item", "mainEntityOfPage", "contentUrl", "hasMap", "itemListElement":
		return true
	}
	return false
}

// linkAround returns the address of the link that n is, holds or stands in.
func linkAround(n *html.Node) string {
	if href := linkIn(n); href != "" {
		return href
	}
	for p := n.Parent; p != nil && !hasAttr(p, "itemscope"); p = p.Parent {
		if p.Data == "a" {
			return attrOf(p, "href")
		}
	}
	return ""
}

// linkIn returns the address of the first link that n is or holds.
func linkIn(n *html.Node) string {
	if n.Type == html.ElementNode && n.Data == "a" {
		if href := attrOf(n, "href"); href != "" {
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

// dataIDs are the attributes in which sites keep a listing's id.
var dataIDs = [...]string{
	"data-listing-id", "data-listingid", "data-business-id", "data-businessid", "data-biz-id", "data-company-id", "data-ypid", "data-id",
}

// dataID returns the id that an attribute of an element gives, or of the
// element around it that holds nothing else.
func dataID(n *html.Node) string {
	for _, key := range dataIDs {
		if id := identifier(part(attrOf(n, key))); id != "" {
			return id
		}
	}
	if p := n.Parent; p != nil && p.Type == html.ElementNode && onlyElement(n) {
		for _, key := range dataIDs {
			if id := identifier(part(attrOf(p, key))); id != "" {
				return id
			}
		}
	}
	return ""
}

// onlyElement reports whether n has no other element beside it.
func onlyElement(n *html.Node) bool {
	for c := n.Parent.FirstChild; c != nil; c = c.NextSibling {
		if c != n && c.Type == html.ElementNode {
			return false
		}
	}
	return true
}

func hasAttr(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// skipped reports whether an element's content is none of the page's.
func skipped(name string) bool {
	return name == "script" || name == "style" || name == "template" || name == "noscript"
}

// nodeText returns the text of an element, clean.
func nodeText(n *html.Node) string { return part(string(appendText(nil, n, maxText))) }
