package region

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// An arena hands out nodes and attributes from blocks that are used again for
// the next page: the nodes of a page are of no use once its listings are read.
type arena struct {
	nodes [][]html.Node
	block int // index of the block in use
	used  int // nodes of it handed out

	attrs     [][]html.Attribute
	attrBlock int
}

const (
	nodeBlock = 512
	attrBlock = 512
	// maxBlocks bounds what an arena keeps between pages: twice what one of 250 kB takes.
	maxBlocks = 8
)

// reset takes back all that was handed out.
func (a *arena) reset() {
	if len(a.nodes) > maxBlocks || len(a.attrs) > maxBlocks {
		a.nodes, a.attrs = nil, nil
	}
	a.block, a.used, a.attrBlock = 0, 0, 0
	for i := range a.attrs {
		a.attrs[i] = a.attrs[i][:0]
	}
}

// full reports whether more was handed out than any page of listings needs: such a
// page is left to the census.
func (a *arena) full() bool {
	return a.block*nodeBlock > maxUnits || a.attrBlock*attrBlock > maxUnits
}

// node returns an empty node.
func (a *arena) node() *html.Node {
	if a.block == len(a.nodes) {
		a.nodes = append(a.nodes, make([]html.Node, nodeBlock))
	}
	n := &a.nodes[a.block][a.used]
	*n = html.Node{}
	if a.used++; a.used == nodeBlock {
		a.block, a.used = a.block+1, 0
	}
	return n
}

// attributes returns the attributes, at most maxAttrs, with their values as
// text.
func (a *arena) attributes(in []attr) []html.Attribute {
	if len(in) == 0 {
		return nil
	}
	b := a.room(len(in))
	start := len(*b)
	for _, at := range in {
		*b = append(*b, html.Attribute{Key: at.key, Val: bounded(at.key, attrText(at.val))})
	}
	return (*b)[start:len(*b):len(*b)]
}

// room returns a block with room for n more attributes.
func (a *arena) room(n int) *[]html.Attribute {
	for ; a.attrBlock < len(a.attrs); a.attrBlock++ {
		if b := &a.attrs[a.attrBlock]; cap(*b)-len(*b) >= n {
			return b
		}
	}
	a.attrs = append(a.attrs, make([]html.Attribute, 0, attrBlock))
	return &a.attrs[a.attrBlock]
}

// appendChild is (*html.Node).AppendChild for a node that is new.
func appendChild(parent, n *html.Node) {
	n.Parent = parent
	if last := parent.LastChild; last != nil {
		last.NextSibling, n.PrevSibling = n, last
	} else {
		parent.FirstChild = n
	}
	parent.LastChild = n
}

// Graft makes containers the children of a document of their own, so that
// selectors see the same whether the containers were built alone or are in a
// whole page. undo puts them back where they were.
func Graft(roots []*html.Node) (doc *html.Node, undo func()) {
	type place struct{ parent, prev, next *html.Node }
	places := make([]place, len(roots))
	doc = &html.Node{Type: html.DocumentNode}
	for i, n := range roots {
		places[i] = place{n.Parent, n.PrevSibling, n.NextSibling}
		n.PrevSibling, n.NextSibling = nil, nil
		appendChild(doc, n)
	}
	return doc, func() {
		for i, n := range roots {
			n.Parent, n.PrevSibling, n.NextSibling = places[i].parent, places[i].prev, places[i].next
		}
	}
}

// Base returns the href of the first base element of a tree that has one: what the page's links are
// resolved against. What is in a template is no part of the page.
// (https://html.spec.whatwg.org/#the-base-element)
func Base(n *html.Node) (href string, ok bool) {
	for c := n.FirstChild; c != nil && !ok; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || c.Data == "template":
		case c.DataAtom == atom.Base && c.Namespace == "":
			for i := range c.Attr {
				if c.Attr[i].Key == "href" {
					return c.Attr[i].Val, true
				}
			}
		default:
			href, ok = Base(c)
		}
	}
	return href, ok
}

// Scripts returns the contents of the JSON-LD scripts of a tree.
func Scripts(root *html.Node) (found []string) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Namespace == "" && n.Data == "script" && isJSONLD(Attr(n, "type")) && n.FirstChild != nil {
			found = append(found, n.FirstChild.Data)
		}
	}
	return found
}

func isJSONLD(typ string) bool {
	typ, _, _ = strings.Cut(typ, ";") // a charset may follow
	return strings.EqualFold(strings.TrimSpace(typ), "application/ld+json")
}

// Attr returns the value of an attribute, or "".
func Attr(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val
		}
	}
	return ""
}

// HasClass reports whether a class attribute names the class.
func HasClass(attr, class string) bool {
	for {
		j := strings.Index(attr, class)
		if j < 0 {
			return false
		}
		end := j + len(class)
		if (j == 0 || space(attr[j-1])) && (end == len(attr) || space(attr[end])) {
			return true
		}
		attr = attr[j+1:]
	}
}

// AppendText appends the text below n as it reads, and stops soon after limit bytes: a line break or the edge of a block
// is a space; what nobody reads does not count, and text that Cloudflare has hidden from machines is there as people see it.
func AppendText(b []byte, n *html.Node, limit int) []byte { return appendText(b, n, limit, false) }

// AppendShown is AppendText without what the page hides from people, see Hidden.
func AppendShown(b []byte, n *html.Node, limit int) []byte { return appendText(b, n, limit, true) }

func appendText(b []byte, n *html.Node, limit int, shown bool) []byte {
	if text, ok := protected(n); ok {
		return append(b, text...)
	}
	for c := n.FirstChild; c != nil && len(b) < limit; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b = append(b, c.Data[:min(len(c.Data), limit)]...)
		case c.Type != html.ElementNode || Unseen(c.Data) || shown && Hidden(c):
		case OwnLine(c.Data):
			b = append(appendText(append(b, ' '), c, limit, shown), ' ')
		default:
			b = appendText(b, c, limit, shown)
		}
	}
	return b
}

// AppendLines is AppendShown with a line break for each line break and edge of a block; the text itself has none.
func AppendLines(b []byte, n *html.Node, limit int) []byte {
	if text, ok := protected(n); ok {
		return append(b, text...)
	}
	for c := n.FirstChild; c != nil && len(b) < limit; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b = append(b, breaks.Replace(c.Data[:min(len(c.Data), limit)])...)
		case c.Type != html.ElementNode || Unseen(c.Data) || Hidden(c):
		case OwnLine(c.Data):
			b = append(AppendLines(append(b, '\n'), c, limit), '\n')
		default:
			b = AppendLines(b, c, limit)
		}
	}
	return b
}

var breaks = strings.NewReplacer("\n", " ", "\r", " ")

// Unseen reports whether nobody reads what an element holds.
func Unseen(name string) bool {
	return name == "script" || name == "style" || name == "noscript" || name == "template"
}

// OwnLine reports whether an element is on a line of its own.
func OwnLine(name string) bool {
	switch name {
	case "br", "p", "div", "li", "ul", "ol", "dd", "dt", "tr", "td", "th", "section", "article", "h1", "h2", "h3", "h4":
		return true
	}
	return false
}
