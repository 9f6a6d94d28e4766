package site

import (
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// A chain is a selector of the plain kind, compounds of tag, id and classes
// joined by blanks and ">", which is what nearly all rules are. It matches as
// cascadia does, several times as fast: cascadia splits the class attribute
// anew for every class it looks for.
type chain []link

// link is a compound; child says that it must be the parent of the one after
// it, not just an ancestor.
type link struct {
	regionSel
	child bool
}

// simplify returns the selector as a chain, if it is of that kind.
func simplify(sel cascadia.Sel) matcher {
	var c chain
	for word := range strings.FieldsSeq(selectorText(sel)) {
		if word == ">" && len(c) > 0 && !c[len(c)-1].child {
			c[len(c)-1].child = true
			continue
		}
		compound, err := parseCompound(word)
		if err != nil {
			return sel
		}
		c = append(c, link{regionSel: compound})
	}
	if len(c) == 0 || c[len(c)-1].child {
		return sel
	}
	return c
}

// Match reports whether the chain matches n.
func (c chain) Match(n *html.Node) bool {
	last := len(c) - 1
	if !c[last].matchNode(n) {
		return false
	}
	return last == 0 || c[:last].above(n)
}

// above reports whether the chain matches an ancestor of n, or its parent, as
// its last link demands.
func (c chain) above(n *html.Node) bool {
	child := c[len(c)-1].child
	for p := n.Parent; p != nil; p = p.Parent {
		if c.Match(p) {
			return true
		}
		if child {
			return false
		}
	}
	return false
}

func (s *regionSel) matchNode(n *html.Node) bool {
	if n.Type != html.ElementNode || s.tag != "" && s.tag != n.Data {
		return false
	}
	if s.id != "" && attrOf(n, "id") != s.id {
		return false
	}
	if len(s.classes) == 0 {
		return true
	}
	class := attrOf(n, "class")
	for _, c := range s.classes {
		if !hasClass(class, c) {
			return false
		}
	}
	return true
}
