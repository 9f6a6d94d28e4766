package structured

import (
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// linkProp is the name under which an item keeps the link that its name is, or
// is in: the page's own way to the business when it marks no url.
const linkProp = "~link"

// addMicrodata reads the microdata of a tree. cur is the item that the tree is
// part of, or nil. A footer's items are the directory's own.
func (g *graph) addMicrodata(n *html.Node, cur *item) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || region.Unseen(c.Data) && !g.entersNoscript(c) || cur == nil && c.Data == "footer" {
			continue
		}
		names := strings.Fields(region.Attr(c, "itemprop"))
		if !hasAttr(c, "itemscope") {
			for _, name := range names {
				name = schemaWord(name)
				cur.add(name, value{text: microValue(c, name)})
				if name == "name" {
					cur.add(linkProp, value{text: linkAround(c)})
				}
			}
			g.addMicrodata(c, cur)
			continue
		}
		it := g.newItem()
		if it == nil {
			return
		}
		it.add("@type", value{text: region.Attr(c, "itemtype")})
		it.id, it.data, it.element = region.Attr(c, "itemid"), dataID(c, plainID), c
		g.addMicrodata(c, it)
		g.register(it)
		v := value{item: it}
		if len(it.props) == 0 {
			v.text = Text(c)
		}
		if cur == nil || len(names) == 0 {
			g.top.add("", v)
			continue
		}
		for _, name := range names {
			cur.add(schemaWord(name), v)
		}
	}
}

func (g *graph) entersNoscript(n *html.Node) bool {
	return g.noscript && n.Data == "noscript" && region.OpenNoscript(n)
}

// microValue returns the value of a property: the attribute that holds it, or
// the text. A name that is a link reads as its text, not its address.
func microValue(n *html.Node, name string) string {
	if s := region.Attr(n, "content"); s != "" {
		return s
	}
	if address := firstAttr(n, "href", "src"); address != "" {
		if text := Text(n); text != "" && !namesAddress(name) {
			return text
		}
		return address
	}
	if s := region.Attr(n, "datetime"); s != "" {
		return s
	}
	if s := Text(n); s != "" {
		return s
	}
	return region.Attr(n, "value")
}

func firstAttr(n *html.Node, keys ...string) string {
	for _, key := range keys {
		if s := region.Attr(n, key); s != "" {
			return s
		}
	}
	return ""
}

// namesAddress reports whether a property holds a web address.
func namesAddress(name string) bool {
	switch name {
	case "url", "sameAs", "image", "logo", "photo", "item", "mainEntityOfPage", "contentUrl", "hasMap", "itemListElement":
		return true
	}
	return false
}

// dataID returns the id that an attribute of an element gives, or of the
// element around it that holds nothing else. read makes an id of a text, or "".
func dataID(n *html.Node, read func(string) string) string {
	if id := ownDataID(n, read); id != "" {
		return id
	}
	p := n.Parent
	if p == nil || p.Type != html.ElementNode {
		return ""
	}
	for c := range p.ChildNodes() {
		if c != n && c.Type == html.ElementNode {
			return ""
		}
	}
	return ownDataID(p, read)
}

// ownDataID reads the attributes in which sites keep a listing's id.
func ownDataID(n *html.Node, read func(string) string) string {
	for _, key := range [...]string{
		"data-listing-id", "data-listingid", "data-business-id", "data-businessid", "data-biz-id", "data-company-id",
		"data-ypid", "data-id",
	} {
		if id := read(region.Attr(n, key)); id != "" {
			return id
		}
	}
	return ""
}

func plainID(s string) string { return yp.PlainID(clean(s)) }

func hasAttr(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// Text returns the text below an element as it reads, clean.
func Text(n *html.Node) string { return clean(string(region.AppendText(nil, n, maxText))) }

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

// linkAround returns the address of the link that n is, holds or is in, within the element of
// its item.
func linkAround(n *html.Node) string {
	if href := linkIn(n); href != "" {
		return href
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "a" {
			return region.Attr(p, "href")
		}
		if hasAttr(p, "itemscope") {
			break
		}
	}
	return ""
}
