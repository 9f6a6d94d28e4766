package site

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// svgElements are the elements that the scanner admits in an svg: shapes and
// their groups, as icons have them. The parser leaves their names as they are
// and does not leave the svg for them.
var svgElements = map[string]bool{
	"svg": true, "g": true, "path": true, "circle": true, "ellipse": true, "rect": true, "line": true,
	"polyline": true, "polygon": true, "use": true, "defs": true, "symbol": true, "text": true, "tspan": true,
}

// foreign reads a start tag inside an svg. Region selectors do not see it.
func (c *scanner) foreign() bool {
	return c.startTag() && svgElements[c.tag.name] && c.foreignNode()
}

// foreignNode opens the svg or the element in one whose start tag was just
// read.
func (c *scanner) foreignNode() bool {
	t := &c.tag
	for i := range t.attrs {
		if !plainForeign(t.attrs[i].key) {
			return false
		}
	}
	if t.el.kind != kindSVG || c.svgs > 0 {
		t.el = element{atom.Lookup([]byte(t.name)), kindForeign}
	}
	var n *html.Node
	if c.root >= 0 {
		n = c.node()
		n.Namespace = "svg"
		foreignKeys(n.Attr)
	}
	return t.selfClosing || c.push(n)
}

// foreignKeys does to attribute names what the parser does to those that
// plainForeign admits.
func foreignKeys(attrs []html.Attribute) {
	for i := range attrs {
		switch attrs[i].Key {
		case "viewbox":
			attrs[i].Key = "viewBox"
		case "xlink:href":
			attrs[i].Namespace, attrs[i].Key = "xlink", "href"
		}
	}
}

// plainForeign reports whether the parser leaves an attribute's name as it is
// in an svg, or foreignKeys changes it as the parser does.
func plainForeign(key string) bool {
	switch key {
	case "viewbox", "xlink:href", "xmlns", "class", "id", "d", "x", "y", "x1", "x2", "y1", "y2", "r", "rx", "ry", "cx", "cy", "width", "height",
		"points", "fill", "stroke", "opacity", "transform", "style", "role", "focusable", "href", "hidden", "version":
		return true
	}
	for _, prefix := range [...]string{"aria-", "data-", "fill-", "stroke-", "clip-"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// impliedBody opens the tbody that a row gets when it stands right in its
// table.
func (c *scanner) impliedBody() {
	o := open{name: "tbody", kind: kindTableBody, implied: true}
	if c.root >= 0 {
		o.node = c.arena.node()
		o.node.Type, o.node.Data, o.node.DataAtom = html.ElementNode, o.name, atom.Tbody
		appendChild(c.cur, o.node)
		c.cur = o.node
	}
	c.open = append(c.open, o)
}
