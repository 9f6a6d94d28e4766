package site

import (
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// compileSelector compiles a CSS selector, or a group of them.
func compileSelector(s string) (cascadia.SelectorGroup, error) {
	g, err := cascadia.ParseGroup(s)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w", s, err)
	}
	return g, nil
}

// An index answers many selectors in one walk over a tree. A selector is tried
// only on elements that have the class, the id, the attribute or the tag that
// its last part demands, so most elements of a card cost a few look-ups and no
// match.
type index struct {
	queries []query
	byClass map[string][]int
	byID    map[string][]int
	byTag   map[string][]int
	byAttr  map[string][]int
	mask    [64]uint64 // of byAttr: bit (first byte) of word (length)
	any     []int
	ids     map[string]int // of a selector's text
}

// query is one alternative of a selector group, and the number of the group.
type query struct {
	sel matcher
	out int
}

// matcher is a cascadia.Sel or a chain.
type matcher interface{ Match(*html.Node) bool }

// hits holds the elements found for each selector, in document order.
type hits [][]*html.Node

func newIndex() *index {
	return &index{
		byClass: map[string][]int{}, byID: map[string][]int{}, byTag: map[string][]int{}, byAttr: map[string][]int{}, ids: map[string]int{},
	}
}

// add registers a selector and returns its number, the same one for the same
// text.
func (x *index) add(text string, g cascadia.SelectorGroup) int {
	if id, ok := x.ids[text]; ok {
		return id
	}
	id := len(x.ids)
	x.ids[text] = id
	for _, sel := range g {
		q := len(x.queries)
		x.queries = append(x.queries, query{simplify(sel), id})
		switch mark, word := demand(selectorText(sel)); mark {
		case '.':
			x.byClass[word] = append(x.byClass[word], q)
		case '#':
			x.byID[word] = append(x.byID[word], q)
		case 't':
			x.byTag[word] = append(x.byTag[word], q)
		case '[':
			x.byAttr[word] = append(x.byAttr[word], q)
			x.mask[len(word)&63] |= 1 << (word[0] & 63)
		default:
			x.any = append(x.any, q)
		}
	}
	return id
}

// selectorText writes a single selector; cascadia escapes hyphens, which need
// none.
func selectorText(sel cascadia.Sel) string { return strings.ReplaceAll(sel.String(), `\-`, "-") }

// demand returns a class ('.'), an id ('#'), a tag ('t') or an attribute ('[')
// that every element matched by the selector has; 0 when none is plain to see.
func demand(sel string) (mark byte, word string) {
	last := lastCompound(sel)
	if strings.HasPrefix(last, "[") {
		end := strings.IndexFunc(last[1:], func(r rune) bool { return r > 0x7f || !plainWord(string(r)) })
		if end > 0 {
			return '[', strings.ToLower(last[1 : 1+end])
		}
		return 0, ""
	}
	if i := strings.IndexAny(last, ":["); i >= 0 {
		last = last[:i]
	}
	compound, err := parseCompound(last)
	switch {
	case err != nil:
		return 0, ""
	case len(compound.classes) > 0:
		return '.', compound.classes[0]
	case compound.id != "":
		return '#', compound.id
	}
	return 't', compound.tag
}

// lastCompound returns what stands behind the last combinator of a selector;
// "" when escapes make that hard to tell.
func lastCompound(sel string) string {
	if strings.IndexByte(sel, '\\') >= 0 {
		return ""
	}
	start, depth, quote := 0, 0, byte(0)
	for i := range len(sel) {
		switch c := sel[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && strings.IndexByte(" >+~", c) >= 0:
			start = i + 1
		}
	}
	return sel[start:]
}

// run finds all selectors among the descendants of root, in document order.
// enter is asked about each element that some selector matched; when it
// returns false, the walk does not go into the element.
func (x *index) run(root *html.Node, out hits, enter func(*html.Node) bool) {
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		if n.Type != html.ElementNode || n.Data == "template" { // a template shows nothing
			continue
		}
		if x.try(n, out) && enter != nil && !enter(n) {
			continue
		}
		if n.FirstChild != nil {
			x.run(n, out, enter)
		}
	}
}

// try matches the selectors that may match n, and reports whether one did.
func (x *index) try(n *html.Node, out hits) (matched bool) {
	for i := range n.Attr {
		at := &n.Attr[i]
		switch at.Key {
		case "class":
			matched = x.tryClasses(n, at.Val, out) || matched
		case "id":
			matched = x.tryAll(n, x.byID[at.Val], out) || matched
		}
		if k := at.Key; k != "" && x.mask[len(k)&63]&(1<<(k[0]&63)) != 0 {
			matched = x.tryAll(n, x.byAttr[k], out) || matched
		}
	}
	matched = x.tryAll(n, x.byTag[n.Data], out) || matched
	return x.tryAll(n, x.any, out) || matched
}

func (x *index) tryClasses(n *html.Node, class string, out hits) (matched bool) {
	for i := 0; i < len(class); {
		start := i
		for i < len(class) && !space(class[i]) {
			i++
		}
		if i > start {
			if qs := x.byClass[class[start:i]]; qs != nil {
				matched = x.tryAll(n, qs, out) || matched
			}
		}
		i++
	}
	return matched
}

func (x *index) tryAll(n *html.Node, qs []int, out hits) (matched bool) {
	for _, q := range qs {
		q := &x.queries[q]
		found := out[q.out]
		if len(found) > 0 && found[len(found)-1] == n {
			matched = true
			continue
		}
		if q.sel.Match(n) {
			if len(found) > maxHits { // the last place is for the one met last
				found = found[:maxHits]
			}
			out[q.out] = append(found, n)
			matched = true
		}
	}
	return matched
}

// maxHits bounds the elements kept for one selector, beside the one met last: cards
// on a page, or categories in a card. A hostile page may hold any number.
const maxHits = 1000

// newHits returns room for the index's results.
func (x *index) newHits() hits { return make(hits, len(x.ids)) }

// reset empties the results, and lets go of the page's tree.
func (h hits) reset() {
	for i := range h {
		clear(h[i])
		h[i] = h[i][:0]
	}
}
