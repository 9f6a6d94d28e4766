package region

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// A Selector is one CSS selector. Most are compounds of tag, id and classes joined by
// blanks and ">": such a chain is matched as cascadia does, several times as fast, since
// cascadia splits the class attribute anew for every class it looks for.
type Selector struct {
	chain []link
	css   cascadia.Sel // of any other selector
}

// link is a compound; child says that it must be the parent of the one after
// it, not just an ancestor.
type link struct {
	compound
	child bool
}

// Compile compiles a CSS selector, or a group of them.
func Compile(text string) ([]Selector, error) {
	group, err := cascadia.ParseGroup(text)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w", text, err)
	}
	out := make([]Selector, len(group))
	for i, sel := range group {
		if out[i].chain = chainOf(plainText(sel)); out[i].chain == nil {
			out[i].css = sel
		}
	}
	return out, nil
}

// plainText writes a single selector; cascadia escapes hyphens, which need none.
func plainText(sel cascadia.Sel) string { return strings.ReplaceAll(sel.String(), `\-`, "-") }

// chainOf returns a selector as a chain, nil if it is none.
func chainOf(sel string) (chain []link) {
	for word := range strings.FieldsSeq(sel) {
		if last := len(chain) - 1; word == ">" && last >= 0 && !chain[last].child {
			chain[last].child = true
			continue
		}
		c, err := parseCompound(word)
		if err != nil {
			return nil
		}
		chain = append(chain, link{compound: c})
	}
	if len(chain) == 0 || chain[len(chain)-1].child {
		return nil
	}
	return chain
}

// Match reports whether the selector matches n.
func (s *Selector) Match(n *html.Node) bool {
	if s.css != nil {
		return s.css.Match(n)
	}
	last := len(s.chain) - 1
	return s.chain[last].match(n) && (last == 0 || above(s.chain[:last], n))
}

// above reports whether the rest of a chain matches above n: at its parent, or at any
// ancestor, as its last link demands.
func above(rest []link, n *html.Node) bool {
	last := len(rest) - 1
	for p := n.Parent; p != nil; p = p.Parent {
		if rest[last].match(p) && (last == 0 || above(rest[:last], p)) {
			return true
		}
		if rest[last].child {
			return false
		}
	}
	return false
}

func (c *compound) match(n *html.Node) bool {
	return n.Type == html.ElementNode && (c.tag == "" || c.tag == n.Data) && (c.id == "" || c.id == Attr(n, "id")) &&
		(len(c.classes) == 0 || hasClasses(Attr(n, "class"), c.classes))
}

// Outer returns a chain such as ".results .card" without its last compound; ok is false for any other selector.
func (s *Selector) Outer() (outer Selector, ok bool) {
	last := len(s.chain) - 1
	if last < 1 {
		return outer, false
	}
	return Selector{chain: s.chain[:last]}, true
}

// plain reports whether the selector is a tag, an id or a class alone.
func (s *Selector) plain() bool {
	if len(s.chain) != 1 {
		return false
	}
	c, parts := s.chain[0].compound, len(s.chain[0].classes)
	if c.tag != "" {
		parts++
	}
	if c.id != "" {
		parts++
	}
	return parts == 1
}

// What every element that a selector matches must have.
const (
	byClass = iota
	byID
	byTag
	byAttr
	byNothing // that is plain to see
)

func (s *Selector) demand() (by int, word string) {
	if s.css == nil {
		return s.chain[len(s.chain)-1].demand()
	}
	words := strings.Fields(plainText(s.css))
	part := compoundText.FindStringSubmatch(words[len(words)-1])
	switch {
	case part == nil:
		return byNothing, ""
	case part[1] == "" && part[2] == "" && part[3] != "":
		return byAttr, strings.ToLower(part[3])
	}
	c, err := parseCompound(part[1] + part[2])
	if err != nil {
		return byNothing, ""
	}
	return c.demand()
}

// compoundText is a compound as cascadia writes it: tag, id and classes, attributes, pseudo-classes. The key and the
// value of the first attribute are parts of their own. A blank in a value or in parentheses is beyond it.
var compoundText = regexp.MustCompile(`^(?:\*|([\w-]*))((?:[.#][\w-]+)*)(?:\[([\w-]+)(?:[~^$*|]?="([^"]*)")?\](?:\[[\w-]+(?:[~^$*|]?="[^"]*")?\])*)?((?::\S+)?)$`)

func (c *compound) demand() (by int, word string) {
	switch {
	case len(c.classes) > 0:
		return byClass, c.classes[0]
	case c.id != "":
		return byID, c.id
	}
	return byTag, c.tag
}

