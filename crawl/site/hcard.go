package site

import (
	"strings"

	"golang.org/x/net/html"
)

// addHCards reads the hCards (class vcard) and h-cards of a tree. Cards of
// people who wrote something, and those of the footer, are none of a business
// in the list.
func (g *graph) addHCards(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || skipped(c.Data) || c.Data == "footer" {
			continue
		}
		class := attrOf(c, "class")
		if hasClass(class, "reviewer") || hasClass(class, "author") || hasClass(class, "p-author") {
			continue
		}
		if !hasClass(class, "vcard") && !hasClass(class, "h-card") {
			g.addHCards(c)
			continue
		}
		it := g.newItem()
		if it == nil {
			return
		}
		it.types, it.data = []string{hCardType}, dataID(c)
		g.cardProps(c, it, 0)
		implied(c, it)
		g.top = append(g.top, value{item: it})
	}
}

// hCardType stands for the type that an hCard does not name.
const hCardType = "hCard"

// cardClasses tells which property a class stands for: those of hCard
// (http://microformats.org/wiki/hcard) and of h-card, whose prefixes p-, u-
// and dt- are cut off.
var cardClasses = map[string]string{
	"fn": "name", "name": "name", "org": "legalName", "tel": "telephone", "adr": "address", "street-address": "streetAddress",
	"extended-address": "streetAddress", "locality": "addressLocality", "region": "addressRegion", "postal-code": "postalCode",
	"url": "url", "category": "category", "photo": "image", "uid": "identifier", "note": "description", "label": "address",
}

// cardClass returns the property that a class names, or "".
func cardClass(class string) string {
	if class == "h-adr" {
		return "address"
	}
	if i := strings.IndexByte(class, '-'); i == 1 || i == 2 {
		switch class[:i] {
		case "p", "u", "dt":
			return cardClasses[class[i+1:]]
		}
	}
	if class == "name" { // a word of its own in too many pages
		return ""
	}
	return cardClasses[class]
}

// cardProps reads the properties below n into an item.
func (g *graph) cardProps(n *html.Node, it *item, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || skipped(c.Data) {
			continue
		}
		inner := it
		for class := range strings.FieldsSeq(attrOf(c, "class")) {
			name := cardClass(class)
			switch {
			case name == "":
			case name == "address" && inner != it: // "p-adr h-adr" is one address
			case name == "address" && depth < maxNesting:
				inner = g.cardAddress(c, it)
			default:
				cardProp(c, it, name)
			}
		}
		g.cardProps(c, inner, depth+1)
	}
}

// cardAddress adds an address, which may be made of parts or be a text.
func (g *graph) cardAddress(n *html.Node, it *item) *item {
	adr := g.newItem()
	if adr == nil {
		return it
	}
	adr.types = []string{"PostalAddress"}
	it.add("address", value{item: adr, text: nodeText(n)})
	return adr
}

func cardProp(n *html.Node, it *item, name string) {
	text := cardValue(n, name)
	if name == "telephone" && strings.Contains(strings.ToLower(nodeText(n)), "fax") {
		return
	}
	it.add(name, value{text: text})
	if name == "name" || name == "legalName" {
		it.add(linkProp, value{text: linkAroundCard(n)})
	}
}

// cardValue returns the value of a property: an attribute, the part of class
// value, or the text.
func cardValue(n *html.Node, name string) string {
	if namesAddress(name) {
		if s := attrOf(n, "href"); s != "" {
			return s
		}
		if s := attrOf(n, "src"); s != "" {
			return s
		}
	}
	if n.Data == "abbr" {
		if s := attrOf(n, "title"); s != "" {
			return s
		}
	}
	if n.Data == "data" || n.Data == "input" {
		if s := attrOf(n, "value"); s != "" {
			return s
		}
	}
	if s := valuePart(n); s != "" {
		return s
	}
	if s := nodeText(n); s != "" {
		return s
	}
	return attrOf(n, "alt")
}

// valuePart returns the texts of the elements of class value below n: a
// number may stand beside its type.
func valuePart(n *html.Node) string {
	var parts []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && hasClass(attrOf(c, "class"), "value") {
			parts = append(parts, nodeText(c))
		}
	}
	return strings.Join(parts, "")
}

// linkAroundCard returns the link that a name is, holds or stands in.
func linkAroundCard(n *html.Node) string {
	if href := linkIn(n); href != "" {
		return href
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "a" {
			return attrOf(p, "href")
		}
		if class := attrOf(p, "class"); hasClass(class, "vcard") || hasClass(class, "h-card") {
			break
		}
	}
	return ""
}

// implied adds what an h-card need not spell out: the whole of it is the name,
// and the link that it is.
func implied(n *html.Node, it *item) {
	if n.Data == "a" {
		it.add(linkProp, value{text: attrOf(n, "href")})
	}
	if len(it.props["name"]) == 0 && len(it.props["legalName"]) == 0 && hasClass(attrOf(n, "class"), "h-card") && len(it.props) <= 1 {
		it.add("name", value{text: nodeText(n)})
		it.add(linkProp, value{text: linkIn(n)})
	}
}
