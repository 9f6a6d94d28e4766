package site

import (
	"errors"
	"strings"

	"golang.org/x/net/html"
)

// A regionSet holds the selectors of the containers in which a source's cards,
// total and next link stand. Only the outermost matching elements of a page
// count, in their order. They are matched by the scanner on tags as well as on
// trees, so they take simple forms only: a tag, an id and classes.
type regionSet struct {
	sels []regionSel
	// mask tells most classes that no selector names: bit (first byte) of word
	// (length).
	mask   [64]uint64
	anyTag bool // some selector names a tag only
	anyID  bool
}

type regionSel struct {
	tag, id string
	classes []string
}

var errRegionForm = errors.New("a region takes the tag of a container, #id and .classes only, such as div#main or .results")

// add parses a region selector.
func (r *regionSet) add(sel string) error {
	rs, err := parseCompound(sel)
	if err != nil {
		return err
	}
	if k := elements[rs.tag].kind; rs.tag != "" && k != kindBlock && k != kindPhrasing {
		return errRegionForm
	}
	r.keep(rs)
	return nil
}

// parseCompound parses a tag, an id and classes written together.
func parseCompound(sel string) (regionSel, error) {
	var rs regionSel
	rest := sel
	for first := true; rest != "" || first; first = false {
		mark := byte(0)
		if rest != "" && (rest[0] == '.' || rest[0] == '#') {
			mark, rest = rest[0], rest[1:]
		} else if !first {
			return rs, errRegionForm
		}
		n := strings.IndexAny(rest, ".#")
		if n < 0 {
			n = len(rest)
		}
		word := rest[:n]
		if rest = rest[n:]; !plainWord(word) || mark == '#' && rs.id != "" {
			return rs, errRegionForm
		}
		switch mark {
		case '.':
			rs.classes = append(rs.classes, word)
		case '#':
			rs.id = word
		default:
			rs.tag = strings.ToLower(word)
		}
	}
	return rs, nil
}

func (r *regionSet) keep(rs regionSel) {
	r.sels = append(r.sels, rs)
	switch {
	case len(rs.classes) > 0:
		c := rs.classes[0]
		r.mask[len(c)&63] |= 1 << (c[0] & 63)
	case rs.id != "":
		r.anyID = true
	default:
		r.anyTag = true
	}
}

func plainWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// match reports whether the start tag opens a region.
func (r *regionSet) match(t *tag) bool {
	if !r.anyTag && (t.id == "" || !r.anyID) && !r.maybe(t.class) {
		return false
	}
	return r.matchParts(t.name, t.id, t.class)
}

// maybe reports whether the classes may hold the first class of a selector.
func (r *regionSet) maybe(class string) bool {
	for i := 0; i < len(class); {
		for i < len(class) && space(class[i]) {
			i++
		}
		start := i
		for i < len(class) && !space(class[i]) {
			i++
		}
		if i > start && r.mask[(i-start)&63]&(1<<(class[start]&63)) != 0 {
			return true
		}
	}
	return false
}

func (r *regionSet) matchParts(tag, id, class string) bool {
	for i := range r.sels {
		if r.sels[i].match(tag, id, class) {
			return true
		}
	}
	return false
}

func (s *regionSel) match(tag, id, class string) bool {
	if s.tag != "" && s.tag != tag || s.id != "" && s.id != id {
		return false
	}
	for _, c := range s.classes {
		if !hasClass(class, c) {
			return false
		}
	}
	return true
}

// hasClass reports whether a class attribute names the class.
func hasClass(attr, class string) bool {
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

// find returns the regions of a whole page's tree: what the scanner's roots
// must equal.
func (r *regionSet) find(n *html.Node, found []*html.Node) []*html.Node {
	if n.Type == html.ElementNode && n.Namespace == "" && r.matchParts(n.Data, attrOf(n, "id"), attrOf(n, "class")) {
		return append(found, n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		found = r.find(c, found)
	}
	return found
}

// attrOf returns the value of an attribute, or "".
func attrOf(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val
		}
	}
	return ""
}

// graft makes the regions the children of a document of their own, so that
// selectors see the same whether the regions were built alone or stand in a
// whole page. undo puts them back where they were.
func graft(roots []*html.Node) (doc *html.Node, undo func()) {
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