// Selectors answers many selectors in one walk over a tree. A selector is tried
// only on elements that have the class, the id, the tag or the attribute that
// its last compound demands, so most elements cost a few look-ups and no match.
type Selectors struct {
	alternatives []alternative
	by           [byNothing]map[string][]int // places in alternatives
	any          []int                       // the same, of those that demand nothing
	mask         [64]uint64                  // of by[byAttr]: bit (first byte) of word (length)
	ids          map[string]int              // of a selector's text

	noscript *Selectors // those that are found in noscript, too; nil = none
	words    [][]string // of alternatives, in those that are found there: see words
}

// alternative is one of a group, and the number of the group.
type alternative struct {
	Selector
	id   int
	sure bool // it asks for no more than what it demands
}

// Hits holds the elements found for each selector, by its number, in document order.
type Hits [][]*html.Node

// MaxHits bounds the elements kept for one selector, beside the one found last: cards
// on a page, or categories in a card. A hostile page may hold any number.
const MaxHits = 1000

// Add adds a selector, or a group of them, and returns its number: the same one for the
// same text.
func (x *Selectors) Add(text string) (id int, err error) {
	if id, ok := x.ids[text]; ok {
		return id, nil
	}
	group, err := Compile(text)
	if err != nil {
		return 0, err
	}
	if x.ids == nil {
		x.ids = map[string]int{}
	}
	id = len(x.ids)
	x.ids[text] = id
	for i := range group {
		x.put(alternative{group[i], id, group[i].plain()})
	}
	return id, nil
}

// put adds one of a group.
func (x *Selectors) put(alt alternative) {
	if x.by[0] == nil {
		for i := range x.by {
			x.by[i] = map[string][]int{}
		}
	}
	at := len(x.alternatives)
	x.alternatives = append(x.alternatives, alt)
	by, word := alt.demand()
	if by == byNothing {
		x.any = append(x.any, at)
		return
	}
	x.by[by][word] = append(x.by[by][word], at)
	if by == byAttr {
		x.mask[len(word)&63] |= 1 << (word[0] & 63)
	}
}

// Texts returns the selectors that were added, by number.
func (x *Selectors) Texts() []string {
	out := make([]string, len(x.ids))
	for text, id := range x.ids {
		out[id] = text
	}
	return out
}

// NewHits returns room for the selectors' elements.
func (x *Selectors) NewHits() Hits { return make(Hits, len(x.ids)) }

// Reset empties the results, and lets go of the page's tree.
func (h Hits) Reset() {
	for i := range h {
		clear(h[i])
		h[i] = h[i][:0]
	}
}

// Find adds to out what all selectors match below root, in document order, but for what
// is in a template, which shows nothing, or in a noscript (see InNoscript). enter, unless nil, is asked about each
// element that some selector matched: when it returns false, the walk does not go into
// the element.
func (x *Selectors) Find(root *html.Node, out Hits, enter func(*html.Node) bool) {
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		if n.Type != html.ElementNode || n.Data == "template" {
			continue
		}
		if x.try(n, out) && enter != nil && !enter(n) {
			continue
		}
		switch {
		case n.FirstChild == nil:
		case n.Data != "noscript":
			x.Find(n, out, enter)
		case x.noscript != nil:
			x.noscript.enterNoscript(n, out, enter)
		}
	}
}

// Try adds n to out for all selectors that match it.
func (x *Selectors) Try(n *html.Node, out Hits) { x.try(n, out) }

// In reports whether any of the selectors matches below root, as Find does.
func (x *Selectors) In(root *html.Node) bool {
	found := x.NewHits()
	x.Find(root, found, nil)
	return slices.ContainsFunc(found, func(nodes []*html.Node) bool { return len(nodes) > 0 })
}

// try matches the selectors that may match n, and reports whether one did.
func (x *Selectors) try(n *html.Node, out Hits) (matched bool) {
	for i := range n.Attr {
		key, val := n.Attr[i].Key, n.Attr[i].Val
		switch key {
		case "class":
			for i := 0; i < len(val); i++ {
				start := i
				for i < len(val) && !space(val[i]) {
					i++
				}
				if at := x.by[byClass][val[start:i]]; at != nil {
					matched = x.tryAll(n, at, out) || matched
				}
			}
		case "id":
			matched = x.tryAll(n, x.by[byID][val], out) || matched
		}
		if key != "" && x.mask[len(key)&63]&(1<<(key[0]&63)) != 0 {
			matched = x.tryAll(n, x.by[byAttr][key], out) || matched
		}
	}
	matched = x.tryAll(n, x.by[byTag][n.Data], out) || matched
	return x.tryAll(n, x.any, out) || matched
}

func (x *Selectors) tryAll(n *html.Node, at []int, out Hits) (matched bool) {
	for _, i := range at {
		alt := &x.alternatives[i]
		found := out[alt.id]
		if len(found) > 0 && found[len(found)-1] == n {
			matched = true
			continue
		}
		if alt.sure || alt.Match(n) {
			if len(found) > MaxHits { // the last place is for the one found last
				found = found[:MaxHits]
			}
			out[alt.id] = append(found, n)
			matched = true
		}
	}
	return matched
}
